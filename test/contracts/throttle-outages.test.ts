/** What shared stores of throttles do while they cannot count (promise H8). */
import { join } from 'node:path'
import { Redis } from 'ioredis'
import knex, { type Knex } from 'knex'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { DatabaseStore, ensureThrottleTable } from '../../lib/throttling/database-throttles.js'
import { RedisStore } from '../../lib/throttling/redis-throttles.js'
import type { SharedStore, SharedStoreOptions } from '../../lib/throttling/shared-store.js'
import { createDatabase, type TestDatabase } from '../support/database.js'
import { type ServerProxy, startDatabaseProxy, startProxy } from '../support/proxy.js'
import { findRedis, startRedis, type TestRedis, warnWithoutRedis } from '../support/redis.js'

interface Subject {
  readonly proxy: ServerProxy
  /** Without the proxy. */
  empty(): Promise<void>
  connect(options: SharedStoreOptions): { store: SharedStore; disconnect(): Promise<void> }
}

const warn = vi.spyOn(process, 'emitWarning')

const MINUTE = { limit: 100, seconds: 60 }

let database: TestDatabase
let redis: TestRedis | undefined
const program = findRedis()
if (!program) warnWithoutRedis()
const proxies: ServerProxy[] = []

beforeAll(async () => {
  database = await createDatabase()
  await ensureThrottleTable(database.knex)
  if (program) redis = await startRedis(program)
})
afterAll(async () => {
  for (const proxy of proxies) await proxy.remove()
  await database.drop()
  await redis?.remove()
})

async function throughDatabase(): Promise<Subject> {
  const { proxy, through } = await startDatabaseProxy(database.connection)
  proxies.push(proxy)
  return {
    proxy,
    async empty() {
      await database.knex.raw('truncate koa_viewsets_throttles')
    },
    connect(options) {
      const db = knex({
        client: 'pg',
        connection: through as Knex.PgConnectionConfig,
        pool: { min: 0, max: 2 },
        acquireConnectionTimeout: 100,
        log: { warn() {}, error() {} },
      })
      return { store: new DatabaseStore(db, options), disconnect: () => db.destroy() }
    },
  }
}

async function throughRedis(): Promise<Subject> {
  const proxy = await startProxy({ path: redis?.path ?? '' }, 'redis')
  proxies.push(proxy)
  return {
    proxy,
    async empty() {
      const client = new Redis(redis?.path ?? '')
      await client.flushall()
      await client.quit()
    },
    connect(options) {
      const client = new Redis(join(proxy.folder, 'redis'), { retryStrategy: () => 10 })
      client.on('error', () => {})
      return {
        store: new RedisStore(client, options),
        async disconnect() {
          client.disconnect()
        },
      }
    },
  }
}

const subjects: [string, boolean, () => Promise<Subject>][] = [
  ['PostgreSQL', true, throughDatabase],
  ['Redis', program !== undefined, throughRedis],
]

describe.each(subjects)('[P6e H8] throttles whose %s', (_name, isThere, create) => {
  let subject: Subject
  let now = 0
  let connected: ReturnType<Subject['connect']>

  beforeAll(async () => {
    if (isThere) subject = await create()
  })
  beforeEach(() => {
    warn.mockReset().mockImplementation(() => {})
  })
  afterEach(async () => {
    if (!isThere) return
    await subject.proxy.restore()
    await connected.disconnect()
  })

  /** A limiter that waits half a second for its store. */
  async function begin(rate = MINUTE, timeout = 500) {
    now = 0
    await subject.empty()
    connected = subject.connect({ timeout, retryAfter: 1000, now: () => now })
    const { store } = connected
    const limiter = store.limiter('4:test,', rate)
    return { store, consume: async (key = 'a') => limiter.consume(key) }
  }
  const many = (count: number) => Array.from({ length: count }, (_, index) => index)

  it.skipIf(!isThere).each(['cut', 'silence'] as const)(
    '[H8] is away (%s) count in memory, warn once an outage, and come back',
    async (failure) => {
      const { store, consume } = await begin()
      // the store may be slow to connect
      await expect
        .poll(async () => {
          now += 1000
          await consume('first')
          return store.outage.isOn
        })
        .toBe(false)
      warn.mockClear()
      for (const used of [1, 2, 3]) expect(await consume()).toMatchObject({ used })
      for (const outage of [1, 2]) {
        await subject.proxy[failure]()
        const counts = await Promise.all(many(150).map(() => consume('during')))
        expect(counts.filter(({ used }) => used <= 100)).toHaveLength(outage === 1 ? 100 : 0)
        for (const { wait } of counts) expect(wait).toBeGreaterThan(0)
        await Promise.all(many(50).map((index) => consume(`${failure} ${outage} ${index}`)))
        expect(store.outage.isOn).toBe(true)
        expect(warn).toHaveBeenCalledTimes(outage)
        await subject.proxy.restore()
        await expect
          .poll(async () => {
            now += 1000
            await consume(`back ${outage} ${now}`)
            return store.outage.isOn
          })
          .toBe(false)
        expect(await consume()).toMatchObject({ used: 3 + outage })
      }
      expect(warn.mock.calls[0]).toEqual([
        expect.stringMatching(
          /^throttles: .+ does not count \(.+\); each process counts in its memory until it does again$/,
        ),
        { code: 'KOA_VIEWSETS_THROTTLE_STORE' },
      ])
    },
  )

  it.skipIf(!isThere)('[H8] was never there count in memory from the first request', async () => {
    const { consume } = await begin()
    await subject.proxy.cut()
    expect(await consume()).toEqual({ used: 1, wait: 60_000 })
    expect(await consume()).toEqual({ used: 2, wait: 60_000 })
    expect(warn).toHaveBeenCalledTimes(1)
  })

  it.skipIf(!isThere)('[H8] is silent do not wait for it, but for one request a second that tries', async () => {
    const { store, consume } = await begin(MINUTE, 400)
    subject.proxy.silence()
    await consume()
    expect(store.outage.isOn).toBe(true)
    const settled: string[] = []
    now += 1000
    const trying = consume('a').then(() => settled.push('trying'))
    for (const key of ['a', 'a', 'b']) await consume(key).then(() => settled.push(key))
    expect(settled).toEqual(['a', 'a', 'b'])
    await trying
    expect(settled.at(-1)).toBe('trying')
    expect(warn).toHaveBeenCalledTimes(1)
  })

  it.skipIf(!isThere)('[H8] has forgotten everything count anew, without a warning', async () => {
    const { consume } = await begin({ limit: 2, seconds: 60 }, 5000)
    for (const used of [1, 2, 3]) expect(await consume()).toMatchObject({ used })
    await subject.empty()
    // a caller who was refused is told so from memory for a second
    expect((await consume()).used).toBeGreaterThan(2)
    now += 1000
    expect(await consume()).toMatchObject({ used: 1 })
    expect(warn).not.toHaveBeenCalled()
  })
})
