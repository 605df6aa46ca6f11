/** Pools that reach one database. */
import knex, { type Knex } from 'knex'
import { expect, it, onTestFinished } from 'vitest'
import { isOneDatabase } from '../../../lib/postgres/one-database.js'
import { countQueries, createDatabase, type TestDatabase } from '../../support/database.js'

async function open(): Promise<TestDatabase> {
  const database = await createDatabase()
  onTestFinished(() => database.drop())
  return database
}

it('Pools of one database are asked once which it is, those of two each time', async () => {
  const [one, two] = [await open(), await open()]
  const pool = knex({ client: 'pg', connection: one.connection as Knex.PgConnectionConfig })
  onTestFinished(() => pool.destroy())
  const ask = (other: Knex) => async () => expect(await isOneDatabase(pool, other)).toBe(other === one.knex)
  const asked = async (other: Knex) => (await countQueries(pool, ask(other))).length
  expect([await asked(one.knex), await asked(one.knex)]).toEqual([1, 0])
  expect([await asked(two.knex), await asked(two.knex)]).toEqual([1, 1])
})
