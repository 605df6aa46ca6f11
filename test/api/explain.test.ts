/** `explain()` tells what is done: the SQL that it shows is the SQL that requests send, and it calls nothing that needs one. */
import Router from '@koa/router'
import knex from 'knex'
import type Koa from 'koa'
import type { QueryBuilder } from 'objection'
import pg from 'pg'
import { beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import {
  APIRouter,
  AuthenticationFailed,
  action,
  BaseAuthentication,
  BulkModelViewSet,
  CSVRenderer,
  CursorPagination,
  configure,
  FieldFilter,
  IDMixin,
  IsAdminUser,
  IsAuthenticated,
  JSONRenderer,
  LimitOffsetPagination,
  ModelSerializer,
  ModelViewSet,
  NestedRouter,
  NestedSerializer,
  NestedViewSetMixin,
  ObjectPermission,
  OrderingFilter,
  or,
  PageNumberPagination,
  type Pagination,
  type Permissions,
  SearchFilter,
  SerializerMethodField,
  ServerCursorPagination,
  ValidationError,
} from '../../lib/index.js'
import { type Explanation, formatExplanations } from '../../lib/tools/index.js'
import { count } from '../../lib/views/index.js'
import { type Client, serveApp, serving } from '../support/client.js'
import { countQueries } from '../support/database.js'
import { takesPool } from '../support/installed.js'
import { Author, database, Book as LibraryBook, useLibrary } from '../support/library.js'
import { runsAsRole } from '../support/roles.js'
import { listen, orderOf } from '../support/traced.js'

class Book extends LibraryBook {
  declare owner: string | null
}
class AuthorSerializer extends ModelSerializer<Author> {
  static override model = Author
  static override fields = ['id', 'name']
}
class BookSerializer extends ModelSerializer<Book> {
  static override model = Book
  static override fields = ['id', 'title', 'owner', 'author_id']
}
class VersionedSerializer extends BookSerializer {
  static override fields = ['id', 'title', 'owner', 'author_id', 'version']
  static override readOnlyFields = ['version']
}
class ShownSerializer extends ModelSerializer<Book> {
  static override model = Book
  static override fields = ['id', 'title', 'author', 'label']
  static override declaredFields = {
    author: new NestedSerializer(AuthorSerializer, { readOnly: true }),
    label: new SerializerMethodField(),
  }
  getLabel({ title }: Book): string {
    return `"${title}"`
  }
}

class Token extends BaseAuthentication {
  async authenticate(ctx: { get(name: string): string }) {
    const name = ctx.get('Authorization')
    if (name === 'nobody') throw new AuthenticationFailed()
    return name ? { user: { id: 1, name }, auth: undefined } : null
  }
}

class Books extends BulkModelViewSet<Book> {
  static override model = Book
  static override serializerClass = BookSerializer
  static override authenticationClasses = [Token]
  static override permissionClasses: Permissions = []
  static override rendererClasses = [JSONRenderer, CSVRenderer]
  static override paginationClass: Pagination = new PageNumberPagination({ pageSize: 2 })
  static override filterBackends = [FieldFilter, SearchFilter, OrderingFilter]
  static override filtersetFields = ['owner']
  static override searchFields = ['title']
  static override orderingFields = ['title']
}

useLibrary({
  sql: `
    alter table books add owner text, add version int not null default 1;
    create function next_version() returns trigger language plpgsql as 'begin new.version = old.version + 1; return new; end';
    create trigger versions before update on books for each row execute function next_version()`,
  rows: "insert into books (title, owner, author_id) select 'book ' || n, 'ann', 1 from generate_series(1, 3) n",
})
beforeAll(() => configure({ secretKey: '0123456789abcdef0123456789abcdef' }))

function routerOf(view: typeof Books): APIRouter {
  return new APIRouter({ prefix: '/api' }).register('books', view, 'book')
}

async function explained(api: APIRouter, action: string, basename = 'book'): Promise<Explanation> {
  const found = (await api.explain(basename)).find(({ answeredBy }) => answeredBy.endsWith(`.${action}`))
  if (!found) throw new Error(`no ${action} of ${basename}`)
  return found
}

async function served(api: APIRouter): Promise<Client> {
  await api.prepare()
  return serveApp(api.routes())
}

const FRAME = /^(?:begin|commit|rollback)/i
/** What a request sends, as PostgreSQL is sent it. */
async function sent(work: () => Promise<unknown>): Promise<string[]> {
  const texts = await countQueries(database.knex, work)
  // knex tells of its own queries before it numbers their parameters
  return texts.filter((text) => !FRAME.test(text)).map(numbered)
}

function numbered(text: string): string {
  let count = 0
  return text.replace(/\?/g, () => `$${++count}`)
}

describe('the SQL that is shown is the SQL that is sent', () => {
  const cases: [string, Partial<Record<string, unknown>>][] = [
    ['rows', {}],
    ['rows by native JSON', { useNativeJson: true }],
    ['rows by cursor', { paginationClass: new CursorPagination({ pageSize: 2 }), filterBackends: [] }],
    ['rows without pages', { paginationClass: null }],
    ['instances', { serializerClass: ShownSerializer }],
    ['a queryset of its own', { queryset: () => Book.query().whereNotNull('owner') }],
    ['versions of rows', { concurrency: 'version', serializerClass: VersionedSerializer }],
  ]
  it.each(cases)('%s', async (_, statics) => {
    const api = routerOf(Object.assign(class BookViewSet extends Books {}, statics))
    const client = await served(api)
    const list = await explained(api, 'list')
    const listing = await sent(() => client.send('GET', '/api/books'))
    expect(list.statements.length).toBeGreaterThan(0)
    expect(listing.slice(0, list.statements.length)).toEqual(list.statements.map(({ sql }) => sql))
    const detail = await explained(api, 'retrieve')
    const retrieving = await sent(() => client.send('GET', '/api/books/1'))
    expect(retrieving.slice(0, detail.statements.length)).toEqual(detail.statements.map(({ sql }) => sql))
    expect(detail.statements[0]?.does).toBe('object')
    const put = await explained(api, 'update')
    const putting = await sent(() => client.send('PUT', '/api/books/1', { title: 'x', owner: 'y', author_id: 2 }))
    expect(put.statements.map(({ does }) => does)).toEqual(
      expect.arrayContaining(
        put.write?.by === 'statement' ? ['update', 'else hold', 'else update'] : ['hold', 'update'],
      ),
    )
    const firstOf = (statements: Explanation['statements'], otherwise: boolean) =>
      statements.filter(({ does }) => does.startsWith('else') === otherwise).map(({ sql }) => sql)
    expect(putting).toEqual(expect.arrayContaining(firstOf(put.statements, false)))
    // the row is held before a condition is looked at
    const another = { title: 'z', owner: 'y', author_id: 2 }
    const held = await sent(() => client.send('PUT', '/api/books/1', another, { 'If-None-Match': '"other"' }))
    expect(held).toEqual(expect.arrayContaining(firstOf(put.statements, true)))
    const destroy = await explained(api, 'destroy')
    const destroying = await sent(() => client.send('DELETE', '/api/books/2'))
    expect(destroying).toEqual(expect.arrayContaining(firstOf(destroy.statements, false)))
    const missing = await sent(() => client.send('DELETE', '/api/books/2'))
    expect(missing).toEqual(expect.arrayContaining(firstOf(destroy.statements, true).slice(0, 1)))
    const create = await explained(api, 'create')
    const creating = await sent(() => client.send('POST', '/api/books', { title: 'x', owner: 'y', author_id: 2 }))
    expect(creating).toEqual(expect.arrayContaining(create.statements.map(({ sql }) => sql)))
  })

  it.each<[string, object, boolean]>([
    ['nothing', {}, false],
    ['versions of rows', { concurrency: 'version', serializerClass: VersionedSerializer }, true],
    ['a queryset that what is written must be in', { queryset: () => Book.query().whereNotNull('owner') }, true],
  ])('has a transaction around a create that is not atomic where there is one: for %s', async (_, statics, isOne) => {
    class Loose extends Books {
      static override atomic = false
      static override serializerClass: typeof BookSerializer = ShownSerializer
      override async performCreate(serializer: never) {
        return super.performCreate(serializer)
      }
    }
    const api = routerOf(Object.assign(Loose, statics))
    const client = await served(api)
    const texts = await countQueries(database.knex, () => client.send('POST', '/api/books', { title: 'x', owner: 'y' }))
    expect(texts.some((text) => FRAME.test(text))).toBe(isOne)
    expect((await explained(api, 'create')).transaction).toBe(isOne)
  })

  it('sends nothing itself, and no listener hears of it', async () => {
    const api = routerOf(Books)
    await api.prepare()
    expect(await countQueries(database.knex, () => api.explain())).toEqual([])
    expect(await database.knex('books').count('* as n').first()).toEqual({ n: '3' })
  })
})

describe('what a route passes', () => {
  it('is told by the names of classes, in order', async () => {
    class Guarded extends Books {
      static override permissionClasses = [
        IsAuthenticated,
        or(IsAdminUser, new ObjectPermission({ ownerField: 'owner' })),
      ]
    }
    const list = await explained(routerOf(Guarded), 'list')
    expect(list).toMatchObject({
      name: 'book-list',
      method: 'GET',
      path: '/api/books',
      answeredBy: 'Guarded.list',
      policies: {
        versioning: null,
        authentication: ['Token'],
        permissions: ['IsAuthenticated', 'or(IsAdminUser, ObjectPermission)'],
        throttles: [],
      },
      parsers: [],
      renderers: ['JSONRenderer', 'CSVRenderer'],
      filters: ['FieldFilter', 'SearchFilter', 'OrderingFilter'],
      pagination: 'PageNumberPagination',
      parameters: expect.arrayContaining(['owner', 'owner__in', 'search', 'ordering', 'page', 'page_size', 'fields']),
      reading: { from: 'rows' },
      insert: null,
      transaction: false,
      notes: [],
    })
    expect((await explained(routerOf(Guarded), 'retrieve')).reading).toEqual({
      from: 'instances',
      because: 'or(IsAdminUser, ObjectPermission) is asked about each object',
    })
    expect((await explained(routerOf(Guarded), 'create')).parsers).toEqual([
      'JSONParser',
      'FormParser',
      'MultiPartParser',
    ])
  })

  it('is told of all routes, of a basename, and of none that is not there', async () => {
    const api = routerOf(Books)
    const all = await api.explain()
    expect(all.map(({ name, method }) => `${method} ${name}`)).toEqual([
      'GET api-root',
      'GET book-list',
      'POST book-create',
      'POST book-bulk_create',
      'PATCH book-bulk_update',
      'DELETE book-bulk_destroy',
      'GET book-retrieve',
      'PUT book-update',
      'PATCH book-partial_update',
      'DELETE book-destroy',
    ])
    expect(await api.explain('book')).toEqual(all.slice(1))
    await expect(api.explain('elephants')).rejects.toThrow(
      'APIRouter: there is no route or basename "elephants"; there are api-root, book-list, book-create, book-bulk_create, ' +
        'book-bulk_update, book-bulk_destroy, book-retrieve, book-update, book-partial_update, book-destroy',
    )
  })

  it('is one INSERT or instances, with the reason', async () => {
    const api = routerOf(Books)
    expect((await explained(api, 'create')).insert).toEqual({ by: 'statement' })
    expect((await explained(api, 'bulkCreate')).insert).toEqual({ by: 'statement' })
    class Hooked extends Books {
      override async performCreate(serializer: BookSerializer) {
        await serializer.save({ owner: 'me' })
      }
    }
    expect((await explained(routerOf(Hooked), 'create')).insert).toEqual({
      by: 'serializer',
      because: 'Hooked overrides performCreate()',
    })
  })

  it('says which relations are loaded', async () => {
    const list = await explained(
      routerOf(Object.assign(class Shown extends Books {}, { serializerClass: ShownSerializer })),
      'list',
    )
    expect(list.reading).toEqual({ from: 'instances', because: expect.stringContaining('label') })
    expect(list.notes).toEqual(['then one statement for each relation shown: author'])
  })
})

describe('code of the application that needs a request', () => {
  const asked: string[] = []
  class Own extends Books {
    override getQueryset(): QueryBuilder<Book> {
      const { name = 'nobody' } = (this.ctx.state['user'] ?? {}) as { name?: string }
      asked.push(name)
      return super.getQueryset().where('owner', name)
    }
  }
  beforeEach(() => {
    asked.length = 0
  })

  it('is not called without one', async () => {
    const explanations = await routerOf(Own).explain()
    expect(asked).toEqual([])
    const list = explanations.find(({ name }) => name === 'book-list')
    expect(list).toMatchObject({
      reading: { from: 'rows' },
      statements: [],
      notes: ['decided by Own.getQueryset() on each request'],
    })
  })

  it.each([
    ['getList', 'list'],
    ['filterQueryset', 'list'],
    ['getSerializerClass', 'list'],
    ['getKnex', 'list'],
    ['getObject', 'retrieve'],
    ['getDetail', 'retrieve'],
  ])('%s() as a method, and as a field of the class', async (method, route) => {
    const fail = () => {
      throw new Error('called')
    }
    class ByMethod extends Books {}
    Object.defineProperty(ByMethod.prototype, method, { value: fail, configurable: true })
    class ByField extends Books {
      constructor() {
        super()
        Object.assign(this, { [method]: fail })
      }
    }
    for (const view of [ByMethod, ByField]) {
      const told = await explained(routerOf(view), route)
      expect(told.notes).toEqual([`decided by ${view.name}.${method}() on each request`])
      expect(told.statements).toEqual([])
    }
  })

  it('is called with one, and the SQL is that of the request', async () => {
    const api = routerOf(Own)
    const told: Explanation[][] = []
    const refused: unknown[] = []
    await api.prepare()
    const routes = api.routes()
    const client = await serving(async (ctx, next) => {
      if (ctx.get('X-Explain')) {
        try {
          told.push([...(await api.explain({ ctx }))])
        } catch (error) {
          refused.push(error)
        }
        ctx.set({ 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' })
        ctx.body = {}
        return
      }
      await routes(ctx, next)
    })
    onTestFinished(() => client.close())
    const path = '/api/books?search=book&ordering=-title&page=2'
    await client.send('GET', path, undefined, { Authorization: 'ann', 'X-Explain': '1' })
    expect(asked).toContain('ann')
    const [list] = told[0] as [Explanation]
    const texts = await sent(() => client.send('GET', path, undefined, { Authorization: 'ann' }))
    expect(texts.slice(0, list.statements.length)).toEqual(list.statements.map(({ sql }) => sql))
    expect(list.statements.length).toBeGreaterThan(0)
    expect(JSON.stringify(told)).not.toContain('ann')
    // what a request is refused for is no explanation
    await client.send('GET', '/api/books?owner__isnull=maybe', undefined, { 'X-Explain': '1' })
    expect(refused.splice(0)).toEqual([expect.any(ValidationError)])
    // a path that is none
    await client.send('GET', '/api/nowhere', undefined, { 'X-Explain': '1' })
    await client.send('PUT', '/api/books', undefined, { 'X-Explain': '1' })
    expect(told.slice(1)).toEqual([[], []])
    await client.send('GET', path, undefined, { Authorization: 'nobody', 'X-Explain': '1' })
    expect(refused).toEqual([expect.any(AuthenticationFailed)])
  })
})

it('is of a request below the prefix of a router of the application, too', async () => {
  const api = routerOf(Books)
  await api.prepare()
  const router = new Router({ prefix: '/shops/:shop' })
  const told: Explanation[][] = []
  router.use(async (ctx, next) => {
    told.push([...(await api.explain({ ctx }))])
    await next()
  })
  api.mount(router)
  const client = await serveApp(router.routes() as Koa.Middleware)
  const { json } = await client.get('/shops/7/api/books/1')
  expect(json.id).toBe(1)
  expect(told.flat().map(({ name }) => name)).toEqual(['book-retrieve'])
  expect(told.flat()[0]?.statements.map(({ sql }) => sql)).toEqual([expect.stringContaining('"id" = $1')])
})

it('says of actions of the application whether they are one transaction', async () => {
  class Published extends Books {
    @action({ detail: true, methods: ['POST'] })
    publish() {
      return Promise.resolve({})
    }
    override async update() {
      return {}
    }
  }
  class Alone extends Published {
    static override atomic = false
  }
  for (const [view, transaction] of [[Published, true] as const, [Alone, false] as const])
    for (const name of ['publish', 'update'])
      expect(await explained(routerOf(view), name)).toMatchObject({ transaction })
})

it.each([
  ['$beforeUpdate', 'update', "the UPDATE is Objection's: Hooked has hooks or methods of its own"],
  ['$beforeInsert', 'create', "the INSERT is Objection's: Hooked has hooks or methods of its own"],
])('what a model does by %s is left to Objection, and not guessed', async (hook, action, note) => {
  const called: string[] = []
  class Hooked extends Book {}
  Object.defineProperty(Hooked.prototype, hook, { value: () => void called.push(hook) })
  class Serializer extends BookSerializer {
    static override model = Hooked
  }
  class HookedBooks extends Books {
    static override model = Hooked
    static override serializerClass = Serializer
  }
  const { notes, statements } = await explained(routerOf(HookedBooks), action)
  expect(notes).toContain(note)
  expect(statements.filter(({ does }) => does !== 'hold')).toEqual([])
  expect(called).toEqual([])
})

it('nested view sets show the condition of the path', async () => {
  class Authors extends ModelViewSet<Author> {
    static override model = Author
    static override serializerClass = AuthorSerializer
  }
  class AuthorBooks extends NestedViewSetMixin(ModelViewSet<Book>) {
    static override model = Book
    static override serializerClass = BookSerializer
    static override parentLookupField = 'author_id'
  }
  const api = new APIRouter().register('authors', Authors)
  new NestedRouter(api, 'authors', { lookup: 'author_id' }).register('books', AuthorBooks, 'author-book')
  const client = await served(api)
  const list = await explained(api, 'list', 'author-book')
  expect(await sent(() => client.send('GET', '/authors/1/books'))).toEqual(list.statements.map(({ sql }) => sql))
  const create = await explained(api, 'create', 'author-book')
  const creating = await sent(() => client.send('POST', '/authors/1/books', { title: 'x', owner: 'y' }))
  expect(creating).toEqual(expect.arrayContaining(create.statements.map(({ sql }) => sql)))
})

it('explains lists and figures whose pages are told by headers', async () => {
  class Counted extends Books {
    static override paginationClass: Pagination = new LimitOffsetPagination({ countHeader: 'X-Total-Count' })
    static override aggregates = { books: count() }
  }
  for (const action of ['list', 'aggregate']) {
    const { notes } = await explained(routerOf(Counted), action)
    expect(notes.filter((note) => note.endsWith('without a request'))).toEqual([])
  }
})

it('shows the SQL of paths on which each caller has other ids', async () => {
  class Named extends IDMixin(Author) {
    static override idConfig = { mode: 'signed', alphabet: '0123456789', hmacKeys: ['k'.repeat(16)], includeUser: true }
  }
  class NamedSerializer extends ModelSerializer<Named> {
    static override model = Named
    static override fields = ['id', 'name']
  }
  class Authors extends ModelViewSet<Named> {
    static override model = Named
    static override serializerClass = NamedSerializer
  }
  class AuthorBooks extends NestedViewSetMixin(BulkModelViewSet<Book>) {
    static override model = Book
    static override serializerClass = BookSerializer
    static override parentLookupField = 'author_id'
  }
  const api = new APIRouter().register('authors', Authors)
  new NestedRouter(api, 'authors', { lookup: 'author_id' }).register('books', AuthorBooks, 'author-book')
  const asUser: Koa.Middleware = (ctx, next) => {
    ctx.state['user'] = { id: 7 }
    return next()
  }
  await api.prepare()
  const client = await serveApp(asUser, api.routes())
  const path = `/authors/${Named.encodeId(1, { user: { id: 7 } })}`
  for (const [method, at, action, name, body] of [
    ['GET', path, 'retrieve', 'author'],
    ['GET', `${path}/books`, 'list', 'author-book'],
    ['POST', `${path}/books`, 'create', 'author-book', { title: 'x', owner: 'y' }],
  ] as const) {
    const { statements, notes } = await explained(api, action, name)
    const asked = await sent(() => client.send(method, at, body))
    expect(asked).toEqual(expect.arrayContaining(statements.map(({ sql }) => sql)))
    expect([action, statements.length, notes.join()]).not.toMatchObject([action, 0])
    expect(notes.filter((note) => note.endsWith('without a request'))).toEqual([])
  }
})

it.skipIf(process.env['TRACED'])('names the channels that somebody listens to at that moment', async () => {
  const api = routerOf(Books)
  expect((await explained(api, 'list')).traced).toEqual([])
  expect(formatExplanations(await api.explain('book-list'))).not.toContain('traced')
  listen('sql', 'render')
  expect((await explained(api, 'list')).traced).toEqual(['sql', 'render'])
  expect(formatExplanations(await api.explain('book-list'))).toContain('  traced       sql, render\n')
})

it.skipIf(!takesPool).each([
  ["pg's, which is as good as knex's", false],
  ['one that tells nothing of itself', true],
])('says whose statements cannot be traced: of a pool that is %s', async (_which, isUnknown) => {
  const note = "its statements are not traced, nor timed: the pool is neither knex's nor pg's"
  expect((await explained(routerOf(Books), 'list')).notes).not.toContain(note)
  const connectionPool = new pg.Pool({ ...database.connection, max: 1 })
  const given = isUnknown ? { connect: () => connectionPool.connect() } : connectionPool
  const pooled = knex({ client: 'pg', connectionPool: given as never })
  onTestFinished(async () => {
    await pooled.destroy()
    if (!connectionPool.ended) await connectionPool.end()
  })
  class PooledBook extends Book {}
  PooledBook.knex(pooled)
  class Serializer extends BookSerializer {
    static override model = PooledBook
  }
  class Pooled extends Books {
    static override model = PooledBook
    static override serializerClass = Serializer
  }
  const api = routerOf(Pooled)
  const own = await explained(api, 'list')
  expect(own.notes.includes(note)).toBe(isUnknown)
  const waysOf = async (router: APIRouter) =>
    (await router.explain()).map((one) => [
      one.method,
      one.path,
      one.reading,
      one.insert,
      one.statements,
      one.transaction,
    ])
  expect(await waysOf(api)).toEqual(await waysOf(routerOf(Books)))
  const client = await served(api)
  const heard = listen('sql', 'action')
  expect((await client.get('/api/books')).status).toBe(200)
  expect(orderOf(heard)).toBe(isUnknown ? 'action( action)' : 'action( sql( sql) action)')
})

it('a server cursor is declared', async () => {
  class Exported extends Books {
    static override paginationClass = new ServerCursorPagination({ maxPerUser: 1 })
  }
  const { statements, notes } = await explained(routerOf(Exported), 'list')
  expect(notes).toEqual([])
  expect(statements.map(({ sql }) => sql).join('\n')).toMatch(/declare .* cursor .*for select/i)
})

it('a statement behind a comment is answered as any other', async () => {
  class Commented extends Books {
    static override queryset = () => Book.query().onBuildKnex((query) => void query.comment('of books'))
  }
  const { statements, notes } = await explained(routerOf(Commented), 'list')
  expect(notes).toEqual([])
  expect(statements.map(({ sql }) => sql)).toContainEqual(expect.stringMatching(/^\/\* of books \*\/ select/))
})

it.skipIf(runsAsRole())('reads well in a terminal', async () => {
  const [list, ...others] = await routerOf(Books).explain('book-list')
  expect(others).toEqual([])
  const text = formatExplanations(list ? [{ ...list, traced: [] }] : [])
  expect(text).toBe(`GET /api/books  (book-list)
  view         Books.list
  policies     Token
  answer       JSONRenderer, CSVRenderer
  filters      FieldFilter → SearchFilter → OrderingFilter
  page         PageNumberPagination
  parameters   owner (17 lookups), search, ordering, page, page_size, fields
  reads        rows
  list         ${list?.statements[0]?.sql}
`)
})
