/** What models are called in the table of changes. */
import { afterAll, beforeAll, expect, it } from 'vitest'
import { nameIn } from '../../../lib/changes/changes-table.js'
import { localSettings } from '../../../lib/postgres/local-settings.js'
import { scopedKnex } from '../../../lib/postgres/scoped-knex.js'
import { countQueries, createDatabase, type TestDatabase } from '../../support/database.js'

let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase()
})
afterAll(() => database.drop())

it('has the schema of a tenant that was asked for before there was one', async () => {
  const tenant = scopedKnex(database.knex, localSettings({ settings: { search_path: 'tenant' } }))
  expect(await nameIn(tenant, 'notes')).toBe('notes')
  await database.knex.raw('create schema tenant; create table tenant.notes ()')
  expect(await nameIn(tenant, 'notes')).toBe('tenant.notes')
})

it('has the schema of a tenant whose table came after one of the same name behind it', async () => {
  await database.knex.raw('create table letters ()')
  const tenant = scopedKnex(database.knex, localSettings({ settings: { search_path: '"later", public' } }))
  expect(await nameIn(tenant, 'letters')).toBe('public.letters')
  await database.knex.raw('create schema later; create table later.letters ()')
  const asked = await countQueries(database.knex, async () => {
    expect(await nameIn(tenant, 'letters')).toBe('later.letters')
    expect(await nameIn(tenant, 'letters')).toBe('later.letters')
  })
  expect(asked).toHaveLength(1)
})
