/** The table of kept answers: what is over is deleted, by whoever comes first. */
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest'
import { ensureIdempotencyTable, idempotencyTable, stopSweeping } from '../../../lib/idempotency/table.js'
import { database, useLibrary } from '../../support/library.js'

useLibrary()
beforeAll(() => ensureIdempotencyTable(database.knex))
beforeEach(() => database.knex.raw('truncate koa_viewsets_idempotency'))
afterEach(() => {
  vi.useRealTimers()
  stopSweeping()
})

const answer = { status: 201, headers: { Location: '/books/1' }, body: Buffer.from('{}'), isKept: true }
const entry = (n: number) => ({
  ...answer,
  id: Buffer.from(`id ${n}`),
  key: `k${n}`,
  caller: 'ann',
  route: 'POST /books',
  fingerprint: Buffer.from('same'),
})
const keys = () => database.knex('koa_viewsets_idempotency').orderBy('key').pluck('key') as Promise<string[]>
const end = (...names: string[]) =>
  database
    .knex('koa_viewsets_idempotency')
    .whereIn('key', names)
    .update({ expires_at: database.knex.raw(`now() - interval '1 s'`) })

describe('an answer', () => {
  it('is found as it was kept, until its time is over', async () => {
    const table = await idempotencyTable(database.knex)
    await table.keep(database.knex, entry(1))
    expect(await table.find(database.knex, entry(1).id)).toEqual({ ...answer, fingerprint: Buffer.from('same') })
    expect(await table.find(database.knex, entry(2).id)).toBeUndefined()
    await end('k1')
    expect(await table.find(database.knex, entry(1).id)).toBeUndefined()
  })

  it('takes the place of one whose time is over, and of no other', async () => {
    const table = await idempotencyTable(database.knex)
    expect(await table.keep(database.knex, entry(1))).toBe(true)
    expect(await table.keep(database.knex, { ...entry(1), status: 200 })).toBe(false)
    await end('k1')
    expect(await table.keep(database.knex, { ...entry(1), status: 200 })).toBe(true)
    expect(await table.find(database.knex, entry(1).id)).toMatchObject({ status: 200 })
  })
})

describe('the sweeper', () => {
  it('deletes what was kept in transactions of a pool, by that', async () => {
    const table = await idempotencyTable(database.knex)
    for (const n of [1, 2]) {
      await database.knex.transaction(async (trx) => {
        const own = await idempotencyTable(trx)
        expect(own).toBe(table)
        await own.keep(trx, entry(n))
      })
    }
    await end('k1')
    expect(await table.sweep()).toBe(1)
    expect(await keys()).toEqual(['k2'])
  })

  it('deletes what is over, beside another that does', async () => {
    const table = await idempotencyTable(database.knex)
    for (const n of [1, 2, 3, 4]) await table.keep(database.knex, entry(n))
    await end('k1', 'k2', 'k3')
    const swept = await database.knex.transaction(async (trx) => {
      // what another deletes at the moment is left to it
      await trx('koa_viewsets_idempotency').where('key', 'k2').forUpdate()
      const counts = await Promise.all([table.sweep(), table.sweep()])
      return counts[0] + counts[1]
    })
    expect(swept).toBe(2)
    expect(await keys()).toEqual(['k2', 'k4'])
  })

  it('comes once a minute while answers are kept, and no more once it is stopped', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const table = await idempotencyTable(database.knex)
    await table.keep(database.knex, entry(1))
    await table.keep(database.knex, entry(2))
    await end('k1')
    vi.advanceTimersByTime(60_000)
    await vi.waitFor(async () => expect(await keys()).toEqual(['k2']))
    await end('k2')
    stopSweeping()
    expect(vi.getTimerCount()).toBe(0)
    await table.keep(database.knex, entry(3))
    expect(vi.getTimerCount()).toBe(1)
    // a minute without an answer
    vi.advanceTimersByTime(120_000)
    expect(vi.getTimerCount()).toBe(0)
  })
})
