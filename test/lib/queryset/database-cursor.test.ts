import { afterAll, beforeAll, expect, it } from 'vitest'
import { DatabaseCursor } from '../../../lib/queryset/database-cursor.js'
import { createDatabase, type TestDatabase } from '../../support/database.js'

let database: TestDatabase

beforeAll(async () => {
  database = await createDatabase({ schema: '' })
})
afterAll(() => database.drop())

function open(milliseconds: number): Promise<DatabaseCursor> {
  return DatabaseCursor.open(
    database.knex,
    { name: 'numbers', idleMilliseconds: milliseconds, bounds: { timeout: milliseconds } },
    { text: 'select generate_series(1, 3)', values: [] },
  )
}

it.each([1500.4, 1e15])('takes %s milliseconds, though PostgreSQL would not', async (milliseconds) => {
  const cursor = await open(milliseconds)
  await cursor.close()
})

it('has given its connection back when it is closed', async () => {
  const { pool } = database.knex.client as { pool: { numUsed(): number } }
  const cursor = await open(60_000)
  expect(await cursor.fetchRaw(2)).toEqual([['1'], ['2']])
  expect(pool.numUsed()).toBe(1)
  await cursor.close()
  expect(pool.numUsed()).toBe(0)
})
