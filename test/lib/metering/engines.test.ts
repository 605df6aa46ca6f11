import { randomBytes } from 'node:crypto'
import knexLibrary, { type Knex } from 'knex'
import { knexSnakeCaseMappers } from 'objection'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { ConfigurationError } from '../../../lib/index.js'
import {
  InMemoryMeteringEngine,
  type MeteringEngine,
  PostgresMeteringEngine,
  type UsageEvent,
  type UsageReport,
} from '../../../lib/metering/index.js'
import { createDatabase, type TestDatabase } from '../../support/database.js'

let database: TestDatabase

beforeAll(async () => {
  database = await createDatabase()
})
afterAll(() => database.drop())
beforeEach(() => database.knex.raw('drop table if exists koa_viewsets_usage'))
afterEach(() => {
  vi.restoreAllMocks()
})

function event(account: string, timestamp: string, dimensions = {}, meter = 'api_usage'): UsageEvent {
  return {
    meter_name: meter,
    account_id: account,
    dimensions: { requests: 1, response_bytes: 512, duration_ms: 12.345, ...dimensions },
    timestamp,
  }
}

async function count(): Promise<number> {
  const { rows } = await database.knex.raw<{ rows: { count: string }[] }>('select count(*) from koa_viewsets_usage')
  return Number(rows[0]?.count)
}

/** Nothing is written by the clock alone. */
const LATER = 3_600_000

const engines: [string, () => Promise<MeteringEngine & UsageReport>][] = [
  ['InMemoryMeteringEngine', async () => new InMemoryMeteringEngine()],
  [
    'PostgresMeteringEngine',
    async () => {
      const engine = new PostgresMeteringEngine({ knex: database.knex, interval: LATER })
      await engine.ensureTable()
      return engine
    },
  ],
]

describe.each(engines)('%s', (_name, create) => {
  it('adds up an account from a moment to another, by meter', async () => {
    const engine = await create()
    void engine.record(event('7', '2026-03-01T00:00:00.000Z'))
    void engine.record(event('7', '2026-03-15T12:00:00.000Z', { response_bytes: 3_000_000_000, duration_ms: 0.1 }))
    void engine.record(event('7', '2026-03-31T23:59:59.999Z', {}, 'exports'))
    void engine.record(event('7', '2026-02-28T23:59:59.999Z'))
    void engine.record(event('7', '2026-04-01T00:00:00.000Z'))
    void engine.record(event('8', '2026-03-15T00:00:00.000Z'))
    const march = [new Date('2026-03-01T00:00:00Z'), new Date('2026-04-01T00:00:00Z')] as const
    expect(await engine.usage('7', ...march)).toEqual([
      { meter_name: 'api_usage', requests: 2, response_bytes: 3_000_000_512, duration_ms: 12.445 },
      { meter_name: 'exports', requests: 1, response_bytes: 512, duration_ms: 12.345 },
    ])
    expect(await engine.usage('9', ...march)).toEqual([])
    await engine.close?.()
  })
})

describe('InMemoryMeteringEngine', () => {
  it('forgets the oldest beyond its bound', () => {
    const engine = new InMemoryMeteringEngine({ maxEvents: 2 })
    for (const account of ['1', '2', '3']) engine.record(event(account, '2026-03-01T00:00:00.000Z'))
    expect(engine.events.map(({ account_id }) => account_id)).toEqual(['2', '3'])
    expect(() => new InMemoryMeteringEngine({ maxEvents: 0 })).toThrow(ConfigurationError)
  })
})

describe('PostgresMeteringEngine', () => {
  const NOW = '2026-03-28T15:30:00.123Z'

  function create(options: Partial<ConstructorParameters<typeof PostgresMeteringEngine>[0]> = {}) {
    return new PostgresMeteringEngine({ knex: database.knex, interval: LATER, ...options })
  }

  it('refuses numbers that are none, and more time than timers wait', () => {
    for (const [options, numbers] of [
      [['batchSize', 'maxQueue'], 'of at least 1'],
      [['interval', 'closeTimeout'], 'of milliseconds from 1 to 2147483647'],
    ] as const) {
      for (const option of options) {
        expect(() => create({ [option]: 0 })).toThrow(
          `PostgresMeteringEngine: ${option} is 0; give a whole number ${numbers}`,
        )
      }
    }
    expect(() => create({ interval: 2 ** 31 })).toThrow('PostgresMeteringEngine: interval is 2147483648; give')
  })

  it('creates its table once, in a schema too', async () => {
    await database.knex.raw('create schema if not exists meters')
    for (const table of ['koa_viewsets_usage', 'meters.usage']) {
      const engine = create({ table })
      await engine.ensureTable()
      await engine.ensureTable()
      engine.record(event('7', NOW))
      await engine.close()
      expect(await database.knex(table).count()).toEqual([{ count: '1' }])
    }
  })

  it('creates its table once, whoever asks at the same time, and asks for no more than it must', async () => {
    await Promise.all(Array.from({ length: 5 }, () => create().ensureTable()))
    const user = `writer_${process.pid}`
    await database.knex.raw(`create role ?? login password 'x'; grant select, insert on koa_viewsets_usage to ??`, [
      user,
      user,
    ])
    const connection = { ...database.connection, user, password: 'x' } as Knex.PgConnectionConfig
    const knex = knexLibrary({ client: 'pg', connection, pool: { min: 0, max: 1 } })
    try {
      await create({ knex }).ensureTable()
    } finally {
      await knex.destroy()
      await database.knex.raw('drop owned by ??; drop role ??', [user, user])
    }
  })

  it('finds its table again where knex maps names', async () => {
    const connection = { ...database.connection } as Knex.PgConnectionConfig
    const knex = knexLibrary({ client: 'pg', connection, pool: { min: 0, max: 1 }, ...knexSnakeCaseMappers() })
    try {
      for (let start = 0; start < 2; start++) await create({ knex, table: 'usageEvents' }).ensureTable()
      expect(await database.knex('usage_events')).toEqual([])
    } finally {
      await knex.destroy()
    }
  })

  it('writes a full batch at once by one statement, and the rest when it is closed', async () => {
    const engine = create({ batchSize: 100 })
    await engine.ensureTable()
    const statements = vi.spyOn(database.knex, 'raw')
    for (let index = 0; index < 250; index++) engine.record(event(String(index), NOW))
    expect(statements).toHaveBeenCalledTimes(1)
    await engine.close()
    expect(statements).toHaveBeenCalledTimes(3)
    expect(await count()).toBe(250)
    const [first] = await database.knex('koa_viewsets_usage').where({ account_id: '0' })
    expect(first).toMatchObject({
      meter_name: 'api_usage',
      requests: '1',
      response_bytes: '512',
      duration_ms: '12.345',
    })
    expect((first as { timestamp: Date }).timestamp.toISOString()).toBe(NOW)
  })

  it('works through a knex that renames', async () => {
    const knex = knexLibrary({
      client: 'pg',
      connection: { ...database.connection } as Knex.PgConnectionConfig,
      ...knexSnakeCaseMappers(),
    })
    const engine = create({ knex })
    await engine.ensureTable()
    engine.record(event('7', NOW))
    expect(await engine.usage('7', new Date(0), new Date(NOW))).toEqual([])
    expect(await engine.usage('7', new Date(NOW), new Date('2027-01-01'))).toEqual([
      { meter_name: 'api_usage', requests: 1, response_bytes: 512, duration_ms: 12.345 },
    ])
    await knex.destroy()
  })

  it('writes by the clock what no batch fills', async () => {
    const engine = create({ interval: 1 })
    await engine.ensureTable()
    engine.record(event('7', NOW))
    await vi.waitFor(async () => expect(await count()).toBe(1))
  })

  it('takes events after it was closed, and can be closed again', async () => {
    const engine = create()
    await engine.ensureTable()
    await engine.close()
    engine.record(event('7', NOW))
    await engine.close()
    expect(await count()).toBe(1)
  })

  it('[G12] waits for a database that is away, tells so once, holds no more than its bound, and loses none of those', async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockReturnValue()
    const engine = create({ batchSize: 10, maxQueue: 50 })
    for (let index = 0; index < 20; index++) engine.record(event(String(index), NOW))
    for (let attempt = 0; attempt < 3; attempt++) expect(await engine.flush()).toBe(false)
    for (let index = 20; index < 100; index++) engine.record(event(String(index), NOW))
    expect(warn).toHaveBeenCalledExactlyOnceWith('usage events cannot be written and wait: 42P01', {
      code: 'KOA_VIEWSETS_METERING',
    })
    await engine.ensureTable()
    await engine.close()
    // ten in hand, fifty in the queue
    expect(await count()).toBe(60)
    expect(warn).toHaveBeenCalledTimes(2)
    expect(warn).toHaveBeenLastCalledWith('40 usage events were lost while the database was away', expect.anything())
  })

  it('[G12] writes a full queue as soon as it can again, not a batch an interval', async () => {
    vi.spyOn(process, 'emitWarning').mockReturnValue()
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const interval = 3_600_000
    const engine = create({ batchSize: 10, maxQueue: 50, interval })
    for (let index = 0; index < 100; index++) engine.record(event(String(index), NOW))
    expect(await engine.flush()).toBe(false)
    await engine.ensureTable()
    vi.advanceTimersByTime(interval)
    await vi.waitFor(async () => expect(await count()).toBe(60))
  })

  it('[G12] tells at its end of all that was lost', async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockReturnValue()
    const engine = create({ batchSize: 10, maxQueue: 50, closeTimeout: 50 })
    for (let index = 0; index < 100; index++) engine.record(event(String(index), NOW))
    await engine.close()
    expect(warn).toHaveBeenLastCalledWith('100 usage events could not be written before the end', expect.anything())
  })

  it('counts a batch once whose answer was lost', async () => {
    vi.spyOn(process, 'emitWarning').mockReturnValue()
    let losing = true
    const knex = {
      async raw(...values: Parameters<Knex['raw']>) {
        const result: unknown = await database.knex.raw(...values)
        if (!losing) return result
        losing = false
        throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' })
      },
    } as unknown as Knex
    await create().ensureTable()
    const engine = create({ knex })
    for (let index = 0; index < 5; index++) engine.record(event('7', NOW))
    expect(await engine.flush()).toBe(false)
    expect(await engine.flush()).toBe(true)
    expect(await count()).toBe(5)
  })

  it('loses events that the database can never take, and no others', async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockReturnValue()
    const engine = create()
    await engine.ensureTable()
    engine.record(event('a\0b', NOW))
    await engine.flush()
    for (let batch = 0; batch < 3; batch++) {
      engine.record(event('7', 'yesterday or so'))
      await engine.flush()
    }
    expect(warn).toHaveBeenCalledExactlyOnceWith('1 usage event was refused and is lost: 22007', expect.anything())
    engine.record(event('7', NOW))
    await engine.close()
    expect(await database.knex('koa_viewsets_usage').pluck('account_id')).toEqual(['ab', '7'])
    expect(warn).toHaveBeenLastCalledWith('2 more usage events were refused and are lost', expect.anything())
    expect(warn).toHaveBeenCalledTimes(2)
  })

  it('loses of a batch the events that are refused, and no others', async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockReturnValue()
    const engine = create()
    await engine.ensureTable()
    for (let index = 0; index < 40; index++) engine.record(event(String(index), index % 13 === 7 ? 'some day' : NOW))
    expect(await engine.flush()).toBe(true)
    await engine.close()
    expect(await count()).toBe(37)
    expect(warn).toHaveBeenCalledWith('1 usage event was refused and is lost: 22007', expect.anything())
  })

  it('loses an account that the index has no room for, and holds up nobody', async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockReturnValue()
    const engine = create()
    await engine.ensureTable()
    engine.record(event(randomBytes(4_000).toString('hex'), NOW))
    await engine.flush()
    engine.record(event('7', NOW))
    expect(await engine.flush()).toBe(true)
    expect(warn).toHaveBeenCalledExactlyOnceWith('1 usage event was refused and is lost: 54000', expect.anything())
    expect(await database.knex('koa_viewsets_usage').pluck('account_id')).toEqual(['7'])
    await engine.close()
  })

  it('gives up at the end after its time, and says what is lost', async () => {
    const warn = vi.spyOn(process, 'emitWarning').mockReturnValue()
    const hanging = create({ knex: { raw: () => new Promise(() => {}) } as unknown as Knex, closeTimeout: 10 })
    hanging.record(event('7', NOW))
    await hanging.close()
    expect(warn).toHaveBeenCalledExactlyOnceWith(
      '1 usage events could not be written before the end',
      expect.anything(),
    )
  })
})
