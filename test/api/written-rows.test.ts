/** What writes store: of rows without values, and of objects that share columns, rows or nested objects. */
import { modelSerializer, NestedSerializer } from 'koa-viewsets'
import { Model } from 'objection'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createDatabase, type TestDatabase } from '../support/database.js'
import { type SerializerClass, serializerOf, serveViews, tableOf, viewOf } from '../support/views.js'

const SCHEMA = `
  create table authors (id int generated always as identity primary key, name text default 'x');
  create table posts (id int generated always as identity primary key, title text, author_id int references authors);
  create table tags (id int generated always as identity primary key, label text default 'l', post_id int references posts);

  create table tenants (id int primary key);
  create table tokens (uid serial primary key, tenant_id int references tenants, id int, name text, unique (tenant_id, id));
  create table places (
    id int primary key, tenant_id int, region int, token_id int, backup_id int, strict_id int not null default 3,
    foreign key (tenant_id, token_id) references tokens (tenant_id, id),
    foreign key (tenant_id, backup_id) references tokens (tenant_id, id),
    foreign key (region, strict_id) references tokens (tenant_id, id)
  );
  create table invoices (
    id int primary key, tenant_id int references tenants, place_id int, note text, unique (tenant_id, place_id)
  );
  create table labels (uid serial primary key, tenant_id int, id int, name text, unique (tenant_id, id));
  create table labelled (
    tenant_id int, token_id int, label_id int, primary key (tenant_id, token_id, label_id),
    foreign key (tenant_id, token_id) references tokens (tenant_id, id), foreign key (tenant_id, label_id) references labels (tenant_id, id)
  );

  create table notes (id int generated always as identity primary key, title text, meta jsonb, raw json, list jsonb[]);
`

let database: TestDatabase

beforeAll(async () => {
  database = await createDatabase({ schema: SCHEMA })
  Model.knex(database.knex)
})
afterAll(() => database.drop())

const Author = tableOf('authors')
const Tag = tableOf('tags')
const Post = tableOf('posts', {
  relationMappings: () => ({
    tags: { relation: Model.HasManyRelation, modelClass: Tag, join: { from: 'posts.id', to: 'tags.post_id' } },
    author: {
      relation: Model.BelongsToOneRelation,
      modelClass: Author,
      join: { from: 'posts.author_id', to: 'authors.id' },
    },
  }),
})

describe('rows that set no column', () => {
  const optional = { required: false }
  const AuthorSerializer = modelSerializer(Author, { fields: ['id', 'name'], extraKwargs: { name: optional } })
  const TagSerializer = modelSerializer(Tag, { fields: ['id', 'label'], extraKwargs: { label: optional } })
  const PostSerializer = modelSerializer(Post, {
    fields: ['id', 'title', 'tags', 'author'],
    declaredFields: {
      tags: new NestedSerializer(TagSerializer, { many: true, required: false }),
      author: new NestedSerializer(AuthorSerializer, { required: false, allowNull: true }),
    },
  })
  class Hooked extends Tag {
    override $beforeInsert() {
      Object.assign(this, { label: 'hook' })
    }
  }
  const HookedSerializer = modelSerializer(Hooked, { fields: ['id', 'label'], extraKwargs: { label: optional } })
  const views = {
    posts: viewOf(Post, PostSerializer),
    tags: viewOf(Tag, TagSerializer),
    hooked: viewOf(Hooked, HookedSerializer),
  }

  beforeEach(() => database.knex.raw('truncate authors, posts, tags restart identity cascade'))

  it.each([1, 2, 3])('are inserted together, %i of them: nested, in bulk, as rows and as instances', async (count) => {
    const client = await serveViews(views)
    const empty = Array.from({ length: count }, () => ({}))
    const labels = (label: string) => empty.map(() => expect.objectContaining({ label }))
    const nested = await client.send('POST', '/posts', { title: 'a', tags: empty })
    expect(nested).toMatchObject({ status: 201, json: { tags: labels('l') } })
    const pointed = await client.send(
      'POST',
      '/posts/bulk',
      empty.map(() => ({ author: {} })),
    )
    expect(pointed).toMatchObject({ status: 201, json: empty.map(() => ({ author: { name: 'x' } })) })
    expect(await client.send('POST', '/posts/bulk', empty)).toMatchObject({
      status: 201,
      json: empty.map(() => ({ tags: [] })),
    })
    expect(await client.send('POST', '/tags/bulk', empty)).toMatchObject({ status: 201, json: labels('l') })
    expect(await client.send('POST', '/hooked/bulk', empty)).toMatchObject({ status: 201, json: labels('hook') })
    const { rows } = await database.knex.raw('select id from tags')
    expect(new Set(rows.map(({ id }: { id: number }) => id)).size).toBe(3 * count)
  })
})

describe('a foreign key of several columns', () => {
  const Label = tableOf('labels', { idColumn: 'uid' })
  const Token = tableOf('tokens', {
    idColumn: 'uid',
    relationMappings: () => ({
      labels: {
        relation: Model.ManyToManyRelation,
        modelClass: Label,
        join: {
          from: ['tokens.tenant_id', 'tokens.id'],
          through: {
            from: ['labelled.tenant_id', 'labelled.token_id'],
            to: ['labelled.tenant_id', 'labelled.label_id'],
          },
          to: ['labels.tenant_id', 'labels.id'],
        },
      },
    }),
  })
  const Invoice = tableOf('invoices')
  const pointing = (tenant: string, own: string) => ({
    relation: Model.BelongsToOneRelation,
    modelClass: Token,
    join: { from: [`places.${tenant}`, `places.${own}`], to: ['tokens.tenant_id', 'tokens.id'] },
  })
  const Place = tableOf('places', {
    relationMappings: () => ({
      token: pointing('tenant_id', 'token_id'),
      backup: pointing('tenant_id', 'backup_id'),
      strict: pointing('region', 'strict_id'),
      invoice: {
        relation: Model.HasOneRelation,
        modelClass: Invoice,
        join: { from: ['places.tenant_id', 'places.id'], to: ['invoices.tenant_id', 'invoices.place_id'] },
      },
    }),
  })
  const TokenSerializer = serializerOf(Token, ['tenant_id', 'id', 'name'])
  const nested = (serializer: SerializerClass) => new NestedSerializer(serializer, { allowNull: true, required: false })
  const nesting = (fields: string[], readOnlyFields: string[]) =>
    Object.assign(
      serializerOf(Place, [...fields, 'token', 'backup', 'strict', 'invoice'], {
        token: nested(TokenSerializer),
        backup: nested(TokenSerializer),
        strict: nested(TokenSerializer),
        invoice: nested(serializerOf(Invoice, ['id', 'note'])),
      }),
      { readOnlyFields },
    )
  const views = {
    // the tenant is shown, or nobody's business
    places: viewOf(Place, nesting(['id', 'tenant_id', 'region'], ['tenant_id', 'region'])),
    hidden: viewOf(Place, nesting(['id'], [])),
    labels: viewOf(
      Token,
      serializerOf(Token, ['uid', 'labels'], {
        labels: new NestedSerializer(serializerOf(Label, ['tenant_id', 'id', 'name']), { many: true }),
      }),
      { lookupField: 'uid' },
    ),
  }

  beforeEach(() =>
    database.knex.raw(`
      truncate tenants, tokens, places, invoices, labels, labelled restart identity cascade;
      insert into tenants values (1), (2);
      insert into tokens (tenant_id, id) values (1, 1), (1, 2), (1, 3), (2, 3);
      insert into places values (1, 1, 1, 1, 2), (2, 1, 1, 1, 2);
      insert into invoices values (1, 1, 1, 'a'), (2, 1, 2, 'b');
    `),
  )
  const stored = async (sql: string): Promise<unknown[]> => (await database.knex.raw(sql)).rows

  it.each(['places', 'hidden'])(
    'is cleared where no other key has its columns (%s): one, both, in PUT and in bulk',
    async (path) => {
      const client = await serveViews(views)
      const untouched = { tenant_id: 1, region: 1, token_id: 1, backup_id: 2, strict_id: 3 }
      const rows = () => stored('select tenant_id, region, token_id, backup_id, strict_id from places order by id')
      const one = await client.send('PATCH', `/${path}/1`, { token: null })
      expect(one).toMatchObject({ status: 200, json: { token: null, backup: { tenant_id: 1, id: 2 } } })
      expect(await rows()).toEqual([{ ...untouched, token_id: null }, untouched])
      const again = await client.send('PATCH', `/${path}/1`, { token: null, backup: null })
      expect(again).toMatchObject({ status: 200, json: { token: null, backup: null, invoice: { id: 1 } } })
      await client.send('PATCH', `/${path}/bulk`, [
        { id: 1, token: null },
        { id: 2, backup: null },
      ])
      expect(await rows()).toEqual([
        { ...untouched, token_id: null, backup_id: null },
        { ...untouched, backup_id: null },
      ])
      const read = await client.get(`/${path}/2`)
      expect(await client.send('PUT', `/${path}/2`, read.json)).toMatchObject({ status: 200, json: read.json })
      expect(await client.send('PUT', `/${path}/2`, { ...read.json, token: null })).toMatchObject({ status: 200 })
      expect((await rows())[1]).toEqual({ ...untouched, token_id: null, backup_id: null })
    },
  )

  it('that has the tenant of others lets go of an object that points to it, and keeps the tenant', async () => {
    const client = await serveViews(views)
    expect(await client.send('PATCH', '/places/1', { invoice: null })).toMatchObject({
      status: 200,
      json: { invoice: null },
    })
    const [first] = await stored('select * from invoices order by id')
    expect(first).toEqual({ id: 1, tenant_id: 1, place_id: null, note: 'a' })
  })

  it('of which nothing can be cleared is refused under the name of the nested object', async () => {
    const client = await serveViews(views)
    const before = await stored('select * from places order by id')
    const errors = { strict: ['This field may not be null.'] }
    expect(await client.send('PATCH', '/places/1', { strict: null })).toMatchObject({ status: 400, json: { errors } })
    const bulk = await client.send('PATCH', '/places/bulk', [
      { id: 1, token: null },
      { id: 2, strict: null },
    ])
    expect(bulk).toMatchObject({ status: 400, json: { errors: { 1: errors } } })
    expect(await stored('select * from places order by id')).toEqual(before)
  })

  it('takes no new object of another tenant', async () => {
    const client = await serveViews(views)
    await client.send('PATCH', '/places/1', { token: null })
    const other = await client.send('PATCH', '/places/1', { token: { tenant_id: 2, id: 9 } })
    expect(other).toMatchObject({ status: 400, json: { errors: { token: ['Invalid value.'] } } })
    expect(await stored('select id from tokens where id = 9')).toEqual([])
    const own = await client.send('PATCH', '/places/1', { token: { tenant_id: 1, id: 9 } })
    expect(own).toMatchObject({ status: 200, json: { token: { tenant_id: 1, id: 9 }, backup: { id: 2 } } })
  })

  it('of a join table may share columns with the other', async () => {
    const client = await serveViews(views)
    const labels = [
      { tenant_id: 1, id: 1, name: 'a' },
      { tenant_id: 1, id: 2, name: 'b' },
    ]
    expect(await client.send('PATCH', '/labels/1', { labels })).toMatchObject({ status: 200, json: { labels } })
    const other = await client.send('PATCH', '/labels/1', { labels: [{ tenant_id: 2, id: 5, name: 'c' }] })
    expect(other.status).toBe(400)
    expect(await stored('select * from labelled')).toHaveLength(2)
  })
})

describe('hooks of models', () => {
  const sent = { meta: { a: 1, by: 'client' }, raw: [1, 'two'], list: [{ n: 1 }, 'text', null] }
  const seen: unknown[] = []
  /** What a hook does with values of JSON: it looks at them, changes them, or puts others in their places. */
  const HOOKS: Record<string, (row: any) => void> = {
    'look at them': () => {},
    'put copies in their places': (row) => {
      if (row.meta) row.meta = { ...row.meta, by: 'hook' }
      if (row.list) row.list = [...row.list, { by: 'hook' }]
    },
    'change them': (row) => {
      if (row.meta) row.meta.by = 'hook'
      if (row.raw) row.raw.push('three')
    },
    'write text as for Objection alone': (row) => {
      if (row.raw) row.raw = JSON.stringify(['text'])
    },
    'give what the client did not': (row) => {
      row.meta = { only: 'hook' }
    },
  }
  const expected: Record<string, object> = {
    'look at them': sent,
    'put copies in their places': { ...sent, meta: { a: 1, by: 'hook' }, list: [...sent.list, { by: 'hook' }] },
    'change them': { ...sent, meta: { a: 1, by: 'hook' }, raw: [1, 'two', 'three'] },
    'write text as for Objection alone': { ...sent, raw: ['text'] },
    'give what the client did not': { ...sent, meta: { only: 'hook' } },
  }

  beforeEach(() => database.knex.raw('truncate notes restart identity'))

  it.each(
    Object.keys(HOOKS).flatMap((name) => [
      [name, {}] as const,
      // Objection writes attributes itself, strings too
      ...(name.includes('text') ? [] : [[name, { jsonAttributes: ['meta', 'raw'] }] as const]),
      [name, { afterUpdate: () => undefined }] as const,
    ]),
  )('see values of JSON and not their text, and may %s (%j)', async (name, statics) => {
    const change = HOOKS[name] as (row: any) => void
    const note = (row: any) => {
      seen.push(typeof row.meta)
      change(row)
    }
    class Note extends Model {
      static override tableName = 'notes'
      override $beforeInsert() {
        note(this)
      }
      override $beforeUpdate() {
        note(this)
      }
    }
    Object.assign(Note, statics)
    const serializer = serializerOf(Note, ['id', 'title', 'meta', 'raw', 'list'])
    const { send, get } = await serveViews({ notes: viewOf(Note, serializer) })
    seen.length = 0
    const after = { title: 't', ...expected[name] }
    const body = () => structuredClone({ title: 't', ...sent })
    expect(await send('POST', '/notes', body())).toMatchObject({ status: 201, json: after })
    expect((await get('/notes/1')).json).toEqual({ id: 1, ...after })
    expect(await send('POST', '/notes/bulk', [body(), body()])).toMatchObject({ status: 201, json: [after, after] })
    expect(await send('PUT', '/notes/1', body())).toMatchObject({ status: 200, json: after })
    expect(await send('PATCH', '/notes/2', body())).toMatchObject({ status: 200, json: after })
    const bulk = [1, 3].map((id) => ({ id, ...body() }))
    expect(await send('PATCH', '/notes/bulk', bulk)).toMatchObject({ status: 200, json: [after, after] })
    for (const id of [1, 2, 3]) expect((await get(`/notes/${id}`)).json).toEqual({ id, ...after })
    expect(new Set(seen)).toEqual(new Set(['object']))
  })

  it('leave strings that clients send as the JSON that they are', async () => {
    class Note extends Model {
      static override tableName = 'notes'
      override $beforeInsert() {}
      override $beforeUpdate() {}
    }
    const { send, get } = await serveViews({
      notes: viewOf(Note, serializerOf(Note, ['id', 'title', 'meta', 'raw', 'list'])),
    })
    for (const value of ['text', '{"a":1}', '"quoted"', '5', '', 0, false, 9007199254740993n.toString()]) {
      const body = { title: 't', meta: value, raw: value, list: [value] }
      const { json } = await send('POST', '/notes', body)
      expect(json).toMatchObject(body)
      expect((await send('PUT', `/notes/${json.id}`, body)).json).toMatchObject(body)
      expect((await get(`/notes/${json.id}`)).json).toMatchObject(body)
    }
  })
})
