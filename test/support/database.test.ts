import { describe, expect, it } from 'vitest'
import { countQueries, createDatabase } from './database.js'

describe('createDatabase', () => {
  it('makes databases that know nothing of each other, and drops them', async () => {
    const [one, two] = await Promise.all([
      createDatabase({ schema: 'create table papers (id int primary key); insert into papers values (1), (2)' }),
      createDatabase(),
    ])
    const name = (await one.knex.raw('select current_database() as name')).rows[0].name as string
    expect(await one.knex('papers').select()).toEqual([{ id: 1 }, { id: 2 }])
    expect((await two.knex.raw(`select to_regclass('papers') as found`)).rows).toEqual([{ found: null }])
    await one.drop()
    expect(await two.knex('pg_database').where({ datname: name })).toEqual([])
    await two.drop()
  })
})

describe('countQueries', () => {
  it('sees every statement, those of transactions too, and none before or after', async () => {
    const { knex, drop } = await createDatabase({ schema: 'create table papers (id int primary key)' })
    await knex.raw('select 0')
    const texts = await countQueries(knex, async () => {
      await knex.raw('select 1')
      await knex.transaction(async (trx) => {
        await trx('papers').insert({ id: 1 })
      })
    })
    await knex.raw('select 2')
    expect(texts).toEqual(['select 1', 'BEGIN;', 'insert into "papers" ("id") values ($1)', 'COMMIT;'])
    await drop()
  })
})
