import { once } from 'node:events'
import http from 'node:http'
import { setImmediate } from 'node:timers/promises'
import type Koa from 'koa'
import { Model } from 'objection'
import { afterAll, afterEach, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import {
  APIRouter,
  BaseFilter,
  CSVRenderer,
  cleanupExpiredServerCursors,
  configure,
  JSONRenderer,
  ModelSerializer,
  NDJSONRenderer,
  NestedSerializer,
  ReadOnlyModelViewSet,
  type Renderers,
  SerializerMethodField,
  ServerCursorPagination,
  type ServerCursorPaginationOptions,
} from '../../lib/index.js'
import type { AnyQueryBuilder } from '../../lib/models/objection.js'
import { type Rules, rule } from '../../lib/rules/index.js'
import { type Client, serving } from '../support/client.js'
import { createDatabase, type TestDatabase } from '../support/database.js'
import type { TestResponse } from '../support/server.js'
import { size } from '../trust/support/size.js'

const ROWS = 1000
const SCHEMA = `
  create table countries (id int primary key, name text not null);
  create table cities (
    id int primary key, name text not null, country_id int not null references countries, at timestamptz not null
  );
  insert into countries select n, 'country ' || n from generate_series(1, 7) n;
  insert into cities select n, 'city ' || n, n % 7 + 1, '2026-01-02T03:04:05.123456Z'::timestamptz
    from generate_series(1, ${ROWS}) n;
  create function gate(city int) returns boolean language plpgsql volatile cost 100000 as $$ begin
    if city = 3 then perform pg_advisory_xact_lock_shared(22); end if;
    return true;
  end $$;
`

class Country extends Model {
  static override tableName = 'countries'
}
class City extends Model {
  static override tableName = 'cities'
  declare id: number
  static override relationMappings = () => ({
    country: {
      relation: Model.BelongsToOneRelation,
      modelClass: Country,
      join: { from: 'cities.country_id', to: 'countries.id' },
    },
  })
}
class CountrySerializer extends ModelSerializer {
  static override model = Country
  static override fields = ['id', 'name']
}
class CitySerializer extends ModelSerializer {
  static override model = City
  static override fields = ['id', 'name', 'country', 'at']
  static override declaredFields = { country: new NestedSerializer(CountrySerializer, { readOnly: true }) }
}
/** Needs model instances. */
class LabelledSerializer extends ModelSerializer {
  static override model = City
  static override fields = ['id', 'name', 'country', 'at', 'label']
  static override declaredFields = {
    country: new NestedSerializer(CountrySerializer, { readOnly: true }),
    label: new SerializerMethodField(),
  }
  getLabel(city: City) {
    return `#${city.id}`
  }
}
class ByCountry extends BaseFilter {
  override filterQueryset(...[query, ctx]: Parameters<BaseFilter['filterQueryset']>): AnyQueryBuilder {
    const value = [ctx.query['country'] ?? []].flat().at(-1)
    return value === undefined ? query : query.where('country_id', value)
  }
  override parameters() {
    return [{ name: 'country', description: '', schema: {} }]
  }
}
/** Reading city 3 waits for whoever holds the lock of the gate. */
class Gated extends BaseFilter {
  override filterQueryset(...[query, ctx]: Parameters<BaseFilter['filterQueryset']>): AnyQueryBuilder {
    return ctx.query['gated'] === undefined ? query : query.whereRaw('gate(cities.id)')
  }
  override parameters() {
    return [{ name: 'gated', description: '', schema: {} }]
  }
}

let database: TestDatabase
let clock = 0
const open: { client: Client; api: APIRouter }[] = []

beforeAll(async () => {
  configure({ secretKey: '0123456789abcdef0123456789abcdef' })
  database = await createDatabase({ schema: SCHEMA })
  for (const model of [Country, City]) model.knex(database.knex)
})
afterEach(async () => {
  for (const { client, api } of open.splice(0)) {
    await api.close()
    await client.close()
  }
  expect(await transactions()).toBe(0)
  expect(used()).toBe(0)
})
afterAll(() => database.drop())

interface ViewOptions extends ServerCursorPaginationOptions {
  instances?: boolean
  basename?: string
  renderers?: Renderers
  rules?: Rules
  app?: (app: Koa) => void
}

/** An API with the exports of two views, and the user named by a header. */
async function exportsOf({
  instances = false,
  basename = 'export',
  renderers = [JSONRenderer],
  rules = [],
  app,
  ...options
}: ViewOptions = {}): Promise<Client> {
  class Exports extends ReadOnlyModelViewSet {
    static override model = City
    static override serializerClass = instances ? LabelledSerializer : CitySerializer
    static override filterBackends = [ByCountry, Gated]
    static override rendererClasses = renderers
    static override paginationClass = new ServerCursorPagination({ now: () => clock, ...options })
  }
  class OtherExports extends Exports {}
  class Plain extends ReadOnlyModelViewSet {
    static override model = City
    static override serializerClass = CitySerializer
  }
  const api = new APIRouter({ prefix: '/api', rules })
    .register('exports', Exports, basename)
    .register('others', OtherExports, 'other')
    .register('cities', Plain, 'city')
  const client = await serving(async (ctx, next) => {
    const id = ctx.get('X-User')
    if (id !== '') ctx.state['user'] = { id }
    await next()
  }, api.routes())
  app?.(client.app)
  open.push({ client, api })
  return client
}

const as = (user: string) => ({ 'X-User': user })

/** Transactions that wait for their client. */
async function transactions(): Promise<number> {
  const { rows } = await database.knex.raw(
    `select count(*)::int as count from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'`,
  )
  return rows[0].count
}

/** Connections that are taken from the pool. */
function used(): number {
  return (database.knex.client as { pool: { numUsed(): number } }).pool.numUsed()
}

function idsOf(response: TestResponse): number[] {
  return response.json.results.map(({ id }: { id: number }) => id)
}

function next(client: Client, id: string, headers: http.OutgoingHttpHeaders = {}) {
  return client.get(`/api/exports?server_cursor=${encodeURIComponent(id)}`, headers)
}

/** Whoever reads city 3 of a gated list waits until it is opened. */
async function closeGate() {
  const holder = await database.knex.transaction()
  onTestFinished(async () => {
    if (!holder.isCompleted()) await holder.rollback()
  })
  await holder.raw('select pg_advisory_xact_lock(22)')
  const waiting = `select 1 from pg_locks where locktype = 'advisory' and not granted`
  return {
    open: async () => void (await holder.commit()),
    async waitedFor() {
      await expect.poll(async () => (await database.knex.raw(waiting)).rows.length).toBe(1)
    },
  }
}

const NOT_FOUND = '{"detail":"Cursor not found","status":404}'

describe.each([
  ['rows', false],
  ['instances', true],
])('a server cursor over %s', (_name, instances) => {
  it('[D21] reads all rows in pages, and ends with the page that is not full', async () => {
    const client = await exportsOf({ instances, pageSize: 300 })
    let page = await client.get('/api/exports')
    expect(page.text).toMatch(/^\{"cursor_id":"[\w-]{64}","results":\[\{"id":1,.*"exhausted":false\}$/)
    expect(page.json.results[6]).toEqual({
      id: 7,
      name: 'city 7',
      country: { id: 1, name: 'country 1' },
      at: '2026-01-02T03:04:05.123456Z',
      ...(instances && { label: '#7' }),
    })
    const id = page.json.cursor_id
    const seen = idsOf(page)
    expect([used(), await transactions()]).toEqual([1, 1])
    while (!page.json.exhausted) {
      expect(page.json.cursor_id).toBe(id)
      page = await next(client, id)
      seen.push(...idsOf(page))
    }
    expect(page.json.cursor_id).toBeNull()
    expect(page.json.results).toHaveLength(100)
    expect(seen).toEqual(Array.from({ length: ROWS }, (_, index) => index + 1))
    expect([used(), await transactions()]).toEqual([0, 0])
    expect((await next(client, id)).text).toBe(NOT_FOUND)
  })

  it('shows the list as it was when the cursor was opened, related objects included', async () => {
    const client = await exportsOf({ instances, pageSize: 500 })
    const { cursor_id } = (await client.get('/api/exports')).json
    await database.knex('countries').where('id', 1).update({ name: 'renamed' })
    await database.knex('cities').where('id', 1000).update({ name: 'renamed' })
    const { results } = (await next(client, cursor_id)).json
    expect(results.at(-1).name).toBe('city 1000')
    expect(results.find((city: { country: { id: number } }) => city.country.id === 1).country.name).toBe('country 1')
    await database.knex('countries').where('id', 1).update({ name: 'country 1' })
    await database.knex('cities').where('id', 1000).update({ name: 'city 1000' })
    // a list of a whole number of pages ends with an empty one
    const last = await next(client, cursor_id)
    expect(last.text).toBe('{"cursor_id":null,"results":[],"exhausted":true}')
  })

  it('[D19] is gone when its backend was killed; one slot is free again, and no more', async () => {
    const client = await exportsOf({ instances, pageSize: 10, maxTotal: 9 })
    const ids: string[] = []
    for (let index = 0; index < 5; index++) ids.push((await client.get('/api/exports', as('1'))).json.cursor_id)
    expect((await client.get('/api/exports', as('1'))).status).toBe(429)
    const { rows } = await database.knex.raw(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and state = 'idle in transaction' order by backend_start limit 1`,
    )
    expect(rows).toHaveLength(1)
    const answers = await Promise.all(ids.map((id) => next(client, id, as('1'))))
    expect(answers.map(({ status }) => status).toSorted((left, right) => left - right)).toEqual([
      200, 200, 200, 200, 404,
    ])
    expect((await client.get('/api/exports', as('1'))).status).toBe(200)
    expect((await client.get('/api/exports', as('1'))).status).toBe(429)
    expect(client.reported).toEqual([])
  })
})

describe('the caps', () => {
  it(`[D13] let 50 opens at once open exactly 5, in ${size(2, 20)} rounds`, async () => {
    for (let round = 0; round < size(2, 20); round++) {
      const client = await exportsOf({ pageSize: 10 })
      const opens = await Promise.all(Array.from({ length: 50 }, () => client.get('/api/exports', as('1'))))
      const refused = opens.filter(({ status }) => status === 429)
      expect(opens.filter(({ status }) => status === 200)).toHaveLength(5)
      expect(refused).toHaveLength(45)
      expect(refused[0]?.text).toBe('{"detail":"Maximum 5 concurrent server cursors per user","status":429}')
      expect(used()).toBe(5)
      const { client: served, api } = open.pop() as (typeof open)[number]
      await api.close()
      await served.close()
      expect([used(), await transactions()]).toEqual([0, 0])
    }
  })

  it('[D13] tell when the oldest cursor idles out', async () => {
    const client = await exportsOf({ pageSize: 10, maxPerUser: 2 })
    clock = 0
    const { cursor_id } = (await client.get('/api/exports', as('1'))).json
    clock = 100_000
    await client.get('/api/exports', as('1'))
    clock = 120_500
    expect((await client.get('/api/exports', as('1'))).headers['retry-after']).toBe('180')
    await next(client, cursor_id, as('1'))
    expect((await client.get('/api/exports', as('1'))).headers['retry-after']).toBe('280')
    expect((await client.get('/api/exports', as('2'))).status).toBe(200)
    // expired ones make room without waiting for the sweeper
    clock = 120_500 + 300_000
    expect((await client.get('/api/exports', as('1'))).status).toBe(200)
  })

  it('[D14] leave half the pool to other requests', async () => {
    const client = await exportsOf({ pageSize: 10 })
    const users = ['1', '2', '3', '4'].flatMap((user) => Array.from({ length: 5 }, () => user))
    const opens = await Promise.all(users.map((user) => client.get('/api/exports', as(user))))
    expect(opens.map(({ status }) => status).toSorted((left, right) => left - right)).toEqual([
      ...Array(5).fill(200),
      ...Array(15).fill(503),
    ])
    expect(used()).toBe(5)
    const others = await Promise.all(Array.from({ length: 20 }, (_, index) => client.get(`/api/cities/${index + 1}`)))
    expect(others.every(({ status }) => status === 200)).toBe(true)
    expect(opens.find(({ status }) => status === 503)?.headers['retry-after']).toBe('300')
  })

  it('[D14] count the cursors of all views over one pool', async () => {
    const one = await exportsOf({ pageSize: 10 })
    const two = await exportsOf({ pageSize: 10 })
    for (const user of ['1', '2', '3']) expect((await one.get('/api/exports', as(user))).status).toBe(200)
    const statuses = []
    for (const user of ['1', '2', '3']) statuses.push((await two.get('/api/exports', as(user))).status)
    expect(statuses).toEqual([200, 200, 503])
  })

  it('give back a slot when the list cannot be opened', async () => {
    const client = await exportsOf({ pageSize: 10, maxPerUser: 1 })
    for (let index = 0; index < 3; index++) {
      expect((await client.get('/api/exports?country=x', as('1'))).status).toBe(400)
    }
    expect([used(), await transactions()]).toEqual([0, 0])
    expect((await client.get('/api/exports', as('1'))).status).toBe(200)
  })
})

describe('a cursor that is not there', () => {
  it('[D15 D23] is the same answer, whatever the reason', async () => {
    const client = await exportsOf({ pageSize: 10, maxTotal: 9 })
    const elsewhere = await exportsOf({ pageSize: 10, maxTotal: 9 })
    const opened = async (of: Client, user = '1') => (await of.get('/api/exports', as(user))).json.cursor_id as string
    const id = await opened(client)
    const expired = await opened(client)
    const answers: [string, TestResponse][] = [
      ['forged', await next(client, `${id.startsWith('A') ? 'B' : 'A'}${id.slice(1)}`, as('1'))],
      ['foreign', await next(client, id, as('2'))],
      ['anonymous', await next(client, id)],
      ['held elsewhere', await next(elsewhere, id, as('1'))],
      ['another view', await client.get(`/api/others?server_cursor=${id}`, as('1'))],
      ['another query', await client.get(`/api/exports?country=2&server_cursor=${id}`, as('1'))],
      ['empty', await next(client, '', as('1'))],
      ['malformed', await next(client, `${id}=`, as('1'))],
      ['too long', await next(client, 'A'.repeat(10_000), as('1'))],
      ['a NUL', await next(client, '\0', as('1'))],
      ['a node', await next(client, `n1.${id}`, as('1'))],
    ]
    clock += 299_999
    expect((await next(client, id, as('1'))).status).toBe(200)
    clock += 1
    answers.push(['expired', await next(client, expired, as('1'))])
    clock += 299_999
    answers.push(['closed', await next(client, expired, as('1'))])
    const bytes = answers.map(([name, { status, text, headers }]) => {
      const { date: _, ...rest } = headers
      return [name, status, text, JSON.stringify(rest)]
    })
    for (const [name, ...rest] of bytes) expect([name, ...rest]).toEqual([name, 404, NOT_FOUND, bytes[0]?.[3]])
    expect((await next(client, id, as('1'))).status).toBe(404)
  })

  it.each<[string, (isStaff: () => boolean) => Rules]>([
    ['rows', (isStaff) => [rule(City, { read: () => isStaff() || { id__gt: Date.now() % 7 } })]],
    ['fields', (isStaff) => [rule(City, { fields: { at: { read: () => isStaff() } } })]],
    [
      'fields of rows',
      (isStaff) => [rule(City, { fields: { at: { read: () => ({ [isStaff() ? 'id__gt' : 'id__lt']: 0 }) } } })],
    ],
    ['related objects', (isStaff) => [rule(City, { read: true }), rule(Country, { read: () => isStaff() })]],
  ])('[D15] is no more where rules let its caller read other %s than before', async (_, make) => {
    let isStaff = true
    const client = await exportsOf({ pageSize: 10, rules: make(() => isStaff) })
    const opened = async () => (await client.get('/api/exports', as('1'))).json.cursor_id as string
    const id = await opened()
    expect((await next(client, id, as('1'))).status).toBe(200)
    isStaff = false
    expect((await next(client, id, as('1'))).status).toBe(404)
    const own = await opened()
    expect((await next(client, own, as('1'))).status).toBe(200)
  })

  it('[D16] belongs to the address Koa trusts, and is typed', async () => {
    const warnings: string[] = []
    const listener = (warning: Error) => warnings.push(warning.message)
    process.on('warning', listener)
    const client = await exportsOf({ pageSize: 10 })
    const { cursor_id } = (await client.get('/api/exports', { 'X-Forwarded-For': '203.0.113.7' })).json
    expect((await next(client, cursor_id, { 'X-Forwarded-For': '203.0.113.8' })).status).toBe(200)
    expect((await next(client, cursor_id, as('127.0.0.1'))).status).toBe(404)
    await setImmediate()
    expect(warnings.filter((text) => text.includes('app.proxy is not set'))).toHaveLength(1)
    const proxied = await exportsOf({ pageSize: 10, app: (app) => (app.proxy = true) })
    const opened = (await proxied.get('/api/exports', { 'X-Forwarded-For': '2001:db8:1:2::3' })).json.cursor_id
    expect((await next(proxied, opened, { 'X-Forwarded-For': '2001:db8:1:3::3' })).status).toBe(404)
    expect((await next(proxied, opened, { 'X-Forwarded-For': '2001:DB8:1:2:ffff::' })).status).toBe(200)
    await setImmediate()
    expect(warnings.filter((text) => text.includes('without app.maxIpsCount'))).toHaveLength(1)
    process.removeListener('warning', listener)
  })

  it('warns at prepare() where one caller may keep half of all cursors or more, with both numbers and the fix', async () => {
    const warnings: Error[] = []
    const listener = (warning: Error) => warnings.push(warning)
    process.on('warning', listener)
    const size = (database.knex.client as { pool: { max: number } }).pool.max
    expect(size).toBe(10)
    const prepared = async (options: ViewOptions) => (await exportsOf(options)).get('/api/cities/1')
    await prepared({})
    await prepared({ maxPerUser: 3 })
    await prepared({ maxPerUser: 4, maxTotal: 8 })
    await prepared({ maxPerUser: 1, maxTotal: 1 })
    await prepared({ maxPerUser: 2 })
    await prepared({ maxPerUser: 3, maxTotal: 8 })
    await setImmediate()
    process.removeListener('warning', listener)
    const told = warnings.filter((warning) => 'code' in warning && warning.code === 'KOA_VIEWSETS_SERVER_CURSORS')
    expect(told.map(({ message }) => message).filter((message) => message.startsWith('Exports:'))).toEqual([
      'Exports: one caller may keep 5 server cursors (maxPerUser) of the 5, half of the pool of 10, that all callers may keep together (maxTotal); set maxPerUser to 2 or less, or raise maxTotal or pool.max of knex so that cursors have 11 connections or more',
      expect.stringContaining('3 server cursors (maxPerUser) of the 5, half of the pool of 10'),
      expect.stringMatching(
        /4 server cursors \(maxPerUser\) of the 8, .* set maxPerUser to 3 or less, or raise maxTotal so/,
      ),
      expect.stringMatching(
        /1 server cursors \(maxPerUser\) of the 1, that all callers may keep together \(maxTotal\); raise maxTotal so/,
      ),
    ])
    // of each view class once, of its subclass too
    expect(told).toHaveLength(8)
  })

  it('[D23] may be asked for with the query of its first request, or without', async () => {
    const client = await exportsOf({ pageSize: 10 })
    const { cursor_id } = (await client.get('/api/exports?country=3')).json
    expect(idsOf(await client.get(`/api/exports?country=3&server_cursor=${cursor_id}`))).toHaveLength(10)
    const page = await client.get(`/api/exports?server_cursor=${cursor_id}&x=1`)
    expect(page.json.results.every((city: { country: { id: number } }) => city.country.id === 3)).toBe(true)
    expect((await client.get(`/api/exports?country=3&country=3&server_cursor=${cursor_id}`)).status).toBe(404)
  })

  it('begins with the name of its node', async () => {
    const client = await exportsOf({ pageSize: 10, node: 'n1' })
    const { cursor_id } = (await client.get('/api/exports')).json
    expect(cursor_id).toMatch(/^n1\.[\w-]{64}$/)
    expect((await next(client, cursor_id)).status).toBe(200)
    expect((await next(client, cursor_id.slice(3))).status).toBe(404)
  })
})

describe('requests at once', () => {
  it('[D17] on one cursor: one reads, the others get 409, and no row is lost or doubled', async () => {
    const client = await exportsOf({ pageSize: 50 })
    const first = await client.get('/api/exports')
    const seen = idsOf(first)
    const { cursor_id } = first.json
    let conflicts = 0
    for (let done = false; !done; ) {
      const answers = await Promise.all(Array.from({ length: 10 }, () => next(client, cursor_id)))
      for (const answer of answers) {
        if (answer.status === 200) seen.push(...idsOf(answer))
        else if (answer.status === 409) {
          conflicts++
          expect(answer.text).toBe('{"detail":"Cursor is in use by another request","status":409}')
          expect(answer.headers['retry-after']).toBe('1')
        } else expect(answer.text).toBe(NOT_FOUND)
        if (answer.json.exhausted || answer.status === 404) done = true
      }
    }
    expect(conflicts).toBeGreaterThan(0)
    expect(seen.toSorted((a, b) => a - b)).toEqual(Array.from({ length: ROWS }, (_, index) => index + 1))
  })

  it('[D22] a sweep leaves a cursor that a page is read from, and the next page comes after it', async () => {
    const client = await exportsOf({ pageSize: 2, maxIdleSeconds: 60, maxLifetimeSeconds: 200 })
    const { cursor_id } = (await client.get('/api/exports?gated=1')).json
    const gate = await closeGate()
    const fetching = next(client, cursor_id)
    await gate.waitedFor()
    clock += 60_000
    // not awaited yet: one that closes would wait for the page
    const sweeping = Promise.all([cleanupExpiredServerCursors(), cleanupExpiredServerCursors()])
    await gate.open()
    expect(idsOf(await fetching)).toEqual([3, 4])
    expect(await sweeping).toEqual([0, 0])
    // its idle time begins with the end of the page
    clock += 59_999
    expect(await cleanupExpiredServerCursors()).toBe(0)
    expect(idsOf(await next(client, cursor_id))).toEqual([5, 6])
    clock += 60_000
    expect(await cleanupExpiredServerCursors()).toBe(1)
    expect((await next(client, cursor_id)).text).toBe(NOT_FOUND)
  })

  it('[D22] a page that is read when the lifetime ends is whole, and the last', async () => {
    const client = await exportsOf({ pageSize: 2, maxIdleSeconds: 60, maxLifetimeSeconds: 30 })
    const { cursor_id } = (await client.get('/api/exports?gated=1')).json
    const gate = await closeGate()
    const fetching = next(client, cursor_id)
    await gate.waitedFor()
    clock += 30_000
    const sweeping = cleanupExpiredServerCursors()
    await gate.open()
    expect(idsOf(await fetching)).toEqual([3, 4])
    expect(await sweeping).toBe(0)
    expect((await next(client, cursor_id)).text).toBe(NOT_FOUND)
  })

  it(`[D22] a sweep never closes a cursor under its request, in ${size(20, 200)} rounds: the next page is there`, async () => {
    const client = await exportsOf({ pageSize: 2, maxLifetimeSeconds: 1e9 })
    let read = 0
    for (let round = 0; round < size(20, 200); round++) {
      const { cursor_id } = (await client.get('/api/exports')).json
      clock += 299_999
      const fetching = next(client, cursor_id)
      for (let turn = 0; turn < round % 20; turn++) await setImmediate()
      clock += 1
      for (let turn = 0; turn < 5; turn++) {
        await cleanupExpiredServerCursors()
        await setImmediate()
      }
      const page = await fetching
      const after = await next(client, cursor_id)
      // it was there in time, and is there until its next idle time; or it was swept before
      if (page.status === 200) {
        read++
        expect([idsOf(page), idsOf(after)]).toEqual([
          [3, 4],
          [5, 6],
        ])
      } else expect([page.text, after.text]).toEqual([NOT_FOUND, NOT_FOUND])
      clock += 300_000
      await cleanupExpiredServerCursors()
      expect(used()).toBe(0)
    }
    expect(read).toBeGreaterThan(0)
  }, 60_000)
})

describe('the end of a cursor', () => {
  it('[D18] comes after the idle time, and after the lifetime, of its own view', async () => {
    const client = await exportsOf({ pageSize: 10, maxIdleSeconds: 60, maxLifetimeSeconds: 100 })
    const longer = await exportsOf({ pageSize: 10 })
    const idle = (await client.get('/api/exports')).json.cursor_id
    const busy = (await client.get('/api/exports')).json.cursor_id
    const other = (await longer.get('/api/exports')).json.cursor_id
    clock += 50_000
    expect((await next(client, busy)).status).toBe(200)
    clock += 10_000
    expect(await cleanupExpiredServerCursors()).toBe(1)
    expect([used(), await transactions()]).toEqual([2, 2])
    expect((await next(client, idle)).text).toBe(NOT_FOUND)
    clock += 30_000
    expect((await next(client, busy)).status).toBe(200)
    clock += 10_000
    expect(await cleanupExpiredServerCursors()).toBe(1)
    expect((await next(client, busy)).status).toBe(404)
    expect((await next(longer, other)).status).toBe(200)
    expect([used(), await transactions()]).toEqual([1, 1])
  })

  it('[D18] is a read-only transaction that PostgreSQL would end a little later', async () => {
    const statements: string[] = []
    const listener = ({ sql, bindings }: { sql: string; bindings?: unknown[] }) =>
      statements.push(`${sql} ${(bindings ?? []).join()}`)
    database.knex.on('query', listener)
    const client = await exportsOf({ pageSize: 10 })
    await client.get('/api/exports')
    database.knex.removeListener('query', listener)
    expect(statements.slice(-4)).toEqual([
      'BEGIN TRANSACTION ISOLATION LEVEL repeatable read READ ONLY; ',
      expect.stringMatching(/^select set_config\('idle_in_transaction_session_timeout', .*'310000 ms'/),
      expect.stringMatching(/^declare koa_viewsets_[0-9a-f]{32} no scroll cursor for select /),
      expect.stringMatching(/^fetch forward 10 from koa_viewsets_/),
    ])
  })

  it('[D20 I13] comes to abandoned ones by a timer of our own, which keeps no process alive', async () => {
    const client = await exportsOf({ pageSize: 10, maxPerUser: 100, maxTotal: 5 })
    let most = 0
    for (let index = 0; index < 100; index++) {
      await client.get('/api/exports', as('1'))
      clock += 6000
      most = Math.max(most, used())
    }
    expect(most).toBeLessThanOrEqual(5)
    const timers = process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
    clock += 300_000
    await expect.poll(used, { timeout: 5000, interval: 50 }).toBe(0)
    expect(timers).toBe(process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length)
  })

  it('[R7 I10] comes when the client goes away without its page', async () => {
    const client = await exportsOf({ pageSize: 10, maxPerUser: 1 })
    const locker = await database.knex.transaction()
    // a lock that the FETCH has to wait for
    await locker.raw('lock table countries in access exclusive mode')
    const request = http.get({ port: client.port, path: '/api/exports', headers: as('1') })
    request.on('error', () => {})
    await expect.poll(used).toBe(2)
    request.destroy()
    await locker.rollback()
    await expect.poll(used).toBe(0)
    expect(await transactions()).toBe(0)
    expect((await client.get('/api/exports', as('1'))).status).toBe(200)
  })

  it('comes when the client goes away in the middle of its page', async () => {
    class Long extends ReadOnlyModelViewSet {
      static override model = City
      static override serializerClass = CitySerializer
      static override paginationClass = new ServerCursorPagination({ pageSize: 20, maxPerUser: 1 })
      override getQueryset() {
        // more than buffers between the two hold
        return City.query().select('id', 'country_id', 'at', City.raw("repeat('x', 1500000) as name"))
      }
    }
    const api = new APIRouter().register('long', Long)
    const client = await serving(api.routes())
    open.push({ client, api })
    const page = http.get({ port: client.port, path: '/long' })
    page.on('error', () => {})
    const [answer] = (await once(page, 'response')) as [http.IncomingMessage]
    expect([answer.statusCode, used()]).toEqual([200, 1])
    answer.destroy()
    await expect.poll(used).toBe(0)
    expect((await client.get('/long')).status).toBe(200)
  })

  it('does not wait for the client of a HEAD, and a HEAD reads nothing', async () => {
    const client = await exportsOf({ pageSize: 10 })
    const head = await client.send('HEAD', '/api/exports')
    expect([head.status, used()]).toEqual([200, 0])
    const first = await client.get('/api/exports')
    expect(head.headers['content-length']).toBe(first.headers['content-length'])
    const unread = await client.send('HEAD', `/api/exports?server_cursor=${first.json.cursor_id}`)
    // how long the page is that GET would read is not known
    const { 'content-length': _, date: __, ...headers } = head.headers
    expect([unread.status, unread.headers]).toEqual([200, { ...headers, date: expect.anything() }])
    expect(idsOf(await next(client, first.json.cursor_id))[0]).toBe(11)
  })

  it.each(['csv', 'ndjson'])('[D20] comes at once where nobody gets its id: %s', async (format) => {
    const client = await exportsOf({
      pageSize: 2,
      maxPerUser: 1,
      renderers: [JSONRenderer, CSVRenderer, NDJSONRenderer],
    })
    const lines = async (query = '') => {
      const { status, text } = await client.get(`/api/exports.${format}${query}`)
      expect(status).toBe(200)
      return text.match(/city \d+/g)
    }
    expect([await lines(), await lines(), used()]).toEqual([['city 1', 'city 2'], ['city 1', 'city 2'], 0])
    const head = async (query = '') => (await client.send('HEAD', `/api/exports.${format}${query}`)).status
    expect(await head()).toBe(200)
    // who has the id from JSON goes on with it
    const { cursor_id: cursor } = (await client.get('/api/exports')).json
    expect(await head(`?server_cursor=${cursor}`)).toBe(200)
    expect(await lines(`?server_cursor=${cursor}`)).toEqual(['city 3', 'city 4'])
    expect(await lines(`?server_cursor=${cursor}`)).toEqual(['city 5', 'city 6'])
  })

  it('[I12] comes with close(), which lets running requests finish', async () => {
    const client = await exportsOf({ pageSize: 10 })
    const { api } = open.at(-1) as (typeof open)[number]
    const ids: string[] = []
    for (let index = 0; index < 3; index++) ids.push((await client.get('/api/exports')).json.cursor_id)
    const running = Promise.all([...ids.map((id) => next(client, id)), client.get('/api/exports')])
    await expect.poll(used).toBeGreaterThan(3)
    await api.close()
    expect([used(), await transactions()]).toEqual([0, 0])
    expect((await running).map(({ status }) => status)).toEqual([200, 200, 200, 200])
    expect((await next(client, ids[0] as string)).status).toBe(503)
  })
})

describe('what is wrong with a declaration', () => {
  it.each<[ServerCursorPaginationOptions, RegExp]>([
    [{ pageSize: 0 }, /Exports: ServerCursorPagination: pageSize must be a whole number/],
    [{ maxPerUser: 0.5 }, /maxPerUser must be a whole number/],
    [{ maxIdleSeconds: 0 }, /maxIdleSeconds must be a number of seconds/],
    [{ node: 'N 1' }, /node "N 1" must be up to 32/],
  ])('%j is found by prepare()', async (options, message) => {
    await exportsOf(options)
    await expect(open.at(-1)?.api.prepare()).rejects.toThrow(message)
  })

  it('[D12] is a missing secret', async () => {
    configure({})
    await exportsOf()
    await expect(open.at(-1)?.api.prepare()).rejects.toThrow(/SERVICE_SECRET_KEY is not set/)
    configure({ secretKey: '0123456789abcdef0123456789abcdef' })
  })
})
