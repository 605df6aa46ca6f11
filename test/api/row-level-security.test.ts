/** Whose rows: a database role and settings for every statement of a request, by `databaseRole` and `databaseSettings`. */
import knexLibrary, { type Knex } from 'knex'
import { ensureIdempotencyTable } from 'koa-viewsets/idempotency'
import { Model } from 'objection'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import {
  APIRouter,
  bulkModelViewSet,
  CursorPagination,
  configure,
  FieldFilter,
  JSONRenderer,
  listAction,
  modelSerializer,
  modelViewSet,
  NDJSONRenderer,
  NestedRouter,
  NestedSerializer,
  nestedViewSet,
  objectAction,
  PageNumberPagination,
  PrimaryKeyRelatedField,
  readOnlyModelViewSet,
  SearchFilter,
  SerializerMethodField,
  ServerCursorPagination,
  StreamMixin,
  TokenAuthentication,
  table,
} from '../../lib/index.js'
import { count, sum } from '../../lib/views/index.js'
import { authentication, errors, idempotency, transaction } from '../../plugins/index.js'
import { type Client, serveApp, serving } from '../support/client.js'
import { countQueries, createDatabase, type TestDatabase } from '../support/database.js'
import { operationOf } from '../support/operation-of.js'

const SUFFIX = Math.random().toString(36).slice(2, 10)
const LOGIN = `login_${SUFFIX}`
const USER = `web_user_${SUFFIX}`
const ANON = `web_anon_${SUFFIX}`
const READER = `web_reader_${SUFFIX}`
const ROLES = [LOGIN, USER, ANON, READER]

const SCHEMA = `
  create role ${LOGIN} login noinherit password 'x';
  create role ${USER}; create role ${ANON}; create role ${READER};
  grant ${USER}, ${ANON}, ${READER} to ${LOGIN};
  create table boards (id serial primary key, tenant int not null, name text not null);
  create table notes (id serial primary key, tenant int not null default nullif(current_setting('app.tenant', true), '')::int,
    board_id int references boards, title text not null, n int not null default 0);
  create table pages (id serial primary key, note_id int not null references notes, text text not null);
  alter table boards enable row level security;
  alter table notes enable row level security;
  create function tenant() returns int language sql stable as $$ select nullif(current_setting('app.tenant', true), '')::int $$;
  create policy boards_of on boards using (tenant = tenant());
  create policy notes_of on notes using (tenant = tenant()) with check (tenant = tenant());
  grant select on boards, notes, pages to ${USER}, ${READER};
  grant insert, update, delete on boards, notes, pages to ${USER};
  grant delete on notes to ${READER};
  grant usage on all sequences in schema public to ${USER};
  grant select on boards to ${ANON};
  create table secrets (id int);
  insert into boards (tenant, name) values (1, 'one'), (2, 'two');
  insert into notes (tenant, board_id, title, n) select n % 2 + 1, n % 2 + 1, 't' || n, n from generate_series(1, 60) n;
  insert into pages (note_id, text) select n, 'p' || n from generate_series(1, 60) n;
`

class Board extends Model {
  static override tableName = 'boards'
  declare id: number
  declare name: string
}
class Page extends Model {
  static override tableName = 'pages'
  declare id: number
  declare note_id: number
  declare text: string
}
class Note extends Model {
  static override tableName = 'notes'
  declare id: number
  declare tenant: number
  declare title: string
  declare n: number
  declare board_id: number | null
  declare board?: Board
  declare pages?: Page[]
  static override relationMappings = () => ({
    board: {
      relation: Model.BelongsToOneRelation,
      modelClass: Board,
      join: { from: 'notes.board_id', to: 'boards.id' },
    },
    pages: { relation: Model.HasManyRelation, modelClass: Page, join: { from: 'notes.id', to: 'pages.note_id' } },
  })
}
class BoardSerializer extends modelSerializer(Board, { fields: ['id', 'name'] }) {}
class PageSerializer extends modelSerializer(Page, { fields: ['id', 'text'] }) {}
class NoteSerializer extends modelSerializer(Note, {
  fields: ['id', 'title', 'n', 'board_id'],
  declaredFields: { board: new NestedSerializer(BoardSerializer, { readOnly: true }) },
}) {}
/** By instances: a method computes one field, and a relation is loaded by a query of its own. */
class WholeNoteSerializer extends modelSerializer(Note, {
  fields: ['id', 'title', 'n', 'label'],
  declaredFields: {
    label: new SerializerMethodField<string>(),
    pages: new NestedSerializer(PageSerializer, { many: true, required: false }),
  },
}) {
  getLabel(note: Note) {
    return note.title.toUpperCase()
  }
}

interface Caller {
  readonly id: string
  readonly role: string
  readonly tenant: string
}
class Tokens extends TokenAuthentication {
  override getUserForToken(token: string): Caller | null {
    const [role = '', tenant = ''] = token.split('-')
    return { id: token, role, tenant }
  }
}
const callerOf = (state: object) => (state as { user?: Caller }).user
const roleNames = new Map([
  ['user', USER],
  ['reader', READER],
  ['none', 'none'],
  ['foreign', 'postgres'],
  ['missing', 'there_is_no_such_role'],
])

const shared = {
  authenticationClasses: [Tokens],
  paginationClass: new PageNumberPagination({ pageSize: 10 }),
  filterBackends: [FieldFilter, SearchFilter],
  filtersetFields: ['n', 'board__name'],
  searchFields: ['title'],
} as const
class Notes extends bulkModelViewSet(Note, {
  ...shared,
  serializerClass: NoteSerializer,
  aggregates: { notes: count(), total: sum('n') },
  groupBy: ['board__name', 'tenant'],
  facets: ['board__name'],
  actions: {
    mine: listAction({ methods: ['GET'] }, async function () {
      const rows = await Note.query(this.trx).where('n', '<', 5).orderBy('id')
      const within = await this.trx?.transaction((trx) => trx('notes').count('* as count').first())
      return { ids: rows.map(({ id }) => id), within }
    }),
    bump: objectAction({ methods: ['POST'] }, async function (note) {
      await note.$query(this.trx).patch({ n: note.n + 100 })
      return { n: note.n + 100 }
    }),
    writing: listAction({ methods: ['GET'] }, async function () {
      return Note.query(this.trx).patch({ n: 0 })
    }),
    swallowing: listAction({ methods: ['GET'] }, async function () {
      const refused = await this.trx?.raw('select * from secrets').then(
        () => 'shown',
        () => 'refused',
      )
      const several = await this.trx?.raw("select 1 as a; select current_setting('app.tenant') as tenant")
      return { refused, several: (several as unknown as { rows: unknown[] }[])[1]?.rows }
    }),
  },
}) {}
class NativeNotes extends bulkModelViewSet(Note, { ...shared, serializerClass: NoteSerializer, useNativeJson: true }) {}
class WholeNotes extends bulkModelViewSet(Note, { ...shared, serializerClass: WholeNoteSerializer }) {}
class CursorNotes extends bulkModelViewSet(Note, {
  ...shared,
  serializerClass: NoteSerializer,
  paginationClass: new CursorPagination({ pageSize: 7, ordering: '-n' }),
}) {}
class ServerNotes extends bulkModelViewSet(Note, {
  ...shared,
  serializerClass: NoteSerializer,
  paginationClass: new ServerCursorPagination({ pageSize: 7, maxTotal: 2, maxPerUser: 1 }),
}) {}
class WholeServerNotes extends bulkModelViewSet(Note, {
  ...shared,
  serializerClass: WholeNoteSerializer,
  paginationClass: new ServerCursorPagination({ pageSize: 7, maxTotal: 2, maxPerUser: 1 }),
}) {}
class StreamedNotes extends bulkModelViewSet(Note, {
  ...shared,
  serializerClass: NoteSerializer,
  mixins: [StreamMixin],
  rendererClasses: [JSONRenderer, NDJSONRenderer],
}) {}
class Boards extends bulkModelViewSet(Board, {
  serializerClass: BoardSerializer,
  authenticationClasses: [Tokens],
}) {}
class BoardNotes extends nestedViewSet(Note, {
  ...shared,
  serializerClass: NoteSerializer,
  aggregates: { notes: count(), total: sum('n') },
  groupBy: ['board__name'],
  facets: ['tenant'],
  parentLookupField: 'board_id',
}) {}

let database: TestDatabase
let db: Knex
let client: Client

beforeAll(async () => {
  configure({ secretKey: 'x'.repeat(32) })
  database = await createDatabase({ schema: SCHEMA })
  db = knexLibrary({
    client: 'pg',
    connection: { ...database.direct, user: LOGIN, password: 'x' } as object as Knex.PgConnectionConfig,
    pool: { min: 0, max: 4 },
  })
  Model.knex(db)
  const api = new APIRouter({
    databaseRole: ({ state }) => roleNames.get(callerOf(state)?.role ?? '') ?? ANON,
    databaseSettings: ({ state, headers }) => ({
      'app.tenant': callerOf(state)?.tenant,
      'app.header': headers['x-tenant'] as string,
    }),
  })
  const views = {
    notes: Notes,
    native: NativeNotes,
    whole: WholeNotes,
    cursor: CursorNotes,
    server: ServerNotes,
    wholeserver: WholeServerNotes,
    streamed: StreamedNotes,
    boards: Boards,
  }
  for (const [name, view] of Object.entries(views)) api.register(name, view, name)
  new NestedRouter(api, 'boards', { lookup: 'board_id' }).register('notes', BoardNotes)
  await api.prepare()
  client = await serving(api.routes())
})
afterAll(async () => {
  await client.close()
  await db.destroy()
  await database.knex.raw(ROLES.map((role) => `drop owned by ${role}`).join(';'))
  await database.drop()
  const admin = knexLibrary({
    client: 'pg',
    connection: { ...database.direct, database: 'postgres' } as Knex.PgConnectionConfig,
  })
  await admin.raw(ROLES.map((role) => `drop role ${role}`).join(';'))
  await admin.destroy()
})

const as = (token: string) => ({ authorization: `Token ${token}` })
/** What a tenant's rows are, by plain SQL of the owner. */
const idsOf = async (tenant: number) =>
  (await database.knex('notes').where({ tenant }).orderBy('id').pluck('id')) as number[]

describe('reading', () => {
  it.each(['notes', 'native', 'whole', 'streamed'])(
    'shows of %s only the rows of the caller, on every page',
    async (path) => {
      for (const tenant of [1, 2]) {
        const found: number[] = []
        for (let page = 1; page <= 3; page++) {
          const { status, json } = await client.get(`/${path}?page=${page}`, as(`user-${tenant}`))
          expect(status).toBe(200)
          expect(json.count).toBe(30)
          found.push(...json.results.map(({ id }: { id: number }) => id))
        }
        expect(found.sort((a, b) => a - b)).toEqual(await idsOf(tenant))
      }
    },
  )
})

describe('reading', () => {
  it('follows cursors, server cursors and streams', async () => {
    const mine = await idsOf(1)
    const byCursor: number[] = []
    for (let path: string | null = '/cursor'; path; ) {
      const { json } = await client.get(path, as('user-1'))
      byCursor.push(...json.results.map(({ id }: { id: number }) => id))
      path = json.next === null ? null : json.next.replace(/^https?:\/\/[^/]+/, '')
    }
    expect(byCursor.sort((a, b) => a - b)).toEqual(mine)
    for (const name of ['server', 'wholeserver']) {
      const byServer: number[] = []
      for (let id: string | null | undefined; id !== null; ) {
        const { status, json } = await client.get(`/${name}${id ? `?server_cursor=${id}` : ''}`, as('user-1'))
        expect(status).toBe(200)
        byServer.push(...json.results.map((row: { id: number }) => row.id))
        id = json.cursor_id
      }
      expect(byServer.sort((a, b) => a - b)).toEqual(mine)
    }
    const streamed = await client.get('/streamed?format=ndjson', { ...as('user-1'), accept: 'application/x-ndjson' })
    const lines = streamed.text.trim().split('\n')
    expect(lines.map((line) => JSON.parse(line).id as number).sort((a, b) => a - b)).toEqual(mine)
  })

  it('goes on with a server cursor only under the role and settings that opened it', async () => {
    const opened = await client.get('/server', { ...as('user-1'), 'x-tenant': '1' })
    const next = `/server?server_cursor=${opened.json.cursor_id}`
    expect((await client.get(next, { ...as('user-1'), 'x-tenant': '2' })).status).toBe(404)
    expect((await client.get(next, { ...as('user-1'), 'x-tenant': '1' })).status).toBe(200)
    expect((await client.get(next, as('user-1'))).status).toBe(404)
    while ((await client.get(next, { ...as('user-1'), 'x-tenant': '1' })).json.exhausted === false);
  })

  it('computes and counts of the rows of the caller only, and shows no related one of another', async () => {
    for (const tenant of [1, 2]) {
      const ask = async (path: string) => (await client.get(path, as(`user-${tenant}`))).json
      const [own] = await database.knex('notes').where({ tenant }).count('* as notes').sum('n as total')
      expect(await ask('/notes/aggregate')).toEqual({ notes: Number(own?.['notes']), total: Number(own?.['total']) })
      const name = tenant === 1 ? 'one' : 'two'
      const { results } = await ask('/notes/aggregate?group_by=board__name,tenant&aggregate=notes')
      expect(results).toEqual([{ board__name: name, tenant, notes: 30 }])
      expect(await ask('/notes/facets')).toEqual({
        board__name: { values: [{ value: name, count: 30 }], has_more: false },
      })
      expect(await ask(`/boards/${tenant}/notes/aggregate?aggregate=notes`)).toEqual({ notes: 30 })
      for (const path of ['aggregate', 'facets']) {
        expect((await client.get(`/boards/${3 - tenant}/notes/${path}`, as(`user-${tenant}`))).status).toBe(404)
        expect((await client.get(`/notes/${path}`)).status).toBe(401)
      }
    }
  })

  it('shows an object, its related ones and what filters and searches find, of the caller only', async () => {
    const [mine, other] = [(await idsOf(1))[0], (await idsOf(2))[0]]
    for (const path of ['notes', 'native', 'whole', 'cursor']) {
      expect((await client.get(`/${path}/${mine}`, as('user-1'))).json.id).toBe(mine)
      expect((await client.get(`/${path}/${other}`, as('user-1'))).status).toBe(404)
    }
    expect((await client.get('/notes?board__name=two', as('user-1'))).json.count).toBe(0)
    expect((await client.get('/notes?search=t1', as('user-1'))).json.count).toBe(
      Number(
        (await database.knex('notes').where({ tenant: 1 }).where('title', 'like', '%t1%').count().first())?.['count'],
      ),
    )
    expect((await client.get(`/whole/${mine}`, as('user-1'))).json.pages).toHaveLength(1)
    expect((await client.get('/boards/1/notes', as('user-1'))).json.count).toBe(30)
    expect((await client.get('/boards/2/notes', as('user-1'))).status).toBe(404)
  })

  it("gives the code of an action its caller's rows by this.trx, which cannot write", async () => {
    const { json } = await client.get('/notes/mine', as('user-1'))
    expect(json.ids).toEqual(
      (await database.knex('notes').where({ tenant: 1 }).where('n', '<', 5).orderBy('id').pluck('id')) as number[],
    )
    expect(Number(json.within.count)).toBe(30)
    expect((await client.get('/notes/swallowing', as('user-1'))).json).toEqual({
      refused: 'refused',
      several: [{ tenant: '1' }],
    })
    const before = await database.knex('notes').sum('n')
    expect((await client.get('/notes/writing', as('user-1'))).status).toBeGreaterThanOrEqual(500)
    expect(await database.knex('notes').sum('n')).toEqual(before)
  })

  it('sends an object and its settings as one message', async () => {
    const texts = await countQueries(db, async () => {
      expect((await client.get(`/notes/${(await idsOf(1))[0]}`, as('user-1'))).status).toBe(200)
    })
    expect(texts).toHaveLength(1)
  })
})

describe('what a role may not do', () => {
  it('is 401 with a challenge for who has no name, and 403 for who has', async () => {
    const { status, headers } = await client.get('/notes')
    expect(status).toBe(401)
    expect(headers['www-authenticate']).toBe('Token realm="api"')
    expect((await client.get('/boards')).json).toEqual([])
    expect((await client.send('POST', '/notes', { title: 'x' }, as('reader-1'))).status).toBe(403)
    expect((await client.send('POST', '/boards', { name: 'x' })).status).toBe(401)
  })

  it.each(['none', 'foreign', 'missing'])('is all there is under the role "%s"', async (role) => {
    for (const path of ['/notes', '/native', '/whole', '/cursor', '/server', '/notes/1', '/boards/1/notes']) {
      expect((await client.get(path, as(`${role}-1`))).status).toBe(403)
    }
    expect((await client.send('POST', '/notes', { title: 'x' }, as(`${role}-1`))).status).toBe(403)
    expect((await client.send('PATCH', '/notes/1', { title: 'x' }, as(`${role}-1`))).status).toBe(403)
    // and nothing of it stays with the connections
    expect((await client.get('/notes', as('user-1'))).status).toBe(200)
  })

  it('is told to the operator: a role that is not there, and each right that is missing, once', async () => {
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    onTestFinished(() => warned.mockRestore())
    const own = knexLibrary({
      client: 'pg',
      connection: { ...database.direct, user: LOGIN, password: 'x' } as object,
      pool: { min: 0, max: 1 },
    })
    onTestFinished(() => own.destroy())
    class Secret extends Model {
      static override tableName = 'secrets'
    }
    Secret.knex(own)
    class SecretViewSet extends readOnlyModelViewSet(Secret, {
      serializerClass: modelSerializer(Secret, { fields: ['id'] }),
    }) {}
    const api = new APIRouter({ databaseRole: (ctx) => String(ctx.headers['x-role']) }).register(
      'secrets',
      SecretViewSet,
    )
    await api.prepare({ knex: database.knex })
    const { get, close } = await serving(api.routes())
    onTestFinished(close)
    for (const role of ['nobody_at_all', 'nobody_at_all', USER, USER]) {
      expect((await get('/secrets', { 'x-role': role })).status).toBe(401)
    }
    const codes = warned.mock.calls.map(([, options]) => (options as { code?: string } | undefined)?.code)
    expect(codes.filter((code) => code === 'KOA_VIEWSETS_MISSING_GRANT')).toHaveLength(1)
    expect(String(warned.mock.calls[codes.indexOf('KOA_VIEWSETS_MISSING_GRANT')]?.[0])).toContain(
      'permission denied for table secrets. ',
    )
    expect(codes).not.toContain('KOA_VIEWSETS_POOLER')
  })

  it('is a row of another: 404 where it is hidden, 403 where a policy refuses what is written', async () => {
    const [mine, other] = [(await idsOf(1))[1], (await idsOf(2))[1]]
    for (const method of ['PUT', 'PATCH', 'DELETE']) {
      expect((await client.send(method, `/notes/${other}`, { title: 'x', n: 1 }, as('user-1'))).status).toBe(404)
    }
    expect((await client.send('POST', `/notes/${other}/bump`, undefined, as('user-1'))).status).toBe(404)
    expect((await client.send('POST', `/notes/${mine}/bump`, undefined, as('user-1'))).status).toBe(200)
    expect((await client.send('POST', '/notes', { title: 'x' }, as('user-'))).status).toBe(403)
    expect((await client.send('POST', '/notes', { title: 'x', board_id: 2 }, as('user-1'))).json.errors).toHaveProperty(
      'board_id',
    )
  })

  it('decides by one plain read where a role may see rows and not hold them', async () => {
    const [mine, other] = [(await idsOf(1))[2], (await idsOf(2))[2]]
    for (const path of ['notes', 'whole', 'native']) {
      expect((await client.send('PATCH', `/${path}/${other}`, { title: 'x' }, as('reader-1'))).status).toBe(404)
      expect((await client.send('PATCH', `/${path}/${mine}`, { title: 'x' }, as('reader-1'))).status).toBe(403)
      expect((await client.send('POST', `/notes/${mine}/bump`, undefined, as('reader-1'))).status).toBe(403)
      expect((await client.send('POST', `/notes/${other}/bump`, undefined, as('reader-1'))).status).toBe(404)
    }
    expect((await client.send('DELETE', `/notes/${other}`, undefined, as('reader-1'))).status).toBe(404)
  })

  it('lets a role delete what it may not change', async () => {
    const made = (await client.send('POST', '/notes', { title: 'short' }, as('user-1'))).json.id
    expect((await client.send('DELETE', `/notes/${made}`, undefined, as('reader-2'))).status).toBe(404)
    // a second attempt, without locks, begins as the first did
    const strict = { ...as('reader-1'), Prefer: 'handling=strict' }
    const { status, headers } = await client.send('DELETE', `/notes/${made}`, undefined, strict)
    expect([status, headers['preference-applied']]).toEqual([204, 'handling=strict'])
    expect(await database.knex('notes').where({ id: made })).toEqual([])
  })
})

describe('what is related to an object', () => {
  it('is not changed, nor unlinked, where a policy lets the caller only see it', async () => {
    const owned = (name: string) => `
      alter table ${name} enable row level security;
      create policy seen on ${name} for select using (true);
      create policy made on ${name} for insert with check (true);
      create policy changed on ${name} for update using (owner = 'ann');
      create policy deleted on ${name} for delete using (owner = 'ann');`
    await database.knex.raw(`
      create table leaves (id int primary key, owner text, text text);
      create table trees (id int primary key, name text, leaf_id int references leaves);
      alter table leaves add tree_id int references trees;
      create table leaf_links (tree_id int references trees, leaf_id int references leaves, owner text,
        primary key (tree_id, leaf_id));
      ${['leaves', 'leaf_links'].map(owned).join('')}
      grant select, insert, update, delete on trees, leaves, leaf_links to ${USER};
      insert into leaves (id, owner, text) values (1, 'ann', 'a'), (2, 'ben', 'b');
      insert into trees values (1, 'one', 1), (2, 'two', 2);
      update leaves set tree_id = id;
      insert into leaf_links values (1, 1, 'ann'), (2, 2, 'ben')`)
    onTestFinished(() => database.knex.raw('drop table leaf_links, leaves, trees cascade'))
    const Leaf = table('leaves')
    class Tree extends Model {
      static override tableName = 'trees'
      static override relationMappings = () => ({
        leaf: {
          relation: Model.BelongsToOneRelation,
          modelClass: Leaf,
          join: { from: 'trees.leaf_id', to: 'leaves.id' },
        },
        leaves: { relation: Model.HasManyRelation, modelClass: Leaf, join: { from: 'trees.id', to: 'leaves.tree_id' } },
        linked: {
          relation: Model.ManyToManyRelation,
          modelClass: Leaf,
          join: {
            from: 'trees.id',
            through: { from: 'leaf_links.tree_id', to: 'leaf_links.leaf_id' },
            to: 'leaves.id',
          },
        },
      })
    }
    class LeafSerializer extends modelSerializer(Leaf, { fields: ['id', 'text'] }) {}
    class TreeSerializer extends modelSerializer(Tree, {
      fields: ['id'],
      declaredFields: {
        leaf: new NestedSerializer(LeafSerializer, { required: false }),
        leaves: new NestedSerializer(LeafSerializer, { many: true, required: false }),
        linked: new PrimaryKeyRelatedField({ many: true, queryset: Leaf, required: false }),
      },
    }) {}
    for (const model of [Leaf, Tree]) model.knex(db)
    class Trees extends bulkModelViewSet(Tree, { serializerClass: TreeSerializer, databaseRole: USER }) {}
    class OpenTrees extends bulkModelViewSet(Tree, { serializerClass: TreeSerializer }) {}
    const api = new APIRouter().register('trees', Trees).register('open', OpenTrees, 'open')
    await api.prepare()
    for (const [path, method, isRefused] of [
      ['/open', 'post', true],
      ['/open/{id}', 'patch', true],
      ['/open/bulk', 'patch', true],
      ['/open/{id}', 'delete', false],
      ['/open', 'get', false],
    ] as const) {
      const { responses } = operationOf(api.getSchema(), path, method)
      expect([path, method, '403' in (responses ?? {})]).toEqual([path, method, isRefused])
    }
    const own = await serving(api.routes())
    onTestFinished(() => own.close())
    const text = 'x'
    for (const [id, status] of [
      [2, 403],
      [1, 200],
    ] as const) {
      for (const body of [{ leaf: { id, text } }, { leaves: [{ id, text: 'y' }] }, { linked: [] }]) {
        const alone = await own.send('PATCH', `/trees/${id}`, body)
        expect([body, alone.status]).toEqual([body, status])
      }
    }
    const both = [1, 2].map((id) => ({ id, leaves: [{ id, text: 'z' }] }))
    expect((await own.send('PATCH', '/trees/bulk', both)).status).toBe(403)
    expect(await database.knex('leaves').orderBy('id').pluck('text')).toEqual(['y', 'b'])
    expect(await database.knex('leaf_links').pluck('tree_id')).toEqual([2])
  })
})

describe('lists of objects', () => {
  it('are deleted by a role that may not change them, which is refused changes', async () => {
    const titles = [{ title: 'one' }, { title: 'two' }]
    const made = (await client.send('POST', '/notes/bulk', titles, as('user-1'))).json as { id: number }[]
    const ids = made.map(({ id }) => id)
    const changes = ids.map((id) => ({ id, title: 'x' }))
    expect((await client.send('PATCH', '/notes/bulk', changes, as('reader-1'))).status).toBe(403)
    expect((await client.send('PATCH', '/notes/bulk', changes, as('reader-2'))).status).toBe(400)
    expect((await client.send('DELETE', '/notes/bulk', ids, as('reader-2'))).status).toBe(400)
    expect((await client.send('DELETE', '/notes/bulk', ids, as('reader-1'))).json).toEqual({ deleted: ids })
    expect(await database.knex('notes').whereIn('id', ids)).toEqual([])
  })

  const MINE = `(owner = 'ann')`
  it.each<[string, string, number, number]>([
    ['deletes', `for delete using ${MINE}`, 403, 200],
    ['updates', `for update using ${MINE}`, 200, 403],
    ['both', `for update using ${MINE}; create policy also on drafts for delete using ${MINE}`, 200, 200],
    ['neither', 'for insert with check (true)', 403, 403],
  ])('are answered as each object is, where policies allow %s', async (_what, policy, changed, deleted) => {
    await database.knex.raw(`
      create table drafts (id int primary key, owner text, title text);
      insert into drafts values (1, 'ann', 'a'), (2, 'ann', 'b'), (3, 'ben', 'c');
      alter table drafts enable row level security;
      create policy seen on drafts for select using (true);
      create policy one on drafts ${policy};
      grant select, insert, update, delete on drafts to ${USER}`)
    onTestFinished(() => database.knex.raw('drop table drafts'))
    const Draft = table('drafts')
    Draft.knex(db)
    class Drafts extends bulkModelViewSet(Draft, {
      serializerClass: modelSerializer(Draft, { fields: ['id', 'title'] }),
      databaseRole: USER,
    }) {}
    const api = new APIRouter().register('drafts', Drafts)
    await api.prepare()
    const own = await serving(api.routes())
    onTestFinished(() => own.close())
    const patch = (ids: number[]) =>
      own.send(
        'PATCH',
        '/drafts/bulk',
        ids.map((id) => ({ id, title: 'x' })),
      )
    expect((await patch([1, 3])).status).toBe(403)
    expect((await own.send('PATCH', '/drafts/1', { title: 'x' })).status).toBe(changed)
    expect((await patch([1, 2])).status).toBe(changed)
    expect((await own.send('DELETE', '/drafts/bulk', [1, 3])).status).toBe(403)
    expect((await own.send('DELETE', '/drafts/bulk', [1, 9])).status).toBe(400)
    expect(await database.knex('drafts')).toHaveLength(3)
    expect((await own.send('DELETE', '/drafts/bulk', [1])).status).toBe(deleted)
    expect((await own.send('DELETE', '/drafts/2')).status).toBe(deleted === 200 ? 204 : deleted)
    expect(await database.knex('drafts')).toHaveLength(deleted === 200 ? 1 : 3)
  })

  it.each([
    ['a policy', `create policy mine on drafts for delete using (owner = 'ann')`],
    ['its rights', `create policy mine on drafts for all using (true); revoke update on drafts from ${USER}`],
  ])('of an own getObject() are deleted by a role that may not change them, by %s', async (_what, policy) => {
    await database.knex.raw(`
      create table drafts (id int primary key, owner text, title text);
      insert into drafts values (1, 'ann', 'a'), (2, 'ann', 'b');
      alter table drafts enable row level security;
      create policy seen on drafts for select using (true);
      grant select, update, delete on drafts to ${USER};
      ${policy}`)
    onTestFinished(() => database.knex.raw('drop table drafts'))
    const Draft = table('drafts')
    Draft.knex(db)
    class Drafts extends bulkModelViewSet(Draft, {
      serializerClass: modelSerializer(Draft, { fields: ['id', 'title'] }),
      databaseRole: USER,
    }) {
      override async getObject() {
        return (await this.getQueryset().where('id', Number(this.ctx.params.id)).first()) as never
      }
      override async performDestroy(draft: InstanceType<typeof Draft>) {
        if (this.ctx.query.meanwhile) await database.knex('drafts').update({ title: 'changed' })
        return super.performDestroy(draft)
      }
    }
    const api = new APIRouter().register('drafts', Drafts)
    await api.prepare()
    const own = await serving(api.routes())
    onTestFinished(() => own.close())
    expect((await own.send('PATCH', '/drafts/1', { title: 'x' })).status).toBeGreaterThanOrEqual(401)
    expect((await own.send('DELETE', '/drafts/1')).status).toBe(204)
    expect((await own.send('DELETE', '/drafts/1')).status).toBe(404)
    expect((await own.send('DELETE', '/drafts/2?meanwhile=1')).status).toBe(409)
    expect(await database.knex('drafts').pluck('title')).toEqual(['changed'])
  })

  it('are refused to who may read single columns, with which objects are read and created', async () => {
    await database.knex.raw(`
      create table papers (id int primary key, title text, secret text default 'x');
      insert into papers (id, title) values (1, 'a'), (2, 'b');
      grant select (id, title), insert (id, title), update (title), delete on papers to ${USER}`)
    onTestFinished(() => database.knex.raw('drop table papers'))
    const Paper = table('papers')
    Paper.knex(db)
    class Papers extends bulkModelViewSet(Paper, {
      serializerClass: modelSerializer(Paper, { fields: ['id', 'title'] }),
      databaseRole: USER,
    }) {}
    const api = new APIRouter().register('papers', Papers)
    await api.prepare()
    const own = await serving(api.routes())
    onTestFinished(() => own.close())
    expect((await own.get('/papers')).json).toEqual([
      { id: 1, title: 'a' },
      { id: 2, title: 'b' },
    ])
    expect((await own.send('POST', '/papers', { id: 3, title: 'c' })).status).toBe(201)
    expect((await own.send('PATCH', '/papers/bulk', [{ id: 1, title: 'x' }])).status).toBe(401)
    expect((await own.send('DELETE', '/papers/bulk', [1])).status).toBe(401)
    await database.knex.raw(`grant select on papers to ${USER}`)
    expect((await own.send('PATCH', '/papers/bulk', [{ id: 1, title: 'x' }])).status).toBe(200)
    expect((await own.send('DELETE', '/papers/bulk', [1])).status).toBe(200)
  })

  it('are not deleted where another request has changed one meanwhile', async () => {
    await database.knex.raw(`
      create table drafts (id int primary key, title text);
      insert into drafts values (1, 'a'), (2, 'b');
      grant select, delete on drafts to ${USER}`)
    onTestFinished(() => database.knex.raw('drop table drafts'))
    const Draft = table('drafts')
    Draft.knex(db)
    class Drafts extends bulkModelViewSet(Draft, {
      serializerClass: modelSerializer(Draft, { fields: ['id', 'title'] }),
      databaseRole: USER,
    }) {
      override async performBulkDestroy(objects: InstanceType<typeof Draft>[]) {
        await database.knex('drafts').where({ id: 2 }).update({ title: 'changed' })
        return super.performBulkDestroy(objects)
      }
    }
    const api = new APIRouter().register('drafts', Drafts)
    await api.prepare()
    const own = await serving(api.routes())
    onTestFinished(() => own.close())
    expect((await own.send('DELETE', '/drafts/bulk', [1, 2])).status).toBe(409)
    expect(await database.knex('drafts').orderBy('id').pluck('title')).toEqual(['a', 'changed'])
  })
})

describe('writing', () => {
  it.each(['notes', 'native', 'whole'])('creates, changes and deletes rows of the caller by %s', async (path) => {
    const made = await client.send('POST', `/${path}`, { title: 'new', n: 7 }, as('user-1'))
    expect(made.status).toBe(201)
    const { id } = made.json
    expect(await database.knex('notes').where({ id }).first('tenant')).toEqual({ tenant: 1 })
    expect((await client.send('PATCH', `/${path}/${id}`, { title: 'changed' }, as('user-1'))).json.title).toBe(
      'changed',
    )
    expect((await client.send('PUT', `/${path}/${id}`, { title: 'put', n: 8 }, as('user-1'))).json.title).toBe('put')
    expect((await client.send('DELETE', `/${path}/${id}`, undefined, as('user-1'))).status).toBe(204)
  })

  it('writes many, all of the caller or none', async () => {
    const made = await client.send('POST', '/notes/bulk', [{ title: 'a' }, { title: 'b' }], as('user-2'))
    expect(made.status).toBe(201)
    const ids = made.json.map(({ id }: { id: number }) => id)
    expect(await database.knex('notes').whereIn('id', ids).pluck('tenant')).toEqual([2, 2])
    const other = (await idsOf(1))[3]
    const mixed = ids.concat(other).map((id: number) => ({ id, title: 'z' }))
    expect((await client.send('PATCH', '/notes/bulk', mixed, as('user-2'))).status).toBe(400)
    expect(await database.knex('notes').whereIn('id', ids).pluck('title')).toEqual(['a', 'b'])
    expect((await client.send('PATCH', '/notes/bulk', mixed.slice(0, 2), as('user-2'))).status).toBe(200)
    expect((await client.send('DELETE', '/notes/bulk', ids, as('user-1'))).status).toBe(400)
    expect((await client.send('DELETE', '/notes/bulk', ids, as('user-2'))).status).toBe(200)
  })

  it('writes nested objects, and below the object on the path', async () => {
    const made = await client.send(
      'POST',
      '/whole',
      { title: 'n', pages: [{ text: 'a' }, { text: 'b' }] },
      as('user-1'),
    )
    expect(made.status).toBe(201)
    expect(made.json.pages).toHaveLength(2)
    const below = await client.send('POST', '/boards/1/notes', { title: 'below' }, as('user-1'))
    expect(below.json.board_id).toBe(1)
    expect((await client.send('POST', '/boards/2/notes', { title: 'below' }, as('user-1'))).status).toBe(404)
  })
})

describe('a connection', () => {
  it('keeps nothing of a request, whatever has become of it', async () => {
    await Promise.all(
      Array.from({ length: 200 }, (_, index) =>
        index % 4 === 0
          ? client.get('/notes', as('missing-1'))
          : index % 4 === 1
            ? client.send('POST', '/notes', { title: 'x' }, as('user-'))
            : client.get(`/${index % 8 === 2 ? 'whole' : 'notes'}`, as(`user-${(index % 2) + 1}`)),
      ),
    )
    for (let index = 0; index < 8; index++) {
      const { rows } = await db.raw(
        "select current_user as role, current_setting('app.tenant', true) as tenant, current_setting('transaction_read_only') as reading",
      )
      expect(rows).toEqual([{ role: LOGIN, tenant: expect.toBeOneOf([null, '']), reading: 'off' }])
    }
  })

  it('repeats settings and statement when they are prepared no more', async () => {
    expect((await client.get('/notes', as('user-1'))).status).toBe(200)
    const held = await Promise.all([1, 2, 3, 4].map(() => db.client.acquireConnection()))
    for (const connection of held) {
      await connection.query('deallocate all')
      await db.client.releaseConnection(connection)
    }
    const answers = await Promise.all([1, 2, 3, 4].map(() => client.get('/notes', as('user-1'))))
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    const { rows } = await db.raw('select current_user as role')
    expect(rows).toEqual([{ role: LOGIN }])
  })
})

describe('what is declared', () => {
  it.each([
    [{ databaseRole: 7 }, 'APIRouter: databaseRole is 7; give a name, or a function'],
    [{ databaseRole: '' }, 'APIRouter: no such role'],
    [{ databaseRole: 'none' }, 'APIRouter: no such role'],
    [{ databaseRole: 'x'.repeat(64) }, 'APIRouter: no such role'],
    [{ databaseSettings: 'x' }, 'APIRouter: databaseSettings is "x"; give an object, or a function that returns one'],
    [{ databaseSettings: { role: 'x' } }, /APIRouter: databaseSettings: "role" is no setting that can be given/],
    [{ databaseSettings: { session_authorization: 'x' } }, /is no setting that can be given/],
    [{ databaseSettings: { "app.x'); drop table notes; --": 'x' } }, /is no setting that can be given/],
    [{ databaseSettings: { 'app.x': '\u0000' } }, 'APIRouter: the setting app.x holds a NUL'],
  ])('is refused where it cannot be set: %j', (options, message) => {
    expect(() => new APIRouter(options as never)).toThrow(message)
  })

  it('is a role that is the same for all, on a view set alone', async () => {
    class Open extends bulkModelViewSet(Board, {
      serializerClass: BoardSerializer,
      databaseRole: USER,
      databaseSettings: { 'app.tenant': 2 },
    }) {}
    const own = await serving(new APIRouter().register('open', Open).routes())
    onTestFinished(() => own.close())
    expect((await own.get('/open')).json).toEqual([{ id: 2, name: 'two' }])
  })

  it("is the view's own before the router's, setting by setting", async () => {
    class Told extends bulkModelViewSet(Board, {
      serializerClass: BoardSerializer,
      databaseRole: USER,
      databaseSettings: () => ({ 'app.tenant': 2, 'app.more': { deep: ['"', null] } }),
      actions: {
        told: listAction({ methods: ['GET'] }, async function () {
          const answer = (await this.trx?.raw(
            "select current_user as role, current_setting('app.tenant') as tenant, current_setting('app.more')::json as more, current_setting('app.outer') as outer",
          )) as unknown as { rows: unknown[] }
          return answer.rows[0]
        }),
      },
    }) {}
    const api = new APIRouter({ databaseRole: ANON, databaseSettings: { 'app.tenant': 1, 'app.outer': true } })
    const own = await serving(api.register('told', Told, 'told').routes())
    onTestFinished(() => own.close())
    expect((await own.get('/told/told')).json).toEqual({
      role: USER,
      tenant: '2',
      more: { deep: ['"', null] },
      outer: 'true',
    })
    const [explained] = await api.explain('told-list')
    expect(explained?.database).toBe(
      'databaseRole of Told, databaseSettings of the router, databaseSettings of Told, asked on each request',
    )
    expect(JSON.stringify(await api.explain())).not.toContain(USER)
  })

  it.each([
    ['no role', { databaseRole: () => null }],
    ['a value with a NUL', { databaseRole: () => USER, databaseSettings: () => ({ 'app.tenant': '1\u0000' }) }],
    [
      'values that are too long',
      { databaseRole: () => USER, databaseSettings: () => ({ 'app.tenant': '1'.repeat(70_000) }) },
    ],
    ['the role of the login', { databaseRole: () => 'NONE' }],
  ])('refuses a request that it makes %s of', async (_, options) => {
    class Refused extends bulkModelViewSet(Board, {
      serializerClass: BoardSerializer,
      authenticationClasses: [Tokens],
      ...options,
    }) {}
    const own = await serving(new APIRouter().register('refused', Refused).routes())
    onTestFinished(() => own.close())
    expect((await own.get('/refused')).status).toBe(401)
    expect((await own.get('/refused', as('user-1'))).status).toBe(403)
    expect((await own.send('POST', '/refused', { name: 'x' }, as('user-1'))).status).toBe(403)
    expect(own.reported).toEqual([])
  })

  it.each<[string, () => unknown, string]>([
    ['a promise as a value', () => ({ 'app.tenant': Promise.resolve(1) }), 'nothing that JSON could write (Promise)'],
    ['a map as a value', () => ({ 'app.tenant': new Map() }), 'nothing that JSON could write (Map)'],
    ['a function as a value', () => ({ 'app.tenant': () => 1 }), 'nothing that JSON could write (Function)'],
    ['a value without JSON', () => ({ 'app.tenant': { toJSON: () => undefined } }), '"app.tenant" has nothing'],
    ['a map of settings', () => new Map([['app.tenant', 1]]), 'databaseSettings returned {}; return an object'],
    ['a text', () => 'tenant', 'databaseSettings returned "tenant"; return an object'],
  ])('runs nothing with %s, which would be the same for all callers', async (_, databaseSettings, message) => {
    class Mistaken extends bulkModelViewSet(Board, {
      serializerClass: BoardSerializer,
      databaseSettings: databaseSettings as never,
    }) {}
    const own = await serving(new APIRouter().register('mistaken', Mistaken).routes())
    onTestFinished(() => own.close())
    expect((await own.get('/mistaken')).status).toBe(500)
    expect(String(own.reported[0])).toContain(message)
  })

  it('is not for a request that the application has in a transaction of its own', async () => {
    const trx = await db.transaction()
    onTestFinished(async () => {
      await trx.rollback()
    })
    class Held extends bulkModelViewSet(Board, { serializerClass: BoardSerializer, databaseRole: USER }) {
      override getKnex() {
        return trx
      }
    }
    const own = await serving(new APIRouter().register('held', Held).routes())
    onTestFinished(() => own.close())
    expect((await own.get('/held')).status).toBe(500)
    expect(String(own.reported[0])).toContain('Held: databaseRole and databaseSettings begin transactions of their own')
  })
})

describe('transaction() with a role', () => {
  it('answers a hand-written route by the rows of its caller', async () => {
    const scoped = transaction(db, {
      databaseRole: ({ state }) => roleNames.get(callerOf(state)?.role ?? '') ?? ANON,
      databaseSettings: ({ state }) => ({ 'app.tenant': callerOf(state)?.tenant }),
    })
    const own = await serving(errors(), authentication(Tokens), scoped, async (ctx) => {
      const { trx } = ctx.state as { trx: Knex.Transaction }
      if (ctx.method === 'POST' || ctx.query['write']) await trx('notes').insert({ title: 'by hand' })
      ctx.body = await trx('notes').count('* as count').first()
    })
    onTestFinished(() => own.close())
    const before = (await idsOf(1)).length
    expect((await own.get('/', as('user-1'))).json).toEqual({ count: String(before) })
    expect((await own.send('POST', '/', undefined, as('user-1'))).json).toEqual({ count: String(before + 1) })
    expect((await own.send('POST', '/', undefined, as('reader-1'))).status).toBe(403)
    expect((await own.get('/')).status).toBe(401)
    expect((await own.get('/', as('none-1'))).status).toBe(403)
    expect((await own.get('/', as('missing-1'))).status).toBe(403)
    expect((await own.get('/?write=1', as('user-1'))).status).toBeGreaterThanOrEqual(500)
    expect(await idsOf(1)).toHaveLength(before + 1)
    expect(() => transaction(db, { databaseRoles: USER } as never)).toThrow(
      'transaction(): has no option "databaseRoles"',
    )
  })
})

describe('idempotency() with a role', () => {
  it('has triggers that wait for COMMIT run as the role, with a key too', async () => {
    await ensureIdempotencyTable(database.knex)
    await database.knex.raw(`
      grant select, insert, update, delete on koa_viewsets_idempotency to ${LOGIN};
      create table late (who text);
      grant insert on late to ${USER};
      create function note_late() returns trigger language plpgsql as $$
        begin insert into late values (current_user); return null; end $$;
      create constraint trigger late after insert on boards deferrable initially deferred
        for each row execute function note_late()`)
    onTestFinished(() => database.knex.raw('drop trigger late on boards'))
    const once = idempotency(db, {
      databaseRole: USER,
      databaseSettings: ({ state }) => ({ 'app.tenant': callerOf(state)?.tenant }),
    })
    const own = await serving(errors(), authentication(Tokens), once, async (ctx) => {
      await ctx.state['trx']('boards').insert({ tenant: 1, name: 'late' })
      ctx.body = {}
    })
    onTestFinished(() => own.close())
    expect((await own.send('POST', '/', {}, as('user-1'))).status).toBe(200)
    expect((await own.send('POST', '/', {}, { ...as('user-1'), 'Idempotency-Key': 'k' })).status).toBe(200)
    expect(await database.knex('late').pluck('who')).toEqual([USER, USER])
  })
})

describe('a schema for each tenant', () => {
  it('may be called as the role: each is asked whether it has the tables', async () => {
    await database.knex.raw(`
      create schema ${USER} authorization ${USER}; create schema ${READER} authorization ${READER};
      create table ${USER}.leaflets (id int primary key); create table leaflets (id int primary key);
      insert into ${USER}.leaflets values (7); grant select on ${USER}.leaflets to ${USER}`)
    onTestFinished(() =>
      database.knex.raw(`drop schema ${USER} cascade; drop schema ${READER} cascade; drop table leaflets`),
    )
    const Leaflet = table('leaflets')
    Leaflet.knex(db)
    class Leaflets extends modelViewSet(Leaflet, {
      serializerClass: modelSerializer(Leaflet, { fields: ['id'] }),
      databaseRole: ({ headers }) => headers['x-role'] as string,
      databaseSettings: { search_path: '"$user"' },
    }) {}
    const api = new APIRouter().register('leaflets', Leaflets)
    await api.prepare()
    const own = await serving(api.routes())
    onTestFinished(() => own.close())
    const at = async (role: string) => (await own.get('/leaflets', { 'x-role': role })).status
    expect([await at(USER), await at(READER), await at(USER)]).toEqual([200, 404, 200])
  })

  it('is no other one for a caller who comes with one that has no role', async () => {
    await database.knex.raw(`
      create schema shared; create table shared.leaflets (id int primary key); create table leaflets (id int primary key);
      grant usage on schema shared to ${USER}; grant select on shared.leaflets to ${USER}`)
    onTestFinished(() => database.knex.raw('drop schema shared cascade; drop table leaflets'))
    const pool = knexLibrary({
      client: 'pg',
      connection: database.direct as Knex.PgConnectionConfig,
      pool: { min: 0, max: 1 },
    })
    onTestFinished(() => pool.destroy())
    const Leaflet = table('leaflets')
    Leaflet.knex(pool)
    const came: string[] = []
    class Leaflets extends modelViewSet(Leaflet, {
      serializerClass: modelSerializer(Leaflet, { fields: ['id'] }),
      databaseRole: ({ headers }) => {
        came.push(headers['x-role'] as string)
        return headers['x-role'] as string
      },
      databaseSettings: { search_path: 'shared' },
    }) {}
    const api = new APIRouter().register('leaflets', Leaflets)
    await api.prepare()
    const { get } = await serveApp(api.routes())
    const holder = await pool.transaction()
    const answers = ['there_is_none', USER].map(async (role, index) => {
      await vi.waitFor(() => expect(came).toHaveLength(index))
      return (await get('/leaflets', { 'x-role': role })).status
    })
    await vi.waitFor(() => expect(came).toHaveLength(2))
    await holder.rollback()
    expect(await Promise.all(answers)).toEqual([401, 200])
  })

  const TABLE = 'create table books (id serial primary key, title varchar(20) not null)'
  class Books extends modelViewSet(table('books'), {
    serializerClass: modelSerializer(table('books'), { fields: ['id', 'title'] }),
    databaseSettings: ({ headers }) => ({ search_path: headers['x-schema'] as string }),
  }) {}

  it('reads and writes the tables of one schema by what prepare() has read of another, where these are the same', async () => {
    await database.knex.raw(`
      create schema one; create schema two; create schema wider; create schema without;
      set search_path to one; ${TABLE}; insert into books (title) values ('of one');
      set search_path to two; ${TABLE}; insert into books (title) values ('of two'), ('of two');
      set search_path to wider; ${TABLE.replace('varchar(20)', 'text')};
      set search_path to public; ${TABLE}`)
    const pool = knexLibrary({
      client: 'pg',
      connection: database.direct as Knex.PgConnectionConfig,
      pool: { min: 0, max: 2 },
    })
    onTestFinished(() => pool.destroy())
    class Bound extends Books {
      override getKnex() {
        return pool
      }
    }
    const api = new APIRouter().register('books', Bound)
    await api.prepare({ knex: pool })
    const own = await serving(api.routes())
    onTestFinished(() => own.close())
    const at = (schema: string) => ({ 'x-schema': schema })
    for (let round = 0; round < 3; round++) {
      expect((await own.get('/books', at('one'))).json).toEqual([{ id: 1, title: 'of one' }])
      expect((await own.get('/books', at('two'))).json).toHaveLength(2)
    }
    expect((await own.send('POST', '/books', { title: 'new' }, at('two'))).status).toBe(201)
    expect((await own.send('PATCH', '/books/2', { title: 'changed' }, at('two'))).json.title).toBe('changed')
    expect((await own.send('PATCH', '/books/2', { title: 'changed' }, at('one'))).status).toBe(404)
    expect((await own.get('/books', at('without'))).status).toBe(404)
    expect((await own.get('/books', at('there_is_none'))).status).toBe(404)
    expect(own.reported).toEqual([])
    expect((await own.get('/books', at('wider'))).status).toBe(500)
    expect(String(own.reported[0])).toContain(
      'search_path "wider": the table "books" has another column "title" than the one that prepare() read',
    )
    expect((await own.get('/books', at('one'))).status).toBe(200)
  })
})
