/**
 * What an API does, as a text that can be compared: what `explain()` says of its routes, and for each request the statements
 * that were sent and the answer, byte for byte but for what no two runs have in common.
 */
import { existsSync, readdirSync } from 'node:fs'
import http from 'node:http'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { APIRouter } from 'koa-viewsets'
import { formatExplanations } from 'koa-viewsets/tools'
import { type SqlTrace, tracingChannels } from 'koa-viewsets/tracing'
import { expect } from 'vitest'
import { connectTo, type TestRequest, type TestResponse } from '../../support/server.js'

export interface Recorded extends Pick<TestRequest, 'method' | 'headers' | 'body'> {
  readonly path: string
  /** In place of the request's own line and body. */
  readonly title?: string
}

export interface RecordingOptions {
  readonly api: APIRouter
  readonly port: number
  /** Basenames of the routes to explain. @default all */
  readonly routes?: readonly string[]
  /** Words that the text begins with. */
  readonly about?: string
  /** Labels of `explain` that say the same of each route. @default none */
  readonly without?: readonly string[]
  /** The tags of its rows are made of points in time. */
  readonly volatileTags?: boolean
}

const FOLDER = fileURLToPath(new URL('..', import.meta.url))
/** Headers that are Node's, or follow from the body. */
const HIDDEN = new Set(['date', 'connection', 'keep-alive', 'transfer-encoding', 'content-length'])

/** Of a schema that has not been read before. */
const CATALOGUE = /\bpg_class\b/
const READS_CATALOGUE = 'select from the catalogue'

/** Notes what is explained, asked, sent and answered. */
export class Recording {
  readonly #port: number
  readonly #parts: string[] = []
  readonly #chance: Chance

  private constructor({ port, volatileTags = false }: RecordingOptions) {
    this.#port = port
    this.#chance = new Chance(volatileTags)
  }

  /** Begins with what the routes do. */
  static async of(options: RecordingOptions): Promise<Recording> {
    const { api, routes, about, without = [] } = options
    const recording = new Recording(options)
    if (about !== undefined) recording.#parts.push(`${about}\n`)
    const explained = routes ? (await Promise.all(routes.map((name) => api.explain(name)))).flat() : await api.explain()
    recording.#parts.push(explanationsWithout(without, formatExplanations(explained)))
    return recording
  }

  /** Sends a request, one after the other, and notes what came of it. */
  async ask(asked: Recorded): Promise<TestResponse> {
    const statements: string[] = []
    const start = (event: unknown) => {
      const { request, text, statement } = event as SqlTrace
      if (request) statements.push(CATALOGUE.test(text) ? READS_CATALOGUE : `${statement ? '(prepared) ' : ''}${text}`)
    }
    tracingChannels.sql.subscribe({ start })
    try {
      const { title: _, ...request } = asked
      const answer = await connectTo(this.#port).send(request)
      this.#parts.push(this.#chance.settled(textOf(asked, statements, answer)))
      return answer
    } finally {
      tracingChannels.sql.unsubscribe({ start })
    }
  }

  /** The same with a body of JSON. */
  async send(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<TestResponse> {
    const given = body === undefined ? {} : { body: JSON.stringify(body) }
    const type = body === undefined ? {} : { 'Content-Type': 'application/json' }
    return this.ask({ method, path, headers: { ...type, ...headers }, ...given })
  }

  text(): string {
    return this.#parts.join('\n')
  }
}

/** Explanations without these labels; what is then the same of several routes stands behind them all. */
function explanationsWithout(labels: readonly string[], text: string): string {
  const routes = new Map<string, string[]>()
  for (const [title = '', ...lines] of text.split('\n\n').map((paragraph) => paragraph.trimEnd().split('\n'))) {
    const told = lines.filter((line) => !labels.some((label) => line.startsWith(`  ${label} `)))
    const body = told.map((line) => `  ${foldSql(line, ' '.repeat(15))}\n`).join('')
    const titles = routes.get(body)
    if (titles) titles.push(title)
    else routes.set(body, [title])
  }
  return [...routes].map(([body, titles]) => `${titles.join('\n')}\n${body}`).join('\n')
}

function textOf({ title, method, path, headers, body }: Recorded, statements: readonly string[], answer: TestResponse) {
  const sent = Object.entries(headers ?? {}).filter(([, value]) => value !== 'application/json')
  const asked =
    title === undefined
      ? [
          `${method ?? (body === undefined ? 'GET' : 'POST')} ${path}`,
          ...sent.map(([name, value]) => `> ${name}: ${String(value)}`),
          ...(body === undefined ? [] : [`> ${foldJson(String(body))}`]),
        ]
      : [title]
  return [
    ...asked,
    ...statements.map((text) => `- ${foldSql(text, '    ')}`),
    `${answer.status} ${http.STATUS_CODES[answer.status]}`,
    ...headerLines(answer),
    ...(answer.text === '' ? [] : [`< ${foldJson(answer.text)}`]),
    '',
  ].join('\n')
}

/** Headers; those that are usual only where they are another than usual. */
function headerLines({ status, headers, text }: TestResponse): string[] {
  const usual: Record<string, string> = {
    ...(text !== '' && { 'content-type': 'application/json; charset=utf-8' }),
    'x-content-type-options': 'nosniff',
    ...(status >= 400 && { 'cache-control': 'no-store' }),
  }
  const told = Object.entries(headers).filter(([name, value]) => !HIDDEN.has(name) && value !== usual[name])
  const missing = Object.keys(usual).filter((name) => headers[name] === undefined)
  return [
    ...told.map(([name, value]) => `< ${name}: ${[value].flat().join(' | ')}`),
    ...missing.map((name) => `< (no ${name})`),
  ]
}

const CLAUSE =
  / (?=(?:(?<!delete )from|where|(?:inner|left|cross|full) join|(?<!inner |left |cross |full )join|order by|group by|limit|union|returning|values|on conflict|set|for (?:no key )?update) )/gi
const SHORT = 90

/** A line for each clause, deeper in parentheses. What is short stays on one line. */
function foldSql(given: string, indent: string): string {
  const text = given.trimStart().replace(/\s*\n\s*/g, ' ')
  if (text.length <= SHORT) return text
  const ends = closings(text)
  return text.replace(CLAUSE, (_space, at: number) => {
    const around = ends.filter(([open, close]) => open < at && at < close)
    const isShort = around.some(([open, close]) => close - open <= SHORT)
    return isShort ? ' ' : `\n${indent}${'  '.repeat(around.length)}`
  })
}

/** Where each parenthesis opens and closes. */
function closings(text: string): readonly (readonly [number, number])[] {
  const open: number[] = []
  const pairs: [number, number][] = []
  for (const { index, 0: sign } of text.matchAll(/[()]/g)) {
    if (sign === '(') open.push(index)
    else pairs.push([open.pop() ?? 0, index])
  }
  return pairs
}

/** A line for each object of a list. */
function foldJson(text: string): string {
  return text.replaceAll('\r', '\\r').replaceAll('},{', '},\n{').trimEnd().replaceAll('\n', '\n  ')
}

const DAY = 86_400_000
const TIMES = /\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d(?::?\d\d)?)?/g
const NAMES =
  /(?<![0-9a-f])(?:[0-9a-f]{32}|[0-9a-f]{8}-[0-9a-f]{4}-[47][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12})(?![0-9a-f])/g
const CURSORS = /(?<="cursor_id":"|server_cursor=)[\w-]{60,}/g
const TAGS = /(?<=")[0-9a-f]{16}-[0-9a-f]{16}(?=")/g
/** Savepoints, which knex counts in the whole process. */
const SAVEPOINTS = /(?<=savepoint )trx\d+/gi
/** Of the release, how long a throttle's window still lasts, and sessions. */
const OTHERS =
  /(?<=^< x-app-version: )\S+|(?<=^< ratelimit: .*;t=)\d+|(?<=^< retry-after: )\d+|(?<=koa\.sess(?:\.sig)?=)[^;\s]+/gm

/** Puts words in place of points in time that are now, and of names by chance: the same word for the same name. */
class Chance {
  readonly #names = new Map<string, string>()
  readonly #named: readonly (readonly [RegExp, string])[]

  constructor(volatileTags: boolean) {
    this.#named = [[NAMES, 'NAME'], [CURSORS, 'CURSOR'], ...(volatileTags ? [[TAGS, 'TAG'] as const] : [])]
  }

  settled(text: string): string {
    const timeless = text.replace(TIMES, (time) => (Math.abs(Date.parse(time) - Date.now()) < DAY ? 'NOW' : time))
    const nameless = this.#named.reduce(
      (left, [pattern, word]) => left.replace(pattern, (name) => this.#nameOf(name, word)),
      timeless,
    )
    return nameless.replace(SAVEPOINTS, 'trx').replace(OTHERS, '…')
  }

  #nameOf(name: string, word: string): string {
    const known = this.#names.get(name) ?? `${word}-${this.#names.size + 1}`
    this.#names.set(name, known)
    return known
  }
}

/** Holds what was recorded to the file of that name; `-u` writes it. */
export async function expectRecorded(folder: string, name: string, text: string | undefined): Promise<void> {
  await expect(text).toMatchFileSnapshot(join(FOLDER, folder, `${name}.txt`))
}

/** Files of a folder that nothing is recorded in. */
export function othersIn(folder: string, names: readonly string[]): string[] {
  const path = join(FOLDER, folder)
  const files = existsSync(path) ? readdirSync(path) : []
  return files.filter((file) => !names.includes(basename(file, '.txt')))
}
