/** What of a request must be the same for the same answer. */
import { describe, expect, it } from 'vitest'
import type { Context } from '../../../lib/http/context.js'
import { fingerprintOf } from '../../../lib/idempotency/answer-once.js'
import { ConfigurationError } from '../../../lib/kernel/errors.js'
import { parseJson } from '../../../lib/kernel/parse-json.js'

const ctxOf = (originalUrl: string, version?: string) => ({ originalUrl, state: { version } }) as unknown as Context
const ctx = ctxOf('/books')
const of = async (body: unknown, request = ctx, settings: string[] = []) =>
  (await fingerprintOf(request, body, settings)).toString('hex')

describe('the same', () => {
  const pairs: [string, unknown, unknown][] = [
    [
      'members in another order',
      { a: 1, b: { c: 2, d: [1, { e: 1, f: 2 }] } },
      { b: { d: [1, { f: 2, e: 1 }], c: 2 }, a: 1 },
    ],
    ['an object without a prototype', { a: 1 }, Object.assign(Object.create(null) as object, { a: 1 })],
    ['nothing', {}, {}],
    ['bytes', Buffer.from('a'), new Uint8Array([97])],
    ['a date', { at: new Date(0) }, { at: new Date(0) }],
  ]
  it.each(pairs)('is %s', async (_what, one, other) => {
    expect(await of(one)).toBe(await of(other))
  })
})

describe('another', () => {
  const pairs: [string, unknown, unknown][] = [
    ['value', { a: 1 }, { a: 2 }],
    ['type', { a: 1 }, { a: '1' }],
    ['null', { a: null }, {}],
    ['order of a list', [1, 2], [2, 1]],
    ['level', { a: { b: 1 } }, { a: 1, b: 1 }],
    ['number beyond those of JavaScript', parseJson('{"n":9007199254740993}'), parseJson('{"n":9007199254740992}')],
    ['number of another format', [1n], [2n]],
    ['number that is none', [Number.NaN], [null]],
    ['text of bytes', Buffer.from('a'), 'a'],
    ['buffer of bytes', new Uint8Array([1]).buffer, new Uint8Array([2]).buffer],
    ['date', { at: new Date(0) }, { at: new Date(1) }],
    ['name', { a: 1 }, { b: 1 }],
    [
      'value of a name that reaches for a prototype',
      JSON.parse('{"__proto__":{"a":1}}'),
      JSON.parse('{"__proto__":{"a":2}}'),
    ],
  ]
  it.each(pairs)('is another %s', async (_what, one, other) => {
    expect(await of(one)).not.toBe(await of(other))
  })

  it('is another path, query, version or setting', async () => {
    const all = await Promise.all([
      of({}),
      of({}, ctxOf('/books/1')),
      of({}, ctxOf('/books?a=1')),
      of({}, ctxOf('/books', '2')),
      of({}, ctx, ['role', 'x']),
      of({}, ctx, ['rolex']),
    ])
    expect(new Set(all).size).toBe(all.length)
  })
})

it.each([new Map([['a', 1]]), new URLSearchParams('a=1'), new FormData(), new Blob(['a'])])(
  'is refused for %s in a body, as all of them would be the same',
  async (value) => {
    await expect(of([value])).rejects.toThrow(ConfigurationError)
  },
)

it('is refused for a body of more than 1,000 levels', async () => {
  let deep: unknown = 1
  for (let level = 0; level < 2_000; level++) deep = [deep]
  await expect(of(deep)).rejects.toMatchObject({ status: 400, detail: 'Request body is nested too deeply' })
})
