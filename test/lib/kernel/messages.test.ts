import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { codeOfStatus, DETAILS, knownDetail } from '../../../lib/kernel/details.js'
import { filled, knownMessage, MESSAGES } from '../../../lib/kernel/messages.js'

const SENTENCES = Object.entries(MESSAGES).flatMap(([code, sentences]) =>
  sentences.map((sentence): [string, string] => [code, sentence]),
)

describe('the table of messages', () => {
  it('stands in docs/reference/error-codes.md', () => {
    const page = readFileSync('docs/reference/error-codes.md', 'utf8')
    const rows = [...page.matchAll(/^\| `(\w+)` \| (.*) \|$/gm)].map(([, code, cells]) => [
      code,
      [...String(cells).matchAll(/`([^`]+)`/g)].map(([, sentence]) => sentence),
    ])
    expect(rows).toEqual([...Object.entries(MESSAGES), ...Object.entries(DETAILS)])
  })

  it('has each code once, so that messages can be replaced by it', () => {
    expect(Object.keys(DETAILS).filter((code) => Object.hasOwn(MESSAGES, code))).toEqual([])
  })

  it.each(SENTENCES)('knows %s by its sentence, and what that names', (code, sentence) => {
    const names = [...sentence.matchAll(/\{(\w+)\}/g)].map(([, name]) => String(name))
    const params = Object.fromEntries(names.map((name, index) => [name, name === 'unit' ? 'items' : index + 3]))
    expect(knownMessage(filled(sentence, params))).toEqual({ code, params })
  })

  it('has every message that the package refuses input by', () => {
    const files = FOLDERS.flatMap((folder) =>
      readdirSync(`lib/${folder}`, { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.ts') && !/^(?:messages|details)\.ts$/.test(name))
        .map((name) => `lib/${folder}/${name}`),
    )
    expect(files.length).toBeGreaterThan(100)
    const unknown = files.flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(REFUSALS)].flatMap(([, , text = '']) => {
        const sentence = text.replace(/\$\{counted\([^}]*\)\}/g, '3 things').replace(/\$\{(?:[^{}]|\{[^}]*\})*\}/g, '3')
        return text.startsWith('Already') || text.startsWith('Too short') || knownMessage(sentence)
          ? []
          : [`${file}: ${text}`]
      }),
    )
    expect(unknown).toEqual([])
  })

  it.each(Object.entries(DETAILS).flatMap(([code, sentences]) => sentences.map((one) => [code, one] as const)))(
    'knows the detail %s by its sentence: %s',
    (code, sentence) => {
      const text = filled(sentence, Object.fromEntries(placesOf(sentence).map((name) => [name, '3'])))
      const params = Object.fromEntries(placesOf(sentence).map((name) => [name, 3]))
      expect(knownDetail(text)).toEqual({ code, params })
    },
  )

  it('has every detail that the package answers with', () => {
    const files = ['lib', 'plugins'].flatMap((folder) =>
      readdirSync(folder, { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith('.ts') && !name.startsWith('client'))
        .map((name) => `${folder}/${name}`),
    )
    const told = files.flatMap((file) =>
      [...readFileSync(file, 'utf8').matchAll(ANSWERS)].map(([, , text = '']) =>
        text.replace(/\$\{hint\}/, '. Available versions: 3').replace(/\$\{(?:[^{}]|\{[^}]*\})*\}/g, '3'),
      ),
    )
    expect(told.length).toBeGreaterThan(60)
    expect([...new Set(told)].filter((text) => knownDetail(text) === undefined)).toEqual([])
  })

  it('calls details of an application by their status', () => {
    expect([400, 402, 404, 409, 410, 418, 422, 429, 503, 599].map(codeOfStatus)).toEqual([
      ...['bad_request', 'payment_required', 'not_found', 'conflict', 'gone', 'teapot'],
      ...['unprocessable_content', 'throttled', 'unavailable', 'error'],
    ])
  })

  it('takes long and foreign texts for none of its own', () => {
    for (const text of [
      '',
      'Nope.',
      'This field is required',
      ` ${MESSAGES.null[0]}`,
      `${'x'.repeat(100_000)} is not a valid choice.`,
    ]) {
      expect(knownMessage(text)).toBeUndefined()
    }
  })

  it('fills places once, and leaves unknown ones', () => {
    expect(filled('{a} and {b} and {constructor}', { a: '{b}', b: 2 })).toBe('{b} and 2 and {constructor}')
  })
})

const FOLDERS = [
  'fields',
  'filters',
  'kernel',
  'models',
  'pagination',
  'postgres',
  'queryset',
  'rows',
  'serializers',
  'views',
]

const placesOf = (sentence: string) => [...sentence.matchAll(/\{(\w+)\}/g)].map(([, name]) => String(name))

/** Texts that are given to errors as their `detail`, or stand for one. */
const ANSWERS =
  /(?:new (?:BadRequest|NotFound|Conflict|PermissionDenied|AuthenticationFailed)\(\s*|new (?:ApiError|KeyRefused)\(\d+, |super\(\d+, (?:[^'`,\n]*\?\? )?|(?:MALFORMED|CHANGED) = |\bdetail(?: =|:) )(['`])([A-Z](?:[^'`\\\n]|\\.)*)\1/gm

/** Texts that are given to a `ValidationError`, or noted of a field. */
const REFUSALS =
  /(?:new ValidationError\(\s*|^ {2}return |refuse\([^[\n]*\[|_MESSAGE = |non_field_errors: \[|: \[|\] = \[)(['`])([A-Z$](?:[^'`\\\n]|\\.)*\.)\1/gm
