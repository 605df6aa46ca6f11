/** What @opentelemetry/instrumentation-koa sees: each span has the route that the OpenAPI document has. */
import { createRequire } from 'node:module'
import Router from '@koa/router'
import { context, ROOT_CONTEXT, trace } from '@opentelemetry/api'
import { RPCType, setRPCMetadata } from '@opentelemetry/core'
import { KoaInstrumentation } from '@opentelemetry/instrumentation-koa'
import { InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base'
import { NodeTracerProvider } from '@opentelemetry/sdk-trace-node'
import type Koa from 'koa'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  APIRouter,
  action,
  BasePermission,
  BulkModelViewSet,
  IsAuthenticated,
  NestedRouter,
  NestedViewSetMixin,
  type Permissions,
  URLPathVersioning,
  type Versioning,
} from '../../lib/index.js'
import type { TestDatabase } from '../support/database.js'
import { Author, AuthorSerializer, Book, BookSerializer, createLibrary, removeBooks } from '../support/library.js'
import { serve, type TestServer } from '../support/server.js'

const exporter = new InMemorySpanExporter()
const provider = new NodeTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] })
const instrumentation = new KoaInstrumentation()

/** What the spans of permissions and hooks would see. */
let seen: unknown[] = []
class Seeing extends BasePermission {
  override hasPermission(ctx: Koa.Context) {
    seen.push([ctx['_matchedRoute'], ctx['_matchedRouteName']])
    return true
  }
}

class Authors extends BulkModelViewSet<Author> {
  static override model = Author
  static override serializerClass = AuthorSerializer
  static override permissionClasses: Permissions = [Seeing]
  static override versioningClass: Versioning = new URLPathVersioning({ defaultVersion: '1', allowedVersions: ['1'] })

  @action({ methods: ['GET', 'POST'], detail: true, urlPath: 'pages/{page:int}' })
  async pages() {
    return {}
  }

  @action({ methods: ['GET'], permissionClasses: [IsAuthenticated] })
  async closed() {
    return {}
  }
}
class Books extends NestedViewSetMixin(BulkModelViewSet<Book>) {
  static override model = Book
  static override serializerClass = BookSerializer
  static override parentLookupField = 'author_id'
}

let database: TestDatabase
let api: APIRouter
let server: TestServer
/** The route of the HTTP server's own span. */
let routed: string | undefined

beforeAll(async () => {
  provider.register()
  instrumentation.setTracerProvider(provider)
  instrumentation.enable()
  database = await createLibrary()
  // the patch is applied to what `require` gives
  const Instrumented = createRequire(import.meta.url)('koa') as typeof Koa
  api = new APIRouter({ prefix: '/api/{version}' }).register('authors', Authors)
  new NestedRouter(api, 'authors', { lookup: 'author_id' }).register('books', Books)
  const app = new Instrumented()
  app.use(function others(_ctx: Koa.Context, next: Koa.Next) {
    return next()
  })
  app.use(api.routes())
  const answer = app.callback()
  app.callback = () => (request, response) => {
    const span = trace.getTracer('http').startSpan('request')
    const metadata = { type: RPCType.HTTP as const, span, route: undefined as string | undefined }
    response.once('close', () => {
      routed = metadata.route
      span.end()
    })
    return context.with(setRPCMetadata(trace.setSpan(ROOT_CONTEXT, span), metadata as never), () =>
      answer(request, response),
    )
  }
  server = await serve(app)
})
afterAll(async () => {
  await server.close()
  instrumentation.disable()
  await provider.shutdown()
  await database.drop()
})
beforeEach(async () => {
  await removeBooks(database)
  await Book.query().insert({ title: 'One', author_id: 1 })
  exporter.reset()
  seen = []
})

const VALUES: Readonly<Record<string, string>> = { version: 'v1', id: '1', author_id: '1', page: '7' }

/** The routes that spans have for a request. */
async function routesOf(method: string, path: string): Promise<{ status: number; routes: unknown[] }> {
  exporter.reset()
  const { status } = await server.send({ method, path })
  await new Promise((resolve) => setImmediate(resolve))
  const spans = exporter.getFinishedSpans()
  return { status, routes: spans.flatMap(({ attributes }) => attributes['http.route'] ?? []) }
}

describe('the spans of a request', () => {
  it('have the path of the document as their route, for every route of the API', async () => {
    await api.prepare()
    const { paths } = api.getSchema()
    const methods = Object.entries(paths).flatMap(([path, item]) =>
      Object.keys(item ?? {}).map((method) => [method.toUpperCase(), path] as const),
    )
    expect(Object.keys(paths)).toHaveLength(9)
    for (const [method, path] of [...methods, ...Object.keys(paths).map((one) => ['OPTIONS', one] as const)]) {
      const url = path.replace(/\{(\w+)\}/g, (_, name: string) => VALUES[name] as string)
      const { routes } = await routesOf(method, url)
      expect([method, url, routes, routed]).toEqual([method, url, [path], path])
    }
  })

  it.each([
    ['a method that the path does not take', 'PUT', '/api/v1/authors', 405, '/api/{version}/authors'],
    ['a version that is not there', 'GET', '/api/v2/authors', 404, '/api/{version}/authors'],
    ['a body that cannot be read', 'POST', '/api/v1/authors/1/books', 400, '/api/{version}/authors/{author_id}/books'],
    ['a caller who may not', 'GET', '/api/v1/authors/closed', 401, '/api/{version}/authors/closed'],
    ['an object that is not there', 'GET', '/api/v1/authors/99', 404, '/api/{version}/authors/{id}'],
    ['a path with a suffix', 'GET', '/api/v1/authors.json', 200, '/api/{version}/authors'],
  ])('have it for %s', async (_case, method, path, status, route) => {
    expect(await routesOf(method, path)).toEqual({ status, routes: [route] })
  })

  it('have none where the path is none of ours', async () => {
    expect(await routesOf('GET', '/elsewhere')).toEqual({ status: 404, routes: [] })
  })

  it('are named by the route, which our own steps know', async () => {
    await server.send({ path: '/api/v1/authors/1' })
    expect(exporter.getFinishedSpans().map(({ name }) => name)).toContain('author-retrieve')
    expect(seen).toEqual([['/api/{version}/authors/{id}', 'author-retrieve']])
  })
})

describe('the first request, which prepares the API', () => {
  it('has its route before it waits for the database', async () => {
    const late = new APIRouter().register('authors', Authors, 'author')
    const found: unknown[] = []
    late.prepare = async () => {
      found.push(current?.['_matchedRoute'])
      throw new Error('away')
    }
    let current: Koa.Context | undefined
    const Plain = createRequire(import.meta.url)('koa') as typeof Koa
    const app = new Plain()
    app.on('error', () => undefined)
    app.use((ctx: Koa.Context, next: Koa.Next) => {
      current = ctx
      return next()
    })
    app.use(late.routes())
    const first = await serve(app)
    expect((await first.send({ path: '/authors/1' })).status).toBe(503)
    expect(found).toEqual(['/authors/{id}'])
    await first.close()
  })
})

it('a @koa/router is told that routes() is no router to be nested', () => {
  expect(() => new Router().use(api.routes() as never)).toThrow(
    'APIRouter: routes() is a middleware of an application; write app.use(api.routes()), or api.mount(router) for a @koa/router',
  )
})

it.each([
  ['moves it below a path', 'setPrefix'],
  ['asks it for a path', 'match'],
])('koa-router 7 is told so where it %s', (_does, name) => {
  const layer = api.routes().router.stack[0] as unknown as Record<string, (path: string) => unknown>
  expect(() => layer[name]?.('/v1')).toThrow('APIRouter: routes() is a middleware of an application')
})
