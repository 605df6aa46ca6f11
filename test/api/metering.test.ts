import { once } from 'node:events'
import { request } from 'node:http'
import { connect } from 'node:net'
import { Readable } from 'node:stream'
import type Koa from 'koa'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import {
  APIRouter,
  action,
  BaseThrottle,
  CacheableMixin,
  CSVRenderer,
  JSONRenderer,
  ModelViewSet,
  Throttled,
  ViewSet,
} from '../../lib/index.js'
import {
  InMemoryMeteringEngine,
  type MeteringEngine,
  MeteringMixin,
  PostgresMeteringEngine,
  setMeteringEngine,
  type UsageEvent,
} from '../../lib/metering/index.js'
import { RetrieveAPIView } from '../../lib/views/index.js'
import { errors, metering } from '../../plugins/index.js'
import { type Client, serveApp } from '../support/client.js'
import { Book, BookSerializer, database, useLibrary } from '../support/library.js'

useLibrary()
beforeEach(async () => {
  await Book.query().insert({ title: 'Bücher' })
})
afterEach(async () => {
  setMeteringEngine(null)
  vi.restoreAllMocks()
})

class Refusing extends BaseThrottle {
  check({ headers }: Koa.Context) {
    if (headers['x-refuse'] !== undefined) throw new Throttled(1)
  }
}

class Books extends MeteringMixin(CacheableMixin(ModelViewSet<Book>)) {
  static override model = Book
  static override serializerClass = BookSerializer
  static override throttleClasses = [Refusing]
  override async destroy(): Promise<void> {
    throw new Error('a bug')
  }
}

/** What a request to `/api/books…` gets, with the view set and by hand. */
const kinds: [string, () => Promise<Client>][] = [
  [
    'on a view set',
    async () => {
      const api = new APIRouter({ prefix: '/api' }).register('books', Books)
      await api.prepare()
      return serveApp(user, api.routes())
    },
  ],
  [
    'on a hand-written route',
    async () => {
      const api = new APIRouter({ prefix: '/api' }).register('books', Unmetered)
      await api.prepare()
      return serveApp(metering(), errors(), user, api.routes())
    },
  ],
]

class Unmetered extends CacheableMixin(ModelViewSet<Book>) {
  static override model = Book
  static override serializerClass = BookSerializer
  static override throttleClasses = [Refusing]
  override async destroy(): Promise<void> {
    throw new Error('a bug')
  }
}

const user: Koa.Middleware = async (ctx, next) => {
  if (ctx.headers['x-user'] !== undefined) ctx.state['user'] = { id: Number(ctx.headers['x-user']) }
  await next()
}

interface Case {
  readonly name: string
  readonly method: string
  readonly path: string
  readonly headers?: Record<string, string>
  readonly body?: unknown
  readonly status: number
}
const cases: Case[] = [
  { name: 'a list', method: 'GET', path: '/api/books', status: 200 },
  { name: 'an object, for a user', method: 'GET', path: '/api/books/1', headers: { 'X-User': '7' }, status: 200 },
  { name: 'HEAD (E20)', method: 'HEAD', path: '/api/books/1', status: 200 },
  { name: '304', method: 'GET', path: '/api/books/1', headers: { 'If-None-Match': '*' }, status: 304 },
  { name: 'a create', method: 'POST', path: '/api/books', body: { title: 'x' }, status: 201 },
  { name: 'OPTIONS', method: 'OPTIONS', path: '/api/books', status: 200 },
  { name: '400', method: 'POST', path: '/api/books', body: {}, status: 400 },
  { name: '404', method: 'GET', path: '/api/books/99', status: 404 },
  { name: '405', method: 'PUT', path: '/api/books', body: {}, status: 405 },
  { name: '429', method: 'GET', path: '/api/books', headers: { 'X-Refuse': '1', 'X-User': '7' }, status: 429 },
  { name: '500', method: 'DELETE', path: '/api/books/1', status: 500 },
]

it('[G12] counts what has a format that only other methods of its path write', async () => {
  class Reports extends Books {
    report() {
      return []
    }
    makeReport() {
      return []
    }
  }
  action({ methods: ['GET'], rendererClasses: [JSONRenderer, CSVRenderer] })(Reports.prototype.report)
  action({ methods: ['POST'], urlPath: 'report' })(Reports.prototype.makeReport)
  const engine = new InMemoryMeteringEngine()
  setMeteringEngine(engine)
  const api = new APIRouter({ prefix: '/api' }).register('books', Reports)
  await api.prepare()
  const client = await serveApp(api.routes())
  expect((await client.get('/api/books/report.csv')).status).toBe(200)
  expect((await client.send('POST', '/api/books/report.csv', {})).status).toBe(404)
  await vi.waitFor(() => expect(engine.events).toHaveLength(2))
})

describe.each(kinds)('metering %s', (_kind, start) => {
  it.each(cases)('[G12] counts $name once, with its bytes', async ({ method, path, headers = {}, body, status }) => {
    const engine = new InMemoryMeteringEngine()
    setMeteringEngine(engine)
    const client = await start()
    const before = Date.now()
    const answer = await client.send(method, path, body, headers)
    expect(answer.status).toBe(status)
    await vi.waitFor(() => expect(engine.events).toHaveLength(1))
    const [event] = engine.events as [UsageEvent]
    expect(Object.keys(event)).toEqual(['meter_name', 'account_id', 'dimensions', 'timestamp'])
    expect(event).toEqual({
      meter_name: 'api_usage',
      account_id: headers['X-User'] ?? 'anonymous',
      dimensions: { requests: 1, response_bytes: Buffer.byteLength(answer.text), duration_ms: expect.any(Number) },
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
    })
    expect(event.dimensions.duration_ms).toBeGreaterThan(0)
    expect(String(event.dimensions.duration_ms)).toMatch(/^\d+(?:\.\d{1,3})?$/)
    expect(Math.abs(Date.parse(event.timestamp) - before)).toBeLessThan(10_000)
  })

  const engines: [string, MeteringEngine['record']][] = [
    [
      'throws',
      () => {
        throw new Error('broken\nFAKE')
      },
    ],
    [
      'rejects',
      async () => {
        throw new Error('broken\nFAKE')
      },
    ],
    ['hangs', () => new Promise(() => {})],
  ]
  it.each(engines)('[G12] an engine that %s changes no byte, and is told of at most once', async (kind, record) => {
    const warn = vi.spyOn(process, 'emitWarning').mockReturnValue()
    setMeteringEngine(new InMemoryMeteringEngine())
    const plain = await start()
    const told = await start()
    for (const { method, path, headers, body } of cases.filter(({ status }) => status !== 201)) {
      setMeteringEngine(null)
      const without = await plain.send(method, path, body, headers)
      setMeteringEngine({ record })
      const { headers: own, ...rest } = await told.send(method, path, body, headers)
      const { date: _, ...other } = without.headers
      const { date: __, ...mine } = own
      expect({ ...rest, headers: mine }).toEqual({
        status: without.status,
        text: without.text,
        json: without.json,
        headers: other,
      })
    }
    expect(told.reported.map(String)).toEqual(['Error: a bug'])
    const engine = { record: vi.fn<MeteringEngine['record']>(record) }
    setMeteringEngine(engine)
    for (let index = 0; index < 3; index++) await told.get('/api/books')
    await vi.waitFor(() => expect(engine.record).toHaveBeenCalledTimes(3))
    const calls = warn.mock.calls.filter(([message]) => String(message).includes('usage is not recorded'))
    // the engines before had one request each
    expect(calls.length).toBe(kind === 'hangs' ? 0 : cases.length)
    for (const [message] of calls) expect(message).toBe(String.raw`usage is not recorded: Error: broken\nFAKE`)
  })

  it('an engine that rejects with what has no text is told of, and ends no process', async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockReturnValue()
    const nothing: Error = Object.create(null)
    setMeteringEngine({ record: () => Promise.reject(nothing) })
    const told = await start()
    await told.get('/api/books')
    const text = 'usage is not recorded: an error without a text'
    await vi.waitFor(() => expect(warn).toHaveBeenCalledWith(text, { code: 'KOA_VIEWSETS_METERING' }))
  })
})

describe('what is counted', () => {
  async function counting(handler: Koa.Middleware): Promise<{ engine: InMemoryMeteringEngine; client: Client }> {
    const engine = new InMemoryMeteringEngine()
    const client = await serveApp(metering({ engine, meterName: 'reports' }), handler)
    return { engine, client }
  }

  it.each<[string, () => unknown, number]>([
    ['a stream', () => Readable.from(['bü', Buffer.from('cher')]), 7],
    ['a buffer', () => Buffer.alloc(5000), 5000],
    ['an object', () => ({ a: 'ü' }), 10],
    ['nothing', () => null, 0],
  ])('is what passes of %s', async (_name, body, bytes) => {
    const { engine, client } = await counting((ctx) => {
      ctx.body = body()
    })
    await client.get('/')
    await vi.waitFor(() => expect(engine.events).toHaveLength(1))
    expect(engine.events[0]).toMatchObject({ meter_name: 'reports', dimensions: { response_bytes: bytes } })
  })

  it('[G12] is one event of a meter and an engine, however often the request is metered', async () => {
    const common = new InMemoryMeteringEngine()
    const own = new InMemoryMeteringEngine()
    setMeteringEngine(common)
    class Plain extends MeteringMixin(ViewSet) {
      list() {
        return []
      }
    }
    const api = new APIRouter().register('plain', Plain, 'plain')
    const others = [metering({ meterName: 'reports' }), metering({ engine: own })]
    const client = await serveApp(metering(), metering(), ...others, api.routes())
    for (let index = 0; index < 2; index++) await client.get('/plain')
    await vi.waitFor(() => expect(own.events).toHaveLength(2))
    const meters = common.events.map(({ meter_name }) => meter_name)
    expect(meters.sort()).toEqual(['api_usage', 'api_usage', 'reports', 'reports'])
    expect(own.events.map(({ dimensions }) => dimensions.response_bytes)).toEqual([2, 2])
  })

  it('is also what the handler writes itself, in any encoding', async () => {
    const { engine, client } = await counting((ctx) => {
      ctx.respond = false
      ctx.res.write('00ff', 'hex')
      ctx.res.write('ü', 'latin1')
      ctx.res.end('ü', () => {})
    })
    await client.get('/').catch(() => {})
    await vi.waitFor(() => expect(engine.events).toHaveLength(1))
    expect(engine.events[0]?.dimensions.response_bytes).toBe(5)
  })

  it('[I10] counts a request that was broken off once, before and during its answer', async () => {
    let arrived: () => void = () => {}
    let release: () => void = () => {}
    const { engine, client } = await counting(async (ctx) => {
      arrived()
      if (ctx.path === '/stream') {
        ctx.body = Readable.from(
          (async function* () {
            for (;;) {
              yield 'x'.repeat(65_536)
              await new Promise((resolve) => setImmediate(resolve))
            }
          })(),
        )
        return
      }
      await new Promise<void>((resolve) => {
        release = resolve
      })
      ctx.body = 'late'
    })
    for (const path of ['/slow', '/stream']) {
      const reached = new Promise<void>((resolve) => {
        arrived = resolve
      })
      const before = engine.events.length
      const socket = connect(client.port, '127.0.0.1')
      socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`)
      await reached
      if (path === '/stream') await once(socket, 'data')
      socket.destroy()
      await vi.waitFor(() => expect(engine.events).toHaveLength(before + 1))
      release()
    }
  })

  it('is nothing of a user who is told from no other one, and a warning says so', async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockReturnValue()
    const { engine, client } = await counting((ctx) => {
      ctx.state['user'] = { id: ctx.path === '/known' ? 1 : 2 ** 64 }
      ctx.body = 'x'
    })
    expect((await client.get('/')).status).toBe(200)
    await vi.waitFor(() => expect(warn).toHaveBeenCalledOnce())
    expect(warn.mock.calls[0]?.[0]).toMatch(
      /^usage is not recorded: ConfigurationError: ctx.state.user: its id is 1844/,
    )
    await client.get('/known')
    await vi.waitFor(() => expect(engine.events).toHaveLength(1))
  })

  it('[G12] an engine that hangs holds a bounded number of events', async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockReturnValue()
    const record = vi.fn<MeteringEngine['record']>(() => new Promise(() => {}))
    const client = await serveApp(metering({ engine: { record } }), (ctx) => {
      ctx.body = 'x'
    })
    const one = async () => {
      for (let index = 0; index < 106; index++) await client.get('/')
    }
    await Promise.all(Array.from({ length: 10 }, one))
    await vi.waitFor(() => expect(warn).toHaveBeenCalledTimes(1))
    expect(record).toHaveBeenCalledTimes(1000)
  })
})

describe('MeteringMixin', () => {
  it('names a meter, takes an engine of its own, and can be switched off', async () => {
    const own = new InMemoryMeteringEngine()
    const common = new InMemoryMeteringEngine()
    setMeteringEngine(common)
    class Own extends MeteringMixin(RetrieveAPIView<Book>) {
      static override model = Book
      static override serializerClass = BookSerializer
      static override meteringMeterName = 'books'
      static override meteringEngine = own
    }
    class Off extends MeteringMixin(ViewSet) {
      static override meteringEnabled = false
      list() {
        return []
      }
    }
    class Plain extends MeteringMixin(ViewSet) {
      list() {
        return []
      }
    }
    const detail = Own.asView()
    const api = new APIRouter().register('off', Off, 'off').register('plain', Plain, 'plain')
    const client = await serveApp(api.routes(), (ctx) => {
      ctx['params'] = { id: '1' }
      return detail(ctx)
    })
    for (const path of ['/off', '/plain', '/book']) expect((await client.get(path)).status).toBe(200)
    await vi.waitFor(() => expect(own.events.map(({ meter_name }) => meter_name)).toEqual(['books']))
    await vi.waitFor(() => expect(common.events.map(({ meter_name }) => meter_name)).toEqual(['api_usage']))
  })

  it('[I23] says at prepare() when nobody counts', async () => {
    const api = new APIRouter().register('books', Books)
    await expect(api.prepare()).rejects.toThrow(/^Books: has no metering engine; set static meteringEngine, call/)
    setMeteringEngine(new InMemoryMeteringEngine())
    await api.prepare()
  })

  it('[I23] says at the first request, without a router, when nobody counts', async () => {
    const answer = Books.asView({ get: 'list' })
    const client = await serveApp((ctx) => answer(ctx))
    expect((await client.get('/books')).status).toBe(500)
    expect(String(client.reported[0])).toContain('Books: has no metering engine')
    const engine = new InMemoryMeteringEngine()
    setMeteringEngine(engine)
    expect((await client.get('/books')).status).toBe(200)
    await vi.waitFor(() => expect(engine.events).toHaveLength(1))
  })

  it('[I12] api.close() writes every event, those of answers that are still being sent too', async () => {
    const engine = new PostgresMeteringEngine({ knex: database.knex, interval: 3_600_000, batchSize: 10 })
    await engine.ensureTable()
    setMeteringEngine(engine)
    const api = new APIRouter({ prefix: '/api' }).register('books', Books)
    await api.prepare()
    const client = await serveApp(user, api.routes())
    await Promise.all(Array.from({ length: 35 }, () => client.get('/api/books', { 'X-User': '7' })))
    // this one is answered, and its client reads nothing yet
    await Book.query().insert(Array.from({ length: 2000 }, (_, index) => ({ title: `${index}`.padEnd(4000) })))
    const slow = request({ port: client.port, path: '/api/books', headers: { 'X-User': '7' } }).end()
    const [response] = (await once(slow, 'response')) as [NodeJS.ReadableStream]
    const closing = api.close()
    response.resume()
    await closing
    const [total] = await engine.usage('7', new Date(0), new Date(Date.now() + 60_000))
    expect(total).toMatchObject({ meter_name: 'api_usage', requests: 36 })
    expect(total?.response_bytes).toBeGreaterThan(8_000_000)
    await database.knex.raw('drop table koa_viewsets_usage')
  })
})
