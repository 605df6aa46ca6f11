/** The transaction of a request that writes. */
import type { Knex } from 'knex'
import { reportError } from '../../http/answer-error.js'
import { inTransaction } from '../../postgres/in-transaction.js'
import type { Queryable } from '../../postgres/pg-types.js'
import type { GenericView } from '../generic-view.js'
import type { View } from '../view.js'
import { loggingWrites } from './log-writes.js'
import { resetOf } from './second-attempt.js'

/** Thrown by the first step of a write, when the database does not let the caller lock rows: it may see or delete them. */
export class LockRefused extends Error {
  /** What the error says where nobody tries again. */
  readonly nativeError: unknown

  constructor(cause: unknown) {
    super('The rows may not be locked', { cause })
    this.nativeError = cause
  }
}

/** Transactions in which the database does not let the caller lock rows: what is tried would end them. */
const WITHOUT_LOCKS = new WeakSet<object>()

/** True in a transaction where locks of rows have been refused before. */
export function refusesLocks({ trx }: Pick<View, 'trx'>): boolean {
  return trx !== undefined && WITHOUT_LOCKS.has(trx)
}

/**
 * What the work returns, in a transaction that is `view.trx` meanwhile: it commits when the work returns, and rolls back
 * when it throws or has set a status of 400 or more.
 */
export async function inViewTransaction(view: View, knex: Knex, work: () => unknown): Promise<unknown> {
  let isRefused = false
  const attempt = (trx: Knex.Transaction) => {
    view.trx = trx
    if (isRefused) WITHOUT_LOCKS.add(trx)
    return loggingWrites(view, trx, work)
  }
  const { ctx } = view
  const { action } = view.plan
  const reset = resetOf(view)
  const options = {
    name: `${action}()`,
    work: attempt,
    refused: () => ctx.status >= 400,
    report: (error: unknown) => reportError(ctx, error),
  }
  try {
    return await inTransaction(knex, options).catch((error: unknown) => {
      if (!(error instanceof LockRefused)) throw error
      // nothing was written yet; what fails has ended the transaction
      isRefused = true
      reset()
      return inTransaction(knex, options)
    })
  } finally {
    view.trx = undefined
  }
}

/** The transaction that a request works in: its own, or one of the application's. */
export function transactionOf({ trx, knex }: Pick<View, 'trx' | 'knex'>): Queryable | undefined {
  return trx ?? (knex?.isTransaction ? knex : undefined)
}

/** The work of an action that holds rows, in the request's transaction; in one of its own where the view has none around it. */
export function holdingRows<Result>(view: View, work: () => Promise<Result>): Promise<Result> {
  const { knex } = view
  const trx = transactionOf(view)
  if (trx) return loggingWrites(view, trx, work)
  if (!knex) return work()
  return inViewTransaction(view, knex, work) as Promise<Result>
}

/** The work of an action that may write several rows: in the request's transaction, or in one of its own, where they are written together. */
export function atomically<Result>(view: GenericView, work: () => Promise<Result>): Promise<Result> {
  return view.plan.writesTogether ? holdingRows(view, work) : work()
}
