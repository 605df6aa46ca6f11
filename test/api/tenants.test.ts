/** Two tenants whose rows have the same keys, kept apart in three ways: what is given to one is worth nothing to the other. */
import type { Knex } from 'knex'
import {
  APIRouter,
  type APIRouterOptions,
  CursorPagination,
  configure,
  IDMixin,
  IsAuthenticated,
  modelSerializer,
  modelViewSet,
  TokenAuthentication,
} from 'koa-viewsets'
import { ensureIdempotencyTable } from 'koa-viewsets/idempotency'
import { MeteringMixin, PostgresMeteringEngine } from 'koa-viewsets/metering'
import { Model } from 'objection'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Client, serving } from '../support/client.js'
import { createDatabase, type TestDatabase } from '../support/database.js'

const ROLE = `tenants_${Math.random().toString(36).slice(2, 10)}`
const TABLE = 'notes (id int generated always as identity primary key, title varchar(20) not null unique)'
const rowsOf = (table: string, tenant: number) =>
  `insert into ${table} (title) select 'tenant ${tenant}, ' || n from generate_series(1, 5) n;`

class Note extends IDMixin(Model) {
  static override tableName = 'notes'
  static override idConfig = {
    mode: 'signed',
    alphabet: 'mn7swcxDfgkGrBtv4qj6phd3b952CzF8',
    hmacKeys: ['a key of the test, long enough'],
  } as const
  declare id: number
  declare title: string
}

/** The token `1-7` is that of user 7 of tenant 1. */
class Tokens extends TokenAuthentication {
  override getUserForToken(token: string) {
    const [tenant, user] = token.split('-')
    return { id: `${tenant}:${user}`, tenant: Number(tenant) }
  }
}
const of = (tenant: number) => ({ Authorization: `Token ${tenant}-7` })

/** What keeps tenants apart, over databases that have been made for it. */
interface Way {
  readonly options: APIRouterOptions
  readonly models: Knex
  knexOf?(tenant: number): Knex
}

const databases: TestDatabase[] = []
async function databaseWith(schema: string): Promise<TestDatabase> {
  const made = await createDatabase({ schema })
  databases.push(made)
  return made
}

const ways: Readonly<Record<string, () => Promise<Way>>> = {
  async 'row level security'() {
    const { knex } = await databaseWith(`
      create role ${ROLE};
      create table ${TABLE.replace(
        'title',
        `tenant int not null default nullif(current_setting('app.tenant', true), '')::int, title`,
      )};
      set app.tenant = 1; ${rowsOf('notes', 1)} set app.tenant = 2; ${rowsOf('notes', 2)} reset app.tenant;
      grant select, insert, update, delete on notes to ${ROLE};
      alter table notes enable row level security;
      create policy own on notes using (tenant = nullif(current_setting('app.tenant', true), '')::int);`)
    const databaseSettings: APIRouterOptions['databaseSettings'] = ({ state }) => ({
      'app.tenant': state['user'].tenant,
    })
    return { models: knex, options: { databaseRole: ROLE, databaseSettings } }
  },

  async 'a schema for each'() {
    const { knex } = await databaseWith(`
      create table ${TABLE}; create schema tenant_1; create schema tenant_2;
      create table tenant_1.${TABLE}; create table tenant_2.${TABLE};
      ${rowsOf('tenant_1.notes', 1)} ${rowsOf('tenant_2.notes', 2)}`)
    const databaseSettings: APIRouterOptions['databaseSettings'] = ({ state }) => ({
      search_path: `tenant_${state['user'].tenant}`,
    })
    return { models: knex, options: { databaseSettings } }
  },

  async 'a database for each'() {
    const { knex } = await databaseWith(`create table ${TABLE}`)
    const tenants = await Promise.all(
      [1, 2].map((tenant) => databaseWith(`create table ${TABLE}; ${rowsOf('notes', tenant)}`)),
    )
    return { models: knex, options: {}, knexOf: (tenant) => (tenants[tenant - 1] as TestDatabase).knex }
  },
}

beforeAll(() => configure({ secretKey: 'a secret of the test, long enough' }))
afterAll(async () => {
  configure({})
  const [first] = databases
  await first?.knex.raw(`drop owned by ${ROLE}; drop role ${ROLE}`)
  for (const { drop } of databases) await drop()
})

describe.each(Object.entries(ways))('two tenants by %s', (_name, begin) => {
  let client: Client
  let engine: PostgresMeteringEngine
  /** All tenants have one table, so a key is that of one row. */
  let isShared: boolean

  beforeAll(async () => {
    const { options, models, knexOf } = await begin()
    Note.knex(models)
    isShared = options.databaseRole !== undefined
    engine = new PostgresMeteringEngine({ knex: models })
    await engine.ensureTable()
    for (const knex of knexOf ? [knexOf(1), knexOf(2)] : [models]) await ensureIdempotencyTable(knex)
    class Notes extends modelViewSet(Note, {
      serializerClass: modelSerializer(Note, { fields: ['id', 'title'] }),
      authenticationClasses: [Tokens],
      permissionClasses: [IsAuthenticated],
      paginationClass: new CursorPagination({ pageSize: 2, ordering: 'title' }),
      idempotent: true,
      mixins: [MeteringMixin],
    }) {
      static meteringEngine = engine
      override getKnex() {
        return knexOf?.(this.ctx.state['user'].tenant) ?? models
      }
    }
    const api = new APIRouter({ prefix: '/api', ...options }).register('notes', Notes)
    await api.prepare()
    client = await serving(api.routes())
    return () => client.close()
  })

  const titlesOf = async (tenant: number, path: string) => {
    const { json } = await client.get(path, of(tenant))
    return (json.results as { title: string }[]).map(({ title }) => title)
  }

  it('show each its own rows, and by an id of one none of its rows to the other', async () => {
    expect(await titlesOf(1, '/api/notes')).toEqual(['tenant 1, 1', 'tenant 1, 2'])
    expect(await titlesOf(2, '/api/notes')).toEqual(['tenant 2, 1', 'tenant 2, 2'])
    const { id } = (await client.get('/api/notes', of(1))).json.results[0]
    expect((await client.get(`/api/notes/${id}`, of(1))).json.title).toBe('tenant 1, 1')
    for (const [method, body] of [['GET'], ['PATCH', { title: 'tenant 2, 1' }]] as const) {
      const { status, json } = await client.send(method, `/api/notes/${id}`, body, of(2))
      expect([status, json.title]).toEqual(isShared ? [404, undefined] : [200, 'tenant 2, 1'])
    }
    expect((await client.get(`/api/notes/${id}`, of(1))).json.title).toBe('tenant 1, 1')
  })

  it('go on by the cursor of another in rows of their own', async () => {
    const { next } = (await client.get('/api/notes', of(1))).json
    expect(await titlesOf(1, next)).toEqual(['tenant 1, 3', 'tenant 1, 4'])
    expect(await titlesOf(2, next)).toEqual(['tenant 2, 1', 'tenant 2, 2'])
  })

  it('have keys of their own, though the keys are the same', async () => {
    const headers = (tenant: number) => ({ ...of(tenant), 'Idempotency-Key': 'same' })
    const made = await client.send('POST', '/api/notes', { title: 'new' }, headers(1))
    expect(made.status).toBe(201)
    const again = await client.send('POST', '/api/notes', { title: 'new' }, headers(1))
    expect([again.text, again.headers['idempotency-replayed']]).toEqual([made.text, 'true'])
    const other = await client.send('POST', '/api/notes', { title: 'of two' }, headers(2))
    expect([other.status, other.json.title]).toEqual([201, 'of two'])
    expect(other.headers).not.toHaveProperty('idempotency-replayed')
  })

  it('are metered apart', async () => {
    const requestsOf = async (tenant: number) => {
      const [total] = await engine.usage(`${tenant}:7`, new Date(0), new Date(Date.now() + 1000))
      return total?.requests ?? 0
    }
    const before = [await requestsOf(1), await requestsOf(2)]
    for (const tenant of [1, 1, 2]) await client.get('/api/notes', of(tenant))
    expect([await requestsOf(1), await requestsOf(2)]).toEqual([Number(before[0]) + 2, Number(before[1]) + 1])
  })
})
