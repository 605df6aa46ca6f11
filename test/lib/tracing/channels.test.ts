/** What `node:diagnostics_channel` tells of requests: names, statements and errors, and never a value (promise I27). */
import { AsyncLocalStorage } from 'node:async_hooks'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { connect } from 'node:net'
import Router from '@koa/router'
import knex, { type Knex } from 'knex'
import {
  AnonRateThrottle,
  APIRouter,
  BasePermission,
  type Context,
  CSVRenderer,
  configure,
  FieldFilter,
  GenericViewSet,
  ListMixin,
  ModelSerializer,
  ModelViewSet,
  PageNumberPagination,
  ReadOnlyModelViewSet,
  SearchFilter,
  ServerCursorPagination,
  StreamMixin,
  TokenAuthentication,
} from 'koa-viewsets'
import { ChangeStreamMixin, ChangesMixin, ensureChangesTable } from 'koa-viewsets/changes'
import { authentication, contentNegotiation, errors, permissions, throttle, transaction } from 'koa-viewsets/plugins'
import { type SqlTrace, type StepChannels, tracingChannels } from 'koa-viewsets/tracing'
import { Model } from 'objection'
import { beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { type Client, serveApp } from '../../support/client.js'
import { poolMode } from '../../support/database.js'
import { openEvents } from '../../support/event-source.js'
import { Author, Book, BookSerializer, database, useLibrary } from '../../support/library.js'
import { startDatabaseProxy } from '../../support/proxy.js'
import { listen, orderOf, textOf } from '../../support/traced.js'

useLibrary()
beforeAll(() => configure({ secretKey: '0123456789abcdef0123456789abcdef' }))

const SECRET = 's3cr3t-planted'
const token = new TokenAuthentication({ getUserForToken: (text) => ({ id: 1, name: text }) })

class Allowed extends BasePermission {
  override async hasPermission(ctx: Context) {
    await Author.query().findById(1)
    return ctx.get('X-Refuse') === ''
  }
}

class Books extends ModelViewSet<Book> {
  static override model = Book
  static override serializerClass = BookSerializer
  static override authenticationClasses = [token]
  static override permissionClasses = [Allowed]
  static override throttleClasses = [new AnonRateThrottle({ rate: '100000/second' })]
  static override paginationClass = PageNumberPagination
  static override filterBackends = [FieldFilter, SearchFilter]
  static override filtersetFields = ['title', 'isbn']
  static override searchFields = ['title']
}

async function serveBooks(): Promise<Client> {
  const api = new APIRouter({ prefix: '/api' }).register('books', Books)
  await api.prepare()
  return serveApp(errors(), api.routes())
}

const headers = { Authorization: `Token ${SECRET}` }
const sql = (heard: ReturnType<typeof listen>) =>
  heard.flatMap(({ channel, phase, event }) =>
    channel === 'sql' && phase === 'start' ? (event as unknown as SqlTrace) : [],
  )

describe('the channels of a request', () => {
  it('[I27] tell of each step in order, with the names of route, view, action and policies', async () => {
    const client = await serveBooks()
    const heard = listen()
    await client.get('/api/books?page=1', headers)
    expect(orderOf(heard)).toBe(
      [
        'dispatch( authentication( authentication) permissions( sql( sql) permissions) throttles( throttles)',
        'action( sql( sql) action) render( render) dispatch) answer( answer)',
      ].join(' '),
    )
    const [first] = heard
    expect(first?.event.request).toMatchObject({
      ...{ method: 'GET', route: '/api/books', name: 'book-list', view: 'Books', action: 'list' },
    })
    expect(new Set(heard.map(({ event }) => event.request)).size).toBe(1)
    const details = heard
      .filter(({ phase }) => phase === 'start')
      .map(({ channel, event }) => [channel, event['policies']])
    expect(details).toContainEqual(['authentication', ['TokenAuthentication']])
    expect(details).toContainEqual(['permissions', ['Allowed']])
    expect(details).toContainEqual(['throttles', ['AnonRateThrottle']])
    const ends = heard.filter(
      ({ channel, phase }) => phase === 'asyncEnd' && (channel === 'dispatch' || channel === 'answer'),
    )
    expect(ends.map(({ event }) => event)).toMatchObject([{ status: 200 }, { status: 200, aborted: false }])
  })

  it('tell of a body, and of the statements of a transaction as of others', async () => {
    const client = await serveBooks()
    const { json } = await client.send('POST', '/api/books', { title: 'One' }, headers)
    const heard = listen()
    const conditional = { ...headers, 'If-None-Match': '"other"' }
    expect((await client.send('PATCH', `/api/books/${json.id}`, { title: 'Two' }, conditional)).status).toBe(200)
    expect(orderOf(heard)).toContain('throttles) body( body) action( sql(')
    const operations = sql(heard).map(({ operation }) => operation)
    // the row is held before a condition is looked at
    expect(operations.slice(1)).toEqual(['BEGIN', 'SELECT', 'UPDATE', 'COMMIT'])
    expect(new Set(sql(heard).map(({ request }) => request?.action))).toEqual(new Set(['partialUpdate']))
    const begun = heard.filter(({ channel, phase }) => channel === 'sql' && phase === 'start')
    const ended = heard.filter(({ channel, phase }) => channel === 'sql' && phase === 'asyncEnd')
    expect(ended.map(({ event }) => event)).toEqual(begun.map(({ event }) => event))
  })

  it('[I27] hold no value of a body, a parameter, a path, a header or a row', async () => {
    const client = await serveBooks()
    const heard = listen()
    const made = await client.send('POST', '/api/books', { title: SECRET, isbn: `${SECRET}-isbn` }, headers)
    for (const path of [
      `/api/books?title=${SECRET}&search=${SECRET}`,
      `/api/books/${made.json.id}`,
      `/api/books?title__icontains=${SECRET}`,
      `/api/books/${SECRET}`,
    ]) {
      await client.get(path, { ...headers, 'X-Other': SECRET })
    }
    // refused by the database, whose error names the value
    expect((await client.send('POST', '/api/books', { title: 'x', isbn: `${SECRET}-isbn` }, headers)).status).toBe(400)
    await client.send('PATCH', `/api/books/${made.json.id}`, { title: SECRET.toUpperCase() }, headers)
    await client.send('POST', '/api/books', `{"title": ${SECRET}`, headers)
    await client.send('DELETE', `/api/books/${made.json.id}`, undefined, headers)
    expect(heard.length).toBeGreaterThan(100)
    expect(textOf(heard).toLowerCase()).not.toContain(SECRET)
    expect(sql(heard).some(({ text }) => text.includes('$1'))).toBe(true)
  })

  it('tell of what is thrown where it is thrown, and of a dispatch only where it is a fault', async () => {
    class Failing extends Books {
      override async list(): Promise<never> {
        throw new TypeError('a fault')
      }
    }
    const api = new APIRouter({ prefix: '/api' }).register('books', Failing)
    await api.prepare()
    const client = await serveApp(errors(), api.routes())
    const heard = listen('dispatch', 'permissions', 'action')
    expect((await client.get('/api/books', { ...headers, 'X-Refuse': '1' })).status).toBe(403)
    expect(orderOf(heard)).toBe('dispatch( permissions( permissions! permissions) dispatch)')
    heard.length = 0
    expect((await client.get('/api/books', headers)).status).toBe(500)
    expect(orderOf(heard)).toBe('dispatch( permissions( permissions) action( action! action) dispatch! dispatch)')
    expect(heard.find(({ channel, phase }) => channel === 'dispatch' && phase === 'error')?.event).toMatchObject({
      status: 500,
      error: expect.objectContaining({ message: 'a fault' }),
    })
    heard.length = 0
    expect((await client.get('/api/books/77', headers)).status).toBe(404)
    expect(orderOf(heard)).toBe('dispatch( permissions( permissions) action( action! action) dispatch)')
  })

  it('tell of a statement that fails', async () => {
    const client = await serveBooks()
    await client.send('POST', '/api/books', { title: 'a', isbn: '1' }, headers)
    const heard = listen('sql')
    expect((await client.send('POST', '/api/books', { title: 'b', isbn: '1' }, headers)).status).toBe(400)
    const failed = heard.filter(({ phase }) => phase === 'error')
    expect(failed.map(({ event }) => [event['operation'], (event.error as { code: string }).code])).toEqual([
      ['INSERT', '23505'],
    ])
    expect(orderOf(heard)).toContain('sql! sql)')
  })

  it('are bound to what the steps are asked in, however many requests come at once', async () => {
    const client = await serveBooks()
    for (const n of [1, 2, 3]) await client.send('POST', '/api/books', { title: `Book ${n}` }, headers)
    const current = new AsyncLocalStorage<readonly string[]>()
    const wrong: string[] = []
    let count = 0
    /** Each step stands in the store of the one around it. */
    const enter = (name: string) => (event: { request?: object | undefined }) => {
      const around = current.getStore() ?? []
      const id = idOf(event.request)
      if (around.length > 0 && around[0] !== id) wrong.push(`${name} of ${id} in ${around.join(' ')}`)
      count++
      return [...(around.length > 0 ? around : [id]), name]
    }
    const ids = new WeakMap<object, string>()
    let next = 0
    const idOf = (request: object = {}) => {
      const known = ids.get(request) ?? `r${next++}`
      ids.set(request, known)
      return known
    }
    for (const name of ['dispatch', 'permissions', 'action', 'body'] as const) {
      const { start }: StepChannels = tracingChannels[name]
      start.bindStore(current, enter(name))
      onTestFinished(() => void start.unbindStore(current))
    }
    const inside: string[] = []
    const see = (event: unknown) => {
      const around = current.getStore() ?? []
      if (around[0] !== idOf((event as SqlTrace).request)) wrong.push(`a statement in ${around.join(' ')}`)
      inside.push(around.slice(1).join('/'))
    }
    for (const phase of ['start', 'asyncEnd']) subscribe(`tracing:koa-viewsets:sql:${phase}`, see)
    onTestFinished(() => {
      for (const phase of ['start', 'asyncEnd']) unsubscribe(`tracing:koa-viewsets:sql:${phase}`, see)
    })
    await Promise.all(
      Array.from({ length: 60 }, (_, n) =>
        n % 3 === 0
          ? client.send('POST', '/api/books', { title: `More ${n}` }, headers)
          : client.get(n % 3 === 1 ? '/api/books' : '/api/books/1', headers),
      ),
    )
    expect(wrong).toEqual([])
    expect(count).toBeGreaterThan(180)
    expect(new Set(inside)).toEqual(new Set(['dispatch/permissions', 'dispatch/action']))
  })

  it('tell whose the statements of a stream and of a server cursor are', async () => {
    class BookRows extends ModelSerializer {
      static override model = Book
      static override fields = ['id', 'title']
    }
    class Export extends StreamMixin(GenericViewSet<Book>) {
      static override model = Book
      static override serializerClass = BookRows
      static override rendererClasses = [CSVRenderer]
      static override streamRows = 2
    }
    class Cursors extends ListMixin(GenericViewSet<Book>) {
      static override model = Book
      static override serializerClass = BookRows
      static override paginationClass = new ServerCursorPagination({ pageSize: 2 })
    }
    for (let n = 0; n < 9; n++) await Book.query().insert({ title: `Book ${n}` })
    const api = new APIRouter({ prefix: '/api' })
      .register('export', Export, 'export')
      .register('cursors', Cursors, 'cursor')
    await api.prepare()
    const client = await serveApp(errors(), api.routes())
    onTestFinished(() => api.close())
    const heard = listen('sql', 'answer')
    expect((await client.get('/api/export')).text.split('\r\n').length).toBeGreaterThan(9)
    await expect.poll(() => orderOf(heard)).toMatch(/ sql\) answer\)|answer\) sql\)$/)
    const statements = sql(heard)
    expect(statements.filter(({ operation }) => operation === 'FETCH').length).toBeGreaterThan(2)
    expect(statements.map(({ request }) => request?.name)).toEqual(statements.map(() => 'export-list'))
    heard.length = 0
    await client.get(`/api/cursors`)
    expect(sql(heard).map(({ request }) => request?.name)).toEqual(sql(heard).map(() => 'cursor-list'))
    expect(sql(heard).length).toBeGreaterThan(2)
  })

  it("tell of what is read for all streams of changes as nobody's", async () => {
    await ensureChangesTable(database.knex)
    class Live extends ChangeStreamMixin(ChangesMixin(ModelViewSet<Book>)) {
      static override model = Book
      static override serializerClass = BookSerializer
    }
    const api = new APIRouter({ prefix: '/api' }).register('live', Live, 'live')
    await api.prepare()
    const client = await serveApp(api.routes())
    onTestFinished(() => api.close())
    const heard = listen('sql')
    const events = await openEvents(client.port, '/api/live/changes')
    heard.length = 0
    let told = 0
    // a connection that no request has used yet tells of nothing
    const namesOfRequests = async () => {
      await client.send('POST', '/api/live', { title: 'heard' })
      await events.hear(++told)
      return new Set(sql(heard).map(({ request }) => request?.name))
    }
    await expect.poll(namesOfRequests).toEqual(new Set(['live-create', undefined]))
  })
})

describe('a database', () => {
  function apiOf(tableName: string, connection: object): APIRouter {
    const pool = knex({
      client: 'pg',
      connection: { ...database.connection, ...connection } as Knex.PgConnectionConfig,
      pool: { min: 0, max: 1 },
      acquireConnectionTimeout: 2_000,
      log: { warn() {} },
    })
    onTestFinished(() => pool.destroy())
    class Own extends Model {
      static override tableName = tableName
    }
    Own.knex(pool)
    class OwnSerializer extends ModelSerializer {
      static override model = Own
      static override fields = ['id']
    }
    class Owns extends ReadOnlyModelViewSet {
      static override model = Own
      static override serializerClass = OwnSerializer
    }
    return new APIRouter().register('own', Owns, 'own')
  }

  it.skipIf(poolMode())('that is away is told by dispatch alone, and by no statement', async () => {
    const { proxy, through } = await startDatabaseProxy(database.connection)
    onTestFinished(() => proxy.remove())
    const api = apiOf('authors', through)
    await api.prepare()
    const client = await serveApp(api.routes())
    await proxy.cut()
    const heard = listen('dispatch', 'sql')
    expect((await client.get('/own')).status).toBe(503)
    expect(orderOf(heard)).toBe('dispatch( dispatch! dispatch)')
    expect(heard.at(-1)?.event).toMatchObject({ status: 503, error: expect.any(Error) })
  })

  it('that lacks a table is told by no channel, where nobody has called prepare()', async () => {
    const client = await serveApp(apiOf('missing', {}).routes())
    const heard = listen()
    expect((await client.get('/own')).status).toBe(503)
    expect(heard.filter(({ channel }) => channel !== 'sql')).toEqual([])
  })
})

it('an answer whose client goes away ends as aborted', async () => {
  let begin = () => {}
  const begun = new Promise<void>((resolve) => {
    begin = resolve
  })
  class Slow extends Books {
    override async list() {
      begin()
      await once(this.ctx.req.socket, 'close')
      return []
    }
  }
  const api = new APIRouter({ prefix: '/api' }).register('books', Slow)
  await api.prepare()
  const { port } = await serveApp(errors(), api.routes())
  const heard = listen('answer')
  const socket = connect(port, '127.0.0.1')
  socket.write(`GET /api/books HTTP/1.1\r\nHost: a\r\nAuthorization: Token ${SECRET}\r\n\r\n`)
  await begun
  socket.destroy()
  await expect.poll(() => orderOf(heard)).toBe('answer( answer)')
  expect(heard.at(-1)?.event).toMatchObject({ aborted: true, request: { name: 'book-list' } })
})

it('an answer whose client goes away in the middle of it ends as aborted', async () => {
  class Long extends Books {
    override async list() {
      return ['x'.repeat(30_000_000)]
    }
  }
  const api = new APIRouter({ prefix: '/api' }).register('books', Long)
  await api.prepare()
  const { port } = await serveApp(errors(), api.routes())
  const heard = listen('answer')
  const socket = connect(port, '127.0.0.1')
  socket.write(`GET /api/books HTTP/1.1\r\nHost: a\r\nAuthorization: Token ${SECRET}\r\n\r\n`)
  await once(socket, 'readable')
  socket.destroy()
  await expect.poll(() => orderOf(heard)).toBe('answer( answer)')
  expect(heard.at(-1)?.event).toMatchObject({ status: 200, aborted: true })
})

describe('hand-written routes', () => {
  it('tell of the plugins on them and of their statements', async () => {
    const router = new Router()
    router.post(
      '/report/:id',
      authentication(token),
      permissions(Allowed),
      throttle(new AnonRateThrottle({ rate: '100000/second' })),
      contentNegotiation(),
      transaction(database.knex),
      async (ctx) => {
        ctx.body = { count: await Book.query(ctx.state['trx']).resultSize() }
      },
    )
    const client = await serveApp(errors(), router.routes() as never)
    const heard = listen()
    expect((await client.send('POST', `/report/${SECRET}`, { a: SECRET }, headers)).json).toEqual({ count: 0 })
    expect(orderOf(heard)).toBe(
      [
        'authentication( authentication) permissions( sql( sql) permissions) throttles( throttles) body( body)',
        'sql( sql) sql( sql) sql( sql) render( render)',
      ].join(' '),
    )
    expect(heard[0]?.event.request).toMatchObject({ method: 'POST', route: '/report/:id', view: undefined })
    expect(new Set(heard.map(({ event }) => event.request)).size).toBe(1)
    expect(textOf(heard)).not.toContain(SECRET)
  })

  it('statements of no request are told without one', async () => {
    await serveBooks()
    const heard = listen('sql')
    const client = await serveBooks()
    await client.get('/api/books', headers)
    heard.length = 0
    await Book.query().findById(7)
    await database.knex('books').where('title', SECRET).first()
    await database.knex.raw('select ?::text as a', [SECRET])
    expect(sql(heard).map(({ request, operation }) => [request, operation])).toEqual(
      Array.from({ length: 3 }, () => [undefined, 'SELECT']),
    )
    expect(textOf(heard)).not.toContain(SECRET)
  })
})

it('where nobody listens, connections are as pg has made them', async () => {
  const pool = knex({
    client: 'pg',
    connection: { ...database.connection } as Knex.PgConnectionConfig,
    pool: { min: 0, max: 1 },
  })
  onTestFinished(() => pool.destroy())
  class Own extends Author {}
  Own.knex(pool)
  class OwnSerializer extends ModelSerializer {
    static override model = Own
    static override fields = ['id']
  }
  class Owns extends ReadOnlyModelViewSet {
    static override model = Own
    static override serializerClass = OwnSerializer
  }
  const api = new APIRouter().register('own', Owns)
  await api.prepare()
  const client = await serveApp(api.routes())
  const { pool: tarn } = pool.client as { pool: { free: readonly { resource: object }[] } }
  const isWatched = () => tarn.free.map(({ resource }) => Object.hasOwn(resource, 'query'))
  await client.get('/own')
  expect(isWatched()).toEqual([false])
  const heard = listen('sql')
  await client.get('/own')
  expect([isWatched(), sql(heard).length]).toEqual([[true], 1])
})
