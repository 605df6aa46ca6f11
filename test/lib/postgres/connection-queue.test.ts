/** Statements that wait for a connection, over a pool of two. */
import { AsyncLocalStorage } from 'node:async_hooks'
import knexLibrary, { type Knex } from 'knex'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { ClientGone } from '../../../lib/kernel/errors.js'
import { checkSession, refusalOfUid } from '../../../lib/postgres/connection-queue.js'
import { clientOf } from '../../../lib/postgres/pg-types.js'
import { type RawRow, runStatement, statementOf } from '../../../lib/postgres/run-statement.js'
import { createDatabase, poolMode, type TestDatabase } from '../../support/database.js'
import { takesPool } from '../../support/installed.js'

let database: TestDatabase
let knex: Knex

function connect(acquireConnectionTimeout: number): Knex {
  return knexLibrary({
    client: 'pg',
    connection: { ...database.connection } as Knex.PgConnectionConfig,
    pool: { min: 0, max: 2 },
    acquireConnectionTimeout,
  })
}

beforeEach(async () => {
  database = await createDatabase()
  knex = connect(10_000)
  // both connections are there
  await Promise.all([run('select pg_sleep(0.05)'), run('select pg_sleep(0.05)')])
})

afterEach(async () => {
  await knex.destroy()
  await database.drop()
})

function run(text: string, values: readonly unknown[] = []): Promise<RawRow[]> {
  return runStatement(knex as never, statementOf(text), values)
}

/** Counts how often the pool was asked for a connection while `work` ran. */
async function countAcquires(work: () => Promise<unknown>): Promise<number> {
  let count = 0
  const { pool } = knex.client
  const listener = () => {
    count++
  }
  pool.on('acquireRequest', listener)
  try {
    await work()
  } finally {
    pool.removeListener('acquireRequest', listener)
  }
  return count
}

function held(): number {
  return knex.client.pool.numUsed()
}

/** How many statements sleep in the database. */
async function sleeping(): Promise<number> {
  const { rows } = await database.knex.raw(
    `select count(*)::int from pg_stat_activity where state = 'active' and query ~ '^select pg_sleep' and datname = current_database()`,
  )
  return rows[0].count
}

describe('a connection', () => {
  it('goes from one statement to the next, and to the pool in the end', async () => {
    let most = 0
    const wrong: unknown[] = []
    const acquired = await countAcquires(async () => {
      const readers = Array.from({ length: 20 }, async (_, reader) => {
        for (let index = 0; index < 50; index++) {
          const [row] = await run('select $1::int', [reader * 50 + index])
          if (row?.[0] !== String(reader * 50 + index)) wrong.push(row)
          most = Math.max(most, held())
        }
      })
      await Promise.all(readers)
    })
    expect(wrong).toEqual([])
    expect(most).toBe(2)
    expect(held()).toBe(0)
    // of 1,000
    expect(acquired).toBeLessThan(200)
  })

  it('goes on after a statement that fails, and after one that nobody waits for', async () => {
    const results = await Promise.allSettled(
      Array.from({ length: 60 }, (_, index) => {
        if (index % 3 === 0) return run('select 1 / $1::int', [0])
        if (index % 3 === 1) return runStatement(knex as never, statementOf('select 2'), [], { destroyed: true })
        return run('select 3')
      }),
    )
    results.forEach((result, index) => {
      if (index % 3 === 0) expect(result).toMatchObject({ status: 'rejected', reason: { code: '22012' } })
      else if (index % 3 === 1) expect((result as PromiseRejectedResult).reason).toBeInstanceOf(ClientGone)
      else expect(result).toEqual({ status: 'fulfilled', value: [['3']] })
    })
    expect(held()).toBe(0)
  })

  it('is not handed on when it was ended by the database', async () => {
    const results = await Promise.allSettled(
      Array.from({ length: 40 }, (_, index) =>
        index === 0 ? run('select pg_terminate_backend(pg_backend_pid())') : run('select 1'),
      ),
    )
    const failed = results.filter(({ status }) => status === 'rejected')
    expect(failed).toHaveLength(1)
    expect(held()).toBe(0)
  })

  it('comes to a transaction that waits, however many statements follow each other', async () => {
    let isDone = false
    const readers = Array.from({ length: 8 }, async () => {
      while (!isDone) await run('select 1')
    })
    const committed: number[] = []
    for (let index = 0; index < 20; index++) {
      await knex.transaction(async (trx) => {
        await trx.raw('select 1')
        committed.push(index)
      })
    }
    isDone = true
    await Promise.all(readers)
    expect(committed).toHaveLength(20)
  })

  it('comes from whoever gives one back while all our statements are slow', async () => {
    const order: string[] = []
    const trx = await knex.transaction()
    const slow = run('select pg_sleep(1.5)').then(() => order.push('slow'))
    await expect.poll(sleeping).toBe(1)
    const waiting = run('select 1').then(() => order.push('waiting'))
    await trx.rollback()
    await Promise.all([slow, waiting])
    expect(order).toEqual(['waiting', 'slow'])
  })

  it("is waited for no longer than the pool's limit", async () => {
    await knex.destroy()
    knex = connect(400)
    const slow = [run('select pg_sleep(1.5)'), run('select pg_sleep(1.5)')]
    await expect.poll(sleeping).toBe(2)
    const waiting = Array.from({ length: 5 }, () => run('select 1'))
    const results = await Promise.allSettled(waiting)
    for (const result of results) {
      expect(result).toMatchObject({ status: 'rejected', reason: { name: 'KnexTimeoutError' } })
    }
    expect(held()).toBe(2)
    await Promise.all(slow)
    expect(await run('select 1')).toEqual([['1']])
  })

  it('keeps the async context of whoever asked for it', async () => {
    const storage = new AsyncLocalStorage<number>()
    const seen: [number | undefined, unknown][] = []
    knex.on('query', ({ bindings }: { bindings: readonly unknown[] }) => seen.push([storage.getStore(), bindings[0]]))
    const after = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        storage.run(index, async () => {
          await run('select $1::int', [index])
          return storage.getStore()
        }),
      ),
    )
    expect(seen).toHaveLength(50)
    for (const [store, index] of seen) expect(store).toBe(index)
    expect(after).toEqual(Array.from({ length: 50 }, (_, index) => index))
  })

  it('is not waited for once the pool is closed', async () => {
    const first = [run('select pg_sleep(1)'), run('select pg_sleep(1)')]
    await expect.poll(sleeping).toBe(2)
    const waiting = [run('select 1'), run('select 1')]
    const closing = knex.destroy()
    const ended: string[] = []
    const refused = Promise.allSettled(waiting).then((results) => {
      ended.push('waiting')
      return results
    })
    await Promise.all([...first, closing]).then(() => ended.push('first'))
    expect((await refused).map(({ status }) => status)).toEqual(['rejected', 'rejected'])
    expect(ended).toEqual(['waiting', 'first'])
    await expect(run('select 1')).rejects.toThrow('Unable to acquire a connection')
  })
})

const ofPg = (settings: object) => ({ connectionPool: new pg.Pool({ ...settings, max: 1 }) })

describe.each([
  ['knex', true, (settings: object) => ({ connection: settings, pool: { min: 0, max: 1 } })],
  ['pg', takesPool, ofPg],
  ['pg, which another knex has, too', takesPool, ofPg],
])('a connection of the pool of %s', (kind, isTaken, options) => {
  let own: Knex
  let connectionPool: pg.Pool | undefined

  beforeEach(async () => {
    await database.knex.raw('create table notes (text text)')
    const given = options({ ...database.connection, query_timeout: 100 }) as { connectionPool?: pg.Pool }
    connectionPool = given.connectionPool
    if (isTaken && kind.endsWith('too')) await checkSession(knexLibrary({ client: 'pg', ...given } as Knex.Config))
    own = knexLibrary({ client: 'pg', ...given } as Knex.Config)
    await checkSession(own)
  })

  afterEach(async () => {
    await own.destroy()
    await connectionPool?.end()
  })

  async function expectOnlyNext(work: (trx: Knex.Transaction) => Promise<unknown>): Promise<void> {
    const failing = own.transaction(async (trx) => {
      await trx('notes').insert({ text: 'late' })
      await work(trx)
    })
    await expect(failing).rejects.toThrow(/connection|administrator command|server conn crashed/i)
    await own.transaction((trx) => trx('notes').insert({ text: 'next' }))
    expect(await database.knex('notes').pluck('text')).toEqual(['next'])
  }

  it.skipIf(!isTaken)(
    'is closed when pg no longer waits for its statement, and what its transaction has written goes with it',
    () => expectOnlyNext((trx) => trx.raw('select pg_sleep(0.25)')),
  )

  it.skipIf(!isTaken || poolMode() === 'transaction')(
    'makes place for another when it may not write, as one to a standby',
    async () => {
      for (const write of [
        () => own('notes').insert({ text: 'next' }),
        () => runStatement(own as never, statementOf(`insert into notes values ('next')`), []),
      ]) {
        await own.raw('set default_transaction_read_only = on')
        await expect(write()).rejects.toMatchObject({ code: '25006' })
        await write()
      }
      expect(await database.knex('notes').pluck('text')).toEqual(['next', 'next'])
    },
  )

  it.skipIf(!isTaken || poolMode() !== undefined)(
    'is refused at each use, whatever knex calls it by then, where what it brings cannot be read',
    async () => {
      const { rows } = await own.raw<{ rows: { pid: number }[] }>('select pg_backend_pid() as pid')
      const german = `execute format('alter database %I set datestyle = german', current_database())`
      await database.knex.raw(`do $$ begin ${german}; end $$`)
      connectionPool?.on('error', () => {})
      await database.knex.raw('select pg_terminate_backend(?, 5000)', [rows[0]?.pid as number])
      const answers = () => own.raw('select 1').then(Boolean, () => false)
      await expect.poll(answers).toBe(true)
      await own.transaction(async (trx) => {
        const { __knexUid: uid } = await clientOf(trx).acquireConnection()
        expect(refusalOfUid(trx, uid)?.status).toBe(503)
      })
    },
  )

  it.skipIf(!isTaken)('ends no process when it is lost while it is in use', () =>
    expectOnlyNext((trx) => trx.raw('select pg_terminate_backend(pg_backend_pid())')),
  )
})
