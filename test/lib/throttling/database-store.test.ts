import knex, { type Knex } from 'knex'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { DatabaseStore, ensureThrottleTable } from '../../../lib/throttling/database-throttles.js'
import { countQueries, createDatabase, type TestDatabase } from '../../support/database.js'

const MINUTE = { limit: 3, seconds: 60 }
const LENGTH = 60_000

let database: TestDatabase
let db: Knex
const warn = vi.spyOn(process, 'emitWarning')

beforeAll(async () => {
  database = await createDatabase()
  db = database.knex
})
afterAll(() => database.drop())
beforeEach(async () => {
  warn.mockReset().mockImplementation(() => {})
  await ensureThrottleTable(db)
  await db.raw('truncate koa_viewsets_throttles')
})
afterEach(() => vi.useRealTimers())

const many = (count: number) => Array.from({ length: count }, (_, index) => index)
const rows = async () => db('koa_viewsets_throttles').select('key', 'points').orderBy('key')
/** Lets so much of every window pass. */
async function advance(milliseconds: number): Promise<void> {
  await db.raw('update koa_viewsets_throttles set expire = expire - ?', [milliseconds])
}

/** A pool of its own, which says nothing of what it meets. */
function connect(): Knex {
  return knex({
    client: 'pg',
    connection: { ...(database.connection as Knex.PgConnectionConfig) },
    pool: { min: 0, max: 10 },
    log: { warn() {}, error() {} },
  })
}

function begin(rate = MINUTE) {
  let now = 0
  const store = new DatabaseStore(db, { timeout: 20_000, now: () => now })
  return {
    store,
    consume: async (key = 'a') => store.limiter('4:test,', rate).consume(key),
    pass(milliseconds: number) {
      now += milliseconds
    },
  }
}

describe('the table', () => {
  it('is unlogged, in the order of rate-limiter-flexible, with an index for what is over', async () => {
    const { rows: columns } = await db.raw(
      `select column_name, data_type, character_maximum_length as length, is_nullable, column_default
         from information_schema.columns where table_name = 'koa_viewsets_throttles' order by ordinal_position`,
    )
    expect(columns).toEqual([
      { column_name: 'key', data_type: 'character varying', length: 255, is_nullable: 'NO', column_default: null },
      { column_name: 'points', data_type: 'integer', length: null, is_nullable: 'NO', column_default: '0' },
      { column_name: 'expire', data_type: 'bigint', length: null, is_nullable: 'YES', column_default: null },
    ])
    const { rows: tables } = await db.raw(
      `select relname, relpersistence from pg_class where relname like 'koa_viewsets_throttles%' order by relname`,
    )
    expect(tables).toEqual(
      ['koa_viewsets_throttles', 'koa_viewsets_throttles_expire', 'koa_viewsets_throttles_pkey'].map((relname) => ({
        relname,
        relpersistence: 'u',
      })),
    )
  })

  it('is created by many at once', async () => {
    await db.raw('drop table koa_viewsets_throttles')
    await Promise.all(many(8).map(() => ensureThrottleTable(db)))
    expect(await rows()).toEqual([])
  })

  it('is left alone where it is, by a role that may not create one', async () => {
    await db.raw('drop role if exists throttle_reader')
    await db.raw(
      'create role throttle_reader; grant select, insert, update on koa_viewsets_throttles to throttle_reader',
    )
    await db.transaction(async (trx) => {
      await trx.raw('set local role throttle_reader')
      await ensureThrottleTable(trx)
    })
    await db.raw('drop owned by throttle_reader; drop role throttle_reader')
  })
})

describe('a count', () => {
  it('is one statement, the first one and the one that refuses too', async () => {
    const { consume } = begin()
    const statements = await countQueries(db, async () => {
      for (const used of [1, 2, 3, 4]) expect(await consume()).toMatchObject({ used })
    })
    expect(statements).toHaveLength(4)
    expect(new Set(statements).size).toBe(1)
    expect(statements[0]).toMatch(/^\s*INSERT INTO koa_viewsets_throttles /)
  })

  it('is none for a caller who was refused within the last second', async () => {
    const { consume, pass } = begin()
    for (const _ of many(4)) await consume()
    expect(
      await countQueries(db, async () => {
        for (const _ of many(50)) expect((await consume()).used).toBe(4)
      }),
    ).toEqual([])
    pass(999)
    expect(await countQueries(db, () => consume())).toHaveLength(0)
    pass(1)
    expect(await countQueries(db, () => consume())).toHaveLength(1)
  })

  it('is one for all that come while another one of the same key runs', async () => {
    const { consume } = begin({ limit: 100, seconds: 60 })
    const statements = await countQueries(db, () => Promise.all(many(400).map(() => consume())))
    expect(statements).toHaveLength(2)
    expect(await rows()).toEqual([{ key: 'a', points: 400 }])
  })

  it('[H1] is exact for as many processes as there are connections', async () => {
    const processes = many(10).map(() => begin({ limit: 100, seconds: 60 }))
    const counts = await Promise.all(many(10).flatMap(() => processes.map(async ({ consume }) => consume(`of all`))))
    const numbers = counts.map(({ used }) => used).sort((left, right) => left - right)
    expect(numbers).toEqual(many(100).map((index) => index + 1))
  })

  it.each([
    ['is over', LENGTH + 1],
    ['is longer than it can be', -1000],
    ['is an hour too long', -3_600_000],
  ])('[H9] begins one new window for many processes when the old one %s', async (_, milliseconds) => {
    const first = begin({ limit: 50, seconds: 60 })
    for (const _ of many(5)) await first.consume()
    await advance(milliseconds)
    const processes = many(10).map(() => begin({ limit: 50, seconds: 60 }))
    const counts = await Promise.all(processes.map(async ({ consume }) => consume()))
    expect(counts.map(({ used }) => used).sort((left, right) => left - right)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])
    for (const { wait } of counts) expect(wait).toBeLessThanOrEqual(LENGTH)
  })

  it('[H9] does not depend on the clock of the process', async () => {
    const { consume } = begin()
    await consume()
    for (const step of [-3_600_000, 3_600_000]) {
      vi.useFakeTimers({ now: Date.now() + step, toFake: ['Date'] })
      const { used, wait } = await begin().consume()
      expect(used).toBeGreaterThan(1)
      expect(wait).toBeGreaterThan(0)
      expect(wait).toBeLessThanOrEqual(LENGTH)
      vi.useRealTimers()
    }
  })

  it('stays small beyond the limit', async () => {
    const { consume, pass } = begin()
    for (const _ of many(10)) {
      await consume()
      pass(1000)
    }
    expect(await rows()).toEqual([{ key: 'a', points: 4 }])
    await db.raw('update koa_viewsets_throttles set points = 2147483647')
    expect((await consume()).used).toBe(4)
    expect(warn).not.toHaveBeenCalled()
  })
})

describe('[H8] a count without its table', () => {
  it('is one in memory, with one warning; once the table is back, it is one there', async () => {
    const { consume, store, pass } = begin()
    expect(await consume()).toMatchObject({ used: 1 })
    await db.raw('drop table koa_viewsets_throttles')
    const counts = await Promise.all(many(10).flatMap((key) => many(3).map(() => consume(String(key)))))
    expect(counts.map(({ used }) => used)).toEqual(many(10).flatMap(() => [1, 2, 3]))
    pass(1000)
    expect(await consume('0')).toMatchObject({ used: 4 })
    expect(warn.mock.calls).toEqual([
      [
        'throttles: the database does not count (42P01); each process counts in its memory until it does again',
        { code: 'KOA_VIEWSETS_THROTTLE_STORE' },
      ],
    ])
    await ensureThrottleTable(db)
    expect(await consume('0')).toMatchObject({ used: 5 })
    pass(1000)
    expect(await consume('0')).toMatchObject({ used: 1 })
    expect(store.outage.isOn).toBe(false)
    expect(await rows()).toEqual([{ key: '0', points: 1 }])
  })

  it('is one in memory while somebody locks it', async () => {
    const own = connect()
    const limiter = new DatabaseStore(own, { timeout: 50 }).limiter('4:test,', MINUTE)
    await db.transaction(async (trx) => {
      await trx.raw('lock table koa_viewsets_throttles in access exclusive mode')
      for (const used of [1, 2, 3, 4]) expect(await limiter.consume('a')).toMatchObject({ used })
      // what was given up waits for no lock at the server, whose connections it would use up
      const waiting = () =>
        trx('pg_locks')
          .where({ granted: false })
          .andWhereRaw("relation = 'koa_viewsets_throttles'::regclass")
          .pluck('pid')
      await expect.poll(waiting).toEqual([])
    })
    expect(warn).toHaveBeenCalledTimes(1)
    await own.destroy()
  })

  it('warns once a second at most when only some fail', async () => {
    const { consume, pass } = begin({ limit: 1000, seconds: 60 })
    await db.raw(`
      create function fail_some() returns trigger language plpgsql as
        $$ begin if new.key like 'bad%' then raise 'no' using errcode = '58000'; end if; return new; end $$;
      create trigger fail_some before insert on koa_viewsets_throttles for each row execute function fail_some()`)
    for (const second of many(3)) {
      pass(second === 0 ? 0 : 1000)
      await Promise.all(many(60).map((index) => consume(`${index % 2 ? 'bad' : 'good'} ${second} ${index}`)))
      expect(warn.mock.calls.length).toBeLessThanOrEqual(second + 1)
    }
    await db.raw('drop trigger fail_some on koa_viewsets_throttles; drop function fail_some')
  })

  it('is one in memory for a key that the database does not take, which is no outage', async () => {
    const { consume, store } = begin()
    for (const used of [1, 2, 3, 4]) expect(await consume('a\0b')).toMatchObject({ used })
    expect(await consume('x'.repeat(256))).toMatchObject({ used: 1 })
    expect(store.outage.isOn).toBe(false)
    expect(await consume()).toMatchObject({ used: 1 })
    expect(await rows()).toEqual([{ key: 'a', points: 1 }])
  })
})

describe('callers who hammer', () => {
  it.each([
    ['one', 1, 1, 1],
    ['many together', 100, 2, 5],
  ])('hold few connections: %s', async (_, callers, least, greatest) => {
    const own = connect()
    const limiter = new DatabaseStore(own, { timeout: 20_000 }).limiter('4:test,', { limit: 1000, seconds: 60 })
    let most = 0
    own.on('query', () => {
      most = Math.max(most, (own.client as { pool: { numUsed(): number } }).pool.numUsed())
    })
    await Promise.all(many(200).map(async (index) => limiter.consume(String(index % callers))))
    expect(most).toBeGreaterThanOrEqual(least)
    expect(most).toBeLessThanOrEqual(greatest)
    await own.destroy()
  })
})

describe('a busy process', () => {
  const begin = (timeout: number) => new DatabaseStore(db, { timeout }).limiter('4:test,', { limit: 1000, seconds: 60 })

  it('does not take a flood of callers for an outage', async () => {
    await db.raw(`
      create function be_slow() returns trigger language plpgsql as $$ begin perform pg_sleep(0.02); return new; end $$;
      create trigger be_slow before insert on koa_viewsets_throttles for each row execute function be_slow()`)
    const limiter = begin(1000)
    await Promise.all(many(300).map(async (index) => limiter.consume(String(index))))
    await db.raw('drop trigger be_slow on koa_viewsets_throttles; drop function be_slow')
    expect(await rows()).toHaveLength(300)
    expect(warn).not.toHaveBeenCalled()
  })

  it('does not take its own work for an outage', async () => {
    await db.raw('select 1')
    const limiter = begin(200)
    const counted = limiter.consume('a')
    await new Promise(setImmediate)
    const end = performance.now() + 250
    while (performance.now() < end);
    expect(await counted).toMatchObject({ used: 1 })
    expect(await rows()).toHaveLength(1)
    expect(warn).not.toHaveBeenCalled()
  })
})

describe('the sweeper', () => {
  it('deletes the counts that are over, and leaves those that are not or that somebody is at', async () => {
    const { store, consume } = begin()
    for (const key of many(30)) await consume(`old ${key}`)
    await advance(LENGTH + 1000)
    await consume('new')
    await db.transaction(async (trx) => {
      await trx.raw(`select 1 from koa_viewsets_throttles where key = 'old 0' for update`)
      expect(await store.sweep()).toBe(29)
    })
    expect((await rows()).map(({ key }) => key)).toEqual(['new', 'old 0'])
    expect(await store.sweep()).toBe(1)
    expect(await store.sweep()).toBe(0)
    store.close()
  })

  it('runs each minute while there is something to count, then ends', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const { store, consume } = begin()
    let sweeps = 0
    const count = ({ sql }: { sql: string }) => {
      if (/^\s*delete/i.test(sql)) sweeps++
    }
    db.on('query', count)
    onTestFinished(() => void db.removeListener('query', count))
    expect(vi.getTimerCount()).toBe(0)
    await consume()
    expect(vi.getTimerCount()).toBe(1)
    vi.advanceTimersByTime(60_000)
    await vi.waitFor(() => expect([sweeps, vi.getTimerCount()]).toEqual([1, 1]))
    vi.advanceTimersByTime(60_000)
    await vi.waitFor(() => expect([sweeps, vi.getTimerCount()]).toEqual([2, 0]))
    await consume()
    expect(vi.getTimerCount()).toBe(1)
    store.close()
    expect(vi.getTimerCount()).toBe(0)
  })

  it('says nothing when it cannot', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const { store, consume } = begin()
    await consume()
    await db.raw('drop table koa_viewsets_throttles')
    vi.advanceTimersByTime(60_000)
    vi.useRealTimers()
    await expect(store.sweep()).rejects.toThrow('koa_viewsets_throttles')
    expect(warn).not.toHaveBeenCalled()
    store.close()
  })
})
