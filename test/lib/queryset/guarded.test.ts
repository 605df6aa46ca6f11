import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runGuarded } from '../../../lib/queryset/guarded.js'
import { createDatabase, type TestDatabase } from '../../support/database.js'

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase({ schema: 'create table rows (id int primary key)' })
})
afterAll(() => database.drop())

describe('runGuarded', () => {
  it('returns what the work does, and leaves the connection as it was', async () => {
    expect(
      await runGuarded(database.knex, 1_234, async (trx) => (await trx.raw('show statement_timeout')).rows),
    ).toEqual([{ statement_timeout: '1234ms' }])
    expect((await database.knex.raw('show statement_timeout')).rows).toEqual([{ statement_timeout: '0' }])
  })

  it('[R4] refuses to write', async () => {
    await expect(runGuarded(database.knex, 1_000, async (trx) => trx('rows').insert({ id: 1 }))).rejects.toMatchObject({
      code: '25006',
    })
    expect(await database.knex('rows')).toEqual([])
  })

  it('[R4] ends a statement that takes too long, and gives the connection back', async () => {
    const start = performance.now()
    await expect(runGuarded(database.knex, 50, async (trx) => trx.raw('select pg_sleep(5)'))).rejects.toMatchObject({
      code: '57014',
    })
    expect(performance.now() - start).toBeLessThan(2_000)
    expect(database.knex.client.pool.numUsed()).toBe(0)
  })
})
