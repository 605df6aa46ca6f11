import Router from '@koa/router'
import Koa from 'koa'
// @ts-expect-error it brings no types
import mount from 'koa-mount'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  APIRouter,
  action,
  BaseVersioning,
  ConfigurationError,
  type Context,
  HeaderVersioning,
  ModelViewSet,
  NestedRouter,
  NestedViewSetMixin,
  PageNumberPagination,
  type Pagination,
  QueryParamVersioning,
  URLPathVersioning,
  type Versioning,
  type VersioningOptions,
  type VersionLifecycle,
  ViewSet,
} from '../../lib/index.js'
import { errors, versioning } from '../../plugins/index.js'
import { type Client, serveApp } from '../support/client.js'
import type { TestDatabase } from '../support/database.js'
import { Book, BookSerializer, createLibrary, removeBooks } from '../support/library.js'
import { surfaces } from '../support/surfaces.js'

const allowedVersions = ['1.0', '2', '2.1']
const NOT_FOUND = '{"detail":"Not found","status":404}'

describe.each(Object.entries(surfaces))('on %s', (_name, serve) => {
  /** What the handler saw, or the status of an answer that never reached it. */
  async function versionOf(scheme: Versioning, path: string, headers = {}): Promise<unknown> {
    const client = await serve({ versioning: scheme })
    const { status, json, text } = await client.get(path, headers)
    expect(client.reported).toEqual([])
    if (status === 404) expect(text).toBe(NOT_FOUND)
    return status === 200 ? json.version : status
  }

  it.each<[string, VersioningOptions, unknown]>([
    ['/v2/things', {}, '2'],
    ['/v2/things', { allowedVersions }, '2'],
    ['/v2/things', { allowedVersions: ['1.0', '3'] }, 404],
    ['/things', { allowedVersions }, '1.0'],
    ['/things', {}, '1.0'],
    ['/things', { defaultVersion: '2.1', allowedVersions }, '2.1'],
    ['/things?version=2', { allowedVersions }, '1.0'],
  ])('URLPathVersioning: %s with %o is %s', async (path, options, expected) => {
    expect(await versionOf(new URLPathVersioning(options), path)).toBe(expected)
  })

  it.each<[string, unknown]>([
    ['', '1.0'],
    ['?version=', '1.0'],
    ['?version=2', '2'],
    ['?version=2.1', '2.1'],
    ['?version=9&version=2', '2'],
    ['?version=2&version=9', 404],
    ['?version=2.0', 404],
    ['?version=v2', 404],
    ['?version=2%20', 404],
    ['?version=%00', 404],
    ['?version=%zz', 404],
    ['?version=__proto__', 404],
    [`?version=${'9'.repeat(8000)}`, 404],
    ['?version[]=2', '1.0'],
    ['?VERSION=2', '1.0'],
  ])('QueryParamVersioning: %s is %s', async (query, expected) => {
    expect(await versionOf(new QueryParamVersioning({ allowedVersions }), `/things${query}`)).toBe(expected)
  })

  it.each<[string, unknown]>([
    ['application/json', '1.0'],
    ['application/json; version=2', '2'],
    ['application/json;VERSION="2.1"', '2.1'],
    ['application/json; version="2\\.1"', '2.1'],
    ['application/json; charset=utf-8; version = 2', '2'],
    ['text/html, application/json; version=2', '2'],
    ['application/json; version=2; q=0.5, application/json; version=2.1', '2.1'],
    ['application/json; version=2.1, text/csv; version=2', '2.1'],
    ['application/json; version=9; q=0.1, */*; version=2', '2'],
    ['application/json; version=9; q=0', '1.0'],
    ['application/json; version=2; version=9', '2'],
    ['application/json; x=", application/json; version=9"; version=2', '2'],
    ['application/json; version=', '1.0'],
    ['application/json; version', '1.0'],
    ['application/json; myversion=9', '1.0'],
    ['application/json; version=2.0', 406],
    ['application/json; version=v2', 406],
    ['application/json; version=__proto__', 406],
    [`application/json; version=${'9'.repeat(8000)}`, 406],
    ['application/json; version="2', '2'],
    ['version=2', '1.0'],
    [';;;,,,/,q=;version', '1.0'],
    [`${'"\\'.repeat(4000)}; version=9`, '1.0'],
    [`${',;"'.repeat(3000)}version=2`, '1.0'],
  ])('HeaderVersioning: %s is %s', async (Accept, expected) => {
    expect(await versionOf(new HeaderVersioning({ allowedVersions }), '/things', { Accept })).toBe(expected)
  })

  it('a 406 names the versions, and does not repeat the one asked for', async () => {
    const client = await serve({ versioning: new HeaderVersioning({ allowedVersions }) })
    expect(await client.get('/things', { Accept: 'application/json; version=<script>' })).toMatchObject({
      status: 406,
      text: '{"detail":"Unknown API version. Available versions: 1.0, 2, 2.1","status":406}',
      headers: { vary: 'Accept' },
    })
    expect((await client.get('/things')).headers['vary']).toBe('Accept')
  })

  it.each(['<script>', "1' or 1=1", 'ü', '1 2', '', '.'])(
    'without allowedVersions, what can be no version is refused: %j',
    async (version) => {
      const expected = version === '' ? '1.0' : 404
      expect(await versionOf(QueryParamVersioning, `/things?version=${encodeURIComponent(version)}`)).toBe(expected)
      expect(await versionOf(QueryParamVersioning, '/things?version=2026-03-28')).toBe('2026-03-28')
    },
  )

  it('options may be overridden in a subclass', async () => {
    class Own extends QueryParamVersioning {
      override readonly allowedVersions = ['7']
      override readonly defaultVersion = '8'
    }
    expect(await versionOf(Own, '/things?version=7')).toBe('7')
    expect(await versionOf(Own, '/things?version=2')).toBe(404)
    expect(await versionOf(Own, '/things')).toBe('8')
  })

  it("an application's own kind", async () => {
    class FromHeader extends BaseVersioning {
      override readonly allowedVersions = ['2']
      override detectVersion(ctx: Context) {
        return ctx.get('X-Version')
      }
    }
    expect(await versionOf(FromHeader, '/things', { 'X-Version': '2' })).toBe('2')
    expect(await versionOf(FromHeader, '/things')).toBe('1.0')
    expect(await versionOf(FromHeader, '/things', { 'X-Version': '3' })).toBe(404)
  })

  describe('the life of a version', () => {
    const sunset = Date.UTC(2026, 11, 31, 23)
    let time = 0
    const life = (lifecycle: VersionLifecycle) =>
      serve({
        versioning: new QueryParamVersioning({ defaultVersion: '2', versions: { '1': lifecycle }, now: () => time }),
      })

    it('RFC 9745, RFC 8594, RFC 8288: is told by Deprecation, Sunset and Link', async () => {
      time = 0
      const client = await life({
        deprecated: '2023-06-30T23:59:59Z',
        sunset: new Date(sunset),
        successor: '/v2/things',
        deprecationPage: 'https://docs.test/deprecation?v=1',
        sunsetPage: 'https://docs.test/sunset',
      })
      expect((await client.get('/things?version=1')).headers).toMatchObject({
        deprecation: '@1688169599',
        sunset: 'Thu, 31 Dec 2026 23:00:00 GMT',
        link: '</v2/things>; rel="successor-version", <https://docs.test/deprecation?v=1>; rel="deprecation", <https://docs.test/sunset>; rel="sunset"',
      })
      for (const path of ['/things', '/things?version=2']) {
        const { headers } = await client.get(path)
        for (const name of ['deprecation', 'sunset', 'link']) expect(headers).not.toHaveProperty(name)
      }
      time = sunset + 1
      expect((await client.get('/things?version=1')).status).toBe(200)
    })

    it('is over after its sunset where that is asked for: 410, with the same headers', async () => {
      time = sunset - 1
      const client = await life({ sunset: new Date(sunset), successor: '/v2/things', goneAfterSunset: true })
      expect((await client.get('/things?version=1')).status).toBe(200)
      time = sunset
      expect(await client.get('/things?version=1')).toMatchObject({
        status: 410,
        text: '{"detail":"This version of the API is no longer available","status":410}',
        headers: { sunset: 'Thu, 31 Dec 2026 23:00:00 GMT', link: '</v2/things>; rel="successor-version"' },
      })
      expect((await client.send('HEAD', '/things?version=1')).status).toBe(410)
      expect((await client.get('/things?version=2')).status).toBe(200)
    })

    it('comes to the Link of the app', async () => {
      const client = await serve({
        versioning: new QueryParamVersioning({ versions: { '1': { successor: '/v2' } } }),
        before: [
          async (ctx, next) => {
            ctx.set('Link', '</license>; rel="license"')
            await next()
          },
        ],
      })
      expect((await client.get('/things?version=1')).headers['link']).toBe(
        '</license>; rel="license", </v2>; rel="successor-version"',
      )
    })

    it('is told once where a middleware and the view both tell it', async () => {
      const version = { successor: '/v2', sunsetPage: '/sunset' }
      const client = await serve({
        versioning: new QueryParamVersioning({ versions: { '1': version } }),
        before: [
          versioning(new QueryParamVersioning({ versions: { '1': { successor: '/v2' } } })),
          async (ctx, next) => {
            ctx.append('Link', '</license>; rel="license"')
            await next()
          },
        ],
      })
      expect((await client.get('/things?version=1')).headers['link']).toBe(
        '</v2>; rel="successor-version", </license>; rel="license", </sunset>; rel="sunset"',
      )
    })
  })

  it.each<[string, VersioningOptions, RegExp]>([
    ['an allowed version that is none', { allowedVersions: ['1', 'a b'] }, /"a b" is no version/],
    ['an empty version', { allowedVersions: [''] }, /"" is no version/],
    ['a default that is none', { defaultVersion: '1/2' }, /"1\/2" is no version/],
    ['a leading v', { allowedVersions: ['v1'] }, /write the version "v1" without its leading "v"/],
    [
      'a life of no version',
      { allowedVersions: ['1'], versions: { '3': {} } },
      /versions names "3", which is none of allowedVersions/,
    ],
    [
      'an option of a life that does not exist',
      { versions: { '1': { sunst: '2026-01-01' } as never } },
      /versions\["1"\]\.sunst/,
    ],
    ['a date that is none', { versions: { '1': { sunset: 'soon' } } }, /versions\["1"\]\.sunset: give a Date/],
    ['a date without zone', { versions: { '1': { sunset: '2026-01-01T00:00:00' } } }, /give a Date/],
    ['a date that does not exist', { versions: { '1': { deprecated: '2026-13-01' } } }, /give a Date/],
    ['an invalid Date', { versions: { '1': { deprecated: new Date('x') } } }, /give a Date/],
    [
      'a sunset before the deprecation',
      { versions: { '1': { deprecated: '2026-02-01', sunset: '2026-01-01' } } },
      /sunset lies before/,
    ],
    ['gone without a sunset', { versions: { '1': { goneAfterSunset: true } } }, /goneAfterSunset needs a sunset/],
    ['a link that breaks the header', { versions: { '1': { successor: '/v2>; rel="x' } } }, /successor: .* is no URL/],
    ['a link of two lines', { versions: { '1': { successor: '/v2\r\nX: y' } } }, /is no URL/],
    ['a link beyond ASCII', { versions: { '1': { sunsetPage: '/bücher' } } }, /sunsetPage: .* percent-encode it/],
  ])('[I23] %s is a ConfigurationError before any request', async (_case, options, message) => {
    await expect(serve({ versioning: new URLPathVersioning(options) })).rejects.toThrow(message)
  })
})

describe('a version in the path', () => {
  let database: TestDatabase
  let seen: unknown[]

  beforeAll(async () => {
    database = await createLibrary()
  })
  beforeEach(async () => {
    seen = []
    await removeBooks(database)
    await Book.query().insert(['One', 'Two', 'Three'].map((title) => ({ title })))
  })
  afterAll(() => database.drop())

  class Books extends ModelViewSet<Book> {
    static override model = Book
    static override serializerClass = BookSerializer
    static override paginationClass: Pagination = new PageNumberPagination({ pageSize: 1 })
    static override versioningClass: Versioning = new URLPathVersioning({ allowedVersions: ['1', '2.1'] })
    override list() {
      seen.push(this.ctx.state['version'])
      return super.list()
    }
  }

  const routes: Record<string, (prefix: string) => Promise<Client>> = {
    async 'routes()'(prefix) {
      const api = new APIRouter({ prefix }).register('books', Books)
      await api.prepare()
      return serveApp(errors(), api.routes(), (ctx) => {
        ctx.body = 'the app'
      })
    },
    async 'mount()'(prefix) {
      const api = new APIRouter({ prefix }).register('books', Books)
      await api.prepare()
      const router = new Router()
      api.mount(router)
      return serveApp(errors(), router.routes() as Koa.Middleware, (ctx) => {
        ctx.body = 'the app'
      })
    },
  }

  describe.each(Object.entries(routes))('with %s', (_name, serve) => {
    it('/api/{version}: the view is told, and links and Location keep it as it was written', async () => {
      const client = await serve('/api/{version}')
      for (const [written, version] of [
        ['v1', '1'],
        ['1', '1'],
        ['v2.1', '2.1'],
      ]) {
        const page = await client.get(`/api/${written}/books?page=2`)
        expect(page.json).toMatchObject({
          next: `/api/${written}/books?page=3`,
          previous: `/api/${written}/books?page=1`,
        })
        expect(seen.at(-1)).toBe(version)
        const { headers, json } = await client.send('POST', `/api/${written}/books`, { title: `At ${written}` })
        expect(headers['location']).toBe(`/api/${written}/books/${json.id}`)
        expect((await client.get(headers['location'] as string)).json.title).toBe(`At ${written}`)
        expect((await client.get(`/api/${written}/books/1.json`)).json.title).toBe('One')
        expect((await client.get(`/api/${written}`)).json).toEqual({ book: `/api/${written}/books` })
      }
    })

    it.each(['/api/v9/books', '/api/v2/books', '/api/9/books/1', '/api/v9', `/api/v${'9'.repeat(500)}/books`])(
      '63 %s is 404, and the view never sees it',
      async (path) => {
        const client = await serve('/api/{version}')
        expect(await client.get(path)).toMatchObject({ status: 404, text: NOT_FOUND })
        expect(seen).toEqual([])
      },
    )

    it('what looks like no version is left to the app', async () => {
      const client = await serve('/api/{version}')
      for (const path of ['/api/health', '/api/vx/books', '/api/v/books', '/api/V1/books', '/api/v1.x/books', '/api']) {
        expect((await client.get(path)).text).toBe('the app')
      }
    })

    it('any name where the prefix says so', async () => {
      class Beta extends Books {
        static override versioningClass: Versioning = new URLPathVersioning({ allowedVersions: ['beta'] })
      }
      const api = new APIRouter({ prefix: '/api/{version:slug}' }).register('books', Beta)
      await api.prepare()
      const client = await serveApp(errors(), api.routes())
      expect((await client.get('/api/beta/books')).status).toBe(200)
      expect(seen).toEqual(['beta'])
      expect((await client.get('/api/gamma/books')).status).toBe(404)
      // not the default, which is for paths without a version
      expect(await client.get('/api/v/books')).toMatchObject({ status: 404, text: NOT_FOUND })
      expect(seen).toEqual(['beta'])
    })

    it('/api/v2.1 written in the prefix', async () => {
      const client = await serve('/api/v2.1')
      expect((await client.get('/api/v2.1/books')).json.next).toBe('/api/v2.1/books?page=2')
      expect(seen).toEqual(['2.1'])
      expect((await client.get('/api/v2.1')).json).toEqual({ book: '/api/v2.1/books' })
    })
  })

  it('[I23] a parameter of another meaning that the version would be read from', () => {
    class Plain extends ModelViewSet<Book> {
      static override model = Book
      static override serializerClass = BookSerializer
    }
    class Nested extends NestedViewSetMixin(Books) {
      static override parentLookupField = 'id'
    }
    class ByVersion extends Books {
      static override lookupUrlKwarg = 'version'
    }
    class WithAction extends Books {
      @action({ methods: ['GET'], urlPath: 'since/{version}' })
      since() {
        return []
      }
    }
    const message = /URLPathVersioning would take the path parameter "version" for the API version/
    const api = new APIRouter({ prefix: '/api/v2' }).register('books', Plain)
    const nested = new NestedRouter(api, 'books', { lookup: 'version' })
    expect(() => nested.register('revisions', Nested, 'revision')).toThrow(ConfigurationError)
    expect(() => nested.register('revisions', Nested, 'revision')).toThrow(message)
    expect(() => api.register('named', ByVersion, 'named')).toThrow(message)
    expect(() => api.register('acting', WithAction, 'acting')).toThrow(message)
    // a prefix is the place for it, and without URLPathVersioning it has no meaning
    api.register('of/{version}/books', Books, 'versioned')
    class Unversioned extends ByVersion {
      static override versioningClass = null
    }
    api.register('named', Unversioned, 'named')
  })

  it('reverse URLs take the version', async () => {
    const api = new APIRouter({ prefix: '/api/{version}' }).register('books', Books)
    await api.prepare()
    expect(api.url('book-retrieve', { version: 'v1', id: 7 })).toBe('/api/v1/books/7')
    expect(() => api.url('book-retrieve', { version: 'x', id: 7 })).toThrow(/does not fit/)
  })

  it("an object's name is no version, the place of the mount is", async () => {
    class Named extends ViewSet {
      static override versioningClass: Versioning = new URLPathVersioning({ allowedVersions: ['1.0', '2'] })
      retrieve() {
        return { version: this.ctx.state['version'] }
      }
    }
    const api = new APIRouter({ prefix: '/api' }).register('names', Named, 'name')
    const inner = new Koa().use(api.routes())
    const deep = new Koa().use(mount('/x', inner))
    const client = await serveApp(errors(), mount('/v2', deep), mount('/v2', inner), mount('/v9', inner), api.routes())
    expect((await client.get('/api/names/v2')).json).toEqual({ version: '1.0' })
    expect((await client.get('/api/names/v9')).json).toEqual({ version: '1.0' })
    expect((await client.get('/v2/api/names/v9')).json).toEqual({ version: '2' })
    expect((await client.get('/v2/x/api/names/v9?/v9')).json).toEqual({ version: '2' })
    expect((await client.get('http://v9/v2/x/api/names/1')).json).toEqual({ version: '2' })
    expect((await client.get('/v9/api/names/v2')).status).toBe(404)
  })

  it('versioning() before any routing reads the path', async () => {
    const client = await serveApp(versioning(new URLPathVersioning({ allowedVersions: ['2'] })), (ctx) => {
      ctx.body = ctx.state['version']
    })
    expect((await client.get('/api/v2/x')).text).toBe('2')
    expect((await client.get('/api/x')).text).toBe('1.0')
    expect((await client.get('/api/v3/x')).status).toBe(404)
  })

  it('a version in the query stays in links and Location, and strictParams knows it', async () => {
    class Strict extends Books {
      static override strictParams = true
      static override versioningClass: Versioning = new QueryParamVersioning({ allowedVersions: ['1', '2'] })
    }
    const api = new APIRouter({ prefix: '/api' }).register('books', Strict)
    await api.prepare()
    const client = await serveApp(api.routes())
    expect((await client.get('/api/books?version=2&page=2')).json).toMatchObject({
      next: '/api/books?version=2&page=3',
      previous: '/api/books?version=2&page=1',
    })
    expect((await client.get('/api/books?versoin=2')).json.errors.versoin[0]).toContain('version')
    const created = await client.send('POST', '/api/books?version=2&x=1', { title: 'x' })
    expect(created.headers['location']).toBe(`/api/books/${created.json.id}?version=2`)
    expect((await client.send('POST', '/api/books', { title: 'y' })).headers['location']).not.toContain('version')
  })

  it('a write with a version that is not allowed writes nothing', async () => {
    const api = new APIRouter({ prefix: '/api/{version}' }).register('books', Books)
    await api.prepare()
    const client = await serveApp(api.routes())
    expect((await client.send('POST', '/api/v9/books', { title: 'x' })).status).toBe(404)
    expect(await Book.query().resultSize()).toBe(3)
  })
})
