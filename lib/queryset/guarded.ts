/** Reads that the database may be slow at (promises R4 and C11). */

import type { Knex } from 'knex'
import { nativeError } from '../postgres/native-error.js'
import type { Queryable } from '../postgres/pg-types.js'

/**
 * Runs reads in a transaction that cannot write, and in which no statement takes longer than `timeout` milliseconds.
 * Inside a transaction of the caller's the bound holds to its end.
 */
export async function runGuarded<T>(
  knex: Queryable,
  timeout: number,
  work: (trx: Knex.Transaction) => Promise<T>,
): Promise<T> {
  return knex.transaction(
    async (trx) => {
      await trx.raw(`SET LOCAL statement_timeout = ${Math.max(1, Math.trunc(timeout))}`)
      return work(trx)
    },
    { readOnly: true },
  )
}

/** True for the error of a statement that PostgreSQL has ended since it took too long. */
export function isTimeout(error: unknown): boolean {
  return error instanceof Error && nativeError(error).code === '57014'
}
