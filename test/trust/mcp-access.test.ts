/**
 * P17: tools for agents answer as the API does. Every operation of the atlas × every caller, as a request and as a call of
 * its tool, each from the same rows; and who is shown which tools, against the rules of support/access-rules.ts.
 */
import { rm } from 'node:fs/promises'
import http from 'node:http'
import type Koa from 'koa'
import { mcp } from 'koa-viewsets/mcp'
import type { TestedDocument } from 'koa-viewsets/testing'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { type Atlas, createAtlas } from '../../examples/atlas/atlas.js'
import type { Revision } from '../support/agent.js'
import { createDatabase, type TestDatabase } from '../support/database.js'
import { koaBody } from '../support/installed.js'
import { operationOf } from '../support/operation-of.js'
import { readProjectFile } from '../support/program.js'
import { serve, type TestResponse, type TestServer } from '../support/server.js'
import {
  ACTORS,
  type Actor,
  bodyOf,
  headersOf,
  KNOWN,
  type Method,
  PREFIX,
  ROWS,
  RULES,
  type Rules,
  SAFE,
  TABLES,
  type Target,
  WATCH,
} from './support/access-rules.js'
import { agentMessage } from './support/agent-messages.js'
import { isLong, report } from './support/size.js'

/** Photos are kept below it. */
const cache = vi.hoisted(() => {
  const { mkdtempSync } = process.getBuiltinModule('node:fs')
  process.env['XDG_CACHE_HOME'] = mkdtempSync('/tmp/kv-mcp-access-')
  return process.env['XDG_CACHE_HOME']
})

/** All that the atlas has. */
const TOOLS = [
  ...['countries:*', 'countries/cities:*', 'cities:*', 'cities-native:*', 'city-feed:*', 'city-export:*'],
  ...['city-search:*', 'lists:*', 'lists/entries:*', 'photos:*'],
]
const SHAPES = ['action', 'resource'] as const
type Shape = (typeof SHAPES)[number]
const PATHS: Record<Shape, string> = { action: '/agents/actions', resource: '/agents/resources' }

/** How tools are asked. */
interface Way {
  readonly shape: Shape
  readonly revision: Revision
}
const ALL_WAYS: readonly Way[] = [
  { shape: 'action', revision: '2026-07-28' },
  { shape: 'resource', revision: '2025-11-25' },
  { shape: 'action', revision: '2025-11-25' },
  { shape: 'resource', revision: '2026-07-28' },
]
/** The short run has each shape and each revision once. */
const WAYS = isLong ? ALL_WAYS : ALL_WAYS.slice(0, 2)
const nameOf = ({ shape, revision }: Way) => `${shape} of ${revision}`

/** Ids begin at the same number each time, and rows at the same time. */
const SAME = [
  ...TABLES.map((table) => `select setval(pg_get_serial_sequence('${table}', 'id'), 1000, false)`),
  'delete from written',
].join(';')
const SAME_TIME = [
  ...['cities', 'lists'].flatMap((table) => [
    `alter table ${table} alter created_at set default '2026-01-02T03:04:05.678901Z'`,
    `alter table ${table} alter updated_at set default '2026-01-02T03:04:05.678901Z'`,
  ]),
  `alter table photos alter created_at set default '2026-01-02T03:04:05.678901Z'`,
].join(';')
const EVERYTHING = `select json_build_object(${TABLES.map(
  (table) => `'${table}', (select json_agg(r order by r.id) from ${table} r)`,
).join(', ')})::text as rows`

const BUDGET = 120
/** A connection for each: none that a slow machine has kept too long. */
const connections = new http.Agent({ keepAlive: false })
const ids = new Map<string, string>()
let database: TestDatabase
let atlas: Atlas
let server: TestServer
let document: TestedDocument
let asked = 0
let compared = 0

beforeAll(async () => {
  database = await createDatabase({ schema: readProjectFile('examples/atlas/schema.sql') })
  atlas = await createAtlas(database.knex)
  for (const shape of SHAPES) atlas.app.use(mcp(atlas.api, { tools: TOOLS, shape, path: PATHS[shape] }))
  // it stands before all else, and reads what there is of a message
  atlas.app.middleware.unshift(readEverything)
  server = await serve(atlas.app)
  document = atlas.api.getSchema()
  await database.knex.raw(WATCH)
  await database.knex.raw(SAME_TIME)
  await database.knex.raw(ROWS)
  await database.knex('lists').update({ deleted_at: null })
  const { json } = await server.send({ path: `${PREFIX}/lists`, headers: headersOf('staff') })
  for (const { id, title } of json.results as { id: string; title: string }[]) ids.set(`<${title}>`, id)
  await database.knex.raw(ROWS)
  // what is written now says so: both of a pair are written at the same time
  vi.useFakeTimers({ toFake: ['Date'] })
})
afterAll(async () => {
  vi.useRealTimers()
  connections.destroy()
  await server.close()
  await atlas.api.close()
  await database.drop()
  await rm(cache, { recursive: true })
})

/** Whatever Koa remembers of a request, and its body: what a call asks is another one. */
async function readEverything(ctx: Koa.Context, next: Koa.Next): Promise<void> {
  if (!ctx.path.startsWith('/agents/')) return next()
  const { query, URL, host, ip, ips, fresh, type, charset, length, subdomains, querystring, origin, href, protocol } =
    ctx
  const read = [
    query,
    URL,
    host,
    ip,
    ips,
    fresh,
    type,
    charset,
    length,
    subdomains,
    querystring,
    origin,
    href,
    protocol,
  ]
  ctx.state['read'] = [...read, ctx.accepts('json'), ctx.acceptsEncodings(), ctx.cookies.get('atlas'), ctx.is('json')]
  await parse(ctx, next)
}
const parse = koaBody()

// What is asked.

/** What may be a tool: an operation of the document that takes JSON or nothing. */
interface Operation {
  readonly id: string
  /** That of its resource, as the name of a tool. */
  readonly basename: string
  readonly pattern: string
  readonly method: Method
  readonly rules: Rules
  /** It takes the tag of a state. */
  readonly takesTag: boolean
}

interface Described {
  readonly operationId: string
  readonly tags: readonly [string]
  readonly requestBody?: { readonly content: Readonly<Record<string, unknown>> }
  readonly responses: Readonly<Record<string, { readonly content?: Readonly<Record<string, unknown>> }>>
}

function operations(): readonly Operation[] {
  const paths = document.paths as unknown as Readonly<Record<string, Readonly<Record<string, Described>>>>
  return Object.entries(RULES).flatMap(([pattern, rules]) => {
    // what the path says of everything is no resource
    if (pattern === '') return []
    const methods = paths[PREFIX + pattern.replaceAll(/:\w+\}/g, '}')]
    return (Object.keys(rules.methods) as Method[]).flatMap((method): Operation[] => {
      const described = methods?.[method.toLowerCase()]
      if (!described) throw new Error(`the document has no ${method} ${pattern}`)
      const { operationId: id, tags, requestBody, responses } = described
      // a stream stays open
      if ('text/event-stream' in (responses['200']?.content ?? {})) return []
      const path = PREFIX + pattern.replaceAll(/:\w+\}/g, '}')
      const { parameters = [] } = operationOf(document as never, path, method.toLowerCase())
      if (requestBody !== undefined && !('application/json' in requestBody.content)) return []
      const basename = tags[0].replaceAll('-', '_')
      return [{ id, basename, pattern, method, rules, takesTag: parameters.some(({ name }) => name === 'If-Match') }]
    })
  })
}

/** The arguments that say what the path of a target says. */
function argumentsOf({ pattern }: Operation, path: string): Record<string, unknown> {
  const given = path.split('/')
  return Object.fromEntries(
    pattern.split('/').flatMap((segment, index): [string, unknown][] => {
      const [, name = '', hint] = /^\{(\w+)(?::(int))?\}$/.exec(segment) ?? []
      const text = given[index] ?? ''
      return name === '' ? [] : [[name, hint === 'int' ? Number(text) : text]]
    }),
  )
}

/** How an operation is called. */
interface Call {
  readonly name: string
  readonly fixed: Readonly<Record<string, unknown>>
}

function callOf({ id, basename }: Operation, { shape }: Way): Call {
  if (shape === 'action') return { name: id, fixed: {} }
  const prefix = `${basename}_`
  return { name: basename, fixed: { action: id.slice(id.indexOf(prefix) + prefix.length) } }
}

/** The calls that a caller is shown, as texts. */
async function shownTo(actor: Actor, way: Way): Promise<readonly string[]> {
  const { json } = await ask(way, 'tools/list', {}, actor)
  const tools = json.result.tools as readonly ShownTool[]
  const calls = tools.flatMap(({ name, inputSchema }): Call[] => {
    const { action } = inputSchema.properties
    if (way.shape === 'action') return [{ name, fixed: {} }]
    return (action?.enum ?? []).map((one) => ({ name, fixed: { action: one } }))
  })
  return calls.map((call) => JSON.stringify(call)).sort()
}

const asTexts = (all: readonly Operation[], way: Way) => all.map((one) => JSON.stringify(callOf(one, way))).sort()

interface ShownTool {
  readonly name: string
  readonly inputSchema: { readonly properties: { readonly action?: { readonly enum: readonly string[] } } }
}

async function ask({ shape, revision }: Way, method: string, params: Record<string, unknown>, actor: Actor) {
  asked += 1
  const message = agentMessage(revision, method, { params, headers: headersOf(actor) })
  return server.send({ method: 'POST', path: PATHS[shape], agent: connections, ...message })
}

// The pairs.

interface Pair {
  readonly operation: Operation
  readonly target: Target
  readonly actor: Actor
}

/** What came of a request, and what it has left in the tables. */
interface Outcome {
  readonly answer: TestResponse
  readonly written: readonly string[]
  readonly rows: string | undefined
}

async function outcomeOf({ path, exhausted }: Target, request: () => Promise<TestResponse>): Promise<Outcome> {
  await database.knex.raw(SAME)
  // each time, as the seconds to wait stand in the answer
  if (path.startsWith('/city-search')) await setThrottle(exhausted ? BUDGET : 0)
  const answer = await request()
  const written = await database.knex('written').pluck<string[]>('name')
  if (written.length === 0) return { answer, written, rows: undefined }
  const { rows } = (await database.knex.raw(EVERYTHING)) as { rows: { rows: string }[] }
  await database.knex.raw(ROWS)
  return { answer, written, rows: rows[0]?.rows }
}

function byHttp({ operation, target, actor }: Pair, path: string): Promise<TestResponse> {
  asked += 1
  const { method, rules } = operation
  const body = bodyOf({ rules, target, method })
  const headers = { Accept: 'application/json', ...headersOf(actor) }
  if (body === undefined) return server.send({ method, path: PREFIX + path, headers, agent: connections })
  const typed = { ...headers, 'Content-Type': 'application/json' }
  return server.send({ method, path: PREFIX + path, headers: typed, agent: connections, body: JSON.stringify(body) })
}

/** What differs between a request and the call of its tool; by another caller there is much. */
async function differencesOf(pair: Pair, ways: readonly Way[], agent = pair.actor): Promise<string[]> {
  const { operation, target, actor } = pair
  const path = target.path.replace(/<\w+>/, (name) => ids.get(name) ?? 'unknown')
  const http = await outcomeOf(target, () => byHttp(pair, path))
  const found: string[] = []
  for (const way of ways) {
    compared += 1
    const call = callOf(operation, way)
    const body = bodyOf({ ...operation, target })
    const given = { ...call.fixed, ...argumentsOf(operation, path), ...(body !== undefined && { body }) }
    const tool = await outcomeOf(target, () => ask(way, 'tools/call', { name: call.name, arguments: given }, agent))
    const check = (what: string, actual: unknown, expected: unknown) => {
      const [one, other] = [JSON.stringify([actual]), JSON.stringify([expected])]
      if (one === other) return
      const at = Math.max(0, [...one].findIndex((sign, index) => sign !== other[index]) - 20)
      const [got, due] = [one.slice(at, at + 200), other.slice(at, at + 200)]
      found.push(`${actor}: ${operation.id} of ${target.what}, ${nameOf(way)}: ${what} …${got} in place of …${due}`)
    }
    check('status', tool.answer.status, 200)
    const [shown, due] = [shownBy(tool.answer), expectedOf(http.answer, operation, way)]
    // a second may end between the two
    check('result', Number(due.second) - Number(shown.second) === 1 ? waitingOf(shown, due.second) : shown, due)
    check('written', tool.written, http.written)
    check('rows', tool.rows, http.rows)
  }
  return found
}

/** Of a result what is to be the same, in the order of `expectedOf()`. */
function shownBy({ json }: TestResponse) {
  const { content = [], structuredContent = null, isError } = json.result ?? {}
  const texts = (content as { type: string; text: string }[]).map(({ type, text }) =>
    type === 'text' ? text : `is ${type}`,
  )
  const [first = '', second = ''] = texts
  return { isError, first, second: isError ? withoutAdvice(second) : second, more: texts.slice(2), structuredContent }
}

/** The same, of who is to wait for so many seconds. */
function waitingOf(shown: ReturnType<typeof shownBy>, seconds: string): ReturnType<typeof shownBy> {
  return {
    ...shown,
    first: shown.first.replace(`after ${shown.second} seconds`, `after ${seconds} seconds`),
    second: seconds,
  }
}

/** Advice is ours, but for the seconds in it. */
const withoutAdvice = (text: string) => /^Call again in (\d+) seconds/.exec(text)?.[1] ?? ''

/** What the tool is to show where this was answered. */
function expectedOf({ status, headers, text, json }: TestResponse, operation: Operation, { revision }: Way) {
  if (status >= 400) {
    const wait = status === 429 || status === 503 ? headers['retry-after'] : undefined
    return { isError: true, first: text, second: wait ?? '', more: [], structuredContent: null }
  }
  const tag = operation.method === 'GET' || operation.takesTag ? headers.etag : undefined
  const isShown = tag !== undefined && !tag.startsWith('W/')
  const isTaken = revision === '2026-07-28' || !Array.isArray(json)
  return {
    isError: false,
    first: status === 204 ? 'Done.' : text,
    second: isShown ? `ETag, for if_match: ${tag}` : '',
    more: [],
    structuredContent: isTaken ? (json ?? null) : null,
  }
}

/** How often the caller, whom city-search knows by the address, has searched in this minute. */
async function setThrottle(points: number): Promise<void> {
  const key = 'throttle:5:scope,11:city-search,6:120/60,2:ip,9:127.0.0.1,'
  await database.knex.raw(
    `insert into koa_viewsets_throttles (key, points, expire) values (?, ?, ?)
      on conflict (key) do update set points = excluded.points, expire = excluded.expire`,
    [key, points, Date.now() + 30_000],
  )
}

/** Who is shown an operation: whom its permissions do not refuse before there is an object. */
function isShownTo(actor: Actor, { rules, method }: Operation): boolean {
  return !rules.knowsCallers || KNOWN.includes(actor) || (actor === 'anonymous' && SAFE.includes(method))
}

describe('[P17] tools for agents', () => {
  it('[J1] are all operations that take JSON, and nothing else', async () => {
    const all = operations()
    for (const way of WAYS) expect(await shownTo('staff', way)).toEqual(asTexts(all, way))
    expect(all.length).toBeGreaterThan(30)
  })

  it.each(ACTORS)('[J2] are shown to %s where the permissions do not refuse the caller', async (actor) => {
    if (actor === 'forged') {
      for (const way of WAYS) {
        const { status, json } = await ask(way, 'tools/list', {}, actor)
        expect([status, json.error.code]).toEqual([401, 401])
      }
      return
    }
    const expected = operations().filter((operation) => isShownTo(actor, operation))
    for (const way of WAYS) expect(await shownTo(actor, way)).toEqual(asTexts(expected, way))
  })

  it.each(Object.keys(RULES).filter((pattern) => pattern !== '' && !pattern.endsWith('/changes')))(
    `[J1 E1 E2 E7 E9 E10 E11 E13] answer as ${PREFIX}%s does`,
    { timeout: 120_000 },
    async (pattern) => {
      const found: string[] = []
      let pairs = 0
      for (const operation of operations().filter((one) => one.pattern === pattern)) {
        for (const target of operation.rules.targets) {
          for (const actor of ACTORS) {
            // in the short run the ways take turns, each with every other caller
            const ways = isLong ? WAYS : WAYS.slice(pairs % WAYS.length).slice(0, 1)
            found.push(...(await differencesOf({ operation, target, actor }, ways)))
            pairs += 1
          }
        }
      }
      expect(found).toEqual([])
      expect(pairs).toBeGreaterThan(0)
    },
  )

  it('were compared in full', () => {
    const pairs = operations().reduce((sum, { rules }) => sum + rules.targets.length * ACTORS.length, 0)
    report('P17 access', { pairs: compared, requests: asked })
    expect(compared).toBe(pairs * (isLong ? WAYS.length : 1))
  })

  it('would be found to differ', async () => {
    const operation = operations().find(({ id }) => id === 'lists_entry_destroy' || id === 'entry_destroy') as Operation
    const [target] = operation.rules.targets as readonly [Target]
    const found = await differencesOf({ operation, target, actor: 'bob' }, WAYS, 'alice')
    const [first] = WAYS.map(nameOf)
    const told = found.filter((text) => text.includes(`${first}: `)).map((text) => /: (\w+) …/.exec(text)?.[1])
    expect(told).toEqual(['result', 'written', 'rows'])
  })
})
