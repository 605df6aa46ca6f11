/** Statements of ours beside what knex does with its own. */
import knexLibrary, { type Knex } from 'knex'
import { Pool } from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { toApiError } from '../../../lib/postgres/database-errors.js'
import { localSettings } from '../../../lib/postgres/local-settings.js'
import { runStatement, statementOf } from '../../../lib/postgres/run-statement.js'
import { scopedKnex } from '../../../lib/postgres/scoped-knex.js'
import { DatabaseCursor } from '../../../lib/queryset/database-cursor.js'
import { createDatabase, type TestDatabase } from '../../support/database.js'
import { takesPool } from '../../support/installed.js'

let database: TestDatabase

beforeAll(async () => {
  database = await createDatabase({ schema: 'create table marks (n int)' })
})
afterAll(() => database.drop())

async function withKnex(options: object, work: (knex: Knex) => Promise<void>): Promise<void> {
  const connection = { ...database.connection } as Knex.PgConnectionConfig
  const knex = knexLibrary({ client: 'pg', connection, pool: { min: 0, max: 2 }, ...options })
  try {
    await work(knex)
  } finally {
    await knex.destroy()
  }
}

function run(knex: Knex, text: string, values: readonly unknown[] = []) {
  return runStatement(knex as never, statementOf(text), values)
}

describe('a statement', () => {
  it.each(['query', 'query-response'])('fails alone where a listener of %s throws', async (event) => {
    await withKnex({}, async (knex) => {
      const listener = () => {
        throw new Error('of the listener')
      }
      knex.on(event, listener)
      for (let time = 0; time < 3; time++) await expect(run(knex, 'select 1')).rejects.toThrow('of the listener')
      expect(knex.client.pool.numUsed()).toBe(0)
      knex.removeListener(event, listener)
      expect(await run(knex, 'select 1')).toEqual([['1']])
    })
  })

  it('fails alone where a listener of its error throws', async () => {
    await withKnex({}, async (knex) => {
      knex.on('query-error', () => {
        throw new Error('of the listener')
      })
      await expect(run(knex, 'select 1/0')).rejects.toThrow('of the listener')
      expect(await run(knex, 'select 1')).toEqual([['1']])
    })
  })

  it('leaves its connection where code of the database says that another one is lost', async () => {
    await withKnex({ pool: { min: 0, max: 1 } }, async (knex) => {
      const processOf = () => run(knex, 'select pg_backend_pid()')
      const first = await processOf()
      await expect(run(knex, "do $$ begin raise 'remote' using errcode = '08006'; end $$")).rejects.toThrow('remote')
      expect(await processOf()).toEqual(first)
    })
  })

  it('tells listeners what knex does: rows, the query, and something that is written as SQL', async () => {
    await withKnex({}, async (knex) => {
      const heard: unknown[] = []
      knex.on('query-response', (rows, { sql }, builder) => heard.push(rows, sql, String(builder)))
      await run(knex, 'select 1 as one')
      expect(heard).toEqual([[['1']], 'select 1 as one', 'select 1 as one'])
    })
  })

  it.each([
    ['by itself', (knex: Knex) => knex],
    ['behind the settings of a request', (knex: Knex) => scopedKnex(knex, localSettings({}))],
  ])('outlives a type that is made anew, as where an enum loses a value: %s', async (_, own) => {
    await withKnex({ pool: { min: 0, max: 1 } }, async (knex) => {
      await knex.raw("create type mood as enum ('sad', 'ok'); create table feelings (mood mood)")
      const insert = () => run(own(knex), 'insert into feelings values ($1) returning mood', ['ok'])
      expect(await insert()).toEqual([['ok']])
      await knex.raw(
        "create type less as enum ('ok'); alter table feelings alter mood type less using mood::text::less; drop type mood",
      )
      expect(await insert()).toEqual([['ok']])
      await knex.raw('drop table feelings; drop type less')
    })
  })

  it('[A8] is refused once its transaction has ended, by whatever way', async () => {
    await withKnex({}, async (knex) => {
      const trx = await knex.transaction()
      const point = await trx.transaction()
      await trx.rollback()
      for (const ended of [trx, point]) {
        await expect(run(ended, 'insert into marks values (1)')).rejects.toThrow('Transaction query already complete')
      }
      expect(await run(knex, 'select count(*) from marks')).toEqual([['0']])
    })
  })

  it.skipIf(!takesPool)("runs on a pool of the application's own", async () => {
    const connectionPool = new Pool({ ...database.connection, max: 2 })
    await withKnex({ connection: undefined, pool: undefined, connectionPool }, async (knex) => {
      const all = await Promise.all(Array.from({ length: 20 }, (_, n) => run(knex, 'select $1::int', [n])))
      expect(all.map(([row]) => Number(row?.[0]))).toEqual(Array.from({ length: 20 }, (_, n) => n))
    })
    if (!connectionPool.ended) await connectionPool.end()
  })
})

describe('a cursor of the database', () => {
  it('fails for what its transaction failed for, where that could not begin', async () => {
    await withKnex({}, async (knex) => {
      type Connection = { connection: { stream: { destroy(): void } } }
      const { client } = knex as unknown as { client: { acquireConnection(): Promise<Connection> } }
      const acquire = client.acquireConnection.bind(client)
      client.acquireConnection = async () => {
        const connection = await acquire()
        connection.connection.stream.destroy()
        return connection
      }
      const statement = { text: 'select 1', values: [] }
      const opening = DatabaseCursor.open(knex as never, { name: 'x', idleMilliseconds: 1000 }, statement)
      const error: unknown = await opening.catch((caught: unknown) => caught)
      expect(String(error)).not.toContain('already complete')
      expect(toApiError(error)).toMatchObject({ status: 503 })
      client.acquireConnection = acquire
      await expect.poll(() => knex.client.pool.numUsed()).toBe(0)
    })
  })
})
