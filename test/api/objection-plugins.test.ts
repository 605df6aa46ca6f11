/** Plugins of Objection as npm has them, on models of view sets: what the wire shows of them, and what stands in the tables. */

import bcrypt from 'bcrypt'
import {
  APIRouter,
  action,
  bulkModelViewSet,
  CSVRenderer,
  DestroyMixin,
  FieldFilter,
  genericViewSet,
  JSONRenderer,
  modelSerializer,
  modelViewSet,
  NestedSerializer,
  OrderingFilter,
  ValidationError,
} from 'koa-viewsets'
import { compose, Model, type Plugin, QueryBuilder, type QueryContext } from 'objection'
import { DBErrors } from 'objection-db-errors'
import guidModule from 'objection-guid'
import passwordModule from 'objection-password'
import softDelete from 'objection-soft-delete'
import unique from 'objection-unique'
import visibilityModule from 'objection-visibility'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { type Client, serving } from '../support/client.js'
import { createDatabase, type TestDatabase } from '../support/database.js'
import { serializerOf, serveViews, viewOf } from '../support/views.js'

const SCHEMA = `
  create table teams (id uuid primary key, name text not null);
  insert into teams values ('11111111-1111-4111-8111-111111111111', 'Red');
  create table accounts (
    id serial primary key, name text not null unique, team_id uuid references teams, password text not null, notes text
  );
  create table members (id serial primary key, email text not null, club text);
  create table posts (id serial primary key, title text not null, deleted boolean not null default false);
  insert into posts (title) select 'post ' || n from generate_series(1, 6) n;
  create table labels (id serial primary key, name varchar(5) not null unique, parent_id int references labels);
  create table users (id uuid primary key, email text not null unique, password text not null);`

const RED = '11111111-1111-4111-8111-111111111111'
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
const NOT_UNIQUE = 'This field must be unique.'
const refused = (errors: object) => ({ detail: 'Validation failed', status: 400, errors })
const rounds = 4

// their types are those of modules with a default, or of another Model
const visibility = visibilityModule as unknown as Plugin
const password = passwordModule as unknown as (options: object) => Plugin
const guid = guidModule as unknown as () => Plugin

class Team extends guid()(Model) {
  static override tableName = 'teams'
  declare id: string
  declare name: string
}

class Account extends password({ rounds })(visibility(Model)) {
  declare static isBcryptHash: (text: string) => boolean
  static override tableName = 'accounts'
  static hidden = ['password', 'notes']
  declare id: number
  declare name: string
  declare team_id: string | null
  declare password: string
  declare notes: string | null
  static override relationMappings = () => ({
    team: {
      relation: Model.BelongsToOneRelation,
      modelClass: Team,
      join: { from: 'accounts.team_id', to: 'teams.id' },
    },
  })
}

class Member extends unique({ fields: ['email'] })(Model) {
  static override tableName = 'members'
  declare id: number
  declare email: string
  declare club: string | null
}

/** What objection-soft-delete calls, and Objection 3 has not. */
class MergingModel extends Model {
  static override QueryBuilder = class extends Model.QueryBuilder<Model> {
    mergeContext(context: QueryContext) {
      return this.context(context)
    }
  } as typeof Model.QueryBuilder
}

class Post extends softDelete()(MergingModel) {
  static override tableName = 'posts'
  declare id: number
  declare title: string
  declare deleted: boolean
}

class Label extends DBErrors(Model) {
  static override tableName = 'labels'
  declare id: number
  declare name: string
  declare parent_id: number | null
}

class User extends compose(visibility, guid(), password({ rounds }), unique({ fields: ['email'] }), DBErrors)(Model) {
  static override tableName = 'users'
  static hidden = ['password']
  declare id: string
  declare email: string
  declare password: string
}

class TeamViewSet extends bulkModelViewSet(Team, {
  serializerClass: modelSerializer(Team, { fields: ['id', 'name'], readOnlyFields: ['id'] }),
  filterBackends: [FieldFilter],
  filtersetFields: ['id', 'name'],
}) {}

class ShownAccountSerializer extends modelSerializer(Account, { fields: '__all__' }) {}

class ShownAccountViewSet extends bulkModelViewSet(Account, {
  serializerClass: ShownAccountSerializer,
  rendererClasses: [JSONRenderer, CSVRenderer],
  filterBackends: [OrderingFilter, FieldFilter],
  filtersetFields: ['name'],
}) {
  @action({ methods: ['GET'], detail: true })
  whole() {
    return this.getObject()
  }
}

class NewAccountSerializer extends modelSerializer(Account, {
  fields: ['id', 'name', 'password'],
  extraKwargs: { password: { writeOnly: true, minLength: 4 } },
}) {
  validatePassword(text: string) {
    if (Account.isBcryptHash(text)) throw new ValidationError('This is no password.')
    return text
  }
}

class NewAccountViewSet extends bulkModelViewSet(Account, { serializerClass: NewAccountSerializer }) {}

class MemberViewSet extends bulkModelViewSet(Member, {
  serializerClass: modelSerializer(Member, { fields: '__all__' }),
}) {}

class PostSerializer extends modelSerializer(Post, { fields: ['id', 'title'] }) {}
class AllPostViewSet extends bulkModelViewSet(Post, { serializerClass: PostSerializer }) {}
class PostViewSet extends bulkModelViewSet(Post, { serializerClass: PostSerializer }) {
  override getQueryset() {
    return super.getQueryset().where('posts.deleted', false)
  }
}

class LabelViewSet extends bulkModelViewSet(Label, {
  serializerClass: modelSerializer(Label, { fields: '__all__' }),
  filterBackends: [FieldFilter],
  filtersetFields: ['name'],
}) {}

class UserViewSet extends bulkModelViewSet(User, {
  serializerClass: modelSerializer(User, {
    fields: ['id', 'email', 'password'],
    readOnlyFields: ['id'],
    extraKwargs: { password: { writeOnly: true } },
  }),
}) {}

let database: TestDatabase
let client: Client
beforeAll(async () => {
  database = await createDatabase({ schema: SCHEMA })
  Model.knex(database.knex)
  const api = new APIRouter()
    .register('teams', TeamViewSet)
    .register('accounts', ShownAccountViewSet)
    .register('new-accounts', NewAccountViewSet, 'new-account')
    .register('members', MemberViewSet)
    .register('all-posts', AllPostViewSet, 'any-post')
    .register('posts', PostViewSet)
    .register('labels', LabelViewSet)
    .register('users', UserViewSet)
  await api.prepare()
  client = await serving(api.routes())
})
afterAll(async () => {
  await client.close()
  await database.drop()
})

/** Status and JSON of an answer. */
async function answer(method: string, path: string, body?: unknown): Promise<[number, unknown]> {
  const { status, json } = await client.send(method, path, body)
  return [status, json]
}

async function passwordsOf(table: string): Promise<Record<string, string>> {
  const rows: { readonly name: string; readonly password: string }[] = await database
    .knex(table)
    .select({ name: table === 'users' ? 'email' : 'name' }, 'password')
  return Object.fromEntries(rows.map(({ name, password: hash }) => [name, hash]))
}

describe('objection-guid', () => {
  it('gives new objects their ids, one by one and in lists, and clients give none', async () => {
    const own = '22222222-2222-4222-8222-222222222222'
    const created = await client.send('POST', '/teams', { id: own, name: 'Blue' })
    const { id } = created.json
    expect([created.status, created.json, created.headers.location]).toEqual([
      201,
      { id: expect.stringMatching(UUID), name: 'Blue' },
      `/teams/${id}`,
    ])
    expect(id).not.toBe(own)
    const [status, several] = await answer('POST', '/teams/bulk', [{ name: 'Green' }, { name: 'Grey' }])
    expect([status, several]).toEqual([
      201,
      ['Green', 'Grey'].map((name) => ({ id: expect.stringMatching(UUID), name })),
    ])
    expect(await answer('PATCH', `/teams/${id}`, { name: 'Navy' })).toEqual([200, { id, name: 'Navy' }])
    expect(await answer('GET', `/teams?id=${id}`)).toEqual([200, [{ id, name: 'Navy' }]])
    expect(await answer('DELETE', `/teams/${id}`)).toEqual([204, undefined])
    expect(await answer('GET', `/teams/${id}`)).toMatchObject([404, {}])
  })
})

describe('objection-visibility', () => {
  beforeAll(async () => {
    await database.knex.raw('truncate accounts restart identity')
    const seed = ['Ada', 'Ben', 'Cleo'].map((name, n) => ({ name, team_id: RED, password: `p${3 - n}`, notes: 'hush' }))
    await database.knex('accounts').insert(seed)
  })

  it("shows by '__all__' nothing of what is hidden, whichever way rows are read", async () => {
    const ada = { id: 1, name: 'Ada', team_id: RED }
    expect(await answer('GET', '/accounts?name=Ada')).toEqual([200, [ada]])
    expect(await answer('GET', '/accounts/1')).toEqual([200, ada])
    expect((await client.get('/accounts?name=Ada', { Accept: 'text/csv' })).text).toBe(
      `id,name,team_id\r\n1,Ada,${RED}\r\n`,
    )
    expect(await answer('PATCH', '/accounts/1', { name: 'Ada L.', notes: 'x', password: 'x' })).toEqual([
      200,
      { ...ada, name: 'Ada L.' },
    ])
    expect(await database.knex('accounts').where('id', 1).first('password', 'notes')).toEqual({
      password: 'p3',
      notes: 'hush',
    })
  })

  it('shows nothing of it where an action returns an instance', async () => {
    expect(await answer('GET', '/accounts/2/whole')).toEqual([200, { id: 2, name: 'Ben', team_id: RED }])
  })

  it('orders and filters by nothing of it', async () => {
    const all = await answer('GET', '/accounts?ordering=id')
    for (const query of ['ordering=password', 'ordering=-notes', 'notes=x', 'password=p3']) {
      expect(await answer('GET', `/accounts?${query}`)).toEqual(all)
    }
    expect(Object.keys((await client.send('OPTIONS', '/accounts')).json.actions.fields)).toEqual([
      'id',
      'name',
      'team_id',
    ])
  })

  it('shows nothing of it in objects that others nest', async () => {
    class Holder extends Model {
      static override tableName = 'accounts'
      declare id: number
      static override relationMappings = () => ({
        same: {
          relation: Model.BelongsToOneRelation,
          modelClass: Account,
          join: { from: 'accounts.id', to: 'accounts.id' },
        },
      })
    }
    const serializerClass = modelSerializer(Holder, {
      fields: ['id', 'same'],
      declaredFields: { same: new NestedSerializer(ShownAccountSerializer, { readOnly: true }) },
    })
    class HolderViewSet extends modelViewSet(Holder, { serializerClass }) {}
    const api = new APIRouter().register('holders', HolderViewSet)
    await api.prepare()
    const holders = await serving(api.routes())
    try {
      expect((await holders.get('/holders/3')).json).toEqual({ id: 3, same: { id: 3, name: 'Cleo', team_id: RED } })
    } finally {
      await holders.close()
    }
  })
})

describe('objection-password', () => {
  it('stores hashes, of new objects and of those that change, and shows none', async () => {
    await database.knex.raw('truncate accounts restart identity')
    expect(await answer('POST', '/new-accounts', { name: 'a', password: 'pass-a' })).toEqual([
      201,
      { id: 1, name: 'a' },
    ])
    expect(
      await answer('POST', '/new-accounts/bulk', [
        { name: 'b', password: 'pass-b' },
        { name: 'c', password: 'pass-c' },
      ]),
    ).toEqual([
      201,
      [
        { id: 2, name: 'b' },
        { id: 3, name: 'c' },
      ],
    ])
    const first = await passwordsOf('accounts')
    for (const name of ['a', 'b', 'c']) expect(await bcrypt.compare(`pass-${name}`, first[name] as string)).toBe(true)

    expect(await answer('PATCH', '/new-accounts/1', { name: 'aa' })).toEqual([200, { id: 1, name: 'aa' }])
    expect(await answer('PATCH', '/new-accounts/2', { password: 'other' })).toEqual([200, { id: 2, name: 'b' }])
    expect(
      await answer('PATCH', '/new-accounts/bulk', [
        { id: 3, password: 'third' },
        { id: 1, name: 'a' },
      ]),
    ).toMatchObject([200, [{ id: 3 }, { id: 1 }]])
    const second = await passwordsOf('accounts')
    expect(second['a']).toBe(first['a'])
    expect(await bcrypt.compare('other', second['b'] as string)).toBe(true)
    expect(await bcrypt.compare('third', second['c'] as string)).toBe(true)
    expect(await answer('PUT', '/new-accounts/1', { name: 'a', password: 'fourth' })).toMatchObject([200, {}])
    expect(await bcrypt.compare('fourth', (await passwordsOf('accounts'))['a'] as string)).toBe(true)
  })

  it('is not asked about what it would throw at', async () => {
    const tooShort = ['Ensure this field has at least 4 characters.']
    expect(await answer('POST', '/new-accounts', { name: 'x', password: '' })).toEqual([
      400,
      refused({ password: tooShort }),
    ])
    const hash = await bcrypt.hash('x', rounds)
    expect(await answer('POST', '/new-accounts', { name: 'x', password: hash })).toEqual([
      400,
      refused({ password: ['This is no password.'] }),
    ])
  })
})

describe('objection-unique', () => {
  it('refuses what another row has, under its field, in all writes', async () => {
    const members = ['a@x.org', 'b@x.org', 'c@x.org'].map((email) => ({ email }))
    expect(await answer('POST', '/members', members[0])).toMatchObject([201, { id: 1 }])
    expect(await answer('POST', '/members/bulk', members.slice(1))).toMatchObject([201, [{ id: 2 }, { id: 3 }]])

    const taken = { email: 'b@x.org' }
    const errors = { email: [NOT_UNIQUE] }
    expect(await answer('POST', '/members', taken)).toEqual([400, refused(errors)])
    expect(await answer('PATCH', '/members/1', taken)).toEqual([400, refused(errors)])
    expect(await answer('PUT', '/members/1', { ...taken, club: 'x' })).toEqual([400, refused(errors)])
    expect(await answer('POST', '/members/bulk', [{ email: 'd@x.org' }, taken])).toEqual([400, refused({ 1: errors })])
    expect(
      await answer('PATCH', '/members/bulk', [
        { id: 1, club: 'x' },
        { id: 3, ...taken },
      ]),
    ).toEqual([400, refused({ 1: errors })])
    expect(await database.knex('members').orderBy('id').select('email', 'club')).toEqual(
      members.map((member) => ({ ...member, club: null })),
    )
    expect(await answer('PATCH', '/members/2', { ...taken, club: 'x' })).toEqual([200, { id: 2, ...taken, club: 'x' }])
  })
})

describe('objection-soft-delete', () => {
  const titlesLeft = async () =>
    ((await client.get('/posts')).json as { id: number }[]).map(({ id }) => id).sort((a, b) => a - b)

  it('keeps rows that are deleted, and a queryset leaves them out', async () => {
    expect(await answer('DELETE', '/posts/1')).toEqual([204, undefined])
    expect(await answer('DELETE', '/posts/bulk', [2, 3])).toEqual([200, { deleted: [2, 3] }])
    expect(await titlesLeft()).toEqual([4, 5, 6])
    expect(await database.knex('posts').where('deleted', true).orderBy('id').pluck('id')).toEqual([1, 2, 3])
    for (const [method, body] of [['GET'], ['DELETE'], ['PATCH', { title: 'x' }]] as const) {
      expect(await answer(method, '/posts/1', body)).toMatchObject([404, {}])
    }
    expect(await answer('DELETE', '/posts/bulk', [4, 1])).toMatchObject([400, {}])
    expect(await titlesLeft()).toEqual([4, 5, 6])
  })

  it('by itself leaves nothing out', async () => {
    expect(await answer('GET', '/all-posts/1')).toEqual([200, { id: 1, title: 'post 1' }])
    expect((await client.get('/all-posts')).json).toHaveLength(6)
  })

  it('is refused at the start where its delete() would fail', async () => {
    class Plain extends softDelete()(Model) {
      static override tableName = 'posts'
    }
    const serializerClass = modelSerializer(Plain, { fields: ['id', 'title'] })
    class PlainViewSet extends genericViewSet(Plain, { mixins: [DestroyMixin], serializerClass }) {}
    await expect(new APIRouter().register('posts', PlainViewSet).prepare()).rejects.toThrow(
      'PlainViewSet: destroy() asks objection-soft-delete, whose delete() calls mergeContext(), which Objection 3 has not; ' +
        'give the QueryBuilder that Plain extends a mergeContext(), or set static softDelete in place of the plugin',
    )
  })
})

describe('What an application sets on the Model that Objection exports', () => {
  /** As the builder that objection-softdelete registers. */
  class KeepingBuilder<M extends Model, R = M[]> extends QueryBuilder<M, R> {
    constructor(...args: never[]) {
      super(...(args as []))
      void this.onBuild((query) => {
        if (query.isFind()) void query.where(`${query.tableRefFor(query.modelClass())}.deleted`, false)
      })
    }

    override delete() {
      return this.patch({ deleted: true } as object) as never
    }
  }

  beforeEach(() =>
    database.knex.raw(
      `drop table if exists notes, folders;
       create table folders (id int primary key, name text not null, deleted bool not null default false);
       create table notes (id int primary key, folder_id int references folders, deleted bool not null default false);
       insert into folders values (1, 'open', false), (2, 'gone', true);
       insert into notes values (1, 1, false), (2, 2, false), (3, 1, true)`,
    ),
  )

  /** Serves notes, each with its folder. */
  function serveNotes() {
    class Folder extends Model {
      static override tableName = 'folders'
    }
    class Note extends Model {
      static override tableName = 'notes'
      static override relationMappings = () => ({
        folder: {
          relation: Model.BelongsToOneRelation,
          modelClass: Folder,
          join: { from: 'notes.folder_id', to: 'folders.id' },
        },
      })
    }
    const folder = new NestedSerializer(serializerOf(Folder, ['name']), { readOnly: true })
    return serveViews({ notes: viewOf(Note, serializerOf(Note, ['id', 'folder'], { folder })) })
  }

  const shown = [
    { id: 1, folder: { name: 'open' } },
    { id: 2, folder: null },
  ]

  it('hides rows and keeps them, whichever way they are read and deleted', async () => {
    const { QueryBuilder: exported } = Model
    onTestFinished(() => {
      Model.QueryBuilder = exported
    })
    Model.QueryBuilder = KeepingBuilder
    const { get, send } = await serveNotes()
    expect((await get('/notes')).json).toEqual(shown)
    expect((await get('/notes/2')).json).toEqual(shown[1])
    expect((await send('DELETE', '/notes/1')).status).toBe(204)
    expect((await send('DELETE', '/notes/bulk', [2])).json).toEqual({ deleted: [2] })
    expect((await get('/notes')).json).toEqual([])
    expect(await database.knex('notes').where('deleted', true)).toHaveLength(3)
  })

  it.each([
    ['a method of its builder', QueryBuilder, 'forClass'],
    ['a static', Model, 'query'],
  ])('is also %s', async (_what, owner: object, name) => {
    onTestFinished(() => void Reflect.deleteProperty(owner, name))
    const own = Reflect.get(owner, name) as (...args: unknown[]) => QueryBuilder<Model>
    Reflect.set(owner, name, function (this: unknown, ...args: unknown[]) {
      return own.apply(this, args).onBuild((query) => {
        if (query.isFind()) void query.where(`${query.tableRefFor(query.modelClass())}.deleted`, false)
      })
    })
    const { get } = await serveNotes()
    expect((await get('/notes')).json).toEqual(shown)
  })

  it('is also a method of queries', async () => {
    onTestFinished(() => void Reflect.deleteProperty(QueryBuilder.prototype, 'delete'))
    QueryBuilder.prototype.delete = KeepingBuilder.prototype.delete as never
    const { send } = await serveNotes()
    expect((await send('DELETE', '/notes/1')).status).toBe(204)
    expect(await database.knex('notes')).toHaveLength(3)
  })

  it('is also a hook of instances', async () => {
    onTestFinished(() => void Reflect.deleteProperty(Model.prototype, '$afterFind'))
    Model.prototype.$afterFind = function (this: { name?: string }) {
      if (this.name) this.name = '…'
    }
    const { get } = await serveNotes()
    expect((await get('/notes')).json[0]).toEqual({ id: 1, folder: { name: '…' } })
  })
})

describe('objection-db-errors', () => {
  it('leaves the answers to what the database refuses as they are', async () => {
    expect(await answer('POST', '/labels', { name: 'a' })).toMatchObject([201, { id: 1 }])
    expect(await answer('POST', '/labels/bulk', [{ name: 'b', parent_id: 1 }])).toMatchObject([201, [{ id: 2 }]])
    const errors = { name: [NOT_UNIQUE] }
    expect(await answer('POST', '/labels', { name: 'a' })).toEqual([400, refused(errors)])
    expect(await answer('PATCH', '/labels/2', { name: 'a' })).toEqual([400, refused(errors)])
    expect(await answer('POST', '/labels/bulk', [{ name: 'c' }, { name: 'a' }])).toEqual([400, refused({ 1: errors })])
    expect(await answer('PATCH', '/labels/bulk', [{ id: 2, name: 'a' }])).toEqual([400, refused({ 0: errors })])
    const conflict = { detail: 'Object is referenced by other objects.', status: 409 }
    expect(await answer('DELETE', '/labels/1')).toEqual([409, conflict])
    expect(await answer('DELETE', '/labels/bulk', [1])).toEqual([409, conflict])
    expect(await answer('GET', '/labels?name=b')).toEqual([200, [{ id: 2, name: 'b', parent_id: 1 }]])
    expect(await answer('DELETE', '/labels/bulk', [2, 1])).toEqual([200, { deleted: [2, 1] }])
  })
})

describe('all of them on one model', () => {
  it('do what each does by itself', async () => {
    const ada = { email: 'ada@x.org', password: 'secret' }
    const created = await client.send('POST', '/users', ada)
    const shown = { id: expect.stringMatching(UUID), email: 'ada@x.org' }
    expect([created.status, created.json]).toEqual([201, shown])
    expect(await bcrypt.compare('secret', (await passwordsOf('users'))['ada@x.org'] as string)).toBe(true)
    expect(await answer('POST', '/users', ada)).toEqual([400, refused({ email: [NOT_UNIQUE] })])
    expect(await answer('GET', `/users/${created.json.id}`)).toEqual([200, created.json])
    expect(await answer('PATCH', '/users/bulk', [{ id: created.json.id, password: 'changed' }])).toEqual([
      200,
      [created.json],
    ])
    expect(await bcrypt.compare('changed', (await passwordsOf('users'))['ada@x.org'] as string)).toBe(true)
    expect(client.reported).toEqual([])
  })
})
