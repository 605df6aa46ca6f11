/** Foreign keys under a role or row-level security: PostgreSQL checks them by the rights of a table's owner, so they are looked up as the caller. */
import { randomBytes } from 'node:crypto'
import knexLibrary, { type Knex } from 'knex'
import { Model, snakeCaseMappers } from 'objection'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import {
  APIRouter,
  bulkModelViewSet,
  IntegerField,
  modelSerializer,
  NestedSerializer,
  SerializerMethodField,
  table,
} from '../../lib/index.js'
import { prepareModels } from '../../lib/tools/index.js'
import { type Client, serving } from '../support/client.js'
import { countQueries, createDatabase, type TestDatabase } from '../support/database.js'
import { runsAsRole } from '../support/roles.js'

const SUFFIX = randomBytes(6).toString('hex')
const [LOGIN, WEB] = [`login_${SUFFIX}`, `web_${SUFFIX}`]
const TENANT = "nullif(current_setting('app.tenant', true), '')::int"
const SCHEMA = `
  create role ${LOGIN} login noinherit password 'x'; create role ${WEB}; grant ${WEB} to ${LOGIN};
  create table notes (id int primary key, tenant_id int not null default ${TENANT}, slug text unique, unique (tenant_id, id));
  create table "odd ?names" ("the ?key" int primary key, tenant_id int not null default ${TENANT});
  create table open_tags (id int primary key);
  create table unreadable (id int primary key);
  create table codes (code char(3) primary key, tenant_id int not null default ${TENANT});
  create table comments (id int generated always as identity primary key, tenant_id int not null default ${TENANT},
    note_id int references notes, slug text references notes (slug), odd int references "odd ?names", tag_id int references open_tags,
    secret_id int references unreadable, code char(3) references codes, text text);
  create table pairs (id int generated always as identity primary key, tenant_id int default ${TENANT}, note_id int, text text,
    foreign key (tenant_id, note_id) references notes (tenant_id, id));
  create table replies (id int generated always as identity primary key, comment_id int references comments, note_id int references notes);
  create table nodes (id int primary key, tenant_id int not null default ${TENANT}, parent_id int references nodes);
  insert into notes values (1, 1, 'mine'), (2, 2, 'theirs'), (3, 1, 'other');
  insert into "odd ?names" values (1, 1), (2, 2);
  insert into open_tags values (1); insert into unreadable values (1); insert into codes values ('a', 1), (e'a\\t', 2);
  grant select, insert, update, delete on notes, codes, "odd ?names", open_tags, comments, pairs, replies, nodes to ${WEB};
  ${['notes', 'codes', '"odd ?names"', 'comments', 'nodes'].map((name) => `alter table ${name} enable row level security; create policy own on ${name} using (tenant_id = ${TENANT});`).join('\n')}
`

const Comment = table('comments')
const Pair = table('pairs')
const Reply = table('replies')
const Related = table('comments', { relations: { note: { belongsTo: () => table('notes'), key: 'note_id' } } })
const Parent = table('comments', { relations: { replies: { hasMany: () => Reply, key: 'comment_id' } } })
class Mapped extends Model {
  static override tableName = 'comments'
  static override columnNameMappers = snakeCaseMappers()
}
const fields = ['id', 'note_id', 'slug', 'odd', 'tag_id', 'secret_id', 'code', 'text'] as const
/** Written row by row, through instances, by fields that say nothing of keys, and under other names. */
const serializers = {
  rows: modelSerializer(Comment, { fields }),
  instances: class extends modelSerializer(Comment, {
    fields: [...fields, 'label'],
    declaredFields: { label: new SerializerMethodField<string>() },
  }) {
    getLabel() {
      return 'x'
    }
  },
  declared: modelSerializer(Comment, {
    fields,
    declaredFields: { note_id: new IntegerField({ required: false, allowNull: true }) },
  }),
  related: modelSerializer(Related, { fields }),
}
const named = <Class extends object>(name: string, made: Class) => Object.defineProperty(made, 'name', { value: name })

let database: TestDatabase
let db: Knex
let client: Client

beforeAll(async () => {
  database = await createDatabase({ schema: SCHEMA })
  db = knexLibrary({
    client: 'pg',
    connection: { ...database.direct, user: LOGIN, password: 'x' } as object as Knex.PgConnectionConfig,
    pool: { min: 0, max: 3 },
  })
  Model.knex(db)
  const api = new APIRouter({
    databaseRole: WEB,
    databaseSettings: ({ headers }) => ({ 'app.tenant': headers['x-tenant'] as string }),
  })
  for (const [name, serializerClass] of Object.entries(serializers)) {
    named(`${name}Serializer`, serializerClass)
    const model = name === 'related' ? Related : Comment
    api.register(name, named(name, bulkModelViewSet(model, { serializerClass } as never)), name)
  }
  const mapped = modelSerializer(Mapped, { fields: ['id', 'noteId' as never, 'text' as never] })
  api.register('mapped', bulkModelViewSet(Mapped, { serializerClass: named('mappedSerializer', mapped) }), 'mapped')
  const pair = modelSerializer(Pair, { fields: ['id', 'tenant_id', 'note_id', 'text'] })
  api.register('pairs', bulkModelViewSet(Pair, { serializerClass: pair }))
  const narrow = modelSerializer(Pair, { fields: ['id', 'note_id'] })
  api.register('narrow', bulkModelViewSet(Pair, { serializerClass: named('narrowSerializer', narrow) }), 'narrow')
  const replies = new NestedSerializer(modelSerializer(Reply, { fields: ['id', 'note_id'] }), { many: true })
  const parent = modelSerializer(Parent, { fields: ['id', 'text'], declaredFields: { replies } })
  api.register('parents', bulkModelViewSet(Parent, { serializerClass: named('parentSerializer', parent) }), 'parents')
  const node = modelSerializer(table('nodes'), { fields: ['id', 'parent_id'] })
  api.register('nodes', bulkModelViewSet(table('nodes'), { serializerClass: named('nodeSerializer', node) }), 'nodes')
  await api.prepare()
  client = await serving(api.routes())
})
beforeEach(async () => {
  await database.knex.raw(
    `truncate comments, pairs, replies restart identity; insert into comments (tenant_id, note_id, code) values (1, 1, 'a');
    insert into pairs (tenant_id, note_id) values (1, 1)`,
  )
})
afterAll(async () => {
  await client.close()
  await db.destroy()
  await database.knex.raw(`drop owned by ${WEB}, ${LOGIN}`)
  await database.drop()
  const admin = knexLibrary({
    client: 'pg',
    connection: { ...database.direct, database: 'postgres' } as Knex.PgConnectionConfig,
  })
  await admin.raw(`drop role ${WEB}, ${LOGIN}`)
  await admin.destroy()
})

const MINE = { 'x-tenant': '1' }
const send = (method: string, path: string, body: unknown) => client.send(method, path, body, MINE)
const missing = (key: unknown) => [`Invalid pk "${String(key)}" - object does not exist.`]

describe.skipIf(runsAsRole())('a foreign key', () => {
  it.each(Object.keys(serializers))('of %s leads to no row that the caller does not see', async (path) => {
    const keys = { note_id: [1, 2, 99], slug: ['mine', 'theirs', 'nobody'], odd: [1, 2, 99] } as const
    for (const [name, [seen, hidden, absent]] of Object.entries(keys)) {
      for (const key of [hidden, absent]) {
        const errors = { [name]: missing(key) }
        for (const [method, at] of [
          ['POST', ''],
          ['PATCH', '/1'],
          ['PUT', '/1'],
        ] as const) {
          const answer = await send(method, `/${path}${at}`, { [name]: key })
          expect([method, answer.status, answer.json.errors]).toEqual([method, 400, errors])
        }
        const made = await send('POST', `/${path}/bulk`, [{ [name]: seen }, { [name]: key }])
        expect([made.status, made.json.errors]).toEqual([400, { 1: errors }])
        const changed = await send('PATCH', `/${path}/bulk`, [{ id: 1, [name]: key }])
        expect([changed.status, changed.json.errors]).toEqual([400, { 0: errors }])
      }
      expect((await send('POST', `/${path}`, { [name]: seen })).status).toBe(201)
      expect((await send('PATCH', `/${path}/1`, { [name]: seen })).status).toBe(200)
      expect((await send('PATCH', `/${path}/1`, { [name]: null })).status).toBe(200)
    }
  })

  it.each(Object.keys(serializers))('of %s is another where SQL says so', async (path) => {
    const errors = { code: missing('a\\t') }
    for (const body of [{ code: 'a\t' }, { code: 'a\t', text: 'x' }]) {
      const answer = await send('PATCH', `/${path}/1`, body)
      expect([answer.status, answer.json.errors]).toEqual([400, errors])
    }
    expect((await send('PATCH', `/${path}/1`, { code: 'a ' })).status).toBe(200)
  })

  it('is told beside what else is wrong, and of all items of a list at once', async () => {
    const answer = await send('POST', '/rows', { note_id: 2, odd: 2, text: 7 })
    expect(answer.json.errors).toEqual({ note_id: missing(2), odd: missing(2), text: [expect.any(String)] })
    const list = await send('POST', '/rows/bulk', [{ note_id: 2 }, { note_id: 1 }, { slug: 'theirs' }])
    expect(list.json.errors).toEqual({ 0: { note_id: missing(2) }, 2: { slug: missing('theirs') } })
  })

  it('may lead to what the same request creates', async () => {
    await database.knex.raw('truncate nodes; insert into nodes values (9, 2, null)')
    expect((await send('POST', '/nodes', { id: 1, parent_id: 1 })).status).toBe(201)
    const items = [{ id: 2 }, { id: 3, parent_id: 2 }]
    expect((await send('POST', '/nodes/bulk', items)).status).toBe(201)
    const refused = await send('POST', '/nodes/bulk', [{ id: 4 }, { id: 5, parent_id: 9 }, { id: 6, parent_id: 7 }])
    expect([refused.status, refused.json.errors]).toEqual([
      400,
      { 1: { parent_id: missing(9) }, 2: { parent_id: missing(7) } },
    ])
    // of another's row nobody can be sure
    expect((await send('POST', '/nodes/bulk', [{ id: 9 }, { id: 8, parent_id: 9 }])).status).toBe(400)
    expect(await database.knex('nodes').orderBy('id').pluck('id')).toEqual([1, 2, 3, 9])
  })

  it('is looked up under other names, and in nested objects', async () => {
    expect((await send('POST', '/mapped', { noteId: 2 })).json.errors).toEqual({ noteId: missing(2) })
    expect((await send('POST', '/mapped', { noteId: 3 })).status).toBe(201)
    const nested = await send('POST', '/parents', { text: 'x', replies: [{ note_id: 1 }, { note_id: 2 }] })
    expect([nested.status, nested.json.errors]).toEqual([400, { replies: { 1: { note_id: missing(2) } } }])
    expect((await send('POST', '/parents', { text: 'x', replies: [{ note_id: 1 }] })).status).toBe(201)
    expect((await send('PATCH', '/parents/1', { replies: [{ note_id: 2 }] })).status).toBe(400)
  })

  it('of several columns is looked up as a whole', async () => {
    const non = { non_field_errors: ['The values of tenant_id, note_id name no object that exists.'] }
    for (const key of [2, 99]) {
      const made = await send('POST', '/pairs', { tenant_id: 2, note_id: key })
      expect([made.status, made.json.errors]).toEqual([400, non])
    }
    for (const body of [{ note_id: 2 }, { tenant_id: 2 }, { tenant_id: 2, note_id: 2 }]) {
      const changed = await send('PATCH', '/pairs/1', body)
      expect([changed.status, changed.json.errors]).toEqual([400, non])
    }
    expect((await send('PATCH', '/pairs/1', { note_id: 3 })).status).toBe(200)
    // a null leads nowhere, whatever the other says
    expect((await send('PATCH', '/pairs/1', { tenant_id: 2, note_id: null })).status).toBe(200)
  })

  it('of several columns, of which a client leaves one null, leads nowhere, as in the database', async () => {
    for (const body of [{ tenant_id: 2 }, { tenant_id: 2, note_id: null }]) {
      expect((await send('POST', '/pairs', body)).json).toMatchObject({ tenant_id: 2, note_id: null })
    }
    const many = await send('POST', '/pairs/bulk', [{ tenant_id: 2 }, { tenant_id: 2, note_id: 2 }])
    expect(Object.keys(many.json.errors)).toEqual(['1'])
  })

  it('of several columns, of which the database fills in one, leads to no hidden row', async () => {
    for (const key of [2, 99]) {
      const made = await send('POST', '/narrow', { note_id: key })
      expect([made.status, made.json.errors]).toEqual([400, { note_id: missing(key) }])
    }
    expect((await send('POST', '/narrow', { note_id: 3 })).status).toBe(201)
    expect((await send('PATCH', '/narrow/1', { note_id: 2 })).json.errors).toEqual({ note_id: missing(2) })
  })

  it('tells nothing of a table that the role may not read', async () => {
    const answers = [await send('POST', '/rows', { secret_id: 1 }), await send('POST', '/rows', { secret_id: 99 })]
    expect(answers.map(({ status }) => status)).toEqual([401, 401])
    expect((await send('POST', '/rows', { tag_id: 1 })).status).toBe(201)
    expect((await send('POST', '/rows', { tag_id: 9 })).json.errors).toEqual({ tag_id: missing(9) })
  })

  it('that leads to a row which is hidden by now may stay, and be sent back', async () => {
    await database.knex('comments').where({ id: 1 }).update({ note_id: 2 })
    const { json } = await client.get('/rows/1', MINE)
    expect(json.note_id).toBe(2)
    expect((await send('PUT', '/rows/1', json)).status).toBe(200)
    expect((await send('PATCH', '/rows/1', { text: 'y' })).status).toBe(200)
  })

  it('costs one statement, for all keys of all items', async () => {
    for (const [path, body, most] of [
      ['/rows', { note_id: 1, slug: 'mine', odd: 1, tag_id: 1 }, 1],
      ['/rows/bulk', [{ note_id: 1 }, { slug: 'mine' }], 1],
      ['/rows', { text: 'none' }, 0],
    ] as const) {
      const sent = await countQueries(db, () => send('POST', path, body))
      expect(sent.filter((text) => text.includes('not exists'))).toHaveLength(most)
    }
  })

  it('over a period leads to rows that cover it together, where the caller sees all of them', async (context) => {
    const { rows } = await database.knex.raw("select current_setting('server_version_num')::int as version")
    // such keys are new in PostgreSQL 18
    if (Number(rows[0].version) < 180_000) context.skip()
    await database.knex.raw(`
      create extension btree_gist;
      create table staff (id int, span daterange, tenant_id int not null, primary key (id, span without overlaps));
      create table jobs (id int generated always as identity primary key, staff_id int, span daterange,
        foreign key (staff_id, period span) references staff (id, period span));
      alter table staff enable row level security; create policy own on staff using (tenant_id = ${TENANT});
      grant select, insert, update on staff, jobs to ${WEB};
      insert into staff values (1, '[2020-01-01,2021-01-01)', 1), (1, '[2021-01-01,2022-01-01)', 1), (1, '[2022-01-01,2023-01-01)', 2)`)
    const Job = table('jobs')
    const Related = table('jobs', { relations: 'foreign keys' })
    await prepareModels([Related])
    // of which row of them, nobody can say
    expect(Object.keys(Related.getRelations())).toEqual([])
    const jobs = modelSerializer(Job, { fields: ['id', 'staff_id', 'span'] as never })
    const api = new APIRouter({ databaseRole: WEB, databaseSettings: () => ({ 'app.tenant': '1' }) })
    api.register('jobs', bulkModelViewSet(Job, { serializerClass: named('jobSerializer', jobs) } as never), 'jobs')
    await api.prepare()
    const served = await serving(api.routes())
    onTestFinished(() => served.close())
    const seen = ['[2020-02-01,2020-03-01)', '[2020-06-01,2021-06-01)', '[2020-01-01,2022-01-01)']
    const unseen = ['[2021-06-01,2022-06-01)', '[2022-02-01,2022-03-01)', '[2019-06-01,2020-06-01)']
    for (const span of seen) expect((await served.send('POST', '/jobs', { staff_id: 1, span })).status).toBe(201)
    const errors = { non_field_errors: ['The values of staff_id, span name no object that exists.'] }
    for (const span of unseen) {
      expect((await served.send('POST', '/jobs', { staff_id: 1, span })).json.errors).toEqual(errors)
      expect((await served.send('PATCH', '/jobs/1', { span })).json.errors).toEqual(errors)
    }
    expect((await served.send('PATCH', '/jobs/1', { span: seen[1] })).status).toBe(200)
  })
})
