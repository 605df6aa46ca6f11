/** Koa's usual middleware before the API and behind it: what either says of an answer reaches the client. */

import { once } from 'node:events'
import { connect } from 'node:net'
import cors from '@koa/cors'
import { SignJWT } from 'jose'
import Koa from 'koa'
import compose from 'koa-compose'
import compress from 'koa-compress'
import helmet from 'koa-helmet'
import jwt from 'koa-jwt'
// @ts-expect-error it has no types
import mount from 'koa-mount'
import passport from 'koa-passport'
import pino from 'koa-pino-logger'
import koaQs from 'koa-qs'
import ratelimit from 'koa-ratelimit'
import {
  APIRouter,
  BasePermission,
  bulkModelViewSet,
  CacheableMixin,
  CSVRenderer,
  FieldFilter,
  IsAuthenticated,
  JSONRenderer,
  modelSerializer,
  modelViewSet,
  NDJSONRenderer,
  ObjectPermission,
  PageNumberPagination,
  SerializerMethodField,
  StreamMixin,
  UserRateThrottle,
} from 'koa-viewsets'
import { docs, errors, etag } from 'koa-viewsets/plugins'
import { Strategy } from 'passport-http-bearer'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { type Client, serveApp } from '../support/client.js'
import { database, Book as LibraryBook, useLibrary } from '../support/library.js'
import { serve, type TestClient } from '../support/server.js'

const ROWS = 1500
useLibrary({
  sql: `
    alter table books add owner_id int, add version int not null default 1;
    insert into books (title, owner_id)
      select (select string_agg(md5((n * i)::text), '') from generate_series(1, 30) i), n % 2 from generate_series(1, ${ROWS}) n`,
  keep: true,
})

let version = 1

class Book extends LibraryBook {
  declare owner_id: number | null
  declare version: number
  override $beforeUpdate() {
    this.version = ++version
  }
}

class BookSerializer extends modelSerializer(Book, {
  fields: ['id', 'title', 'owner_id', 'version'],
  readOnlyFields: ['version'],
}) {}

class BookViewSet extends bulkModelViewSet(Book, {
  mixins: [CacheableMixin, StreamMixin],
  serializerClass: BookSerializer,
  rendererClasses: [JSONRenderer, CSVRenderer, NDJSONRenderer],
  paginationClass: new PageNumberPagination({ pageSize: 20 }),
  filterBackends: [FieldFilter],
  filtersetFields: ['id'],
  concurrency: 'version',
}) {}

class OwnBookViewSet extends modelViewSet(Book, {
  serializerClass: BookSerializer,
  permissionClasses: [IsAuthenticated, new ObjectPermission({ ownerField: 'owner_id' })],
  throttleClasses: [new UserRateThrottle({ rate: '3/hour' })],
}) {}

class BrittleSerializer extends modelSerializer(Book, {
  fields: ['id', 'title', 'more'],
  declaredFields: { more: new SerializerMethodField<number>() },
}) {
  getMore({ id }: Book) {
    if (id > ROWS - 1) throw new Error('no more')
    return id
  }
}

class BrittleViewSet extends modelViewSet(Book, {
  mixins: [StreamMixin],
  serializerClass: BrittleSerializer,
  rendererClasses: [JSONRenderer, CSVRenderer],
}) {}

class Failing extends BasePermission {
  override hasPermission(): never {
    throw new Error('permissions are away')
  }
}
class FailingViewSet extends modelViewSet(Book, {
  serializerClass: BookSerializer,
  permissionClasses: [Failing],
}) {}

let api: APIRouter
beforeAll(async () => {
  api = new APIRouter({ prefix: '/api' })
    .register('books', BookViewSet)
    .register('own', OwnBookViewSet, 'own')
    .register('brittle', BrittleViewSet, 'brittle')
    .register('failing', FailingViewSet, 'failing')
  await api.prepare()
})
afterAll(() => api.close())

/** Serves an app whose answers may be other middleware's, until the test ends. */
async function servePlain(...middleware: Koa.Middleware[]): Promise<TestClient> {
  const app = new Koa()
  app.on('error', () => {})
  for (const one of middleware) app.use(one)
  const server = await serve(app)
  onTestFinished(() => server.close())
  return server
}

const refusal = (status: number, detail: string) => ({ detail, status })

describe('koa-compress before the API', () => {
  const gzip = { 'Accept-Encoding': 'gzip' }
  const serving = (options = {}) => serveApp(compress({ threshold: 1, ...options }), api.routes())

  it('compresses answers and errors, and leaves their tags, caching and texts', async () => {
    const client = await serving()
    for (const path of ['/api/books', '/api/books/1', '/api/books/9999', '/api/books?id=x', '/api']) {
      const [plain, small] = [await client.get(path), await client.get(path, gzip)]
      expect([path, small.status, small.text]).toEqual([path, plain.status, plain.text])
      expect(small.headers).toMatchObject({ 'content-encoding': 'gzip', vary: plain.headers.vary })
      expect(small.headers.vary).toMatch(/Accept-Encoding/)
      for (const name of ['etag', 'cache-control', 'content-type'])
        expect(small.headers[name]).toBe(plain.headers[name])
    }
  })

  it('leaves 304, 412 and HEAD to the tags', async () => {
    const client = await serving()
    for (const path of ['/api/books', '/api/books/1']) {
      const { etag: tag = '' } = (await client.get(path, gzip)).headers
      const unchanged = await client.get(path, { ...gzip, 'If-None-Match': tag })
      expect([unchanged.status, unchanged.text, unchanged.headers.etag]).toEqual([304, '', tag])
      expect(unchanged.headers).not.toHaveProperty('content-encoding')
      const head = await client.send('HEAD', path, undefined, gzip)
      expect([head.status, head.text, head.headers.etag]).toEqual([200, '', tag])
    }
    const { etag: tag = '' } = (await client.get('/api/books/1', gzip)).headers
    const patch = () => client.send('PATCH', '/api/books/1', { title: 'new' }, { ...gzip, 'If-Match': tag })
    expect((await patch()).status).toBe(200)
    expect((await patch()).status).toBe(412)
  })

  it('compresses streams of the types that its filter knows', async () => {
    const client = await serving()
    const csv = await client.get('/api/books.csv', gzip)
    expect(csv.headers['content-encoding']).toBe('gzip')
    expect(csv.text).toBe((await client.get('/api/books.csv')).text)
    expect(csv.text.split('\r\n')).toHaveLength(ROWS + 2)
    expect((await client.send('HEAD', '/api/books.csv', undefined, gzip)).text).toBe('')

    expect((await client.get('/api/books.ndjson', gzip)).headers).not.toHaveProperty('content-encoding')
    const wider = await serving({ filter: (type: string) => /json|csv/.test(type) })
    const ndjson = await wider.get('/api/books.ndjson', gzip)
    expect(ndjson.headers['content-encoding']).toBe('gzip')
    expect(ndjson.text.trim().split('\n')).toHaveLength(ROWS)
  })

  it('cuts off a stream that fails, and ends one whose client has gone', async () => {
    const app = await serving()
    await expect(app.get('/api/brittle.csv', gzip)).rejects.toThrow(/aborted|ECONNRESET/)
    expect(app.reported).toHaveLength(1)

    const socket = connect(app.port, '127.0.0.1')
    socket.write('GET /api/books.csv HTTP/1.1\r\nHost: x\r\nAccept-Encoding: gzip\r\n\r\n')
    await once(socket, 'data')
    socket.destroy()
    await vi.waitFor(() => expect(database.knex.client.pool.numUsed()).toBe(0))
  })

  it('goes before etag(), which has no tag for what is compressed', async () => {
    const page: Koa.Middleware = (ctx) => {
      ctx.body = { text: 'long enough' }
    }
    const within = await servePlain(compress({ threshold: 1 }), etag(), page)
    const { headers } = await within.send({ headers: gzip })
    expect(headers.etag).toMatch(/^W\/"/)
    expect((await within.send({ headers: { ...gzip, 'If-None-Match': headers.etag } })).status).toBe(304)
    const around = await servePlain(etag(), compress({ threshold: 1 }), page)
    expect((await around.send({ headers: gzip })).headers).not.toHaveProperty('etag')
  })
})

describe('@koa/cors', () => {
  const Origin = 'https://app.example.org'
  const preflight = { Origin, 'Access-Control-Request-Method': 'PATCH', 'Access-Control-Request-Headers': 'if-match' }
  const options = { origin: Origin, credentials: true, exposeHeaders: ['ETag', 'Location'] }

  it('before the API answers preflights, and lets pages read all answers and errors', async () => {
    const client = await serveApp(errors(), cors(options), api.routes(), api.allowedMethods())
    const asked = await client.send('OPTIONS', '/api/books/1', undefined, preflight)
    expect([asked.status, asked.text]).toEqual([204, ''])
    expect(asked.headers).toMatchObject({
      'access-control-allow-origin': Origin,
      'access-control-allow-headers': 'if-match',
      'access-control-allow-methods': expect.stringContaining('PATCH'),
    })
    for (const [method, path, status] of [
      ['GET', '/api/books/1', 200],
      ['GET', '/api/books.csv', 200],
      ['GET', '/api/books/9999', 404],
      ['GET', '/api/books?id=x', 400],
      ['GET', '/api/own', 401],
      ['PUT', '/api/books', 405],
      ['GET', '/api/failing', 500],
      ['GET', '/elsewhere', 404],
    ] as const) {
      const { headers, ...answer } = await client.send(method, path, undefined, { Origin })
      expect([path, answer.status]).toEqual([path, status])
      expect(headers).toMatchObject({
        'access-control-allow-origin': Origin,
        'access-control-allow-credentials': 'true',
        'access-control-expose-headers': 'ETag,Location',
        vary: expect.stringContaining('Origin'),
      })
    }
  })

  it('goes before what asks for credentials, which preflights have not', async () => {
    const guard = jwt({ secret: 'a secret of this test' })
    const client = await serveApp(errors(), cors(options), guard, api.routes())
    expect((await client.send('OPTIONS', '/api/own/1', undefined, preflight)).status).toBe(204)
    const refused = await client.get('/api/own/1', { Origin })
    expect([refused.status, refused.json]).toEqual([401, refusal(401, 'Authentication Error')])
    expect(refused.headers).toMatchObject({
      'access-control-allow-origin': Origin,
      vary: expect.stringContaining('Origin'),
    })
    const behind = await servePlain(errors(), guard, cors(options), api.routes())
    expect((await behind.send({ method: 'OPTIONS', path: '/api/own/1', headers: preflight })).status).toBe(401)
  })

  it('before the API leaves OPTIONS that is no preflight to it', async () => {
    const client = await serveApp(cors(options), api.routes())
    const { status, json } = await client.send('OPTIONS', '/api/books', undefined, { Origin })
    expect([status, json.allowed_methods]).toEqual([200, ['get', 'post', 'head', 'options']])
  })

  it('behind the API has no say', async () => {
    const client = await serveApp(api.routes(), cors(options))
    const asked = await client.send('OPTIONS', '/api/books/1', undefined, preflight)
    expect([asked.status, asked.json.name]).toEqual([200, 'BookViewSet'])
    for (const { headers } of [asked, await client.get('/api/books/1', { Origin })]) {
      expect(headers).not.toHaveProperty('access-control-allow-origin')
    }
  })
})

describe('koa-helmet', () => {
  it('before the API protects answers and errors, and leaves the page of docs() its own policy', async () => {
    const client = await serveApp(helmet(), docs(api, { title: 'Books', version: '1' }), api.routes())
    for (const path of ['/api/books/1', '/api/books/9999']) {
      expect((await client.get(path)).headers).toMatchObject({
        'content-security-policy': expect.stringContaining("script-src 'self'"),
        'strict-transport-security': expect.any(String),
        'x-content-type-options': 'nosniff',
      })
    }
    const alone = await serveApp(docs(api, { title: 'Books', version: '1' }))
    const own = (await alone.get('/docs')).headers['content-security-policy']
    expect((await client.get('/docs')).headers).toMatchObject({
      'content-security-policy': own,
      'strict-transport-security': expect.any(String),
    })
  })

  it('behind the API has no say', async () => {
    const client = await serveApp(api.routes(), helmet())
    expect((await client.get('/api/books/1')).headers).not.toHaveProperty('strict-transport-security')
  })
})

describe('koa-jwt before the API', () => {
  const secret = 'a secret that is long enough for HS256'
  const bearer = async (claims: Record<string, unknown>) => {
    const token = await new SignJWT(claims).setProtectedHeader({ alg: 'HS256' }).sign(Buffer.from(secret))
    return { Authorization: `Bearer ${token}` }
  }
  /** Permissions and throttles go by `id`. */
  const withId: Koa.Middleware = (ctx, next) => {
    const { user } = ctx.state as { user?: { sub?: string } }
    if (user) ctx.state['user'] = { ...user, id: user.sub }
    return next()
  }

  it('is the caller of permissions and throttles', async () => {
    const client = await serveApp(errors(), jwt({ secret }), withId, api.routes())
    const mine = await bearer({ sub: '1' })
    expect((await client.get('/api/own/3', mine)).status).toBe(200)
    expect((await client.get('/api/own/4', mine)).status).toBe(403)
    expect((await client.get('/api/own/5', mine)).headers).toMatchObject({ 'cache-control': 'no-store' })
    expect((await client.get('/api/own/7', mine)).status).toBe(429)
    expect((await client.get('/api/own/4', await bearer({ sub: '0' }))).status).toBe(200)
  })

  it('is answered by errors() in the one envelope, and by Koa in plain text without', async () => {
    const client = await serveApp(errors(), jwt({ secret }), api.routes())
    for (const headers of [{}, { Authorization: 'Bearer x' }]) {
      expect((await client.get('/api/own/1', headers)).json).toEqual(refusal(401, 'Authentication Error'))
    }
    const plain = await servePlain(jwt({ secret }), api.routes())
    expect(await plain.send({ path: '/api/books/1' })).toMatchObject({ status: 401, text: 'Authentication Error' })
  })

  it('leaves the refusal to permissions with passthrough', async () => {
    const client = await serveApp(jwt({ secret, passthrough: true }), withId, api.routes())
    expect((await client.get('/api/books/1')).status).toBe(200)
    expect((await client.get('/api/own/3', { Authorization: 'Bearer x' })).json).toEqual(
      refusal(401, 'Authentication required'),
    )
  })
})

describe('koa-passport before the API', () => {
  passport.use(
    new Strategy((token, done) => done(null, token.startsWith('user-') ? { id: Number(token.slice(5)) } : false)),
  )
  const serving = (failWithError: boolean) => [
    errors(),
    passport.initialize(),
    passport.authenticate('bearer', { session: false, failWithError }),
    api.routes(),
  ]

  it('is the caller of permissions', async () => {
    const client = await serveApp(...serving(true))
    const zero = { Authorization: 'Bearer user-0' }
    expect((await client.get('/api/own/6', zero)).status).toBe(200)
    expect((await client.get('/api/own/5', zero)).status).toBe(403)
  })

  it('is answered in the one envelope with failWithError, and by passport in plain text without', async () => {
    const client = await serveApp(...serving(true))
    const refused = await client.get('/api/own/1', { Authorization: 'Bearer x' })
    expect([refused.status, refused.json]).toEqual([401, refusal(401, 'Unauthorized')])
    expect(refused.headers['www-authenticate']).toMatch(/^Bearer .*invalid_token/)
    const plain = await servePlain(...serving(false))
    expect(await plain.send({ path: '/api/books/1' })).toMatchObject({ status: 401, text: 'Unauthorized' })
  })
})

describe('koa-ratelimit before the API', () => {
  const limiting = (options: { throw?: boolean }) =>
    ratelimit({ driver: 'memory', db: new Map(), max: 1, duration: 60_000, ...options })

  it('counts beside the throttles of a view set, each in headers of its own', async () => {
    const user: Koa.Middleware = (ctx, next) => {
      ctx.state['user'] = { id: 1001 }
      return next()
    }
    const client = await serveApp(errors(), limiting({ throw: true }), user, api.routes())
    const first = await client.get('/api/own/3')
    expect(first.headers).toMatchObject({ 'x-ratelimit-remaining': '0', ratelimit: expect.stringContaining('r=2') })
    const second = await client.get('/api/own/3')
    expect([second.status, second.json]).toEqual([429, refusal(429, expect.stringContaining('Rate limit exceeded'))])
    expect(second.headers).not.toHaveProperty('ratelimit')
  })

  it('answers in plain text without throw', async () => {
    const client = await servePlain(errors(), limiting({}), api.routes())
    expect((await client.send({ path: '/api/books/1' })).status).toBe(200)
    expect(await client.send({ path: '/api/books/1' })).toMatchObject({
      status: 429,
      text: expect.stringContaining('Rate limit exceeded'),
    })
  })
})

describe('koa-pino-logger before the API', () => {
  it('writes a line for each answer, also of streams, with the error behind a 500 where the app passes it on', async () => {
    const lines: string[] = []
    const logger = pino({ redact: ['req.headers.authorization'] }, { write: (line: string) => lines.push(line) })
    const client = await serveApp(logger, api.routes())
    client.app.on('error', (error: Error, ctx: Koa.Context) => {
      ;(ctx.res as { err?: Error }).err = error
    })
    for (const path of ['/api/books/1', '/api/books.csv', '/api/books/9999', '/api/failing']) {
      await client.get(path, { Authorization: 'Bearer secret' })
    }
    await vi.waitFor(() => expect(lines).toHaveLength(4))
    const told = lines.map((line) => JSON.parse(line))
    expect(told.map(({ req, res }) => [req.url, res.statusCode])).toEqual([
      ['/api/books/1', 200],
      ['/api/books.csv', 200],
      ['/api/books/9999', 404],
      ['/api/failing', 500],
    ])
    expect(told[3].err.message).toBe('permissions are away')
    expect(lines.join()).not.toContain('secret')
  })
})

describe('koa-qs', () => {
  it('gives routes of the app objects, and the API what plain Koa would', async () => {
    const echo: Koa.Middleware = (ctx) => {
      ctx.body = ctx.query
    }
    const client = await serveApp(api.routes(), echo)
    const path = '/api/books?id[gte]=1490&page[]=3&title[]=a&title[]=b'
    const plain = await client.get(path)
    koaQs(client.app, 'extended')
    expect((await client.get('/echo?id[gte]=1490')).json).toEqual({ id: { gte: '1490' } })
    const own = await client.get(path)
    expect([own.status, own.text]).toEqual([200, plain.text])
    expect((await client.get('/api/books?id__gte=1490&id__gte=1491')).json.count).toBe(ROWS - 1490)
  })
})

describe('an app within an app', () => {
  const asked = async (client: Client, base: string) => {
    const list = await client.get(`${base}/api/books?id=1`)
    const created = await client.send('POST', `${base}/api/books`, { title: 'x' })
    const refused = await client.send('POST', `${base}/api/books`, {})
    return [list.status, created.status, created.headers.location, refused.status]
  }

  it('is mounted by koa-mount, and its links fit', async () => {
    const inner = new Koa().use(api.routes()).use(api.allowedMethods())
    const client = await serveApp(errors(), mount('/shop', inner))
    expect(await asked(client, '/shop')).toEqual([200, 201, `/shop/api/books/${ROWS + 1}`, 400])
    expect((await client.get('/shop/api')).json).toMatchObject({ book: '/shop/api/books' })
    expect((await client.send('PUT', '/shop/api/books')).status).toBe(405)
  })

  it('is put together by koa-compose', async () => {
    const inner = compose([api.routes(), api.allowedMethods()])
    const client = await serveApp(compose([errors(), compress({ threshold: 1 }), mount('/shop', inner)]))
    expect(await asked(client, '/shop')).toEqual([200, 201, `/shop/api/books/${ROWS + 2}`, 400])
    expect((await client.get('/elsewhere')).json).toEqual(refusal(404, 'Not found'))
  })
})
