import { Redis } from 'ioredis'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { RedisStore } from '../../../lib/throttling/redis-throttles.js'
import { findRedis, startRedis, type TestRedis, warnWithoutRedis } from '../../support/redis.js'

const MINUTE = { limit: 3, seconds: 60 }
const PATIENT = { timeout: 20_000 }
const KEY = 'throttle:4:test,4:3/60,3:key,1:a,'

const program = findRedis()
if (!program) warnWithoutRedis()

describe.skipIf(!program)('RedisStore', () => {
  let redis: TestRedis
  let client: Redis
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})

  beforeAll(async () => {
    redis = await startRedis(program ?? '')
    client = new Redis(redis.path, { retryStrategy: () => 10 })
    client.on('error', () => {})
  })
  afterAll(async () => {
    client.disconnect()
    await redis.remove()
    warn.mockRestore()
  })

  it('keeps a number under the key, which ends with its window', async () => {
    const limiter = new RedisStore(client, PATIENT).limiter('4:test,', MINUTE)
    for (const used of [1, 2]) expect(await limiter.consume(KEY)).toMatchObject({ used })
    expect(await client.get(KEY)).toBe('2')
    expect(await client.pttl(KEY)).toBeGreaterThan(0)
    expect(await client.pttl(KEY)).toBeLessThanOrEqual(60_000)
  })

  it('gives an end to a key that somebody else has left without one', async () => {
    const limiter = new RedisStore(client, PATIENT).limiter('4:test,', MINUTE)
    await client.set(KEY, '99')
    expect(await limiter.consume(KEY)).toEqual({ used: 1, wait: 60_000 })
  })

  it('sends one command for each count, and leaves the client as it was', async () => {
    const names = Object.keys(client)
    const limiter = new RedisStore(client, PATIENT).limiter('4:test,', MINUTE)
    await client.call('CONFIG', 'RESETSTAT')
    for (const key of ['b', 'b', 'c']) await limiter.consume(key)
    const stats = String(await client.call('INFO', 'commandstats'))
    expect(stats).toMatch(/cmdstat_eval:calls=3,/)
    expect(Object.keys(client)).toEqual(names)
    expect(client).not.toHaveProperty('rlflxIncr')
  })

  it('[H1] is exact for clients that count at once', async () => {
    const clients = Array.from({ length: 10 }, () => new Redis(redis.path))
    const limiters = clients.map((one) => new RedisStore(one, PATIENT).limiter('4:test,', { limit: 100, seconds: 60 }))
    const counts = await Promise.all(
      Array.from({ length: 20 }, () => limiters.map(async (limiter) => limiter.consume('of all'))).flat(),
    )
    expect(counts.filter(({ used }) => used <= 100)).toHaveLength(100)
    for (const one of clients) one.disconnect()
  })

  it('[H8] counts in memory while the server is stopped, and there again once it runs', async () => {
    let now = 0
    const store = new RedisStore(client, { timeout: 200, now: () => now })
    const limiter = store.limiter('4:test,', MINUTE)
    warn.mockClear()
    await redis.stop()
    for (const used of [1, 2, 3, 4]) expect(await limiter.consume('stopped')).toMatchObject({ used })
    expect(warn).toHaveBeenCalledTimes(1)
    await redis.start()
    await expect
      .poll(async () => {
        now += 1000
        await limiter.consume('others')
        return store.outage.isOn
      })
      .toBe(false)
    expect(await limiter.consume('new')).toMatchObject({ used: 1 })
    expect(await client.get('new')).toBe('1')
  })
})
