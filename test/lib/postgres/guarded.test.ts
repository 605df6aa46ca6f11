import knexLibrary, { type Knex } from 'knex'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { runBounded } from '../../../lib/postgres/guarded.js'
import type { Queryable } from '../../../lib/postgres/pg-types.js'
import { runStatement, statementOf } from '../../../lib/postgres/run-statement.js'
import { DatabaseCursor } from '../../../lib/queryset/database-cursor.js'
import { createDatabase, poolMode, type TestDatabase } from '../../support/database.js'

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase({ schema: 'create table rows (id int primary key)' })
})
afterAll(() => database.drop())

const WAYS = ['statements of their own', 'a transaction of the caller'] as const

/** The knex that reads are given, in both ways. */
function inWay<T>(way: (typeof WAYS)[number], knex: Knex, work: (knex: Queryable) => Promise<T>): Promise<T> {
  return way === WAYS[0] ? work(knex) : knex.transaction(work)
}

const settingOf = async (knex: Queryable, name: string) =>
  (await runStatement(knex, statementOf(`select current_setting('${name}')`), []))[0]?.[0]

describe.each(WAYS)('bounded reads, as %s', (way) => {
  it('run with their bounds, and leave the connection as it was', async () => {
    const read = (knex: Queryable) =>
      runBounded(knex, { timeout: 1_234, jit: false }, async (bounded) => [
        await settingOf(bounded, 'statement_timeout'),
        await settingOf(bounded, 'jit'),
        (await bounded.raw('show statement_timeout')).rows[0].statement_timeout,
      ])
    expect(await inWay(way, database.knex, read)).toEqual(['1234ms', 'off', '1234ms'])
    expect((await database.knex.raw('show statement_timeout')).rows).toEqual([{ statement_timeout: '0' }])
  })

  it('[R4] end a statement that takes too long, and give the connection back', async () => {
    // longer than the test may take
    const sleep = (knex: Queryable) => runBounded(knex, { timeout: 50 }, async (own) => own.raw('select pg_sleep(60)'))
    await expect(inWay(way, database.knex, sleep)).rejects.toMatchObject({ code: '57014' })
    expect(database.knex.client.pool.numUsed()).toBe(0)
  })
})

it('[R4] bounded reads refuse to write', async () => {
  const write = runBounded(database.knex, { timeout: 1_000 }, async (own) => own('rows').insert({ id: 1 }))
  await expect(write).rejects.toMatchObject({ code: '25006' })
  expect(await database.knex('rows')).toEqual([])
})

it('reads that are bounded for their form alone may lock rows, on another driver, too', async () => {
  class OtherDriver extends (database.knex.client.constructor as typeof Knex.Client) {
    override driverName = 'other'
  }
  const connection = database.connection as Knex.PgConnectionConfig
  const other = knexLibrary({ client: OtherDriver, connection, pool: { min: 0, max: 1 } })
  onTestFinished(() => other.destroy())
  for (const knex of [database.knex, other]) {
    expect(await runBounded(knex, { jit: false }, async (own) => own('rows').forUpdate())).toEqual([])
  }
  const write = runBounded(other, { timeout: 1_000 }, async (own) => own('rows').forUpdate())
  await expect(write).rejects.toMatchObject({ code: '25006' })
})

describe.skipIf(poolMode() !== undefined)('an operator’s timeout', () => {
  const connect = (options: string) => {
    const connection = { ...database.direct, options: `-c ${options}` } as Knex.PgConnectionConfig
    const knex = knexLibrary({ client: 'pg', connection, pool: { min: 0, max: 1 } })
    onTestFinished(() => knex.destroy())
    return knex
  }

  it.each([
    ['300ms', '300ms'],
    ['2s', '2s'],
    ['1min', '5s'],
    ['0', '5s'],
  ])('of %s for statements, beside one of 5 s here: %s counts', async (given, counts) => {
    const knex = connect(`statement_timeout=${given}`)
    for (const way of WAYS) {
      const read = (own: Queryable) =>
        runBounded(own, { timeout: 5_000 }, (bounded) => settingOf(bounded, 'statement_timeout'))
      expect([way, await inWay(way, knex, read)]).toEqual([way, counts])
    }
  })

  it.each([
    ['300ms', '300ms'],
    ['1h', '1min'],
  ])('of %s for idle transactions, beside one of a minute here: %s counts', async (given, counts) => {
    const name = 'idle_in_transaction_session_timeout'
    const knex = connect(`${name}=${given}`)
    const cursor = await DatabaseCursor.open(
      knex,
      { name: 'numbers', idleMilliseconds: 60_000 },
      { text: 'select 1', values: [] },
    )
    expect(await settingOf(cursor.trx, name)).toBe(counts)
    await cursor.close()
  })
})
