import { text } from 'node:stream/consumers'
import knexLibrary, { type Knex } from 'knex'
import { Model } from 'objection'
import pg from 'pg'
import { to as copyTo } from 'pg-copy-streams'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { prepareModels } from '../../../lib/models/describe-model.js'
import { shareTurns } from '../../../lib/postgres/row-stream.js'
import { runStatement, statementOf } from '../../../lib/postgres/run-statement.js'
import { createDatabase, type TestDatabase } from '../../support/database.js'
import { takesPool } from '../../support/installed.js'
import { busyFor } from '../../support/turns.js'

class Thing extends Model {
  static override tableName = 'things'
}

/** A connection as pg makes it. */
interface Client {
  readonly connection: { on(event: 'dataRow', listener: (row: unknown) => void): void }
}

let database: TestDatabase

beforeAll(async () => {
  database = await createDatabase({ schema: 'create table things (id int primary key)' })
  Thing.knex(database.knex)
})
afterAll(() => database.drop())

/** The most rows of three long answers at once that pg reads in one turn. */
async function mostAtOnce(knex: Knex): Promise<number> {
  let rows = 0
  let most = 0
  const types = {
    getTypeParser: () => (text: string) => {
      if (rows++ === 0) setImmediate(() => (rows = 0))
      most = Math.max(most, rows)
      busyFor(3)
      return text.length
    },
  }
  const longAnswer = async () => {
    const { rows: all } = await knex
      .raw("select repeat('x', 65000) as text from generate_series(1, 40)")
      .options({ types })
    expect(all).toHaveLength(40)
  }
  await Promise.all([longAnswer(), longAnswer(), longAnswer()])
  return most
}

// ten milliseconds, and a piece of what has arrived for each connection
const FEW = 12

it('a long answer is read in several turns of the event loop, on connections of before and after', async () => {
  await database.knex.raw('select 1')
  await prepareModels([Thing])
  expect(await mostAtOnce(database.knex)).toBeLessThan(FEW)
})

it.skipIf(!takesPool)('so is one on connections that a pg.Pool of the application has already', async () => {
  const connectionPool = new pg.Pool({ ...database.connection, max: 1 })
  const knex = knexLibrary({ client: 'pg', connectionPool } as Knex.Config)
  onTestFinished(() => connectionPool.end())
  await knex.raw('select 1')
  shareTurns(knex)
  expect(await mostAtOnce(knex)).toBeLessThan(FEW)
})

it('COPY TO of pg-copy-streams has the connection to itself, and gives it back', async () => {
  await database.knex.raw('select 1')
  await prepareModels([Thing])
  await database.knex.raw('insert into things select generate_series(101, 102)')
  const client = await database.knex.client.acquireConnection()
  const rows = await text(client.query(copyTo('copy (select id from things where id > 100 order by id) to stdout')))
  await database.knex.client.releaseConnection(client)
  expect(rows).toBe('101\n102\n')
  const read = () => runStatement(database.knex, statementOf('select id from things where id > 100 order by id'), [])
  expect(await read()).toEqual([['101'], ['102']])
  await database.knex.raw('delete from things')
})

it('rows of lists pass by the parser of pg as before', async () => {
  await prepareModels([Thing])
  await database.knex.raw('insert into things select generate_series(1, 40)')
  const parsed: unknown[] = []
  for (const { resource } of database.knex.client.pool.free as { resource: Client }[]) {
    resource.connection.on('dataRow', (row) => parsed.push(row))
  }
  const read = () => runStatement(database.knex, statementOf('select id from things order by id'), [])
  const rows = await Promise.all([read(), read()])
  expect(rows.map((own) => own.length)).toEqual([40, 40])
  expect(parsed).toEqual([])
})
