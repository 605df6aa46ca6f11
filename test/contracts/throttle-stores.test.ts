/** One contract for every store of throttles: memory, PostgreSQL, and Redis by each kind of client. */
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { DatabaseStore, ensureThrottleTable } from '../../lib/throttling/database-throttles.js'
import { MemoryStore } from '../../lib/throttling/memory-store.js'
import { type RedisClient, RedisStore } from '../../lib/throttling/redis-throttles.js'
import type { ThrottleCount, ThrottleStore } from '../../lib/throttling/store.js'
import { createDatabase, type TestDatabase } from '../support/database.js'
import { findRedis, startRedis, type TestRedis, warnWithoutRedis } from '../support/redis.js'

/** A store, and time that passes when it is told to; negative when the clock is set back. */
interface Subject {
  store: ThrottleStore
  advance(milliseconds: number): Promise<void>
  close?(): Promise<void>
}

const HOUR = 3_600_000
/** Nothing here depends on how long a busy machine takes. */
const PATIENT = { timeout: 20_000 }

let database: TestDatabase
let redis: TestRedis | undefined
const program = findRedis()
if (!program) warnWithoutRedis()

beforeAll(async () => {
  database = await createDatabase()
  await ensureThrottleTable(database.knex)
  if (program) redis = await startRedis(program)
})
afterAll(async () => {
  await database.drop()
  await redis?.remove()
})

async function inMemory(): Promise<Subject> {
  let now = 5 * HOUR
  return {
    store: new MemoryStore({ now: () => now }),
    async advance(milliseconds) {
      now += milliseconds
    },
  }
}

async function inDatabase(): Promise<Subject> {
  const { knex } = database
  let now = 0
  await knex.raw('truncate koa_viewsets_throttles')
  return {
    store: new DatabaseStore(knex, { ...PATIENT, now: () => now }),
    // windows end so much sooner: the clock that counts is the database's
    async advance(milliseconds) {
      now += Math.max(0, milliseconds)
      await knex.raw('update koa_viewsets_throttles set expire = expire - ?', [milliseconds])
    },
    close: async () => {},
  }
}

function inRedis(clientOf: (redis: Redis) => RedisClient): () => Promise<Subject> {
  return async () => {
    let now = 0
    const client = new Redis(redis?.path ?? '')
    await client.flushall()
    return {
      store: new RedisStore(clientOf(client), { ...PATIENT, now: () => now }),
      async advance(milliseconds) {
        now += Math.max(0, milliseconds)
        for (const key of await client.keys('*')) {
          await client.pexpire(key, (await client.pttl(key)) - milliseconds)
        }
      },
      async close() {
        await client.quit()
      },
    }
  }
}

/** The surfaces of the other libraries, which take the arguments of a script in forms of their own. */
const asNodeRedis = (client: Redis): RedisClient => ({
  sendCommand: () => undefined,
  eval: (script: string, { keys, arguments: values }: { keys: string[]; arguments: string[] }) =>
    client.eval(script, keys.length, ...keys, ...values),
})
const asGlide = (client: Redis): RedisClient => ({
  customCommand: ([command = '', ...parts]: string[]) => client.call(command, ...parts),
})

const subjects: [string, boolean, () => Promise<Subject>][] = [
  ['memory', true, inMemory],
  ['PostgreSQL', true, inDatabase],
  ['Redis by ioredis', program !== undefined, inRedis((client) => client)],
  ['Redis by node-redis', program !== undefined, inRedis(asNodeRedis)],
  ['Redis by Valkey GLIDE', program !== undefined, inRedis(asGlide)],
]

describe.each(subjects)('throttles that count in %s', (_name, isThere, create) => {
  let subject: Subject | undefined

  async function begin(limit: number, seconds: number) {
    subject = await create()
    const { store, advance } = subject
    const limiter = store.limiter('4:test,', { limit, seconds })
    return { advance, limiter, consume: async (key = 'a') => limiter.consume(key), store }
  }
  const times = async (count: number, consume: () => Promise<ThrottleCount>) => {
    const counts: ThrottleCount[] = []
    for (let index = 0; index < count; index += 1) counts.push(await consume())
    return counts
  }
  const usedOf = (counts: readonly ThrottleCount[]) => counts.map(({ used }) => used)
  const oneTo = (count: number) => Array.from({ length: count }, (_, index) => index + 1)

  afterEach(async () => {
    await subject?.close?.()
    vi.restoreAllMocks()
  })

  it.skipIf(!isThere)('count one request after another, for each key', async () => {
    const { consume } = await begin(3, 60)
    expect(usedOf(await times(3, consume))).toEqual([1, 2, 3])
    const refused = await consume()
    expect(refused.used).toBeGreaterThan(3)
    expect(refused.wait).toBeGreaterThan(0)
    expect(refused.wait).toBeLessThanOrEqual(60_000)
    expect(await consume('b')).toMatchObject({ used: 1 })
  })

  it.skipIf(!isThere)('take keys of any text', async () => {
    const { consume } = await begin(3, 60)
    for (const key of ["'; drop table x --", 'ключ', '😀', '%s ? :name $1', '\\', '"', ' ']) {
      expect(usedOf(await times(2, () => consume(key)))).toEqual([1, 2])
    }
  })

  it.skipIf(!isThere)('[H1] give each of 400 at once a number of its own', async () => {
    const { consume } = await begin(100, 60)
    const counts = await Promise.all(Array.from({ length: 400 }, () => consume()))
    expect(usedOf(counts).sort((left, right) => left - right)).toEqual(oneTo(400))
    expect((await consume()).used).toBeGreaterThan(100)
  })

  it.skipIf(!isThere)('[H1] admit exactly so many, whatever comes at once', async () => {
    const { consume } = await begin(10, 60)
    const keys = oneTo(20).map(String)
    let admitted = 0
    for (let round = 0; round < 3; round += 1) {
      const counts = await Promise.all(oneTo(6).flatMap(() => keys.map((key) => consume(key))))
      admitted += counts.filter(({ used }) => used <= 10).length
    }
    expect(admitted).toBe(200)
  })

  it.skipIf(!isThere)('[H4] begin a window with the first request, and admit across its edge', async () => {
    const { consume, advance } = await begin(5, 60)
    await consume()
    await advance(50_000)
    expect(usedOf(await times(4, consume))).toEqual([2, 3, 4, 5])
    await advance(10_001)
    expect(usedOf(await times(5, consume))).toEqual([1, 2, 3, 4, 5])
    expect((await consume()).used).toBeGreaterThan(5)
    await advance(50_000)
    expect((await consume()).used).toBeGreaterThan(5)
  })

  it.skipIf(!isThere)('[H5] admit whoever waits as long as was said, twenty times', async () => {
    const { consume, advance } = await begin(2, 60)
    for (let round = 0; round < 20; round += 1) {
      expect(usedOf(await times(2, consume))).toEqual([1, 2])
      await advance(700 * round)
      const { used, wait } = await consume()
      expect(used).toBeGreaterThan(2)
      await advance(Math.max(1, Math.ceil(wait / 1000)) * 1000)
    }
  })

  it.skipIf(!isThere)('[H6] let the wait of a caller who is refused fall, however he hammers', async () => {
    const { consume, advance } = await begin(2, 10)
    await times(2, consume)
    let last = 10_000
    for (let round = 0; round < 9; round += 1) {
      const refused = await times(20, consume)
      const { wait } = refused.at(-1) as ThrottleCount
      expect(wait).toBeLessThanOrEqual(last)
      last = wait - 1000
      await advance(1001)
    }
    await advance(1000)
    expect(await consume()).toMatchObject({ used: 1 })
  })

  it.skipIf(!isThere)('[H9] lock nobody out for longer than a window when the clock goes back by an hour', async () => {
    const { consume, advance } = await begin(50, 60)
    await times(3, consume)
    await advance(-HOUR)
    // at once, for the one more window must not be begun twice
    const counts = await Promise.all(oneTo(60).map(() => consume()))
    expect(usedOf(counts).sort((left, right) => left - right)).toEqual(oneTo(60))
    for (const { wait } of counts) expect(wait).toBeLessThanOrEqual(60_000)
    await advance(60_001)
    expect(await consume()).toMatchObject({ used: 1 })
  })

  it.skipIf(!isThere)('[H9] open one more window when the clock goes forward by an hour', async () => {
    const { consume, advance } = await begin(2, 60)
    await times(2, consume)
    await advance(HOUR)
    expect(usedOf(await times(2, consume))).toEqual([1, 2])
    expect((await consume()).used).toBeGreaterThan(2)
  })

  it.skipIf(!isThere)('have one limiter for each budget', async () => {
    const { store, limiter } = await begin(2, 60)
    expect(store.limiter('4:test,', { limit: 2, seconds: 60 })).toBe(limiter)
    expect(store.limiter('5:other,', { limit: 2, seconds: 60 })).not.toBe(limiter)
  })

  it.skipIf(!isThere)('[H8] never warn while the store counts', async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const { consume } = await begin(1, 60)
    await times(5, consume)
    expect(warn).not.toHaveBeenCalled()
  })
})
