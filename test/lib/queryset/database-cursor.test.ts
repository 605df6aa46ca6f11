import knexLibrary, { type Knex } from 'knex'
import type pg from 'pg'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import type { Queryable } from '../../../lib/postgres/pg-types.js'
import { DatabaseCursor } from '../../../lib/queryset/database-cursor.js'
import { createDatabase, type TestDatabase } from '../../support/database.js'

let database: TestDatabase

beforeAll(async () => {
  database = await createDatabase({ schema: '' })
})
afterAll(() => database.drop())

function open(milliseconds: number, knex: Knex = database.knex): Promise<DatabaseCursor> {
  return DatabaseCursor.open(
    knex as Queryable,
    { name: 'numbers', idleMilliseconds: milliseconds, bounds: { timeout: milliseconds } },
    { text: 'select generate_series(1, 3)', values: [] },
  )
}

it.each([1500.4, 1e15])('takes %s milliseconds, though PostgreSQL would not', async (milliseconds) => {
  const cursor = await open(milliseconds)
  await cursor.close()
})

it('fails by what has kept its transaction from beginning', async () => {
  const knex = knexLibrary({
    client: 'pg',
    connection: database.direct as Knex.PgConnectionConfig,
    pool: {
      min: 0,
      max: 1,
      // a transaction that has failed is all that the connection has
      afterCreate: (connection: pg.Client, done: (error: unknown, connection: pg.Client) => void) =>
        connection.query('begin; select 1 / 0', () => done(null, connection)),
    },
    log: { error() {} },
  })
  onTestFinished(() => knex.destroy())
  await expect(open(60_000, knex)).rejects.toMatchObject({ code: '25P02' })
  expect((knex.client as { pool: { numUsed(): number } }).pool.numUsed()).toBe(0)
})

it('has given its connection back when it is closed', async () => {
  const { pool } = database.knex.client as { pool: { numUsed(): number } }
  const cursor = await open(60_000)
  expect(await cursor.fetchRaw(2)).toEqual([['1'], ['2']])
  expect(pool.numUsed()).toBe(1)
  await cursor.close()
  expect(pool.numUsed()).toBe(0)
})

it('gives back no connection that a cancel request may still come to', async () => {
  const knex = knexLibrary({
    client: 'pg',
    connection: { ...database.direct } as Knex.PgConnectionConfig,
    pool: { min: 0, max: 1 },
    log: { warn() {} },
  })
  onTestFinished(() => knex.destroy())
  const pid = async () => (await knex.raw('select pg_backend_pid() as pid')).rows[0].pid as number
  const before = await pid()
  const cursor = await open(60_000, knex)
  const rows = cursor.fetchRaw(2)
  const { pool } = knex.client as { pool: { used: readonly { resource: pg.ClientConfig }[] } }
  // where nobody listens
  Object.assign(pool.used[0]?.resource as object, { port: 1 })
  await cursor.cancel()
  expect(await rows).toEqual([['1'], ['2']])
  await cursor.close()
  expect(await pid()).not.toBe(before)
})
