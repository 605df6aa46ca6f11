/** `serverTiming()` and `slowRequests()`: durations and counts of requests, for chosen callers and for the log. */
import Router from '@koa/router'
import type { Context } from 'koa-viewsets'
import {
  AnonRateThrottle,
  APIRouter,
  IsAuthenticated,
  ModelViewSet,
  PageNumberPagination,
  TokenAuthentication,
} from 'koa-viewsets'
import {
  authentication,
  contentNegotiation,
  errors,
  permissions,
  type SlowRequest,
  serverTiming,
  slowRequests,
  throttle,
} from 'koa-viewsets/plugins'
import { describe, expect, it, vi } from 'vitest'
import { type Client, serveApp } from '../support/client.js'
import { Book, BookSerializer, database, useLibrary } from '../support/library.js'
import { exchange } from '../support/server.js'

useLibrary()

const SECRET = 's3cr3t-planted'
const token = new TokenAuthentication({ getUserForToken: (text) => ({ id: 1, is_staff: text === 'staff' }) })

class Books extends ModelViewSet<Book> {
  static override model = Book
  static override serializerClass = BookSerializer
  static override authenticationClasses = [token]
  static override permissionClasses = [IsAuthenticated]
  static override throttleClasses = [new AnonRateThrottle({ rate: '100000/second' })]
  static override paginationClass = PageNumberPagination
}

async function booksAfter(...before: Parameters<typeof serveApp>): Promise<Client> {
  const api = new APIRouter({ prefix: '/api' }).register('books', Books)
  await api.prepare()
  return serveApp(...before, api.routes())
}

const staff = { Authorization: 'Token staff' }
const isStaff = (ctx: Context) => ctx.state['user']?.is_staff === true

/** The header as the W3C's grammar reads it. */
function metricsOf(header: unknown): Map<string, { dur: number; desc?: string }> {
  const metric = /^(?<name>[!#$%&'*+\-.^_`|~0-9A-Za-z]+);dur=(?<dur>\d+(?:\.\d+)?)(?:;desc="(?<desc>[^"\\]*)")?$/
  return new Map(
    String(header)
      .split(', ')
      .map((text) => {
        const { name, dur, desc } = (metric.exec(text)?.groups ?? {}) as Record<string, string>
        return [name as string, { dur: Number(dur), ...(desc === undefined ? {} : { desc }) }]
      }),
  )
}

describe('serverTiming()', () => {
  it('[I28] names the steps of a request and their milliseconds, to those alone whom it is for', async () => {
    const client = await booksAfter(errors(), serverTiming(isStaff))
    const read = await client.get('/api/books', staff)
    const metrics = metricsOf(read.headers['server-timing'])
    expect([...metrics.keys()]).toEqual(['auth', 'permissions', 'throttle', 'action', 'render', 'db', 'total'])
    expect(metrics.get('db')?.desc).toBe('1 statement')
    const wrote = await client.send('POST', '/api/books', { title: 'One' }, staff)
    const made = metricsOf(wrote.headers['server-timing'])
    expect([...made.keys()]).toEqual(['auth', 'permissions', 'throttle', 'body', 'action', 'render', 'db', 'total'])
    const changed = await client.send('PATCH', `/api/books/${wrote.json.id}`, { title: 'Two' }, staff)
    const patched = metricsOf(changed.headers['server-timing'])
    expect(patched.get('db')?.desc).toBe('1 statement')
    // the row is held before a condition is looked at
    const conditional = { ...staff, 'If-None-Match': '"other"' }
    const held = await client.send('PATCH', `/api/books/${wrote.json.id}`, { title: 'Three' }, conditional)
    expect(metricsOf(held.headers['server-timing']).get('db')?.desc).toBe('4 statements')
    const dur = (name: string) => patched.get(name)?.dur ?? Number.NaN
    expect(dur('db')).toBeLessThanOrEqual(dur('total'))
    expect(dur('action')).toBeLessThanOrEqual(dur('total'))
    for (const headers of [{}, { Authorization: 'Token other' }]) {
      expect((await client.get('/api/books', headers)).headers).not.toHaveProperty('server-timing')
    }
  })

  it('stands on errors, on HEAD, on 304 and beside what the app has', async () => {
    const client = await booksAfter(
      (ctx, next) => {
        ctx.set('Server-Timing', 'edge;dur=1.0')
        return next()
      },
      serverTiming(() => true),
      errors(),
    )
    for (const [method, path, status] of [
      ['GET', '/api/books/77', 404],
      ['HEAD', '/api/books', 200],
      ['GET', '/api/books', 401],
      ['GET', '/elsewhere', 404],
    ] as const) {
      const answer = await client.send(method, path, undefined, status === 401 ? {} : staff)
      const metrics = metricsOf(answer.headers['server-timing'])
      expect([answer.status, [...metrics.keys()][0], [...metrics.keys()].at(-1)]).toEqual([status, 'edge', 'total'])
    }
  })

  it('measures hand-written routes by the plugins on them', async () => {
    const router = new Router()
    router.post(
      '/report',
      authentication(token),
      permissions(IsAuthenticated),
      throttle(new AnonRateThrottle({ rate: '100000/second' })),
      contentNegotiation(),
      async (ctx) => {
        ctx.body = { count: await Book.query().resultSize(), rows: await database.knex('books') }
      },
    )
    const client = await serveApp(errors(), serverTiming(isStaff), router.routes() as never)
    const { headers, json } = await client.send('POST', '/report', { a: 1 }, staff)
    expect(json).toEqual({ count: 0, rows: [] })
    const metrics = metricsOf(headers['server-timing'])
    expect([...metrics.keys()]).toEqual(['auth', 'permissions', 'throttle', 'body', 'render', 'db', 'total'])
    expect(metrics.get('db')?.desc).toBe('2 statements')
  })

  it('is left out where the headers are sent before', async () => {
    const client = await serveApp(
      serverTiming(() => true),
      (ctx) => {
        ctx.respond = false
        ctx.res.writeHead(200, { 'Content-Length': 2 }).end('ok')
      },
    )
    const text = await exchange(client.port, 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n', (all) =>
      all.endsWith('ok'),
    )
    expect(text).not.toMatch(/server-timing/i)
  })

  it('waits for a function that asks somebody else', async () => {
    const client = await booksAfter(serverTiming(async (ctx) => isStaff(ctx)))
    expect((await client.get('/api/books', staff)).headers['server-timing']).toContain('total')
    expect((await client.get('/api/books')).headers).not.toHaveProperty('server-timing')
  })

  it('fails as a middleware does where its function throws', async () => {
    const client = await booksAfter(
      errors(),
      serverTiming(() => {
        throw new Error('no')
      }),
    )
    const { status, json } = await client.get('/api/books', staff)
    expect([status, json]).toEqual([500, { detail: 'Internal server error', status: 500 }])
  })

  it('asks for a function', () => {
    expect(() => serverTiming(true as never)).toThrow('serverTiming(): give a function that says of a ctx')
  })
})

describe('slowRequests()', () => {
  function logged(options: object = {}) {
    const slow: SlowRequest[] = []
    return { slow, middleware: slowRequests({ threshold: 0, log: (request) => void slow.push(request), ...options }) }
  }

  it('[I28] tells route, status, statements and milliseconds, and no value', async () => {
    const { slow, middleware } = logged()
    const client = await booksAfter(middleware, errors())
    const { json } = await client.send('POST', '/api/books', { title: SECRET }, staff)
    await client.get(`/api/books/${json.id}?search=${SECRET}`, staff)
    await client.get(`/api/books/${SECRET}`, staff)
    await client.get(`/${SECRET}`)
    await client.get('/api/books/77', staff)
    const entry = { statements: 1, milliseconds: expect.any(Number), databaseMilliseconds: expect.any(Number) }
    const found = { route: '/api/books/{id}', name: 'book-retrieve' }
    expect(slow).toEqual([
      { ...entry, method: 'POST', route: '/api/books', name: 'book-create', status: 201 },
      { ...entry, ...found, method: 'GET', status: 200 },
      { ...entry, method: 'GET', route: undefined, name: undefined, status: 404, statements: 0 },
      { ...entry, method: 'GET', route: undefined, name: undefined, status: 404, statements: 0 },
      { ...entry, ...found, method: 'GET', status: 404 },
    ])
    expect(JSON.stringify(slow)).not.toContain(SECRET)
    for (const { milliseconds, databaseMilliseconds } of slow)
      expect(databaseMilliseconds).toBeLessThanOrEqual(milliseconds)
  })

  it('counts the milliseconds of statements that run at the same time once', async () => {
    const { slow, middleware } = logged()
    const router = new Router().get('/twice', async (ctx) => {
      await Promise.all([database.knex.raw('select pg_sleep(0.2)'), database.knex.raw('select pg_sleep(0.2)')])
      ctx.body = 'done'
    })
    const client = await booksAfter(middleware, router.routes() as never)
    await client.get('/twice')
    const [request] = slow as [SlowRequest]
    expect(request).toMatchObject({ statements: 2, route: '/twice' })
    expect(request.databaseMilliseconds).toBeGreaterThanOrEqual(195)
    expect(request.databaseMilliseconds).toBeLessThanOrEqual(request.milliseconds)
  })

  it('leaves quick requests out', async () => {
    const { slow, middleware } = logged({ threshold: 100_000 })
    const client = await booksAfter(middleware, errors())
    await client.get('/api/books', staff)
    expect(slow).toEqual([])
  })

  it.each([
    [418, { status: 418 }],
    [418, { status: 0, statusCode: 418 }],
    [500, { status: 999 }],
    [500, {}],
  ])('tells of one that throws with the status that it will have: %s for %o', async (status, members) => {
    const { slow, middleware } = logged()
    const failing = await serveApp(middleware, () => {
      throw Object.assign(new Error('no'), members)
    })
    expect((await fetch(`http://127.0.0.1:${failing.port}/`)).status).toBe(status)
    expect(slow).toMatchObject([{ status }])
  })

  it('reports a log that fails, and answers all the same', async () => {
    const client = await booksAfter(
      slowRequests({
        threshold: 0,
        log: async () => {
          throw new Error('the log is full')
        },
      }),
    )
    expect((await client.get('/api/books', staff)).status).toBe(200)
    await expect.poll(() => client.reported.map(String)).toEqual(['Error: the log is full'])
  })

  it('writes one line where no log is given', async () => {
    const warn = vi.spyOn(console, 'warn').mockReturnValue()
    const client = await booksAfter(slowRequests({ threshold: 0 }))
    await client.get('/api/books', staff)
    await client.get('/elsewhere%0A')
    expect(warn.mock.calls.flat()).toEqual([
      expect.stringMatching(
        /^slow: GET \/api\/books \(book-list\) 200 in \d+ ms, of which \d+ ms in the database \(1 statement\)$/,
      ),
      expect.stringMatching(/^slow: GET no route 404 in \d+ ms, of which 0 ms in the database \(0 statements\)$/),
    ])
    warn.mockRestore()
  })

  it('refuses options that are wrong', () => {
    expect(() => slowRequests({ threshold: -1 })).toThrow(
      'slowRequests(): threshold is -1; give a whole number of at least 0',
    )
    expect(() => slowRequests({ limit: 1 } as never)).toThrow('slowRequests(): has no option "limit"')
  })
})
