import Router from '@koa/router'
import knex from 'knex'
import type Koa from 'koa'
import type { QueryBuilder } from 'objection'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { ChangeStreamMixin } from '../../lib/changes/index.js'
import {
  APIRouter,
  APIView,
  AuthenticationFailed,
  action,
  BaseAuthentication,
  BasePermission,
  BaseRenderer,
  BaseThrottle,
  BaseVersioning,
  BulkModelViewSet,
  ConfigurationError,
  type Context,
  type Credentials,
  CSVRenderer,
  CursorPagination,
  configure,
  FullTextSearchFilter,
  GenericAPIView,
  type GuardedView,
  JSONRenderer,
  ModelSerializer,
  ModelViewSet,
  NotFound,
  PageNumberPagination,
  ServerCursorPagination,
  Throttled,
} from '../../lib/index.js'
import {
  CreateAPIView,
  DestroyAPIView,
  ListAPIView,
  ListCreateAPIView,
  mountView,
  RetrieveAPIView,
  RetrieveDestroyAPIView,
  RetrieveUpdateAPIView,
  RetrieveUpdateDestroyAPIView,
  UpdateAPIView,
} from '../../lib/views/index.js'
import { type Client, serveApp } from '../support/client.js'
import { countQueries } from '../support/database.js'
import { koaBody } from '../support/installed.js'
import {
  Book,
  BookSerializer,
  database,
  Membership,
  MembershipSerializer,
  removeBooks,
  useLibrary,
} from '../support/library.js'
import { runsAsRole } from '../support/roles.js'

useLibrary()

/** An application's own router with these routes. */
async function routes(add: (router: Router) => unknown, ...before: Koa.Middleware[]): Promise<Client> {
  const router = new Router()
  add(router)
  return serveApp(...before, router.routes() as Koa.Middleware)
}

describe('an APIView', () => {
  it('answers the methods it has, and no other', async () => {
    class Echo extends APIView {
      static override description = 'Says what it hears.'
      get() {
        return { action: this.action, params: this.ctx['params'] }
      }
      async post() {
        return { action: this.action, body: this.body.data }
      }
    }
    const { get, send } = await routes((router) => router.all('/echo/:word', Echo.asView()))
    expect((await get('/echo/hi')).text).toBe('{"action":"get","params":{"word":"hi"}}')
    expect((await send('POST', '/echo/hi', { a: 1 })).text).toBe('{"action":"post","body":{"a":1}}')
    const head = await send('HEAD', '/echo/hi')
    expect(head).toMatchObject({ status: 200, text: '', headers: { 'content-length': '39' } })
    expect(await send('OPTIONS', '/echo/hi')).toMatchObject({
      status: 200,
      headers: { allow: 'GET, POST, HEAD, OPTIONS' },
      json: { name: 'Echo', description: 'Says what it hears.', allowed_methods: ['get', 'post', 'head', 'options'] },
    })
    expect(await send('PUT', '/echo/hi', {})).toMatchObject({
      status: 405,
      headers: { allow: 'GET, POST, HEAD, OPTIONS' },
    })
  })

  it('answers in the format that its path ends in, on whatever router', async () => {
    class Report extends APIView {
      static override rendererClasses = [JSONRenderer, CSVRenderer]
      static override strictAccept = true
      get() {
        return [{ a: 1 }]
      }
    }
    const { get } = await routes((router) => {
      router.get(['/report', '/report.csv', '/report.json'], Report.asView())
      mountView(router, '/monthly.csv', Report.asView())
    })
    for (const path of ['/report.csv', '/monthly.csv']) {
      expect(await get(path, { Accept: 'application/json' })).toMatchObject({ status: 200, text: 'a\r\n1\r\n' })
      expect((await get(path, { Accept: 'image/png' })).status).toBe(200)
    }
    expect((await get('/report.json', { Accept: 'text/csv' })).json).toEqual([{ a: 1 }])
    expect((await get('/report', { Accept: 'text/csv' })).text).toBe('a\r\n1\r\n')
    expect((await get('/report')).json).toEqual([{ a: 1 }])
  })

  it('may name its actions, in any case', async () => {
    class Clock extends APIView {
      now() {
        return 'noon'
      }
    }
    const { get, send } = await routes((router) => router.all('/clock', Clock.asView({ GET: 'now' })))
    expect((await get('/clock')).text).toBe('"noon"')
    expect((await send('HEAD', '/clock')).headers['content-length']).toBe('6')
    expect((await send('DELETE', '/clock')).headers.allow).toBe('GET, HEAD, OPTIONS')
  })

  it.each<[string, (view: APIView) => unknown, number, string, string | undefined]>([
    ['returns nothing', () => undefined, 204, '', undefined],
    ['returns null', () => null, 200, 'null', 'application/json; charset=utf-8'],
    ['returns false', () => false, 200, 'false', 'application/json; charset=utf-8'],
    ['returns an empty text', () => '', 200, '""', 'application/json; charset=utf-8'],
    ['returns a promise', async () => [1], 200, '[1]', 'application/json; charset=utf-8'],
    [
      'sets a body',
      ({ ctx }) => Object.assign(ctx, { body: 'mine' }) && undefined,
      200,
      'mine',
      'text/plain; charset=utf-8',
    ],
    ['sets a status', ({ ctx }) => Object.assign(ctx, { status: 202 }) && undefined, 202, '', undefined],
    [
      'sets a status with data',
      ({ ctx }) => Object.assign(ctx, { status: 202 }) && 1,
      202,
      '1',
      'application/json; charset=utf-8',
    ],
    ['redirects', ({ ctx }) => ctx.redirect('/x'), 302, 'Redirecting to /x.', 'text/html; charset=utf-8'],
  ])('that %s', async (_what, work, status, text, type) => {
    class Any extends APIView {
      get(): unknown {
        return work(this)
      }
    }
    const { get } = await routes(
      (router) => router.get('/', Any.asView()),
      async (ctx, next) => {
        // a type that the app has set before
        if (status === 204) ctx.type = 'json'
        await next()
      },
    )
    const response = await get('/')
    expect(response).toMatchObject({ status, text, headers: { 'x-content-type-options': 'nosniff' } })
    expect(response.headers['content-type']).toBe(type)
  })

  it('that answers by itself is left alone', async () => {
    class Own extends APIView {
      get(): void {
        this.ctx.respond = false
        setImmediate(() => this.ctx.res.end('own'))
      }
    }
    const { get } = await routes((router) => router.get('/', Own.asView()))
    expect(await get('/')).toMatchObject({ status: 200, text: 'own' })
  })

  it('without any method, or with one that does not exist, is a mistake', () => {
    class Nothing extends APIView {}
    expect(() => Nothing.asView()).toThrow(ConfigurationError)
    expect(() => Nothing.asView()).toThrow(/^Nothing: answers no method/)
    expect(() => Nothing.asView({ get: 'list' })).toThrow('Nothing: has no method list() for GET')
  })

  it('[I23] checks its policies when it becomes a handler', () => {
    class Wrong extends APIView {
      static override permissionClasses = [{}] as never
      get() {}
    }
    expect(() => Wrong.asView()).toThrow(/^Wrong\.permissionClasses\[0\]/)
  })

  it('serves each request with an instance of its own', async () => {
    class Counter extends APIView {
      count = 0
      get() {
        return ++this.count
      }
    }
    const { get } = await routes((router) => router.get('/', Counter.asView()))
    expect([(await get('/')).text, (await get('/')).text]).toEqual(['1', '1'])
  })
})

describe('the order of dispatch', () => {
  let steps: string[] = []
  beforeEach(() => {
    steps = []
  })

  class Version extends BaseVersioning {
    override determineVersion(ctx: Context): string {
      steps.push(`version of ${String(ctx.state['user'])}`)
      return '1.0'
    }
  }

  class None extends BaseAuthentication {
    override authenticate(): null {
      steps.push('none')
      return null
    }
  }

  class Alice extends BaseAuthentication {
    override readonly challenge = 'Test realm="api"'
    override async authenticate(ctx: Context): Promise<Credentials | null> {
      steps.push(`authenticate ${String(ctx.state['version'])}`)
      if (ctx.get('Authorization') === 'Test wrong') throw new AuthenticationFailed('Invalid token')
      return ctx.get('Authorization') ? { user: { id: 1, name: 'alice' }, auth: 'token' } : null
    }
  }

  class Never extends BaseAuthentication {
    override readonly challenge = 'Never'
    override authenticate(): null {
      steps.push('never')
      return null
    }
  }

  class Open extends BasePermission {
    override hasPermission(ctx: Context, view: GuardedView): boolean {
      steps.push(`permission of ${String(ctx.state['user']?.name)} for ${view.action}`)
      return ctx.query['refuse'] === undefined
    }
    override async hasObjectPermission(_ctx: Context, _view: GuardedView, object: Book): Promise<boolean> {
      steps.push(`object ${object.title}`)
      return object.title !== 'forbidden'
    }
  }

  class Last extends BasePermission {
    override async hasPermission(): Promise<boolean> {
      steps.push('last permission')
      return true
    }
  }

  class Throttle extends BaseThrottle {
    check(ctx: Context): void {
      steps.push('throttle')
      if (ctx.query['often']) throw new Throttled(3)
    }
  }

  class Books extends ModelViewSet<Book> {
    static override model = Book
    static override serializerClass = BookSerializer
    static override versioningClass = Version
    static override authenticationClasses = [None, new Alice(), Never]
    static override permissionClasses = [Open, new Last()]
    static override throttleClasses = [Throttle]

    override async list() {
      steps.push(`action with ${JSON.stringify(this.ctx.state)}`)
      return []
    }
    override async create() {
      steps.push(`action with ${JSON.stringify(this.body.data)}`)
      return super.create()
    }
    override options(): unknown {
      steps.push('metadata')
      return super.options()
    }
  }

  async function books(): Promise<Client> {
    const api = new APIRouter().register('books', Books)
    await api.prepare()
    return serveApp(api.routes())
  }
  const alice = { Authorization: 'Test alice' }

  it('is version, authentication, permissions, throttles, action', async () => {
    const { get } = await books()
    expect((await get('/books', alice)).status).toBe(200)
    expect(steps).toEqual([
      'version of undefined',
      'none',
      'authenticate 1.0',
      'permission of alice for list',
      'last permission',
      'throttle',
      'action with {"version":"1.0","user":{"id":1,"name":"alice"},"auth":"token"}',
    ])
  })

  it('OPTIONS is answered behind the throttles, HEAD as GET', async () => {
    const { send } = await books()
    await send('OPTIONS', '/books', undefined, alice)
    expect(steps.slice(-5)).toEqual([
      'last permission',
      'throttle',
      'metadata',
      'permission of alice for create',
      'last permission',
    ])
    steps = []
    await send('HEAD', '/books', undefined, alice)
    expect(steps).toContain('permission of alice for list')
  })

  it('405 comes before all of it', async () => {
    const { send } = await books()
    expect((await send('DELETE', '/books')).status).toBe(405)
    expect(steps).toEqual([])
  })

  it('[E1] a permission that refuses is 401 for an anonymous caller and 403 for a known one', async () => {
    const { get } = await books()
    expect(await get('/books?refuse=1')).toMatchObject({
      status: 401,
      text: '{"detail":"Authentication required","status":401}',
      headers: { 'www-authenticate': 'Test realm="api", Never' },
    })
    expect(steps.slice(-2)).toEqual(['never', 'permission of undefined for list'])
    const known = await get('/books?refuse=1', alice)
    expect(known).toMatchObject({ status: 403, text: '{"detail":"Permission denied","status":403}' })
    expect(known.headers).not.toHaveProperty('www-authenticate')
  })

  it('[E2] wrong credentials are 401 with the challenges, on an open view too', async () => {
    const { get } = await books()
    expect(await get('/books', { Authorization: 'Test wrong' })).toMatchObject({
      status: 401,
      text: '{"detail":"Invalid token","status":401}',
      headers: { 'www-authenticate': 'Test realm="api", Never' },
    })
    expect(steps.at(-1)).toBe('authenticate 1.0')
  })

  it('a view whose schemes have no challenge asks for a session', async () => {
    class Closed extends BasePermission {
      override hasPermission(): boolean {
        return false
      }
    }
    class View extends APIView {
      static override authenticationClasses = [None]
      static override permissionClasses = [Closed]
      get() {}
    }
    const { get } = await routes((router) => router.get('/', View.asView()))
    expect((await get('/')).headers['www-authenticate']).toBe('Session realm="api"')
  })

  it('[E23] only true lets pass', async () => {
    for (const answer of [undefined, null, 0, 1, 'yes', {}, Promise.resolve(false)]) {
      class Odd extends BasePermission {
        override hasPermission(): boolean {
          return answer as never
        }
      }
      class View extends APIView {
        static override permissionClasses = [Odd]
        get() {
          return 'in'
        }
      }
      const { get } = await routes((router) => router.get('/', View.asView()))
      expect((await get('/')).status).toBe(401)
    }
  })

  it('[R6] the body is read only when the policies have passed', async () => {
    const { send } = await books()
    const type = { 'Content-Type': 'text/plain' }
    expect((await send('POST', '/books?refuse=1', 'x', type)).status).toBe(401)
    expect((await send('POST', '/books?refuse=1', 'x', { ...type, ...alice })).status).toBe(403)
    expect((await send('POST', '/books?often=1', 'x', type)).status).toBe(429)
    expect((await send('POST', '/books', 'x', type)).status).toBe(415)
    expect(steps.join()).not.toMatch(/action/)
    expect((await send('POST', '/books', { title: 'One' })).status).toBe(201)
    expect(steps.at(-1)).toBe('action with {"title":"One"}')
  })

  it('[F9] an upload that is refused is not waited for', async () => {
    const { port } = await books()
    const { exchange } = await import('../support/server.js')
    const head =
      'POST /books?refuse=1 HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: 9000000\r\n\r\n'
    expect(await exchange(port, head)).toMatch(/^HTTP\/1\.1 401 /)
  })

  it('[E10] getObject() asks the object permissions, for every action', async () => {
    const { get, send } = await books()
    await Book.query().insert([{ title: 'forbidden' }, { title: 'open' }])
    for (const method of ['GET', 'PUT', 'PATCH', 'DELETE']) {
      const body = method === 'PUT' || method === 'PATCH' ? { title: 'changed' } : undefined
      expect((await send(method, '/books/1', body, alice)).status).toBe(403)
      expect((await send(method, '/books/1', body)).status).toBe(401)
    }
    expect(await Book.query().findById(1)).toMatchObject({ title: 'forbidden' })
    expect((await get('/books/2', alice)).status).toBe(200)
    expect(steps.at(-1)).toBe('object open')
  })
})

describe('a GenericAPIView', () => {
  it("works on the app's own router, and reads the catalogue by itself", async () => {
    class Volume extends Book {}
    class VolumeSerializer extends ModelSerializer<Volume> {
      static override model = Volume
      static override fields = '__all__'
    }
    class Volumes extends GenericAPIView<Volume> {
      static override model = Volume
      static override serializerClass = VolumeSerializer
      async get() {
        return this.getSerializer({ obj: await this.getQueryset().orderBy('id'), many: true }).data
      }
      async post() {
        const serializer = this.getInputSerializer()
        await serializer.isValid({ raiseException: true })
        this.ctx.status = 201
        await serializer.save()
        return serializer.data
      }
    }
    const { get, send } = await routes((router) => router.all('/volumes', Volumes.asView()))
    const first = await Promise.all([get('/volumes'), send('POST', '/volumes', { title: 'One', price: '1.5' })])
    expect(first.map(({ status }) => status)).toEqual([200, 201])
    expect((await get('/volumes')).json).toMatchObject([{ id: 1, title: 'One', price: '1.50' }])
    expect((await send('POST', '/volumes', { title: 'Two', author_id: 99 })).json.errors).toEqual({
      author_id: ['Invalid pk "99" - object does not exist.'],
    })
    const queries = await countQueries(database.knex, () => get('/volumes'))
    expect(queries).toHaveLength(1)
  })

  it('answers 503 while the catalogue cannot be read, and recovers', async () => {
    class Adrift extends Book {}
    Adrift.knex(undefined as never)
    class AdriftSerializer extends ModelSerializer<Adrift> {
      static override model = Adrift
      static override fields = ['id', 'title']
    }
    class View extends ListAPIView<Adrift> {
      static override model = Adrift
      static override serializerClass = AdriftSerializer
    }
    const { get, reported } = await routes((router) => router.get('/', View.asView()))
    Object.defineProperty(Adrift, 'knex', { value: () => undefined, configurable: true })
    expect((await get('/')).status).toBe(503)
    expect(reported).toHaveLength(1)
    Reflect.deleteProperty(Adrift, 'knex')
    Adrift.knex(database.knex)
    expect((await get('/')).text).toBe('[]')
  })

  it('of a view set is mapped by asView({ method: action })', async () => {
    class Books extends ModelViewSet<Book> {
      static override model = Book
      static override serializerClass = BookSerializer
    }
    const { get, send } = await routes((router) => {
      router.all('/books', Books.asView({ get: 'list', post: 'create' }))
      router.all(
        '/books/:id',
        Books.asView({ get: 'retrieve', put: 'update', patch: 'partialUpdate', delete: 'destroy' }),
      )
    })
    expect(await send('POST', '/books', { title: 'One' })).toMatchObject({
      status: 201,
      headers: { location: '/books/1' },
    })
    expect((await get('/books')).json).toHaveLength(1)
    expect((await get('/books/1')).json).toMatchObject({ title: 'One' })
    expect((await send('PATCH', '/books/1', { n: 3 })).json).toMatchObject({ n: 3 })
    for (const id of ['abc', '%00', '2147483648', '-1', '%201', '%zz']) {
      expect((await get(`/books/${id}`)).status).toBe(404)
    }
    expect((await send('DELETE', '/books/1')).status).toBe(204)
  })

  it('takes the body that a parser of the app has read', async () => {
    class Books extends CreateAPIView<Book> {
      static override model = Book
      static override serializerClass = BookSerializer
    }
    const { send } = await routes((router) => router.post('/books', Books.asView()), koaBody() as Koa.Middleware)
    expect((await send('POST', '/books', { title: 'One' })).status).toBe(201)
    expect((await send('POST', '/books', { n: 1 })).status).toBe(400)
  })

  it('without the path parameter it looks for says so', async () => {
    class View extends RetrieveAPIView<Book> {
      static override model = Book
      static override serializerClass = BookSerializer
    }
    const { get, reported } = await routes((router) => router.get('/books/:number', View.asView()))
    expect((await get('/books/1')).status).toBe(500)
    expect(reported).toEqual([
      new ConfigurationError('View: the path has no parameter "id"; set static lookupUrlKwarg'),
    ])
  })

  it('may answer in a format of its own, by Accept and by what it is', async () => {
    class Lines extends BaseRenderer {
      readonly mediaType = 'text/lines'
      readonly format = 'lines'
      readonly contentType = 'text/lines; charset=utf-8'
      override render(data: unknown): string {
        return (data as Book[]).map(({ title }) => title).join('\n')
      }
    }
    class View extends ListAPIView<Book> {
      static override model = Book
      static override serializerClass = BookSerializer
      static override rendererClasses = [JSONRenderer, Lines]
    }
    await Book.query().insert([{ title: 'One' }, { title: 'Two' }])
    const { get } = await routes((router) => router.get('/books', View.asView()))
    expect(await get('/books', { Accept: 'text/lines' })).toMatchObject({
      text: 'One\nTwo',
      headers: { 'content-type': 'text/lines; charset=utf-8', vary: 'Accept' },
    })
    expect((await get('/books')).json).toHaveLength(2)
  })
})

describe('the generic views', () => {
  const statics = { model: Book, serializerClass: BookSerializer }
  type AnyView = typeof GenericAPIView<Book>

  it.each<[AnyView, string]>([
    [CreateAPIView, 'POST, OPTIONS'],
    [ListAPIView, 'GET, HEAD, OPTIONS'],
    [RetrieveAPIView, 'GET, HEAD, OPTIONS'],
    [DestroyAPIView, 'DELETE, OPTIONS'],
    [UpdateAPIView, 'PUT, PATCH, OPTIONS'],
    [ListCreateAPIView, 'GET, POST, HEAD, OPTIONS'],
    [RetrieveUpdateAPIView, 'GET, PUT, PATCH, HEAD, OPTIONS'],
    [RetrieveUpdateDestroyAPIView, 'GET, PUT, PATCH, DELETE, HEAD, OPTIONS'],
    [RetrieveDestroyAPIView, 'GET, DELETE, HEAD, OPTIONS'],
  ])('24 %o takes its methods and works', async (View, allow) => {
    class Books extends View {}
    Object.assign(Books, statics)
    await Book.query().insert({ title: 'One' })
    const { send } = await routes((router) => {
      router.all('/books', Books.asView())
      router.all('/books/:id', Books.asView())
    })
    expect((await send('OPTIONS', '/books/1')).headers.allow).toBe(allow)
    expect((await send('TRACE', '/books/1')).headers.allow).toBe(allow)
    const isList = View.name.includes('List')
    const methods = allow.split(', ')
    const get = await send('GET', isList ? '/books' : '/books/1')
    if (!methods.includes('GET')) expect(get.status).toBe(405)
    else expect(isList ? get.json[0] : get.json).toMatchObject({ id: 1, title: 'One' })
    const post = await send('POST', '/books', { title: 'Two' })
    expect(post.status).toBe(methods.includes('POST') ? 201 : 405)
    if (post.status === 201) expect(post.headers.location).toBe('/books/2')
    const put = await send('PUT', '/books/1', { title: 'Put' })
    expect(put.status).toBe(methods.includes('PUT') ? 200 : 405)
    const patch = await send('PATCH', '/books/1', { n: 5 })
    expect(patch.status).toBe(methods.includes('PATCH') ? 200 : 405)
    if (patch.status === 200) expect(patch.json).toMatchObject({ title: 'Put', n: 5 })
    const gone = await send('DELETE', '/books/1')
    expect(gone.status).toBe(methods.includes('DELETE') ? 204 : 405)
    expect(await Book.query().findById(1)).toEqual(gone.status === 204 ? undefined : expect.anything())
  })

  it('page, narrow and hook as view sets do', async () => {
    const seen: unknown[] = []
    class Books extends ListCreateAPIView<Book> {
      static override model = Book
      static override serializerClass = BookSerializer
      static override paginationClass = new PageNumberPagination({ pageSize: 1 })
      override getQueryset(): QueryBuilder<Book> {
        seen.push(this.action)
        return super.getQueryset().where('n', '>', 0)
      }
      override async performCreate(serializer: Parameters<ListCreateAPIView['performCreate']>[0]) {
        return serializer.save({ n: 1 })
      }
    }
    const { get, send } = await routes((router) => router.all('/books', Books.asView()))
    await send('POST', '/books', { title: 'One' })
    await send('POST', '/books', { title: 'Two' })
    await Book.query().insert({ title: 'hidden', n: 0 })
    expect((await get('/books?page=2')).json).toMatchObject({ count: 2, next: null, previous: '/books?page=1' })
    // a create asks what its queryset shows of the new object
    expect(new Set(seen)).toEqual(new Set(['create', 'list']))
  })

  it('may be given a method of their own beside', async () => {
    class Books extends ListAPIView<Book> {
      static override model = Book
      static override serializerClass = BookSerializer
      async delete() {
        throw new NotFound()
      }
    }
    const { get, send } = await routes((router) => router.all('/books', Books.asView()))
    expect((await get('/books')).json).toEqual([])
    expect((await send('DELETE', '/books')).status).toBe(404)
    expect((await send('PUT', '/books')).headers.allow).toBe('GET, DELETE, HEAD, OPTIONS')
  })
})

describe('[I23] a mistake in a view that no router has registered', () => {
  const valid = { model: Book, serializerClass: BookSerializer }
  type AnyView = typeof GenericAPIView

  class Titles extends ModelSerializer<Book> {
    static override model = Book
    static override fields = ['id', 'title']
  }

  /** A view with these statics, whatever their types. */
  function viewWith(base: AnyView, statics: Record<string, unknown>): AnyView {
    const view = class Broken extends base {}
    for (const [name, value] of Object.entries({ ...valid, ...statics })) {
      Object.defineProperty(view, name, { value, configurable: true })
    }
    return view as never
  }

  it.each<[string, AnyView, Record<string, unknown>, RegExp]>([
    ['no model', ListAPIView, { model: null }, /^Broken: set static model .*queryset/],
    ['no serializer', ListAPIView, { serializerClass: null }, /^Broken: set static serializerClass, or override/],
    ['no serializer to write by', UpdateAPIView, { serializerClass: null }, /^Broken: set static serializerClass, or/],
    ['a serializer that is none', RetrieveAPIView, { serializerClass: {} }, /^Broken: static serializerClass is no/],
    ['a wrong paginator', ListAPIView, { paginationClass: Map }, /^Broken\.paginationClass: has no method paginate/],
    ['an unknown searchType', ListAPIView, { searchType: 'fuzzy' }, /^Broken: searchType "fuzzy" is unknown/],
    [
      'requireIfMatch alone',
      UpdateAPIView,
      { requireIfMatch: true },
      /^Broken: requireIfMatch needs static concurrency/,
    ],
  ])('is told when it becomes a handler: %s', (_mistake, base, statics, message) => {
    const view = viewWith(base, statics)
    for (let time = 0; time < 2; time++) {
      expect(() => view.asView()).toThrow(ConfigurationError)
      expect(() => view.asView()).toThrow(message)
    }
  })

  it('is told when it becomes a handler: an action with a serializer that is none', () => {
    class Loans extends ModelViewSet<Book> {
      static override model = Book
      static override serializerClass = BookSerializer
      lend() {}
    }
    action({ methods: ['POST'], inputSerializer: class Fields {} as never })(Loans.prototype.lend)
    expect(() => Loans.asView({ post: 'lend' })).toThrow(/^Loans\.lend: inputSerializer, .* are serializer classes/)
  })

  it('is none where what is missing is not needed', () => {
    class Own extends GenericAPIView<Book> {
      static override model = Book
      get() {}
    }
    class Counts extends ListAPIView<Book> {
      static override model = Book
      override async getList() {
        return []
      }
    }
    class Chosen extends ListAPIView<Book> {
      static override model = Book
      override getSerializerClass() {
        return BookSerializer
      }
    }
    class Total extends ListAPIView<Book> {
      static override model = Book
      async get() {
        return {}
      }
    }
    for (const view of [Own, Counts, Chosen, Total]) expect(() => view.asView()).not.toThrow()
    class Pings extends ModelViewSet<Book> {
      static override model = Book
      ping() {}
    }
    expect(() => Pings.asView({ get: 'ping' })).not.toThrow()
  })

  it('is no queryset that only a request can make', async () => {
    const asked = vi.fn<() => unknown>(() => Book.query())
    const Listed = viewWith(ListAPIView, { model: null, queryset: asked })
    const answer = Listed.asView()
    expect(asked).not.toHaveBeenCalled()
    const { get } = await routes((router) => router.get('/', answer))
    expect((await get('/')).status).toBe(200)
  })

  // which asks the database by itself
  it.skipIf(runsAsRole())('is no view without a model that answers by itself', async () => {
    class Plain extends GenericAPIView<Book> {
      override getKnex() {
        return database.knex
      }
      override getQueryset() {
        return Book.query() as never
      }
      async get() {
        return { count: await Book.query().resultSize() }
      }
    }
    await removeBooks(database)
    const { get } = await routes((router) => router.get('/', Plain.asView()))
    expect((await get('/')).json).toEqual({ count: 0 })
  })

  it.each<[string, AnyView, Record<string, unknown>, RegExp]>([
    [
      'a version that nothing changes',
      RetrieveUpdateAPIView,
      { serializerClass: Titles, concurrency: 'n' },
      /^Broken: concurrency names "n", which nothing changes when a row is updated/,
    ],
    ['a cursor without a secret', ListAPIView, { paginationClass: CursorPagination }, /^SERVICE_SECRET_KEY is not set/],
    [
      'a server cursor without one',
      ListCreateAPIView,
      { paginationClass: new ServerCursorPagination() },
      /^SERVICE_SECRET_KEY is not set/,
    ],
    [
      'a stream of changes that nobody records',
      ChangeStreamMixin(ListAPIView<Book>),
      {},
      /^Broken: ChangeStreamMixin\(\) tells of recorded changes; add ChangesMixin/,
    ],
    [
      'an order by no column',
      ListAPIView,
      { ordering: ['-nope'] },
      /^Broken: ordering names "-nope", which is no column/,
    ],
    [
      'an unknown configuration of full-text search',
      ListAPIView,
      { filterBackends: [FullTextSearchFilter], searchFields: ['title'], searchConfig: 'klingon' },
      /^Broken: searchConfig "klingon" is no text search configuration/,
    ],
  ])('is told at each request: %s', async (_mistake, base, statics, message) => {
    await Book.query().insert({ title: 'One' })
    const answer = viewWith(base, statics).asView()
    const { get, reported } = await routes((router) => router.get('/:id', answer))
    const answers = [...(await Promise.all([get('/1'), get('/1')])), await get('/1')]
    expect(answers.map(({ status }) => status)).toEqual([500, 500, 500])
    expect(reported).toHaveLength(3)
    for (const error of reported) {
      expect(error).toBeInstanceOf(ConfigurationError)
      expect((error as Error).message).toMatch(message)
    }
  })

  it('is gone once a secret is set', async () => {
    const Cursors = viewWith(ListAPIView, { paginationClass: CursorPagination })
    const { get } = await routes((router) => router.get('/', Cursors.asView()))
    expect((await get('/')).status).toBe(500)
    configure({ secretKey: '0123456789abcdef0123456789abcdef' })
    expect((await get('/')).status).toBe(200)
    configure({})
  })

  it('is told though a router has read the catalogue', async () => {
    await new APIRouter().register('books', viewWith(ModelViewSet, {})).prepare()
    const Unordered = viewWith(ListAPIView, { ordering: ['nope'] })
    const { get, reported } = await routes((router) => router.get('/', Unordered.asView()))
    expect((await get('/')).status).toBe(500)
    expect(reported).toEqual([new ConfigurationError('Broken: ordering names "nope", which is no column of Book')])
  })

  it('is looked for once, by the first requests together', async () => {
    const Searched = viewWith(ListAPIView, { filterBackends: [FullTextSearchFilter], searchFields: ['title'] })
    const { get } = await routes((router) => {
      router.get('/one', Searched.asView())
      router.get('/two', Searched.asView())
    })
    const checks = async (...paths: string[]) => {
      const texts = await countQueries(database.knex, () => Promise.all(paths.map((path) => get(path))))
      return texts.filter((sql) => sql.includes('pg_ts_config')).length
    }
    expect(await checks('/one', '/two', '/one')).toBe(1)
    expect(await checks('/one', '/two')).toBe(0)
  })

  it('is looked for again where the database was away: 503', async () => {
    class Remote extends Book {}
    const Searched = viewWith(ListAPIView, {
      ...{ model: Remote, filterBackends: [FullTextSearchFilter], searchFields: ['title'], searchConfig: 'klingon' },
    })
    await new APIRouter().register('remote', viewWith(ModelViewSet, { model: Remote })).prepare()
    const away = knex({ client: 'pg', connection: { ...database.direct, host: '127.0.0.1', port: 1 } as object })
    Remote.knex(away)
    const { get, reported } = await routes((router) => router.get('/', Searched.asView()))
    expect((await get('/')).status).toBe(503)
    Remote.knex(database.knex)
    await away.destroy()
    expect((await get('/')).status).toBe(500)
    expect(reported.map((error) => error instanceof ConfigurationError)).toEqual([false, true])
  })

  it('is no key of several columns, however the path names it', async () => {
    class Memberships extends ModelViewSet<Membership> {
      static override model = Membership
      static override serializerClass = MembershipSerializer
    }
    class OneMembership extends RetrieveAPIView<Membership> {
      static override model = Membership
      static override serializerClass = MembershipSerializer
      override async getObject() {
        const { author, club } = this.ctx['params']
        return this.getQueryset().findById([author, club]).throwIfNotFound()
      }
    }
    class OwnMembership extends RetrieveAPIView<Membership> {
      static override model = Membership
      async get() {
        const { author, club } = this.ctx['params']
        const found = await this.getQueryset().findById([author, club])
        return { found: found !== undefined }
      }
    }
    const { get, send, reported } = await routes((router) => {
      router.get('/own/:author/clubs/:club', OwnMembership.asView())
      router.all('/members', Memberships.asView({ get: 'list', post: 'create' }))
      router.get('/members/:id', Memberships.asView({ get: 'retrieve' }))
      router.get('/authors/:author/clubs/:club', OneMembership.asView())
    })
    const member = { author_id: 1, club: 'x', since: null }
    expect((await send('POST', '/members', { author_id: 1, club: 'x' })).status).toBe(201)
    expect((await get('/members')).json).toEqual([member])
    expect((await get('/authors/1/clubs/x')).json).toEqual(member)
    expect((await get('/own/1/clubs/x')).json).toEqual({ found: true })
    expect(reported).toEqual([])
    expect((await get('/members/1,x')).json).toEqual(member)
    expect((await get('/members/1')).status).toBe(404)
    expect(reported).toEqual([])
    await Membership.query().delete()
  })
})

describe('mountView()', () => {
  class BookDetail extends RetrieveUpdateDestroyAPIView<Book> {
    static override model = Book
    static override serializerClass = BookSerializer
  }

  it('routes a view by a pattern with hints; what does not fit goes on', async () => {
    await Book.query().insert([{ title: 'One' }, { title: 'Two' }])
    const router = new Router({ prefix: '/app' })
    mountView(router, '/books/{id:int}', BookDetail.asView(), { name: 'book' })
    router.get('/books/:slug', (ctx) => {
      ctx.body = `slug ${ctx.params['slug']}`
    })
    const { get, send } = await serveApp(router.routes() as Koa.Middleware)
    expect((await get('/app/books/1')).json).toMatchObject({ title: 'One' })
    expect((await get('/app/books/abc')).text).toBe('slug abc')
    // paths of views are case-sensitive; the router's own are not
    expect((await get('/app/Books/1')).text).toBe('slug 1')
    expect((await send('HEAD', '/app/books/1')).status).toBe(200)
    expect((await send('PATCH', '/app/books/1', { n: 4 })).json).toMatchObject({ n: 4 })
    expect((await send('OPTIONS', '/app/books/1')).headers.allow).toBe('GET, PUT, PATCH, DELETE, HEAD, OPTIONS')
    for (const method of ['POST', 'PROPFIND', 'TRACE']) {
      expect(await send(method, '/app/books/1')).toMatchObject({
        status: 405,
        headers: { allow: 'GET, PUT, PATCH, DELETE, HEAD, OPTIONS' },
      })
    }
    expect((await send('DELETE', '/app/books/2')).status).toBe(204)
    expect((await get('/app/books/2147483648')).text).toBe('{"detail":"Not found","status":404}')
    expect(router.url('book', { id: 7 })).toBe('/app/books/7')
    expect(() => mountView(router, '/books/{id:float}', BookDetail.asView())).toThrow(ConfigurationError)
  })

  it('takes a slash at the end, whatever the router says of its own paths', async () => {
    await Book.query().insert({ title: 'One' })
    const router = new Router({ strict: true })
    mountView(router, '/books/{id:int}', BookDetail.asView())
    const client = await serveApp(router.routes() as Koa.Middleware)
    expect((await client.get('/books/1/')).json).toMatchObject({ title: 'One' })
  })

  it('takes bulk actions and nested paths as well', async () => {
    class Books extends BulkModelViewSet<Book> {
      static override model = Book
      static override serializerClass = BookSerializer
    }
    const router = new Router()
    mountView(router, '/bulk', Books.asView({ post: 'bulkCreate', patch: 'bulkUpdate', delete: 'bulkDestroy' }))
    const { send } = await serveApp(router.routes() as Koa.Middleware)
    expect((await send('POST', '/bulk', [{ title: 'One' }, { title: 'Two' }])).json).toHaveLength(2)
    expect((await send('PATCH', '/bulk', [{ id: 2, n: 1 }])).json).toMatchObject([{ n: 1 }])
    expect((await send('DELETE', '/bulk', [1, 2])).json).toEqual({ deleted: [1, 2] })
  })
})
