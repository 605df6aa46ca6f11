/** Throttled views, as clients meet them. */
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Middleware } from '../../lib/http/context.js'
import {
  AnonRateThrottle,
  APIRouter,
  APIView,
  BasePermission,
  ConfigurationError,
  ModelViewSet,
  ScopedRateThrottle,
  SimpleRateThrottle,
  type Throttles,
  UserRateThrottle,
} from '../../lib/index.js'
import { DatabaseStore } from '../../lib/throttling/database-throttles.js'
import {
  DatabaseAnonThrottle,
  DatabaseScopedThrottle,
  DatabaseThrottle,
  RedisUserThrottle,
  type ThrottleStore,
} from '../../lib/throttling/index.js'
import { MemoryStore } from '../../lib/throttling/memory-store.js'
import { type Client, serveApp } from '../support/client.js'
import { countQueries, type TestDatabase } from '../support/database.js'
import { Author, AuthorSerializer, createLibrary } from '../support/library.js'

let database: TestDatabase
const warn = vi.spyOn(process, 'emitWarning')

beforeAll(async () => {
  database = await createLibrary()
  await DatabaseThrottle.ensureTable(database.knex)
  DatabaseThrottle.setBackend(database.knex)
})
afterAll(async () => {
  DatabaseThrottle.close()
  await database.drop()
})
beforeEach(() => {
  SimpleRateThrottle.memory.clear()
  warn.mockReset().mockImplementation(() => {})
})

/** Who asks, by a header. */
const login: Middleware = async (ctx, next) => {
  const id = ctx.get('X-User')
  if (id) ctx.state['user'] = id === 'anonymous' ? { id: 1, isAnonymous: true } : { id: Number(id) }
  await next()
}

function viewOf(throttles: Throttles, scope?: string): typeof APIView {
  return class Throttled extends APIView {
    static override throttleClasses = throttles
    static override throttleScope = scope
    get() {
      return { ok: true }
    }
    post() {
      return { ok: true }
    }
  }
}

/** Serves views by path. */
async function serve(views: Record<string, typeof APIView>): Promise<Client> {
  const handlers = new Map(Object.entries(views).map(([path, view]) => [path, view.asView()]))
  return serveApp(login, async (ctx, next) => {
    const handler = handlers.get(ctx.path)
    await (handler ? handler(ctx) : next())
  })
}

const statuses = async (count: number, ask: () => Promise<{ status: number }>) => {
  const all: number[] = []
  for (let index = 0; index < count; index += 1) all.push((await ask()).status)
  return all
}

describe('a throttled view', () => {
  it('shows what is left, and for how long it refuses', async () => {
    const { get, reported } = await serve({ '/': viewOf([new AnonRateThrottle({ rate: '2/hour' })]) })
    const first = await get('/')
    expect(first).toMatchObject({
      status: 200,
      headers: { 'ratelimit-policy': '"anon";q=2;w=3600', ratelimit: '"anon";r=1;t=3600' },
    })
    expect(first.headers).not.toHaveProperty('retry-after')
    expect((await get('/')).headers).toMatchObject({ ratelimit: expect.stringMatching(/^"anon";r=0;t=3\d{3}$/) })
    const refused = await get('/')
    const seconds = refused.headers['retry-after']
    expect(refused).toMatchObject({
      status: 429,
      json: { detail: `Request was throttled. Retry after ${seconds} seconds`, status: 429 },
      headers: {
        'cache-control': 'no-store',
        'ratelimit-policy': '"anon";q=2;w=3600',
        ratelimit: `"anon";r=0;t=${seconds}`,
      },
    })
    expect(reported).toEqual([])
  })

  it.each(['memory', 'PostgreSQL'])(
    '[H5] admits whoever waits as long as Retry-After says, in %s, twenty times',
    async (place) => {
      let now = 0
      const memory = new MemoryStore({ now: () => now })
      const shared = new DatabaseStore(database.knex, { timeout: 20_000, now: () => now })
      class Clocked extends AnonRateThrottle {
        static override budget = 'clocked'
        override rate = '2/minute'
        override store: ThrottleStore = place === 'memory' ? memory : shared
      }
      const wait = async (milliseconds: number) => {
        now += milliseconds
        // the clock that counts there is the database's
        await database.knex.raw('update koa_viewsets_throttles set expire = expire - ?', [milliseconds])
      }
      const { get } = await serve({ '/': viewOf([Clocked]) })
      for (let round = 0; round < 20; round += 1) {
        expect(await statuses(2, () => get('/'))).toEqual([200, 200])
        await wait(2_713 * round)
        const { status, headers, json } = await get('/')
        expect(status).toBe(429)
        expect(headers['retry-after']).toMatch(/^[1-9]\d?$/)
        const seconds = Number(headers['retry-after'])
        expect(json.detail).toBe(`Request was throttled. Retry after ${seconds} seconds`)
        // a second is what whole seconds may say too much
        await wait((seconds - 1) * 1000 - 100)
        expect((await get('/')).status).toBe(429)
        await wait(1_100)
      }
    },
  )

  it('has no such headers without throttles, nor where nobody is counted', async () => {
    const { get } = await serve({ '/free': viewOf([]), '/anon': viewOf([AnonRateThrottle]) })
    for (const answer of [await get('/free'), await get('/anon', { 'X-User': '7' })]) {
      expect(answer.status).toBe(200)
      expect(answer.headers).not.toHaveProperty('ratelimit')
      expect(answer.headers).not.toHaveProperty('ratelimit-policy')
    }
  })

  it('counts every method alike, and shows the headers on errors too', async () => {
    const { get, send } = await serve({ '/': viewOf([new AnonRateThrottle({ rate: '4/hour' })]) })
    expect((await send('HEAD', '/')).headers.ratelimit).toBe('"anon";r=3;t=3600')
    expect((await send('OPTIONS', '/')).headers.ratelimit).toMatch(/^"anon";r=2/)
    expect(await send('POST', '/', undefined, { 'Content-Type': 'text/x', 'Content-Length': '0' })).toMatchObject({
      headers: { ratelimit: expect.stringMatching(/^"anon";r=1/) },
    })
    expect((await get('/')).headers.ratelimit).toMatch(/^"anon";r=0/)
    expect((await send('OPTIONS', '/')).status).toBe(429)
    const head = await send('HEAD', '/')
    expect([head.status, head.text]).toEqual([429, ''])
  })

  it('refuses an upload without reading it', async () => {
    const { send } = await serve({ '/': viewOf([new AnonRateThrottle({ rate: '1/hour' })]) })
    expect((await send('POST', '/', { a: 1 })).status).toBe(200)
    expect((await send('POST', '/', { a: 'x'.repeat(2_000_000) })).status).toBe(429)
  })

  it('does not count what permissions refuse', async () => {
    class Staff extends BasePermission {
      override hasPermission(ctx: { get(name: string): string }) {
        return ctx.get('X-User') === '3'
      }
    }
    class Report extends viewOf([new UserRateThrottle({ rate: '1/hour' })]) {
      static override permissionClasses = [Staff]
    }
    const { get } = await serve({ '/': Report })
    const refused = await get('/', { 'X-User': '4' })
    expect(refused.status).toBe(403)
    expect(refused.headers).not.toHaveProperty('ratelimit')
    expect(await statuses(2, () => get('/', { 'X-User': '3' }))).toEqual([200, 429])
  })

  it('takes its routes from a router as well', async () => {
    class Authors extends ModelViewSet<Author> {
      static override model = Author
      static override serializerClass = AuthorSerializer
      static override throttleClasses: Throttles = [new UserRateThrottle({ rate: '3/hour' })]
    }
    const api = new APIRouter({ prefix: '/api' })
    api.register('authors', Authors)
    const client = await serveApp(login, api.routes())
    const get = (path: string) => client.get(path, { 'X-User': '9' })
    expect(await statuses(1, () => get('/api/authors'))).toEqual([200])
    expect(await statuses(1, () => get('/api/authors/1'))).toEqual([200])
    const missing = await get('/api/authors/999')
    expect(missing).toMatchObject({ status: 404, headers: { ratelimit: expect.stringMatching(/^"user";r=0/) } })
    expect(await countQueries(database.knex, () => get('/api/authors'))).toEqual([])
    expect((await get('/api/authors/2')).status).toBe(429)
  })
})

describe('whoever asks', () => {
  it('[H3] is the address that Koa trusts, whatever the client writes', async () => {
    const { get } = await serve({ '/': viewOf([new AnonRateThrottle({ rate: '5/minute' })]) })
    const forged = () => get('/', { 'X-Forwarded-For': `198.51.100.${Math.floor(Math.random() * 256)}` })
    expect(await statuses(20, forged)).toEqual([200, 200, 200, 200, 200, ...Array.from({ length: 15 }, () => 429)])
  })

  it('[H14] is anonymous without a user, and with one that says so; user 0 is a user', async () => {
    const { get } = await serve({ '/': viewOf([new AnonRateThrottle({ rate: '2/minute' })]) })
    expect(await statuses(1, () => get('/'))).toEqual([200])
    expect(await statuses(2, () => get('/', { 'X-User': 'anonymous' }))).toEqual([200, 429])
    expect(await statuses(4, () => get('/', { 'X-User': '0' }))).toEqual([200, 200, 200, 200])
  })

  it('[H11 H12] has one budget for a class and rate, and another one for each class', async () => {
    const rate = { rate: '4/minute' }
    const both = viewOf([new AnonRateThrottle(rate), new UserRateThrottle(rate)])
    const { get } = await serve({ '/both': both, '/one': viewOf([new AnonRateThrottle(rate)]) })
    expect(await statuses(3, () => get('/both'))).toEqual([200, 200, 200])
    expect(await statuses(2, () => get('/one'))).toEqual([200, 429])
    expect(await statuses(1, () => get('/both'))).toEqual([429])
  })

  it.each([
    ['memory', ScopedRateThrottle],
    ['the database', DatabaseScopedThrottle],
  ])('[H12] has one budget for each scope, an inherited one too, in %s', async (where, Scoped) => {
    class Uploads extends viewOf([new Scoped({ rate: '3/minute' })], `uploads in ${where}`) {}
    class Images extends Uploads {}
    class Videos extends Uploads {
      static override throttleScope = `videos in ${where}`
    }
    const { get } = await serve({ '/uploads': Uploads, '/images': Images, '/videos': Videos })
    expect(await statuses(2, () => get('/uploads'))).toEqual([200, 200])
    const last = await get('/images')
    expect([last.status, String(last.headers['ratelimit']).split(';', 2)]).toEqual([
      200,
      [`"uploads in ${where}"`, 'r=0'],
    ])
    expect(await statuses(1, () => get('/uploads'))).toEqual([429])
    expect(await statuses(4, () => get('/videos'))).toEqual([200, 200, 200, 429])
  })

  it('[H10] is refused by the first that has enough; those before it have counted', async () => {
    class Burst extends UserRateThrottle {
      override rate = '2/day'
    }
    const { get } = await serve({ '/': viewOf([new UserRateThrottle({ rate: '100/day' }), Burst]) })
    const answers = [await get('/'), await get('/'), await get('/'), await get('/')]
    expect(
      answers.map(({ status, headers }) => [status, String(headers['ratelimit']).replaceAll(/;t=\d+/g, '')]),
    ).toEqual([
      [200, '"user";r=99, "Burst";r=1'],
      [200, '"user";r=98, "Burst";r=0'],
      [429, '"user";r=97, "Burst";r=0'],
      [429, '"user";r=96, "Burst";r=0'],
    ])
  })
})

describe('throttles that count in the database', () => {
  const view = (rate: string) => viewOf([new DatabaseAnonThrottle({ rate })])

  it('cost one statement each', async () => {
    const { get } = await serve({ '/': view('3/hour') })
    const statements: string[][] = []
    for (let index = 0; index < 4; index += 1) statements.push(await countQueries(database.knex, () => get('/')))
    expect(statements.map((list) => list.length)).toEqual([1, 1, 1, 1])
    expect(await database.knex('koa_viewsets_throttles').where('key', 'like', '%6:3/3600%').select('key')).toEqual([
      { key: 'throttle:4:anon,6:3/3600,2:ip,9:127.0.0.1,' },
    ])
  })

  it('[H8] answer nothing but 200 and 429 while the table is away, warn once, and count there again', async () => {
    DatabaseThrottle.setBackend(database.knex, { retryAfter: 0 })
    const { get, reported } = await serve({ '/': view('5/hour') })
    expect(await statuses(2, () => get('/'))).toEqual([200, 200])
    await database.knex.raw('drop table koa_viewsets_throttles')
    const answers = [await get('/'), ...(await Promise.all(Array.from({ length: 9 }, () => get('/'))))]
    for (const status of [200, 429]) expect(answers.filter((answer) => answer.status === status)).toHaveLength(5)
    for (const { headers, text } of answers) {
      expect(headers.ratelimit).toMatch(/^"anon";r=\d;t=3\d{3}$/)
      expect(text).not.toContain('undefined')
    }
    expect(warn).toHaveBeenCalledTimes(1)
    await DatabaseThrottle.ensureTable(database.knex)
    expect((await get('/')).headers.ratelimit).toBe('"anon";r=4;t=3600')
    await database.knex.raw('truncate koa_viewsets_throttles')
    expect((await get('/')).headers.ratelimit).toBe('"anon";r=4;t=3600')
    expect(reported).toEqual([])
  })

  it('deletes the counts that are over when it is told to', async () => {
    await database.knex.raw('truncate koa_viewsets_throttles')
    const { get } = await serve({ '/': view('6/hour') })
    await get('/')
    expect(await DatabaseThrottle.cleanup()).toBe(0)
    await database.knex('koa_viewsets_throttles').update({ expire: 1 })
    expect(await DatabaseThrottle.cleanup()).toBe(1)
  })
})

describe('[H13 I23] registration refuses', () => {
  it.each<[string, Throttles, string | undefined, RegExp]>([
    [
      'a wrong rate',
      [new AnonRateThrottle({ rate: '5/sec' })],
      undefined,
      /^Throttled\.throttleClasses\[0\]: .*"5\/sec"/,
    ],
    ['a store without a backend', [RedisUserThrottle], undefined, /RedisThrottle\.setBackend\(client\)/],
    ['a scope that no header can have', [ScopedRateThrottle], 'ü', /printable ASCII/],
    ['a throttle twice', [UserRateThrottle, UserRateThrottle], undefined, /there twice/],
    ['what is no throttle', [{} as AnonRateThrottle], undefined, /has no method check\(\)/],
  ])('%s', (_, throttles, scope, message) => {
    expect(() => viewOf(throttles, scope).asView()).toThrow(ConfigurationError)
    expect(() => viewOf(throttles, scope).asView()).toThrow(message)
    class Authors extends ModelViewSet<Author> {
      static override model = Author
      static override serializerClass = AuthorSerializer
      static override throttleClasses = throttles
      static override throttleScope = scope
    }
    expect(() => new APIRouter().register('authors', Authors)).toThrow(ConfigurationError)
  })
})
