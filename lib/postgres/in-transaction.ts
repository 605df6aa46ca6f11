/** Transactions of requests, for views and for hand-written routes (promise A8). */

import type { Knex } from 'knex'
import { isError } from '../kernel/realms.js'
import { type ReportError, reportTo } from './after-commit.js'
import { isLent, noteClient } from './lent-client.js'
import { nativeError } from './native-error.js'

export interface TransactionWork<Result> {
  /** Name of the caller, for messages. */
  readonly name: string
  readonly work: (trx: Knex.Transaction) => Promise<Result>
  /** True when the work has answered with a refusal, though it returned. */
  readonly refused: () => boolean
  /** Takes the errors of what is done after COMMIT. */
  readonly report: ReportError
}

/**
 * What the work returns, once its transaction is committed. Rolls back when the work throws or has refused.
 * @throws what the work throws, or what COMMIT does: a deferred constraint is checked there
 */
export async function inTransaction<Result>(
  knex: Knex,
  { name, work, refused, report }: TransactionWork<Result>,
): Promise<Result> {
  const thrown: unknown[] = []
  try {
    return await knex.transaction((trx) =>
      attempt(trx).catch((error: unknown) => {
        thrown.push(error)
        throw error
      }),
    )
  } catch (error) {
    // where ROLLBACK fails, knex tells of that alone; what it would undo goes with the connection
    const [cause] = thrown.length > 0 ? thrown : [error]
    if (cause instanceof Refused) return cause.result as Result
    throw cause
  }

  async function attempt(trx: Knex.Transaction): Promise<Result> {
    // knex hands out transactions that have failed to begin
    if (trx.isCompleted()) await trx.executionPromise
    let failure: unknown
    reportTo(trx, report)
    await noteClient(trx)
    trx.on('query-error', (error) => {
      if (!isSpoiled(error)) failure = error
    })
    const result = await settle(work(trx), name).catch((error: unknown) => {
      throw failure !== undefined && isSpoiled(error) ? swallowed(name, failure) : error
    })
    if (refused()) throw new Refused(result)
    if (failure !== undefined || isLent(trx)) await checkUsable(trx, name, failure)
    return result
  }
}

/** knex takes a rejection without a reason for no error, and the client would get a success. */
async function settle<Result>(work: Promise<Result>, name: string): Promise<Result> {
  try {
    return await work
  } catch (error) {
    if (error === undefined || error === null) throw new Error(`${name} has thrown ${error}`)
    throw error
  }
}

/**
 * A failed query that the work has swallowed spoils its transaction: PostgreSQL then rolls back at COMMIT and reports
 * no error, so the client would get a success that is none. A savepoint (`trx.transaction()`) keeps it usable.
 */
async function checkUsable(trx: Knex.Transaction, name: string, cause: unknown): Promise<void> {
  try {
    await trx.raw('select 1')
  } catch {
    throw swallowed(name, cause)
  }
}

/** True for the error of a statement behind the one that has failed. */
function isSpoiled(error: unknown): boolean {
  return isError(error) && nativeError(error).code === '25P02'
}

function swallowed(name: string, cause: unknown): Error {
  return new Error(`${name}: a query failed and the error was not passed on; run such queries in a savepoint`, {
    cause,
  })
}

/** Carries the result of work that refused out of the transaction. */
class Refused extends Error {
  readonly result: unknown

  constructor(result: unknown) {
    super('rolled back')
    this.result = result
  }
}
