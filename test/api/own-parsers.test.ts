/** What is answered is what PostgreSQL has stored, whatever parsers an application has given pg; its own code sees what these make. */

import makeKnex, { type Knex } from 'knex'
import Koa from 'koa'
import {
  APIRouter,
  BulkModelViewSet,
  FieldFilter,
  ModelSerializer,
  NestedSerializer,
  OrderingFilter,
  SerializerMethodField,
} from 'koa-viewsets'
import { Model } from 'objection'
import pg from 'pg'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { serveApp } from '../support/client.js'
import { createDatabase, type TestDatabase } from '../support/database.js'
import { seededRandom } from '../support/seeded-random.js'
import { serve } from '../support/server.js'
import { size } from '../trust/support/size.js'

const SCHEMA = `
  create type mood as enum ('glad', 'sad');
  create table owners (id bigserial primary key, name text, joined timestamptz);
  create table things (
    id bigserial primary key, owner_id bigint references owners, ok bool not null default true, small int2, n int4, f float8, price numeric(8,2), bare numeric,
    day date, naive timestamp, moment timestamptz, span interval, doc json, tree jsonb, bytes bytea, at point, ints int[], bigs int8[], words text[],
    amounts numeric[], stamps timestamptz[], trees jsonb[], flags bool[], uid uuid, feeling mood, days daterange, total int8 generated always as (n * 2) stored
  );`
const ROWS = `
  truncate things, owners restart identity;
  insert into owners (name, joined) values ('ada', '2020-01-02 03:04:05.123456+00'), ('ben', null);
  insert into things (owner_id, ok, small, n, f, price, bare, day, naive, moment, span, doc, tree, bytes, at, ints, bigs, words, amounts, stamps, trees, flags, uid, feeling, days)
  values (1, true, 7, 8, 1.5, 12.50, 12345678901234567890.120, '2020-02-29', '2020-01-01 00:00:00.000001', '2020-06-01 12:00:00.654321+02', '1 day 02:03:04.5',
    '{"b":1,  "a":1.0}', '{"b": [1, 2], "a": 12345678901234567890.10}', '\\xdeadbeef', '(1,2.5)', '{1,null}', '{9007199254740993}', '{a,"b,c"}', '{1.10,2}',
    '{2020-01-01 00:00:00.000001+00}', array['{"x": 1}'::jsonb], '{t,f}', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', 'sad', '[2020-01-01,2020-01-05)'),
    (1, false, null, 9, null, null, null, null, null, null, null, null, 'null', null, null, null, null, null, null, null, null, null, null, null, null),
    (2, false, 1, 2, -0.1, 0, 0.10, '0044-03-15 BC', 'infinity', '-infinity', '-1 mon', '"text"', '1.0', '', '(0,0)', '{}', '{}', '{}', '{}', '{}', '{}', '{}', null, null, 'empty');`
/** Types of the columns, and arrays of them. */
const TYPES = [
  16, 20, 21, 23, 701, 1700, 1082, 1114, 1184, 1186, 114, 3802, 17, 600, 1007, 1016, 1009, 1231, 1185, 3807, 1000, 2950,
  3912,
]

const BIGINT = 20

type Parse = (text: string) => unknown
class Own {
  constructor(readonly text: string) {}
}
const PARSERS: readonly Parse[] = [
  (text) => text,
  (text) => [text],
  (text) => new Own(text),
  (text) => ({ own: text }),
  (text) => text.length,
  (text) => text.includes('t'),
]
const NUMBERS: readonly Parse[] = [BigInt, Number, String]

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase({ schema: SCHEMA })
})
afterAll(() => database.drop())

const seen: unknown[] = []

/** An application whose connections have these parsers. */
async function served(knex: Knex) {
  class Thing extends Model {
    static override tableName = 'things'
    static override relationMappings = () => ({
      owner: {
        relation: Model.BelongsToOneRelation,
        modelClass: Owner,
        join: { from: 'things.owner_id', to: 'owners.id' },
      },
    })
  }
  class Owner extends Model {
    static override tableName = 'owners'
    static override relationMappings = () => ({
      things: {
        relation: Model.HasManyRelation,
        modelClass: Thing,
        join: { from: 'owners.id', to: 'things.owner_id' },
      },
    })
  }
  class HookedThing extends Thing {
    override $beforeUpdate() {
      seen.push((this as unknown as { ok: unknown }).ok)
    }
    // its rows are read once more
    override $afterInsert() {}
  }
  const names = [
    'id',
    'owner_id',
    'ok',
    'small',
    'n',
    'f',
    'price',
    'bare',
    'day',
    'naive',
    'moment',
    'span',
    'doc',
    'tree',
    'bytes',
    'at',
    'ints',
    'bigs',
    'words',
    'amounts',
    'stamps',
    'trees',
    'flags',
    'uid',
    'feeling',
    'days',
    'total',
  ]
  class OwnerShown extends ModelSerializer {
    static override model = Owner
    static override fields = ['id', 'name', 'joined']
  }
  class Shown extends ModelSerializer {
    static override model = Thing
    static override fields = [...names, 'owner']
    static override declaredFields = { owner: new NestedSerializer(OwnerShown, { readOnly: true }) }
  }
  class Item extends ModelSerializer {
    static override model = Thing
    static override fields = names
  }
  class Labelled extends ModelSerializer {
    static override model = HookedThing
    static override fields = [...names, 'label']
    static override declaredFields = { label: new SerializerMethodField() }
    getLabel(thing: Record<string, unknown>) {
      seen.push(thing['ok'])
      return 'label'
    }
  }
  class WithThings extends ModelSerializer {
    static override model = Owner
    static override fields = ['id', 'name', 'joined', 'things']
    static override declaredFields = { things: new NestedSerializer(Item, { many: true }) }
  }
  const viewOf = (model: typeof Model, serializerClass: unknown) =>
    Object.assign(class View extends BulkModelViewSet {}, {
      model,
      serializerClass,
      filterBackends: [FieldFilter, OrderingFilter],
      filtersetFields: model === Owner ? ['id'] : ['id', 'ok'],
      orderingFields: model === Owner ? ['id'] : ['id', 'n'],
    } as object) as typeof BulkModelViewSet
  for (const model of [Thing, Owner, HookedThing]) model.knex(knex)
  const api = new APIRouter()
    .register('things', viewOf(Thing, Shown))
    .register('labelled', viewOf(HookedThing, Labelled), 'labelled')
    .register('owners', viewOf(Owner, WithThings))
  await api.prepare()
  const app = new Koa().use(api.routes())
  const failed: unknown[] = []
  app.on('error', (error) => failed.push(error))
  const server = await serve(app)
  onTestFinished(() => server.close())
  return async (method: string, path: string, body?: unknown) => {
    const { status, text, headers } = await server.send({
      method,
      path,
      headers: { 'Content-Type': 'application/json' },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    return { status, text, type: headers['content-type'], failed: failed.splice(0).map(String) }
  }
}

/** What all ways of asking answer. */
async function answersOf(send: Awaited<ReturnType<typeof served>>) {
  await database.knex.raw(ROWS)
  const answers: [method: string, path: string, answer: Awaited<ReturnType<typeof send>>][] = []
  const ask = async (...request: Parameters<typeof send>) => {
    const answer = await send(...request)
    answers.push([request[0], request[1], answer])
    return answer.text
  }
  for (const path of ['/things', '/labelled']) {
    await ask('GET', `${path}?ordering=-n`)
    await ask('GET', `${path}?ok=false`)
    const one = await ask('GET', `${path}/1`)
    await ask('PUT', `${path}/1`, one)
    await ask('PATCH', `${path}/1`, { n: 5 })
    await ask('PATCH', `${path}/2`, {
      tree: { bb: [1], a: 2 },
      moment: '2021-01-01T00:00:00.000001Z',
      ok: true,
      bigs: ['9007199254740995'],
    })
    await ask('PATCH', `${path}/bulk`, [
      { id: 1, n: 6 },
      { id: 3, n: 7, f: 2.5 },
    ])
    const made = await ask('POST', path, { n: 1, owner_id: 2, bare: '0.10', span: 'P1D', doc: [1, 2], at: '(1,2)' })
    await ask('POST', `${path}/bulk`, [
      { n: 2, days: '[2020-01-01,2020-02-01)' },
      { n: 3, flags: [true, null] },
    ])
    await ask('DELETE', `${path}/${JSON.parse(made).id}`)
    await ask('DELETE', `${path}/bulk`, [JSON.parse(made).id + 1])
  }
  await ask('GET', '/owners')
  await ask('GET', '/owners/1')
  await ask('PATCH', '/owners/1', { things: [{ id: 1, n: 50 }, { id: 2 }] })
  await ask('POST', '/owners', { name: 'cy', things: [{ n: 1, price: '2.50' }] })
  return answers
}

const RUNS = size(3, 300)

it('show nothing of themselves in an answer', { timeout: RUNS * 10_000 }, async () => {
  const plain = makeKnex({ client: 'pg', connection: { ...database.connection } as Knex.PgConnectionConfig })
  onTestFinished(() => plain.destroy())
  const expected = await answersOf(await served(plain))
  expect(expected.filter(([, , { status }]) => status >= 400)).toEqual([])
  expect(new Set(seen.splice(0))).toEqual(new Set([true, false, undefined]))
  for (let run = 0; run < RUNS; run++) {
    const random = seededRandom(run)
    const chosen = new Map(
      TYPES.filter(() => run === 0 || random(2) === 0).map((oid) => {
        const pool = oid === BIGINT ? NUMBERS : PARSERS
        return [oid, pool[run === 0 ? 0 : random(pool.length)] as Parse]
      }),
    )
    const types = {
      getTypeParser: (oid: number, format: any) => chosen.get(oid) ?? pg.types.getTypeParser(oid, format),
    }
    const restore = run === 0 ? setParsers(chosen) : () => {}
    const knex = makeKnex({
      client: 'pg',
      connection: { ...database.connection, ...(run > 0 && { types }) } as Knex.PgConnectionConfig,
    })
    const answers = await answersOf(await served(knex)).finally(restore)
    await knex.destroy()
    expect(answers, `run ${run}`).toEqual(expected)
    if (run === 0) expect(new Set(seen.splice(0))).toEqual(new Set(['t', 'f', undefined]))
  }
})

it('show nothing of themselves to validators of a PATCH, which get values as a client would send them', async () => {
  const getTypeParser = (oid: number, format: any) =>
    [1700, 1082, 1184].includes(oid) ? (text: string) => ({ own: text }) : pg.types.getTypeParser(oid, format)
  const types = { getTypeParser }
  const knex = makeKnex({ client: 'pg', connection: { ...database.connection, types } as Knex.PgConnectionConfig })
  onTestFinished(() => knex.destroy())
  await database.knex.raw(ROWS)
  class Thing extends Model {
    static override tableName = 'things'
  }
  const got: unknown[] = []
  class Checked extends ModelSerializer {
    static override model = Thing
    static override fields = ['n', 'price', 'day', 'moment']
    static override validators = [(data: unknown) => void got.push(data)]
  }
  Thing.knex(knex)
  const view = Object.assign(class View extends BulkModelViewSet {}, {
    model: Thing,
    serializerClass: Checked as never,
  })
  const server = await serve(new Koa().use(new APIRouter().register('things', view).routes()))
  onTestFinished(() => server.close())
  const headers = { 'Content-Type': 'application/json' }
  await server.send({ method: 'PATCH', path: '/things/1', headers, body: '{"n":9}' })
  expect(got).toEqual([{ n: 9, price: '12.50', day: '2020-02-29', moment: '2020-06-01T10:00:00.654321Z' }])
})

it('name no other object than the one on the path, and lead to the one that was created', async () => {
  const knex = makeKnex({ client: 'pg', connection: database.connection as Knex.PgConnectionConfig })
  onTestFinished(() => knex.destroy())
  onTestFinished(setParsers(new Map([[BIGINT, Number]])))
  await knex.raw('create table far (id bigint primary key, title text)')
  class Far extends Model {
    static override tableName = 'far'
    // its rows are read once more
    override $afterInsert() {}
  }
  Far.knex(knex)
  class FarViewSet extends BulkModelViewSet {
    static override serializerClass = class extends ModelSerializer {
      static override model = Far
      static override fields = ['id', 'title']
    }
    static override model = Far
    override getQueryset() {
      return super.getQueryset().whereNotNull('title')
    }
  }
  const api = new APIRouter().register('far', FarViewSet)
  await api.prepare()
  const { send, get } = await serveApp(api.routes())
  const id = '9007199254740993'
  const made = await send('POST', '/far', { id, title: 'a' })
  expect([made.status, made.headers['location']]).toEqual([201, `/far/${id}`])
  expect((await get(`/far/${id}`)).status).toBe(200)
  for (const headers of [{}, { 'if-none-match': '"held"' }]) {
    expect((await send('PATCH', `/far/${id}`, { title: 'b' }, headers)).status).toBe(200)
  }
  expect((await get('/far/9007199254740992')).status).toBe(404)
  expect((await send('DELETE', `/far/${id}`)).status).toBe(204)
})

/** For all connections of the process. @returns what takes them back */
function setParsers(parsers: ReadonlyMap<number, Parse>): () => void {
  const types = pg.types as unknown as {
    getTypeParser(oid: number): Parse
    setTypeParser(oid: number, parse: Parse): void
  }
  const before = [...parsers.keys()].map((oid) => [oid, types.getTypeParser(oid)] as const)
  for (const [oid, parse] of parsers) types.setTypeParser(oid, parse)
  return () => {
    for (const [oid, parse] of before) types.setTypeParser(oid, parse)
  }
}
