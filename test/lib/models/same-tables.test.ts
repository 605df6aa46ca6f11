/** Databases of tenants: which differences of their tables matter. */
import { Model } from 'objection'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { prepareModels } from '../../../lib/models/describe-model.js'
import { findsSameTables } from '../../../lib/models/same-tables.js'
import { createDatabase, type TestDatabase } from '../../support/database.js'

const TABLES = `
  create table sources (id int primary key);
  create table events (
    id int, month int, source_id int references sources, primary key (id, month)
  ) partition by list (month);
  create table events_11 partition of events for values in (11);`

class Event extends Model {
  static override tableName = 'events'
  static override idColumn = ['id', 'month']
}

let north: TestDatabase
let south: TestDatabase
beforeAll(async () => {
  north = await createDatabase({ schema: TABLES })
  south = await createDatabase({ schema: TABLES })
  await prepareModels([Event], north.knex)
})
afterAll(() => Promise.all([north.drop(), south.drop()]))

it('partitions of its own make no other table', async () => {
  await south.knex.raw(`
    create table events_12 partition of events for values in (12);
    create unique index on events_12 (id);
    alter table events_12 add check (id > 0)`)
  expect(await findsSameTables([Event], south.knex, undefined)).toBe(true)
})

it('row-level security of a table that a foreign key leads to makes another one', async () => {
  await south.knex.raw('alter table sources enable row level security')
  await expect(findsSameTables([Event], south.knex, undefined)).rejects.toThrow('has other constraints')
})
