import type { Knex } from 'knex'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createApiKeysTable } from '../../../lib/api-keys/index.js'
import { ensureIdempotencyTable } from '../../../lib/idempotency/index.js'
import { PostgresMeteringEngine } from '../../../lib/metering/index.js'
import { DatabaseThrottle } from '../../../lib/throttling/index.js'
import { ensureWebhookTables } from '../../../lib/webhooks/index.js'
import { createDatabase, type TestDatabase } from '../../support/database.js'
import { runsAsRole } from '../../support/roles.js'

const role = `caller_${Date.now()}`
let database: TestDatabase
beforeAll(async () => {
  database = await createDatabase({
    schema: `create role ${role}; alter default privileges grant all on tables to ${role}, public; create table plain ()`,
  })
})
afterAll(async () => {
  await database.knex.raw(`drop owned by ${role}; drop role ${role}`)
  await database.drop()
})

describe.skipIf(runsAsRole())('a table of the package', () => {
  it.each<[string, (knex: Knex) => Promise<void>]>([
    ['koa_viewsets_api_keys', createApiKeysTable],
    ['koa_viewsets_throttles', (knex) => DatabaseThrottle.ensureTable(knex)],
    ['koa_viewsets_usage', (knex) => new PostgresMeteringEngine({ knex }).ensureTable()],
    ['koa_viewsets_idempotency', ensureIdempotencyTable],
    ['koa_viewsets_webhook_endpoints', ensureWebhookTables],
  ])('%s is for its owner only, whatever default privileges say', async (table, ensure) => {
    const { knex } = database
    await ensure(knex)
    const may = async (name: string) =>
      (await knex.raw('select has_table_privilege(?, ?, ?) as may', [role, name, 'select, insert'])).rows[0].may
    expect([await may('plain'), await may(table)]).toEqual([true, false])
    // what an operator grants afterwards stays
    await knex.raw(`grant select on ${table} to ${role}`)
    await ensure(knex)
    expect(await may(table)).toBe(true)
  })
})
