/** Settings that a role or a database brings: answers are the same under all of them, or none is given. */
import knexLibrary, { type Knex } from 'knex'
import Koa from 'koa'
import {
  APIRouter,
  BulkModelViewSet,
  ConfigurationError,
  CSVRenderer,
  CursorPagination,
  configure,
  FieldFilter,
  FullTextSearchFilter,
  JSONRenderer,
  ModelSerializer,
  NDJSONRenderer,
  OrderingFilter,
  SearchFilter,
} from 'koa-viewsets'
import { Model } from 'objection'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createDatabase, poolMode, type TestDatabase } from '../support/database.js'
import { runsAsRole } from '../support/roles.js'
import { connectTo, serve } from '../support/server.js'

const TYPES = {
  day: 'date',
  moment: 'timestamptz',
  naive: 'timestamp',
  clock: 'time',
  zoned: 'timetz',
  span: 'interval',
  small: 'real',
  large: 'double precision',
  amount: 'numeric',
  raw: 'bytea',
  tree: 'jsonb',
  place: 'point',
  days: 'date[]',
  moments: 'timestamptz[]',
  spans: 'interval[]',
  floats: 'double precision[]',
  during: 'tstzrange',
  stay: 'daterange',
  words: 'text[]',
}
const FIELDS = Object.keys(TYPES)

const SCHEMA = `
  create table kinds (id serial primary key, name text, ${Object.entries(TYPES)
    .join()
    .replaceAll(/(\w+),([^,]+)/g, '$1 $2')});
  create function seed() returns void language sql set datestyle = 'ISO, MDY' set intervalstyle = postgres set timezone = 'UTC' as $$
    truncate kinds restart identity;
    insert into kinds (name, day, moment, naive, clock, zoned, span, small, large, amount, raw, tree, place, days, moments, spans,
        floats, during, stay, words)
      select 'kind ' || n, date '2024-03-04' + n, timestamptz '2024-03-31 00:30:00.123456+00' + n * interval '1 hour',
        timestamp '2024-03-04 05:06:07.000008' + n * interval '1 day', time '01:02:03.5', timetz '01:02:03+05:30',
        make_interval(months => n - 2, days => 3 * n, secs => -1.5 * n), 0.1::real * n, 0.1::float8 + 0.2::float8 * n, 12.50 * n, '\\x00ff5c27',
        jsonb_build_object('at', timestamptz '2024-03-04 05:06:07+00', 'n', 0.1 * n), point(0.1::float8 + 0.2::float8 * n, n),
        array[date '2024-03-04', null], array[timestamptz '2024-03-04 05:06:07.891+00'],
        array[interval '1 mon -2 days', null, interval '-1:30'], array[0.1::float8 + 0.2::float8, null, 'NaN'],
        tstzrange('2024-03-04 05:06:07.5+00', '2024-05-06 07:08:09+00'), daterange('2024-03-04', null), array['a', null, 'NULL', '\\\\']
      from generate_series(1, 3) n;
    insert into kinds (name) values (null);
  $$;`

class Kind extends Model {
  static override tableName = 'kinds'
}
class Found extends Kind {
  override $afterFind() {}
}

function viewOf(model: typeof Model, schemaName: string, statics: object = {}) {
  class Kinds extends BulkModelViewSet {
    static override model = model
    static override serializerClass = class extends ModelSerializer {
      static override schemaName = schemaName
      static override model = model
      static override fields = ['id', 'name', ...FIELDS]
    }
    static override ordering = ['id']
    static override filterBackends = [FieldFilter, OrderingFilter, SearchFilter]
    static override filtersetFields = FIELDS
    static override orderingFields: string[] = []
    static override searchFields = ['name']
    static override rendererClasses = [JSONRenderer, CSVRenderer, NDJSONRenderer]
  }
  return Object.assign(Kinds, statics)
}

const VIEWS = {
  rows: viewOf(Kind, 'Rows', { orderingFields: ['span', 'large'] }),
  found: viewOf(Found, 'Found'),
  native: viewOf(Kind, 'Native', { useNativeJson: true }),
  moments: viewOf(Kind, 'ByMoment', { paginationClass: new CursorPagination({ ordering: '-moment', pageSize: 2 }) }),
  floats: viewOf(Found, 'ByFloat', { paginationClass: new CursorPagination({ ordering: 'large', pageSize: 2 }) }),
  texts: viewOf(Kind, 'ByText', { filterBackends: [FullTextSearchFilter] }),
}

const BODY = {
  name: 'new',
  day: '2024-03-04',
  moment: '2024-03-04T05:06:07.890123Z',
  naive: '2024-03-04T05:06:07Z',
  clock: '01:02:03',
  zoned: '01:02:03+05:30',
  span: 'P1Y-2M3DT-4H5M-6.5S',
  small: 0.3,
  large: 0.30000000000000004,
  amount: '12.50',
  raw: '\\x5c00',
  tree: { a: [0.1, '\\'] },
  place: '(0.30000000000000004,-1.5)',
  days: ['2024-03-04', null],
  moments: ['2024-03-04T05:06:07.890123Z', null],
  spans: ['P-1D', null, 'PT0S'],
  floats: [0.1, null],
  during: '[2024-03-04T05:06:07Z,)',
  stay: '[2024-03-04,2024-05-06)',
  words: ['NULL', null, 'a\\"b'],
}

/** Each is asked in its turn: what is written is read by those that follow. */
const REQUESTS: readonly (readonly [method: string, path: string, body?: object])[] = [
  ['GET', '/rows'],
  ['GET', '/rows/1'],
  ['GET', '/rows.csv'],
  ['GET', '/rows.ndjson'],
  ['GET', '/found'],
  ['GET', '/found/1'],
  ['GET', '/found.csv'],
  ['GET', '/native?fields=id,day,moment,naive,clock,small,large,amount,tree'],
  ['GET', '/native/1?fields=id,day,moment,naive,clock,small,large,amount,tree'],
  ['GET', '/moments'],
  ['GET', '/moments?cursor='],
  ['GET', '/floats'],
  ['GET', '/texts?search=kind'],
  ['GET', '/rows?day=2024-03-05&moment__gte=2024-03-31T01:30:00Z'],
  ['GET', '/rows?naive__range=2024-03-05T00:00:00Z,2024-03-06T23:00:00Z&zoned=01:02:03%2B05:30'],
  ['GET', '/rows?span=P-1M3DT-1.5S'],
  ['GET', '/rows?large__in=0.30000000000000004,0.5&small=0.1'],
  ['GET', '/found?clock__lt=01:02:04&amount__gt=12'],
  ['GET', '/rows?ordering=-span,-large'],
  ['GET', '/rows?search=kind%202'],
  ['POST', '/rows', BODY],
  ['POST', '/found', BODY],
  ['POST', '/native', BODY],
  ['PUT', '/rows/2', BODY],
  ['PUT', '/found/3', BODY],
  ['PATCH', '/rows/1', { span: 'P2M-1DT-0.000001S', moment: '0999-01-02T03:04:05Z', day: '0001-02-03' }],
  ['POST', '/rows/bulk', [BODY, { span: 'PT-1S', words: [null] }]],
  [
    'PATCH',
    '/rows/bulk',
    [
      { id: 1, spans: ['P1M'], days: [null] },
      { id: 2, span: null, words: [null, 'NULL'] },
    ],
  ],
  ['GET', '/found'],
  ['GET', '/rows'],
]

/** Settings under which all answers are those of the defaults. */
const HARMLESS: Readonly<Record<string, string>> = {
  'IntervalStyle postgres_verbose': 'intervalstyle=postgres_verbose',
  'IntervalStyle sql_standard': 'intervalstyle=sql_standard',
  'IntervalStyle iso_8601': 'intervalstyle=iso_8601',
  'DateStyle ISO, DMY': 'datestyle=ISO,DMY',
  'DateStyle ISO, YMD': 'datestyle=ISO,YMD',
  'extra_float_digits 3': 'extra_float_digits=3',
  'TimeZone America/New_York': 'timezone=America/New_York',
  'TimeZone Asia/Kolkata': 'timezone=Asia/Kolkata',
  'TimeZone Europe/Berlin': 'timezone=Europe/Berlin',
  'bytea_output escape': 'bytea_output=escape',
  'standard_conforming_strings off': 'standard_conforming_strings=off',
  'quote_all_identifiers on': 'quote_all_identifiers=on',
  'transform_null_equals on': 'transform_null_equals=on',
  'plan_cache_mode force_generic_plan': 'plan_cache_mode=force_generic_plan',
  'default_text_search_config german': 'default_text_search_config=pg_catalog.german',
  'default_transaction_isolation serializable': 'default_transaction_isolation=serializable',
  'client_min_messages debug1': 'client_min_messages=debug1',
  'enable_seqscan off': 'enable_seqscan=off',
}

/** Settings under which values could not be told, and what the refusal says of them. */
const REFUSED: Readonly<Record<string, readonly [option: string, RegExp]>> = {
  'DateStyle SQL, MDY': ['datestyle=SQL,MDY', /DateStyle at "SQL, MDY".*SET DateStyle = 'ISO'/],
  'DateStyle SQL, DMY': ['datestyle=SQL,DMY', /DateStyle at "SQL, DMY"/],
  'DateStyle Postgres': ['datestyle=Postgres,MDY', /DateStyle at "Postgres, MDY"/],
  'DateStyle German': ['datestyle=German', /DateStyle at "German, DMY".*-c DateStyle=ISO/],
  'extra_float_digits 0': ['extra_float_digits=0', /extra_float_digits at "0".*SET extra_float_digits = '1'/],
  'extra_float_digits -15': ['extra_float_digits=-15', /extra_float_digits at "-15"/],
  'array_nulls off': ['array_nulls=off', /array_nulls at "off".*SET array_nulls = 'on'/],
}

let database: TestDatabase
let usual: readonly string[]

beforeAll(async () => {
  configure({ secretKey: 'settings of a database, settings' })
  database = await createDatabase({ schema: SCHEMA })
  usual = await answersUnder('')
})

afterAll(() => database.drop())

function connect(options: string): Knex {
  const connection = { ...database.direct, ...(options && { options: `-c ${options}` }) }
  return knexLibrary({ client: 'pg', connection: connection as Knex.PgConnectionConfig, pool: { min: 0, max: 3 } })
}

async function routerOf(knex: Knex): Promise<APIRouter> {
  Model.knex(knex)
  const api = new APIRouter()
  for (const [name, view] of Object.entries(VIEWS)) api.register(name, view, name)
  await api.prepare()
  return api
}

/** All answers of an application whose connections have the setting. */
async function answersUnder(options: string): Promise<string[]> {
  await database.knex.raw('select seed()')
  const knex = connect(options)
  try {
    const server = await serve(new Koa().use((await routerOf(knex)).routes()))
    try {
      const answers: string[] = []
      for (const [method, path, body] of REQUESTS) {
        const { status, text } = await server.send({
          method,
          path,
          ...(body && { body: JSON.stringify(body), headers: { 'Content-Type': 'application/json' } }),
        })
        answers.push(`${method} ${path}: ${status} ${text}`)
      }
      return answers
    } finally {
      await server.close()
    }
  } finally {
    await knex.destroy()
  }
}

describe.skipIf(poolMode() !== undefined)('a setting of a connection', () => {
  it('is none in the answers that the others are compared with', () => {
    expect(usual).toHaveLength(30)
    for (const answer of usual) expect(answer).toMatch(/: 20[01] ./)
    expect(usual[0]).toContain('"span":"P-1M3DT-1.5S","small":0.1,"large":0.30000000000000004,"amount":"12.50"')
    const created: unknown = JSON.parse(usual[20]?.slice('POST /rows: 201 '.length) ?? '')
    expect(created).toMatchObject({ ...BODY, span: 'P10M3DT-3H-55M-6.5S' })
  })

  it.each(Object.entries(HARMLESS))('changes no answer: %s', async (_, options) => {
    expect(await answersUnder(options)).toEqual(usual)
  })

  it.each(Object.entries(REFUSED))('is refused by prepare(), with the fix: %s', async (_, [options, message]) => {
    const knex = connect(options)
    try {
      const refusal: unknown = await routerOf(knex).catch((error: unknown) => error)
      expect(refusal).toBeInstanceOf(ConfigurationError)
      expect(String(refusal)).toMatch(message)
    } finally {
      await knex.destroy()
    }
  })
})

it('is refused by prepare() what is no PostgreSQL, before it is asked for anything', async () => {
  class Lite extends knexLibrary.Client {
    override dialect = 'sqlite3'
    override driverName = 'better-sqlite3'
    _driver() {
      return {}
    }
  }
  const knex = knexLibrary({ client: Lite, connection: { filename: ':memory:' }, useNullAsDefault: true })
  try {
    await expect(routerOf(knex)).rejects.toThrow(/^knex\({ client }\): sqlite3 is no PostgreSQL; use the client pg/)
  } finally {
    await knex.destroy()
  }
})

it('is refused by prepare() what compiles SQL for Redshift, which locks no rows and returns none', async () => {
  const knex = knexLibrary({ client: 'redshift', connection: {} })
  await expect(routerOf(knex)).rejects.toThrow(/^knex\({ client }\): redshift is no PostgreSQL; use the client pg/)
  await knex.destroy()
})

it.skipIf(runsAsRole())(
  'is refused by prepare() what leaves out roles and settings, where these are declared',
  async () => {
    const knex = knexLibrary({ client: 'cockroachdb', connection: database.direct as Knex.PgConnectionConfig })
    const prepared = (view: typeof VIEWS.rows, options = {}) =>
      new APIRouter(options).register('kinds', view, 'kind').prepare()
    try {
      Model.knex(knex)
      await prepared(viewOf(Kind, 'Plain'))
      const needed = "databaseRole and databaseSettings need knex over pg's own client: new knex({ client: 'pg' })"
      const databaseSettings = { 'app.tenant': '1' }
      await expect(prepared(viewOf(Kind, 'Outer'), { databaseSettings })).rejects.toThrow(needed)
      await expect(prepared(viewOf(Kind, 'Own', { databaseSettings }))).rejects.toThrow(needed)
      // which one that is only a request says
      class Chosen extends viewOf(Kind, 'Chosen') {
        override getKnex() {
          return knex
        }
      }
      await prepared(Chosen, { databaseSettings })
    } finally {
      await knex.destroy()
    }
  },
)

describe('a copy of pg before 8.12', () => {
  it('is refused by prepare(): it sends a text without values by the simple protocol, and the settings before it outlive it', async () => {
    const Current = knexLibrary({ client: 'pg' }).client.constructor
    class OldQuery extends pg.Query {
      requiresPreparation() {
        return false
      }
    }
    class OldClient extends pg.Client {
      static Query = OldQuery
    }
    class Old extends Current {
      _driver() {
        return { ...pg, Client: OldClient }
      }
    }
    const knex = knexLibrary({
      client: Old as never,
      connection: database.direct as Knex.PgConnectionConfig,
      pool: { min: 0, max: 1 },
    })
    try {
      await expect(routerOf(knex)).rejects.toThrow(/copy of pg is older than 8\.12.*install pg 8\.12/)
    } finally {
      await knex.destroy()
    }
  })
})

describe.skipIf(poolMode() !== undefined)('a setting that a database gets while the application runs', () => {
  it('is refused by each new connection, and read when it was put right', async () => {
    await database.knex.raw('select seed()')
    const { rows } = await database.knex.raw<{ rows: { name: string }[] }>('select current_database() as name')
    const [{ name } = { name: '' }] = rows
    const knex = connect('')
    const reported: Error[] = []
    const app = new Koa().use((await routerOf(knex)).routes())
    app.on('error', (error: Error) => reported.push(error))
    const server = await serve(app)
    const { send } = connectTo(server.port)
    const post = (path: string) =>
      send({ method: 'POST', path, body: '{"name":"late"}', headers: { 'Content-Type': 'application/json' } })
    /** What the pool has is gone, and the next request gets a new connection. */
    const renew = () =>
      database.knex.raw(
        'select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = ? and pid <> pg_backend_pid() and application_name = ?',
        [name, ''],
      )
    try {
      expect((await send({ path: '/rows/1' })).status).toBe(200)
      await database.knex.raw(`alter database ?? set datestyle = 'German'`, [name])
      expect((await send({ path: '/rows/1' })).status).toBe(200)
      for (const path of ['/rows/1', '/rows', '/found/1', '/found', '/native', '/moments']) {
        await renew()
        const { status, text } = await send({ path })
        expect([path, status, text]).toEqual([path, 503, '{"detail":"Service temporarily unavailable","status":503}'])
      }
      for (const path of ['/rows', '/found']) {
        await renew()
        expect((await post(path)).status).toBe(503)
      }
      expect(await database.knex('kinds').where('name', 'late')).toEqual([])
      expect(reported.length).toBeGreaterThan(0)
      for (const { cause } of reported) {
        expect(String(cause)).toMatch(/ConfigurationError: the database connection has DateStyle at "German, DMY"/)
      }
      await database.knex.raw(`alter database ?? reset datestyle`, [name])
      expect(await send({ path: '/rows/1' })).toMatchObject({ status: 200, json: { day: '2024-03-05' } })
      expect((await send({ path: '/found/1' })).status).toBe(200)
    } finally {
      await server.close()
      await knex.destroy()
      await database.knex.raw(`alter database ?? reset datestyle`, [name])
    }
  })
})
