/**
 * P11: who may do what. Every route of the atlas × every method × every kind of caller × every format suffix (in `npm test` none, and one in turn), against the
 * small model of the rules in support/access-rules.ts, which knows nothing of the library.
 */
import { rm } from 'node:fs/promises'
import http from 'node:http'
import Koa from 'koa'
import { APIRouter, ModelViewSet, NestedRouter } from 'koa-viewsets'
import { errors } from 'koa-viewsets/plugins'
import { any, type Condition, type RuleCaller, readable, rule } from 'koa-viewsets/rules'
import { type TestedDocument, validateResponse } from 'koa-viewsets/testing'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { type Atlas, createAtlas } from '../../examples/atlas/atlas.js'
import { Entry, EntryViewSet, List, ListViewSet } from '../../examples/atlas/lists.js'
import { expectRules } from '../support/client.js'
import { createDatabase, type TestDatabase } from '../support/database.js'
import { MULTIPART } from '../support/multipart.js'
import { readProjectFile } from '../support/program.js'
import { serve, type TestRequest, type TestServer } from '../support/server.js'
import {
  ACTORS,
  type Actor,
  bodyOf,
  type Case,
  detailOf,
  expectationOf,
  headersOf,
  KNOWN,
  METHODS,
  NOBODY,
  OWNERS,
  PREFIX,
  ROWS,
  RULES,
  type Rules,
  SAFE,
  SUFFIXES,
  type Suffix,
  type Target,
  WATCH,
} from './support/access-rules.js'
import { isLong, report } from './support/size.js'

/** Photos are kept below it. */
const cache = vi.hoisted(() => {
  const { mkdtempSync } = process.getBuiltinModule('node:fs')
  process.env['XDG_CACHE_HOME'] = mkdtempSync('/tmp/kv-access-')
  return process.env['XDG_CACHE_HOME']
})

// The run.

const CHALLENGES = 'Token realm="api", ApiKey realm="api"'
const BUDGET = 120
/** Fewer at once than a caller may have exports open. */
const agent = new http.Agent({ keepAlive: true, maxSockets: 4 })
const ids = new Map<string, string>()
let database: TestDatabase
let atlas: Atlas
/** What is asked: the atlas, or its lists by rules. */
interface Asked {
  readonly server: TestServer
  readonly document: TestedDocument
  /** Fields of a list that not everybody is shown, and who is. */
  readonly fields?: Readonly<Record<string, readonly Actor[]>>
}
let asked: Asked
let total = 0
let turns = 0
let described = 0

beforeAll(async () => {
  database = await createDatabase({ schema: readProjectFile('examples/atlas/schema.sql') })
  // streams end, for their answers to be read
  Object.assign(ListViewSet, { changeStream: { seconds: 0.05 } })
  atlas = await createAtlas(database.knex)
  const server = await serve(atlas.app)
  asked = { server, document: atlas.api.getSchema() }
  await database.knex.raw(WATCH)
  await database.knex.raw(ROWS)
  await database.knex('lists').update({ deleted_at: null })
  const { json } = await asked.server.send({ path: `${PREFIX}/lists`, headers: headersOf('staff') })
  for (const { id, title } of json.results as { id: string; title: string }[]) ids.set(`<${title}>`, id)
  await database.knex.raw(ROWS)
})
afterAll(async () => {
  agent.destroy()
  await asked.server.close()
  await atlas.api.close()
  await database.drop()
  await rm(cache, { recursive: true })
})

function requestOf(one: Case): TestRequest {
  const { target, method, actor, suffix } = one
  const path = PREFIX + target.path.replace(/<\w+>/, (name) => ids.get(name) ?? 'unknown') + suffix
  const body = bodyOf(one)
  const request = { method, path, agent }
  const headers = headersOf(actor)
  if (body === undefined) return { ...request, headers }
  if (Buffer.isBuffer(body)) return { ...request, headers: { ...headers, ...MULTIPART }, body }
  return { ...request, headers: { ...headers, 'Content-Type': 'application/json' }, body: JSON.stringify(body) }
}

/** What is wrong with the answer. */
async function deviationsOf(one: Case): Promise<readonly string[]> {
  const { target, method, actor, suffix } = one
  total += 1
  const request = requestOf(one)
  const answer = await asked.server.send(request)
  const { status, rules } = expectationOf(one)
  const found: string[] = []
  const check = (what: string, actual: unknown, expected: unknown) => {
    if (actual !== expected) found.push(`${what} ${JSON.stringify(actual)} in place of ${JSON.stringify(expected)}`)
  }
  check('status', answer.status, status)
  if (answer.status >= 400) {
    try {
      expectRules(answer, method)
      if (method !== 'HEAD') expect(answer.json.detail).toEqual(detailOf(status, one))
    } catch (error) {
      found.push((error as Error).message)
    }
    check('WWW-Authenticate', answer.headers['www-authenticate'], status === 401 ? CHALLENGES : undefined)
    check('Allow', answer.headers.allow, status === 405 && rules ? allowOf(rules) : undefined)
    check('Retry-After', answer.headers['retry-after'] !== undefined, status === 429)
  } else {
    // what one caller is shown is not for the next one
    const isPrivate = rules?.knowsCallers && KNOWN.includes(actor)
    const isOnce = rules?.answersOnce && (method === 'GET' || method === 'HEAD') && ['', '.json'].includes(suffix)
    check('Cache-Control', answer.headers['cache-control'], isPrivate || isOnce ? 'no-store' : undefined)
    if (method === 'OPTIONS' && rules) check('Allow', answer.headers.allow, allowOf(rules))
    const isObject =
      asked.fields &&
      one.rules.bodies &&
      target.path.match(/^\/lists\/[^/]+$/) &&
      ['GET', 'PUT', 'PATCH'].includes(method)
    if (isObject && !Array.isArray(answer.json)) {
      for (const [name, readers] of Object.entries(asked.fields ?? {})) {
        check(`${name} is shown:`, Object.hasOwn(answer.json as object, name), readers.includes(actor))
      }
    }
  }
  if (method === 'HEAD' || answer.status === 204) check('body', answer.text, '')
  // P12; a path with another suffix is in no document
  if (one.rules.suffixes.includes(suffix)) {
    described += 1
    const { headers, text, json } = answer
    const exchanged = { method, path: request.path ?? '', status: answer.status, headers, body: json ?? text }
    found.push(...validateResponse(asked.document, exchanged))
  }
  return found.map((text) => `${actor}: ${method} ${target.path}${suffix} (${target.what}): ${text}`)
}

/** Asks for a target in every way. What writes nothing goes side by side, and what writes one by one, from the same rows. */
async function deviationsOn(rules: Rules, target: Target): Promise<readonly string[]> {
  const cases = casesOf(rules, target)
  if (target.path.startsWith('/city-search')) await setThrottle(target.exhausted ? BUDGET : 0)
  const quiet = await Promise.all(cases.filter((one) => !isWriting(one)).map(deviationsOf))
  const found = quiet.flat()
  for (const name of await restore()) found.push(`${target.path} (${target.what}): ${name} by who reads or is refused`)
  for (const one of cases.filter(isWriting)) {
    found.push(...(await deviationsOf(one)))
    if ((await restore()).length === 0) found.push(`${one.actor}: ${one.method} ${target.path} wrote nothing`)
  }
  return found
}

/** Whether the request is to change rows. */
function isWriting(one: Case): boolean {
  return !SAFE.includes(one.method) && expectationOf(one).status < 400
}

function allowOf({ methods }: Rules): string {
  return [...Object.keys(methods), ...('GET' in methods ? ['HEAD'] : []), 'OPTIONS'].join(', ')
}

/** Says what was written, and brings the rows back. */
async function restore(): Promise<readonly string[]> {
  const written = await database.knex('written').pluck<string[]>('name')
  if (written.length > 0) await database.knex.raw(ROWS)
  return written
}

/** How often the caller, whom city-search knows by the address, has searched in this minute. */
async function setThrottle(points: number): Promise<void> {
  const key = 'throttle:5:scope,11:city-search,6:120/60,2:ip,9:127.0.0.1,'
  await database.knex.raw(
    `insert into koa_viewsets_throttles (key, points, expire)
      values (?, ?, (extract(epoch from clock_timestamp()) * 1000)::bigint + 30000)
      on conflict (key) do update set points = excluded.points, expire = excluded.expire`,
    [key, points],
  )
}

/** In the short run no suffix, and of the others each in its turn. */
function casesOf(rules: Rules, target: Target): readonly Case[] {
  const [plain, ...others] = SUFFIXES
  return METHODS.flatMap((method) =>
    ACTORS.flatMap((actor) => {
      const suffixes = isLong ? SUFFIXES : [plain, others[turns++ % others.length] as Suffix]
      return suffixes.map((suffix) => ({ rules, target, method, actor, suffix }))
    }),
  )
}

/** The atlas's lists, whose querysets narrow nothing: rules do. */
function ruledLists(): APIRouter {
  const ofOwner = ({ user }: RuleCaller): Condition => user?.is_staff === true || { owner_id: user?.id }
  const rules = [
    rule(List, {
      read: (caller) => ({ and: [{ deleted_at: null }, { or: [{ visibility: 'public' }, ofOwner(caller)] }] }),
      update: ofOwner,
      // by code of the application, which marks it
      delete: ofOwner,
      fields: { notes: { read: ofOwner } },
    }),
    rule(Entry, { read: any('list', readable) }),
  ]
  class RuledListViewSet extends ListViewSet {
    override getQueryset() {
      return ModelViewSet.prototype.getQueryset.call(this) as never
    }
  }
  const api = new APIRouter({ prefix: PREFIX, rules }).register('lists', RuledListViewSet)
  new NestedRouter(api, 'lists', { lookup: 'list_id' }).register('entries', EntryViewSet, 'entry')
  return api
}

describe('[P11] the access matrix', () => {
  it('has rules for every route, and no others', () => {
    const routes = atlas.api.getUrls().map(([method, pattern]) => `${method} ${pattern}`)
    const ruled = Object.entries(RULES).flatMap(([pattern, { methods }]) =>
      Object.keys(methods).map((method) => `${method} ${PREFIX}${pattern}`),
    )
    expect(ruled.sort()).toEqual([...routes].sort())
  })

  it.each(Object.entries(RULES))(`[E1 E2 E7 E9 E10 E11 E13 E20 E21] hold on ${PREFIX}%s`, async (_pattern, rules) => {
    const deviations: string[] = []
    for (const target of rules.targets) if (!target.exhausted) deviations.push(...(await deviationsOn(rules, target)))
    expect(deviations).toEqual([])
  })

  it('hold where rules say who sees the lists, and their notes, in place of a queryset', async () => {
    const api = ruledLists()
    await api.prepare()
    const atlasAsked = asked
    const before = [total, described] as const
    const server = await serve(new Koa().use(errors()).use(api.routes()))
    asked = { server, document: api.getSchema(), fields: { notes: OWNERS } }
    const deviations: string[] = []
    const lists = Object.entries(RULES).filter(([pattern]) => pattern.startsWith('/lists'))
    for (const [, rules] of lists) {
      for (const target of rules.targets) deviations.push(...(await deviationsOn(rules, target)))
    }
    report('P11 by rules', { requests: total - before[0] })
    await server.close()
    ;[total, described] = before
    asked = atlasAsked
    expect(lists).toHaveLength(8)
    expect(deviations).toEqual([])
  })

  // last, because a process remembers who has asked too often
  it('[E16 E20] stops who has asked too often, whatever the method', async () => {
    const deviations: string[] = []
    for (const rules of Object.values(RULES)) {
      for (const target of rules.targets) if (target.exhausted) deviations.push(...(await deviationsOn(rules, target)))
    }
    expect(deviations).toEqual([])
  })

  it('[P12] was asked in full, and answered as the document says', () => {
    const targets = Object.values(RULES).flatMap((rules) => rules.targets)
    report('P11 access', { requests: total, 'of them in the document': described })
    expect(total).toBe(targets.length * METHODS.length * ACTORS.length * (isLong ? SUFFIXES.length : 2))
  })

  it('reports a rule that does not hold', async () => {
    const rules = RULES['/photos/{id:int}'] as Rules
    const tooOpen = { ...(rules.targets[0] as Target), writtenBy: KNOWN }
    const deviations = await deviationsOn(rules, tooOpen)
    expect(deviations).toContain("bob: DELETE /photos/1 (Alice's): status 403 in place of 204")
    expect(deviations).toContain('bob: DELETE /photos/1 wrote nothing')
    const tooClosed = { ...tooOpen, writtenBy: NOBODY }
    expect(await deviationsOn(rules, tooClosed)).toContain(
      "/photos/1 (Alice's): DELETE photos by who reads or is refused",
    )
  })
})
