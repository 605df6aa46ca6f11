/** `/livez` and `/readyz` on a real database that is there, full, silent, away, or another. */
import type { EventEmitter } from 'node:events'
import { Socket } from 'node:net'
import knex, { type Knex } from 'knex'
import { Model } from 'objection'
import pg from 'pg'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { APIRouter, ModelSerializer, ModelViewSet } from '../../lib/index.js'
import { errors, type HealthOptions, health } from '../../plugins/index.js'
import { type Client, serving } from '../support/client.js'
import { createDatabase, poolMode } from '../support/database.js'
import { takesPool } from '../support/installed.js'
import { database, LIBRARY, useLibrary } from '../support/library.js'
import { startDatabaseProxy } from '../support/proxy.js'
import { serializerOf, tableOf, type ViewSetClass, viewOf } from '../support/views.js'

useLibrary()

const OK = [200, '{"status":"ok"}']
const UNAVAILABLE = [503, '{"detail":"Service temporarily unavailable","status":503}']

/** A pool of its own for the library's database, or for another. */
function poolOf(connection: Knex.PgConnectionConfig, max = 2): Knex {
  const made = knex({
    client: 'pg',
    connection: { ...connection },
    pool: { min: 0, max },
    acquireConnectionTimeout: 2_000,
    log: { warn: () => {} },
  })
  onTestFinished(() => made.destroy())
  return made
}

/** An API of the library's books over a pool. */
/** A view set of a table in another database than the library's. */
function tableIn(pool: Knex, name: string, fields: string[]): ViewSetClass {
  const model = tableOf(name)
  model.knex(pool)
  return viewOf(model, serializerOf(model, fields))
}

function booksOf(pool: Knex): APIRouter {
  return new APIRouter({ prefix: '/api' }).register('books', tableIn(pool, 'books', ['id', 'title']))
}

const own = () => database.connection as Knex.PgConnectionConfig

interface Probed extends Client {
  probe(path?: string): Promise<unknown[]>
  drain(): void
}

async function probed(options: HealthOptions): Promise<Probed> {
  const probes = health(options)
  const apis = [options.api ?? []].flat() as APIRouter[]
  const client = await serving(probes, errors(), ...apis.map((api) => api.routes()))
  onTestFinished(() => client.close())
  return {
    ...client,
    drain: () => probes.drain(),
    async probe(path = '/readyz') {
      const { status, text } = await client.get(path)
      return [status, text]
    },
  }
}

describe('health()', () => {
  it('answers both probes with a status and nothing else, kept nowhere', async () => {
    const api = booksOf(poolOf(own()))
    await api.prepare()
    const { get, probe } = await probed({ api })
    for (const path of ['/livez', '/readyz', '/readyz/', '/readyz?verbose']) expect(await probe(path)).toEqual(OK)
    const { headers } = await get('/readyz')
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'content-type': 'application/json; charset=utf-8',
      'x-content-type-options': 'nosniff',
    })
    expect(Object.keys(headers).sort()).toEqual([
      'cache-control',
      'connection',
      'content-length',
      'content-type',
      'date',
      'keep-alive',
      'x-content-type-options',
    ])
  })

  it('takes GET and HEAD, and leaves other paths to the app', async () => {
    const { send, get } = await probed({})
    for (const path of ['/livez', '/readyz']) {
      expect(await send('HEAD', path)).toMatchObject({ status: 200, text: '', headers: { 'content-length': '15' } })
      for (const method of ['POST', 'PUT', 'PATCH', 'DELETE']) {
        expect(await send(method, path)).toMatchObject({ status: 405, headers: { allow: 'GET, HEAD, OPTIONS' } })
      }
    }
    const twice = { 'Content-Type': 'application/json', 'X-Forwarded-For': ['a', 'b'] as never }
    expect(await send('GET', '/readyz?live=no&ready=no', { status: 'no' }, twice)).toMatchObject({ status: 200 })
    for (const path of ['/', '/Readyz', '/readyz/x', '/api/readyz']) expect((await get(path)).status).toBe(404)
    const renamed = await probed({ live: '/-/alive', ready: '/-/ready' })
    expect([await renamed.probe('/-/alive'), await renamed.probe('/-/ready')]).toEqual([OK, OK])
    expect((await renamed.get('/readyz')).status).toBe(404)
  })

  it('prepares an API that nobody has prepared, since nobody sends it a first request', async () => {
    const api = booksOf(poolOf(own()))
    const { probe } = await probed({ api })
    expect(api.readiness.isPrepared).toBe(false)
    expect(await probe()).toEqual(OK)
    expect(api.readiness.isPrepared).toBe(true)
  })

  it('is not ready while prepare() fails, says why to the log only, and once', async () => {
    class Missing extends Model {
      static override tableName = 'missing'
    }
    Missing.knex(database.knex)
    class MissingSerializer extends ModelSerializer {
      static override model = Missing
      static override fields = '__all__' as const
    }
    class Missings extends ModelViewSet {
      static override model = Missing
      static override serializerClass = MissingSerializer
    }
    const { probe, reported } = await probed({ api: new APIRouter().register('missing', Missings) })
    for (const _ of [1, 2, 3]) expect(await probe()).toEqual(UNAVAILABLE)
    expect(await probe('/livez')).toEqual(OK)
    expect(reported.map((error) => [String(error), String((error as Error).cause)])).toEqual([
      [
        'NotReady: readyz answers 503: prepare() fails',
        'ConfigurationError: Missing: table "missing" does not exist; create it, or correct static tableName',
      ],
    ])
    await database.knex.schema.createTable('missing', (table) => table.increments())
    expect(await probe()).toEqual(OK)
    await database.knex.schema.dropTable('missing')
  })

  it.each<[string, Partial<HealthOptions> | Record<string, unknown>, string]>([
    ['no router', { api: {} }, 'health(): api is no APIRouter; give health({ api }) the router that is mounted'],
    ['no knex', { databases: [{}] }, 'health(): databases holds something that is no knex instance'],
    ['a path without slash', { ready: 'readyz' }, 'health(): ready is "readyz"; give a path that begins with a slash'],
    ['no time', { timeout: 0 }, 'health(): timeout is 0; give a whole number of milliseconds from 1 to 2147483647'],
    ['more than timers wait', { timeout: 2 ** 31 }, 'health(): timeout is 2147483648; give'],
    ['a bigint', { timeout: 800n }, 'health(): timeout is 800; give'],
    [
      'an option that there is not',
      { path: '/x' },
      'health(): has no option "path"; take one of api, databases, timeout, live, ready',
    ],
  ])('refuses %s', (_, options, message) => {
    expect(() => health(options as HealthOptions)).toThrow(message)
  })
})

describe('the question to the database', () => {
  it('is one for all probes that come while it is asked', async () => {
    const pool = poolOf(own())
    const api = booksOf(pool)
    await api.prepare()
    const probes = health({ api })
    const client = await serving(probes)
    onTestFinished(() => client.close())
    const { pool: tarn } = pool.client as { pool: EventEmitter }
    let [open, most] = [0, 0]
    tarn.on('acquireRequest', () => {
      open++
      most = Math.max(most, open)
    })
    tarn.on('release', () => open--)
    const answers = await Promise.all(Array.from({ length: 50 }, () => client.get('/readyz')))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    expect([open, most]).toEqual([0, 1])
  })

  it('[I26] is answered while all connections are in use, by one beside them that is closed again', async () => {
    const pool = poolOf(own())
    const api = booksOf(pool)
    await api.prepare()
    const { probe, reported } = await probed({ api })
    const held = [await pool.transaction(), await pool.transaction()]
    expect(await probe()).toEqual(OK)
    expect(await probe()).toEqual(OK)
    for (const trx of held) await trx.rollback()
    expect(await probe()).toEqual(OK)
    expect(reported).toEqual([])
    const sessions = `select count(*)::int as n from pg_stat_activity where datname = current_database() and query = 'select 1'`
    const left = async () => (await database.knex.raw<{ rows: { n: number }[] }>(sessions)).rows[0]?.n
    if (!poolMode()) await expect.poll(left).toBe(0)
    const { pool: tarn } = pool.client as { pool: { numUsed(): number; numPendingAcquires(): number } }
    expect([tarn.numUsed(), tarn.numPendingAcquires()]).toEqual([0, 0])
  })

  it.skipIf(poolMode())(
    '[I26] is answered with 503 in time by a network that is silent or away, and with 200 when it is back',
    async () => {
      const { proxy, through } = await startDatabaseProxy(database.connection)
      onTestFinished(() => proxy.remove())
      const pool = poolOf(through as Knex.PgConnectionConfig)
      const api = booksOf(pool)
      const { probe, reported } = await probed({ api, timeout: 300 })
      // the first connection may take longer than that on a machine that is busy
      await expect.poll(() => probe()).toEqual(OK)
      for (const disturb of [async () => proxy.silence(), () => proxy.cut()]) {
        await disturb()
        const before = reported.length
        expect(await Promise.all([probe(), probe(), probe('/livez')])).toEqual([UNAVAILABLE, UNAVAILABLE, OK])
        expect(await probe()).toEqual(UNAVAILABLE)
        expect(reported.slice(before).map(String)).toEqual([
          'NotReady: readyz answers 503: the database does not answer',
        ])
        await proxy.restore()
        await expect.poll(() => probe()).toEqual(OK)
      }
      // a full pool of silent connections is a dead database
      const held = [await pool.transaction(), await pool.transaction()]
      proxy.silence()
      expect(await probe()).toEqual(UNAVAILABLE)
      expect(await probe()).toEqual(UNAVAILABLE)
      await proxy.restore()
      for (const trx of held) await trx.rollback().catch(() => {})
      await expect.poll(() => probe()).toEqual(OK)
    },
  )

  it('[I26] waits no longer for a connection beside a full pool that a silent network has not opened', async () => {
    let opened = 0
    const stream = () => {
      const socket = new Socket()
      if (++opened === 3) socket.connect = () => socket
      return socket
    }
    const pool = poolOf({ ...own(), stream })
    const api = booksOf(pool)
    await api.prepare()
    const { probe } = await probed({ api })
    const held = [await pool.transaction(), await pool.transaction()]
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    for (const answer of [UNAVAILABLE, OK]) {
      await vi.waitFor(async () => expect(await probe()).toEqual(answer))
      vi.advanceTimersByTime(5_000)
    }
    for (const trx of held) await trx.rollback()
  })

  it('finds another database, and goes on where single tables are missing', async () => {
    const other = await createDatabase({ schema: LIBRARY })
    onTestFinished(() => other.drop())
    const pool = poolOf(other.connection as Knex.PgConnectionConfig)
    onTestFinished(() => pool.destroy())
    const api = booksOf(pool)
    await api.prepare()
    const { probe, reported } = await probed({ api })
    expect(await probe()).toEqual(OK)
    await pool.raw('alter table books rename to bookz')
    expect(await probe()).toEqual(UNAVAILABLE)
    expect(reported.map(String)).toEqual([
      'NotReady: readyz answers 503: the database has none of the tables that prepare() read',
    ])
    await pool.raw('alter table bookz rename to books')
    expect(await probe()).toEqual(OK)
  })

  it.skipIf(poolMode())('finds a database that answers late, but in time', async () => {
    const { proxy, through } = await startDatabaseProxy(database.connection)
    onTestFinished(() => proxy.remove())
    const { probe } = await probed({ databases: [poolOf(through as Knex.PgConnectionConfig)], timeout: 20_000 })
    expect(await probe()).toEqual(OK)
    proxy.delay(100)
    expect(await probe()).toEqual(OK)
  })

  it('goes on where some of the tables are missing', async () => {
    const other = await createDatabase({ schema: LIBRARY })
    onTestFinished(() => other.drop())
    const pool = poolOf(other.connection as Knex.PgConnectionConfig)
    const api = booksOf(pool).register('authors', tableIn(pool, 'authors', ['id']))
    await api.prepare()
    const { probe, get } = await probed({ api })
    await pool.raw('drop table authors cascade')
    expect([await probe(), (await get('/api/authors')).status, (await get('/api/books')).status]).toEqual([
      OK,
      503,
      200,
    ])
  })

  it.skipIf(poolMode())('[I26] finds a database that has no connection left', async () => {
    await database.knex.raw(`create role crowded login password 'x' connection limit 1`)
    onTestFinished(() => database.knex.raw('drop owned by crowded; drop role crowded'))
    await database.knex.raw('grant select on books to crowded')
    const crowded = { ...own(), user: 'crowded', password: 'x' }
    const held = poolOf(crowded, 1)
    const api = booksOf(held)
    await api.prepare()
    const { probe, reported } = await probed({ api, databases: [poolOf(crowded, 1)] })
    expect([await probe(), await probe()]).toEqual([OK, OK])
    expect(reported).toEqual([])
    await held.destroy()
  })

  it.skipIf(!takesPool)("asks on a pool of the application's own", async () => {
    const connectionPool = new pg.Pool({ ...own(), max: 1 } as pg.PoolConfig)
    const pooled = knex({ client: 'pg', connectionPool })
    onTestFinished(async () => {
      await pooled.destroy()
      if (!connectionPool.ended) await connectionPool.end()
    })
    const { probe } = await probed({ databases: [pooled], timeout: 300 })
    expect(await probe()).toEqual(OK)
    const held = await connectionPool.connect()
    // a full pool is no dead database
    expect(await probe()).toEqual(OK)
    held.release()
    expect(await probe()).toEqual(OK)
    await connectionPool.end()
    await expect.poll(() => probe()).toEqual(UNAVAILABLE)
  })
})

describe('[I26] an application that is to end', () => {
  it('is not ready once it drains, lives, and answers what comes all the same', async () => {
    const api = booksOf(poolOf(own()))
    await api.prepare()
    const { probe, drain, get, reported } = await probed({ api })
    drain()
    expect([await probe(), await probe('/livez'), (await get('/api/books')).status]).toEqual([UNAVAILABLE, OK, 200])
    expect(reported).toEqual([])
  })

  it('is not ready once api.close() was called', async () => {
    const api = booksOf(poolOf(own()))
    await api.prepare()
    const { probe, reported } = await probed({ api })
    expect(await probe()).toEqual(OK)
    await api.close()
    expect([await probe(), await probe('/livez')]).toEqual([UNAVAILABLE, OK])
    expect(reported).toEqual([])
  })

  it('is not ready for a probe that began before', async () => {
    const pool = poolOf(own(), 1)
    const { probe, drain } = await probed({ databases: [pool], timeout: 2_000 })
    const trx = await pool.transaction()
    const answer = probe()
    await expect.poll(() => (pool.client as { pool: { numPendingCreates(): number } }).pool.numPendingCreates()).toBe(0)
    drain()
    await trx.rollback()
    expect(await answer).toEqual(UNAVAILABLE)
  })
})

it('is a middleware of any app, also of one without an API', async () => {
  const { probe } = await probed({ databases: [poolOf(own())] })
  expect(await probe()).toEqual(OK)
})
