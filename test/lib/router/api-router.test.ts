import Router from '@koa/router'
import Koa from 'koa'
// @ts-expect-error: the package has no types
import mount from 'koa-mount'
import { describe, expect, it } from 'vitest'
import { createClient } from '../../../lib/client/index.js'
import {
  APIRouter,
  action,
  ConfigurationError,
  CreateMixin,
  CursorPagination,
  configure,
  GenericViewSet,
  ListMixin,
  ModelViewSet,
  NestedRouter,
  NestedViewSetMixin,
  PageNumberPagination,
  ViewSet,
} from '../../../lib/index.js'
import { mountView } from '../../../lib/views/index.js'
import { docs, errors } from '../../../plugins/index.js'
import { type Client, serveApp } from '../../support/client.js'
import {
  Author,
  AuthorSerializer,
  Book,
  BookSerializer,
  database,
  Tag,
  TagSerializer,
  useLibrary,
} from '../../support/library.js'
import { size } from '../../trust/support/size.js'

useLibrary()

class BookViewSet extends ModelViewSet<Book> {
  static override model = Book
  static override serializerClass = BookSerializer
  static override paginationClass = new PageNumberPagination({ pageSize: 1 })
}

class AuthorViewSet extends ModelViewSet<Author> {
  static override model = Author
  static override serializerClass = AuthorSerializer
}

class TagViewSet extends ModelViewSet<Tag> {
  static override model = Tag
  static override serializerClass = TagSerializer
}

class FileViewSet extends ViewSet {
  list() {
    return { path: this.ctx['params'].name }
  }
}

function library(prefix?: string): APIRouter {
  return new APIRouter(prefix === undefined ? {} : { prefix })
    .register('books', BookViewSet)
    .register('authors', AuthorViewSet)
}

async function serve(...middleware: unknown[]): Promise<Client> {
  return serveApp(...(middleware as Koa.Middleware[]))
}

describe('url()', () => {
  it('writes the path of a route by its name', async () => {
    const api = library('/api/v1').register('tags', TagViewSet)
    await api.prepare()
    expect(api.url('api-root')).toBe('/api/v1')
    expect(api.url('book-list')).toBe('/api/v1/books')
    expect(api.url('book-partial_update', { id: 7 })).toBe('/api/v1/books/7')
    expect(api.url('book-destroy', { id: 7n, more: 1 })).toBe('/api/v1/books/7')
    expect(api.url('tag-retrieve', { id: 'ä b' })).toBe('/api/v1/tags/%C3%A4%20b')
  })

  it('refuses what does not lead to a route', async () => {
    const api = library()
    await api.prepare()
    expect(() => api.url('book-nothing')).toThrow('APIRouter: there is no route "book-nothing"')
    expect(() => api.url('toString')).toThrow('there is no route')
    expect(() => api.url('book-retrieve')).toThrow('Path parameter "id" is missing')
    expect(() => api.url('book-retrieve', { id: 'x' })).toThrow('does not fit {id:int}')
  })

  it('leads to the same object again, also when its key ends in a format', async () => {
    const api = new APIRouter().register('tags', TagViewSet)
    await api.prepare()
    const { get } = await serve(api.routes())
    for (const slug of ['a', 'a.json', 'a.json.json', 'json', '.json', 'a.csv', 'a.', 'a%2Ejson']) {
      await Tag.query().insert({ slug, label: slug } as never)
      expect((await get(api.url('tag-retrieve', { id: slug }))).json).toEqual({ slug, label: slug })
    }
    await Tag.query().delete()
  })
})

describe('a prefix', () => {
  it('may have parameters, which views read from ctx.params', async () => {
    const api = new APIRouter({ prefix: '/{tenant:slug}/api' })
      .register('files/{name:path}', FileViewSet, 'file')
      .register('books', BookViewSet)
    await api.prepare()
    const { get, send } = await serve(api.routes())
    expect((await get('/acme/api/files/a/b/c.txt')).json).toEqual({ path: 'a/b/c.txt' })
    const { get: described } = (api.getSchema().paths as any)['/{tenant}/api/files/{name}']
    expect(described.parameters).toMatchObject([{ name: 'tenant' }, { name: 'name', 'x-takes-rest': true }])
    expect((await get('/a.b/api/books')).status).toBe(404)
    expect((await send('POST', '/acme/api/books', { title: 'x' })).headers.location).toBe('/acme/api/books/1')
    expect(api.url('book-retrieve', { tenant: 'acme', id: 1 })).toBe('/acme/api/books/1')
    expect((await get('/acme/api')).json).toEqual({ book: '/acme/api/books' })
  })

  it('of two resources may begin alike', async () => {
    const api = new APIRouter()
      .register('authors', AuthorViewSet)
      .register('authors/{author_id:int}/books', BookViewSet)
    await api.prepare()
    const { get } = await serve(api.routes())
    expect((await get('/authors/1')).json).toMatchObject({ name: 'Ada' })
    expect((await get('/authors/1/books')).json).toMatchObject({ count: 0 })
  })
})

describe('routes()', () => {
  it('leaves its matches in ctx, as @koa/router does', async () => {
    const seen: unknown[] = []
    const { get, send } = await serve(async (ctx: Koa.Context, next: Koa.Next) => {
      await next()
      seen.push([ctx['_matchedRoute'], ctx['_matchedRouteName'], ctx['params']])
    }, library().routes())
    await get('/books/7')
    await send('HEAD', '/books')
    await get('/nothing')
    expect(seen).toEqual([
      ['/books/{id}', 'book-retrieve', { id: '7' }],
      ['/books', 'book-list', {}],
      [undefined, undefined, undefined],
    ])
  })

  it('works under koa-mount: links, Location and API root carry the mount path', async () => {
    const api = library('/v1')
    await api.prepare()
    const { get, send } = await serve(mount('/service', api.routes()))
    const created = await send('POST', '/service/v1/books', { title: 'One' })
    expect(created).toMatchObject({ status: 201, headers: { location: '/service/v1/books/1' } })
    expect((await get(created.headers.location as string)).json).toMatchObject({ title: 'One' })
    await send('POST', '/service/v1/books', { title: 'Two' })
    const page = await get('/service/v1/books')
    expect(page.json.next).toBe('/service/v1/books?page=2')
    expect((await get(page.json.next)).json.previous).toBe('/service/v1/books?page=1')
    const root = await get('/service/v1/')
    expect(root.json).toEqual({ book: '/service/v1/books', author: '/service/v1/authors' })
    expect((await get(root.json.book)).status).toBe(200)
    expect((await get('/v1/books')).status).toBe(404)
  })

  it('serves two APIs in one app', async () => {
    const { get } = await serve(
      library('/v1').routes(),
      new APIRouter({ prefix: '/v2' }).register('x', BookViewSet).routes(),
    )
    expect((await get('/v1/books')).status).toBe(200)
    expect((await get('/v2/x')).status).toBe(200)
    expect((await get('/v2')).json).toEqual({ book: '/v2/x' })
  })

  it("lets errors() answer the app's 404, and an unreadable target", async () => {
    const { get } = await serve(errors(), library('/api').routes())
    expect((await get('/api/books/abc')).text).toBe('{"detail":"Not found","status":404}')
  })
})

describe('paths', () => {
  class FeedViewSet extends TagViewSet {
    @action({ methods: ['GET'], detail: false, urlPath: 'feed.json' })
    feed() {
      return { slug: 'feed', label: 'all' }
    }
  }

  it.each<[string, (api: APIRouter) => Koa.Middleware]>([
    ['routes()', (api) => api.routes()],
    [
      'mount()',
      (api) => {
        const router = new Router()
        api.mount(router)
        return router.routes() as Koa.Middleware
      },
    ],
  ])('whose fixed part ends like a format are preferred to those of objects, by %s', async (_name, middleware) => {
    const { get } = await serve(middleware(new APIRouter().register('tags', FeedViewSet)))
    await database.knex('tags').insert({ slug: 'feed', label: 'one' }).onConflict('slug').ignore()
    expect((await get('/tags/feed.json')).json).toEqual({ slug: 'feed', label: 'all' })
    expect((await get('/tags/feed')).json).toEqual({ slug: 'feed', label: 'one' })
    expect((await get('/tags.json')).json).toContainEqual({ slug: 'feed', label: 'one' })
  })

  it('are no Location of objects that have none', async () => {
    class Inbox extends CreateMixin(ListMixin(GenericViewSet<Tag>)) {
      static override model = Tag
      static override serializerClass = TagSerializer
    }
    const api = new APIRouter().register('inbox', Inbox, 'inbox').register('tags', TagViewSet)
    const { send } = await serve(api.routes())
    expect((await send('POST', '/tags', { slug: 'lo', label: 'A' })).headers.location).toBe('/tags/lo')
    const { status, headers } = await send('POST', '/inbox', { slug: 'in', label: 'B' })
    expect(status).toBe(201)
    expect(headers).not.toHaveProperty('location')
    await api.prepare()
    const { paths } = api.getSchema({ title: 'x', version: '1' }) as any
    const described = (path: string) => Object.keys(paths[path].post.responses[201].headers ?? {})
    expect([described('/tags'), described('/inbox')]).toEqual([
      ['Location', 'Preference-Applied'],
      ['Preference-Applied'],
    ])
  })
})

describe('mount()', () => {
  it.each([
    ['an application', () => new Koa()],
    ['another API', () => new APIRouter()],
    ['nothing', () => undefined],
  ])('refuses %s', (_name, make) => {
    const api = new APIRouter().register('tags', TagViewSet)
    expect(() => api.mount(make() as never)).toThrow(ConfigurationError)
    expect(() => mountView(make() as never, '/tags', TagViewSet.asView({ get: 'list' }))).toThrow('give a @koa/router')
  })

  /** An application's own router, with routes before and after. */
  async function mounted(options: { prefix?: string; namespace?: string } = {}): Promise<{ router: Router } & Client> {
    const router = new Router(options.prefix === undefined ? {} : { prefix: options.prefix })
    router.get('/before', (ctx) => {
      ctx.body = 'before'
    })
    const api = library('/api').register('tags', TagViewSet)
    api.mount(router, options.namespace === undefined ? {} : { namespace: options.namespace })
    router.get('after', '/api/books/:rest', (ctx) => {
      ctx.body = `after ${ctx.params['rest']}`
    })
    return { router, ...(await serve(router.routes(), api.allowedMethods())) }
  }

  it('serves the same paths, names and answers', async () => {
    const { router, get, send } = await mounted()
    const created = await send('POST', '/api/books', { title: 'One' })
    expect(created).toMatchObject({ status: 201, headers: { location: '/api/books/1' } })
    expect((await get('/api/books/1')).json).toMatchObject({ title: 'One' })
    expect((await get('/api/books/1/')).status).toBe(200)
    expect((await get('/api/books.json')).json).toMatchObject({ count: 1 })
    expect((await get('/api/books/1.json')).json).toMatchObject({ id: 1 })
    expect((await get('/api')).json).toEqual({ book: '/api/books', author: '/api/authors', tag: '/api/tags' })
    expect((await send('HEAD', '/api/books/1')).headers['content-length']).toBe(
      String(Buffer.byteLength((await get('/api/books/1')).text)),
    )
    expect((await send('OPTIONS', '/api/books/1')).headers.allow).toBe('GET, PUT, PATCH, DELETE, HEAD, OPTIONS')
    expect(router.url('book-list', {})).toBe('/api/books')
    expect(router.url('book-retrieve', { id: 1 })).toBe('/api/books/1')
    expect(router.route('book-partial_update')).toMatchObject({ methods: ['PATCH'] })
    expect((await send('PATCH', '/api/books/1', { n: 2 })).json).toMatchObject({ n: 2 })
    expect((await send('DELETE', '/api/books/1')).status).toBe(204)
  })

  it('puts a namespace before the names', async () => {
    const { router } = await mounted({ namespace: 'v1' })
    expect(router.url('v1:book-list', {})).toBe('/api/books')
    expect(router.url('v1:api-root', {})).toBe('/api')
    expect(router.route('book-list')).toBe(false)
  })

  it('[D6] a cursor of another namespace is the first page', async () => {
    configure({ secretKey: '0123456789abcdef0123456789abcdef' })
    class Feed extends ModelViewSet<Book> {
      static override model = Book
      static override serializerClass = BookSerializer
      static override paginationClass = new CursorPagination({ ordering: 'id', pageSize: 1 })
    }
    const app = new Koa()
    for (const namespace of ['v1', 'v2']) {
      const router = new Router({ prefix: `/${namespace}` })
      new APIRouter().register('books', Feed).mount(router, { namespace })
      app.use(router.routes() as Koa.Middleware)
    }
    const { get, send } = await serve(mount(app) as Koa.Middleware)
    for (const title of ['One', 'Two']) await send('POST', '/v1/books', { title })
    const { next } = (await get('/v1/books')).json
    expect((await get(next)).json.results).toMatchObject([{ title: 'Two' }])
    const elsewhere = await get(next.replace('/v1/', '/v2/'))
    expect(elsewhere.json).toMatchObject({ previous: null, results: [{ title: 'One' }] })
    configure({})
  })

  it('leaves values that do not fit to later routes, from the first request on', async () => {
    const { get } = await mounted()
    for (const value of ['abc', '1x', '--1', '%201']) {
      expect((await get(`/api/books/${value}`)).text).toBe(`after ${decodeURIComponent(value)}`)
    }
    expect((await get('/before')).text).toBe('before')
    expect((await get('/api/books/1')).text).toBe('{"detail":"Not found","status":404}')
    expect((await get('/api/Books')).status).toBe(404)
    expect((await get('/api/tags/%00')).status).toBe(404)
  })

  it("works under the router's own prefix, parameters included", async () => {
    const { router, get, send } = await mounted({ prefix: '/:tenant' })
    expect((await send('POST', '/acme/api/books', { title: 'One' })).headers.location).toBe('/acme/api/books/1')
    expect((await get('/acme/api/books/1.json')).json).toMatchObject({ id: 1 })
    expect((await get('/acme/api/books/x')).text).toBe('after x')
    expect((await get('/acme/api')).json.book).toBe('/acme/api/books')
    expect(router.url('book-retrieve', { tenant: 'acme', id: 1 })).toBe('/acme/api/books/1')
  })

  it('takes a slash at the end, whatever the router says of its own paths', async () => {
    const router = new Router({ strict: true, prefix: '/:tenant' })
    router.get('/before', (ctx) => {
      ctx.body = 'before'
    })
    const api = library('/api')
    api.mount(router)
    const outer = new Router({ strict: true })
    outer.use('/outer', router.routes())
    const { get } = await serve(router.routes(), outer.routes(), api.allowedMethods())
    for (const path of ['/acme/api', '/acme/api/books', '/outer/acme/api', '/outer/acme/api/books']) {
      const { status, text } = await get(path)
      expect(status).toBe(200)
      expect(await get(`${path}/`)).toMatchObject({ status, text })
    }
    expect((await get('/acme/before/')).status).toBe(404)
    expect(router.url('api-root', { tenant: 'acme' })).toBe('/acme/api')
  })

  it('works in a router nested in another', async () => {
    const inner = new Router()
    library('/api').mount(inner)
    const outer = new Router({ prefix: '/outer' })
    outer.use('/mid', inner.routes())
    const { get, send } = await serve(outer.routes(), outer.allowedMethods())
    expect((await send('POST', '/outer/mid/api/books', { title: 'One' })).headers.location).toBe(
      '/outer/mid/api/books/1',
    )
    expect((await get('/outer/mid/api/books/1')).json).toMatchObject({ title: 'One' })
    expect((await get('/outer/mid/api/books.json')).json).toMatchObject({ count: 1 })
    expect((await get('/outer/mid/api/books/x')).status).toBe(404)
    expect((await get('/api/books')).status).toBe(404)
  })

  it('keeps both when one router is mounted twice', async () => {
    const api = library('/api')
    const inner = new Router()
    api.mount(inner)
    const outer = new Router()
    outer.use('/a', inner.routes())
    outer.use('/b', inner.routes())
    const { get } = await serve(outer.routes())
    expect((await get('/a/api')).json.book).toBe('/a/api/books')
    expect((await get('/b/api/books')).json).toMatchObject({ count: 0 })
  })

  it('works under koa-mount', async () => {
    const router = new Router()
    library('/v1').mount(router)
    const { get, send } = await serve(mount('/service', new Koa().use(router.routes())))
    expect((await send('POST', '/service/v1/books', { title: 'One' })).headers.location).toBe('/service/v1/books/1')
    expect((await get('/service/v1')).json.book).toBe('/service/v1/books')
  })

  it.each(['@me', 'a+b', 'c,d', 'e;f', 'k=v', 'mark:read', 'x(y)', 'a!b', "it's", 'bücher', '100€', 'a[b]'])(
    'matches the fixed part %s as routes() does, however it is spelled',
    async (text) => {
      class Things extends FileViewSet {
        retrieve() {
          return { id: this.ctx['params'].id }
        }
        @action({ methods: ['GET'], detail: true, urlPath: text })
        marked() {
          return { marked: this.ctx['params'].id }
        }
      }
      const api = new APIRouter({ prefix: '/api' }).register(text, Things, 'thing')
      const router = new Router({ prefix: '/:tenant/@us' })
      api.mount(router)
      const { get } = await serve(api.routes(), router.routes(), api.allowedMethods())
      const written = encodeURIComponent(text)
      const byte = `%${text.charCodeAt(0).toString(16)}`
      const spellings = [encodeURI(text), written, written.toLowerCase(), written.replace(/\w/, byte), `${written}x`]
      for (const spelling of spellings) {
        for (const path of [
          `${spelling}`,
          `${spelling}/`,
          `${spelling}/7.json/${spelling}`,
          `${spelling}/${spelling}/${written}`,
        ]) {
          const routed = await get(`/api/${path}`)
          expect(await get(`/acme/@us/api/${path}`)).toMatchObject({ status: routed.status, text: routed.text })
        }
      }
      expect((await get(`/acme/@us/api/${written}/${written}/${encodeURI(text)}`)).json).toEqual({ marked: text })
      expect(router.url('thing-marked', { tenant: 'acme', id: '7' })).toBe(`/acme/@us/api/${written}/7/${written}`)
    },
  )

  it("passes through the router's own middleware", async () => {
    const router = new Router()
    router.use(async (ctx, next) => {
      ctx.set('X-Before', ctx.path)
      await next()
    })
    library('/api').mount(router)
    const { get } = await serve(router.routes())
    expect((await get('/api/books')).headers['x-before']).toBe('/api/books')
  })
})

describe('include()', () => {
  it('takes what parts have registered, nested view sets too', async () => {
    const books = new APIRouter().register('books', BookViewSet)
    const below = new NestedRouter(books, 'books', { lookup: 'book_id' })
    class Below extends NestedViewSetMixin(BookViewSet) {
      static override parentLookupField = 'id'
    }
    below.register('same', Below, 'same')
    const api = new APIRouter({ prefix: '/api' })
      .include(books)
      .include(new APIRouter().register('authors', AuthorViewSet))
      .register('tags', TagViewSet)
    await api.prepare()
    const { get } = await serveApp(api.routes())
    const { id } = await Book.query().insert({ title: 'One', isbn: '1' } as never)
    for (const path of ['books', 'authors', 'tags', `books/${id}/same`])
      expect((await get(`/api/${path}`)).status).toBe(200)
    expect(Object.keys((await get('/api')).json)).toEqual(['book', 'author', 'tag'])
    // its types are those of the parts: this compiles
    const client = createClient<typeof api>('http://x')
    expect([client.books.list, client.authors.retrieve, client.tags.create].map((one) => typeof one)).toEqual([
      'function',
      'function',
      'function',
    ])
  })

  it('refuses parts with options, names that are taken, and what comes too late', async () => {
    const taken = () => new APIRouter().register('books', BookViewSet)
    expect(() => taken().include(taken())).toThrow('both registered under "books"')
    const settings = { databaseSettings: { 'app.tenant': '1' } }
    for (const options of [{ prefix: '/part' }, { databaseRole: 'app' }, settings, { closeTimeout: 1 }]) {
      expect(() => new APIRouter().include(new APIRouter(options))).toThrow('include() takes routers without options')
    }
    const shown = taken()
    docs(shown)
    expect(() => new APIRouter().include(shown)).toThrow('give them the one that includes')
    const part = taken()
    const nested = new NestedRouter(part, 'books', { lookup: 'book_id' })
    new APIRouter().include(part)
    expect(() => part.register('tags', TagViewSet)).toThrow('register("tags") came after include(); register first')
    expect(() => nested.register('tags', TagViewSet)).toThrow('came after include()')
    const prepared = taken()
    await prepared.prepare()
    expect(() => new APIRouter().include(prepared)).toThrow('include() came after prepare()')
    expect(() => prepared.include(new APIRouter().register('tags', TagViewSet))).toThrow(
      'include() of "/tags" came after',
    )
  })
})

describe('allowedMethods()', () => {
  it('answers 405 with Allow on known paths, and leaves all else alone', async () => {
    const router = new Router()
    const api = library('/api')
    api.mount(router)
    const { get, send } = await serve(router.routes(), api.allowedMethods(), (ctx: Koa.Context) => {
      if (ctx.path === '/api/authors') ctx.body = 'the app'
    })
    for (const method of ['PUT', 'DELETE', 'TRACE', 'PROPFIND']) {
      expect(await send(method, '/api/books')).toMatchObject({
        status: 405,
        headers: { allow: 'GET, POST, HEAD, OPTIONS' },
        json: { detail: `Method ${method} not allowed`, status: 405 },
      })
    }
    expect(await send('POST', '/api/books/1')).toMatchObject({
      status: 405,
      headers: { allow: 'GET, PUT, PATCH, DELETE, HEAD, OPTIONS' },
    })
    expect((await send('DELETE', '/api/authors')).text).toBe('the app')
    expect((await get('/api/books/1')).json).toEqual({ detail: 'Not found', status: 404 })
    expect((await send('DELETE', '/api/nothing')).status).toBe(404)
  })

  it('leaves alone what a handler answers by itself', async () => {
    const router = new Router()
    const api = library('/api')
    api.mount(router)
    const reported: unknown[] = []
    const { app, send } = await serve(router.routes(), api.allowedMethods(), (ctx: Koa.Context) => {
      ctx.respond = false
      ctx.res.writeHead(404, { 'Content-Type': 'text/plain; charset=utf-8' }).end('upstream has none')
    })
    app.on('error', (error) => reported.push(error))
    expect(await send('TRACE', '/api/books')).toMatchObject({ status: 404, text: 'upstream has none' })
    expect(reported).toEqual([])
  })

  it("knows the paths under a router's own prefix, and those of a router nested in another", async () => {
    const api = library('/api')
    await api.prepare()
    const inner = new Router()
    api.mount(inner)
    const outer = new Router({ prefix: '/:tenant' })
    outer.use('/mid', inner.routes())
    const { send } = await serve(outer.routes(), api.allowedMethods(), library('/other').allowedMethods())
    expect(await send('PUT', '/acme/mid/api/books')).toMatchObject({
      status: 405,
      headers: { allow: 'GET, POST, HEAD, OPTIONS' },
      json: { detail: 'Method PUT not allowed', status: 405 },
    })
    expect((await send('POST', '/acme/mid/api/books/1')).headers.allow).toBe('GET, PUT, PATCH, DELETE, HEAD, OPTIONS')
    expect((await send('PUT', '/acme/mid/api/books/x')).status).toBe(404)
    expect((await send('PUT', '/acme/mid/other/books')).status).toBe(404)
    expect((await send('PUT', '/api/books')).status).toBe(404)
  })
})

describe('resources by the hundred', () => {
  it('are routed as one is', async () => {
    const api = new APIRouter()
    const resources = size(200, 1_000)
    for (let i = 0; i < resources; i++) api.register(`r${i}`, BookViewSet, `r${i}`)
    await api.prepare()
    const { get } = await serve(api.routes())
    expect((await get(`/r${resources - 1}`)).json).toMatchObject({ count: 0 })
    expect(api.getUrls()).toHaveLength(6 * resources + 1)
    expect(api.url('r150-retrieve', { id: 1 })).toBe('/r150/1')
  })
})
