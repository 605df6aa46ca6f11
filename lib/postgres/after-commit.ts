/** `afterCommit()`: work that waits for COMMIT: mails, webhooks, jobs, messages (docs/reference/after-commit.md). */

import { errorLine } from '../kernel/quote.js'
import { track } from './pending-work.js'
import type { Queryable } from './pg-types.js'
import { isTransaction, whenEnded } from './transaction-end.js'

/** Callback to run after COMMIT. Its result is awaited and dropped. */
export type AfterCommitWork = () => unknown

/** Takes an error of work that was done after COMMIT. */
export type ReportError = (error: unknown) => void

/** Error handlers by transaction. A property more is one too many for knex's function: V8 then copies all 170 of it. */
const REPORTS = new WeakMap<object, ReportError>()

/** Says who takes the errors of work that waits for this transaction's COMMIT. */
export function reportTo(trx: Queryable, report: ReportError): void {
  REPORTS.set(trx, report)
}

/**
 * Calls `work` once the transaction is committed, with the transaction that it is a savepoint of; never where one of them
 * was rolled back. What was asked for first is done first, each when the one before it has ended. The answer of the request
 * waits for none of it, and an error in it changes nothing of the answer: it is reported by the `error` event of the app, or
 * outside of requests by a warning of the process. Without a transaction, a statement is committed when it returns: then
 * the work is done at once.
 *
 * It is lost with the process, and where the connection is lost between COMMIT and its answer: what may never be lost
 * belongs in a table (docs/reference/after-commit.md).
 * @param knex the transaction, as hooks of models have it: `queryContext.transaction`
 * @throws {Error} the transaction has ended
 * @example
 * $afterInsert(queryContext) {
 *   afterCommit(queryContext.transaction, () => mailer.welcome(this.email))
 * }
 */
export function afterCommit(knex: Queryable | undefined, work: AfterCommitWork): void {
  if (typeof work !== 'function') throw new TypeError('afterCommit(): give a function')
  if (!isTransaction(knex)) {
    track(run(work, reportOf(knex)))
    return
  }
  if (knex.isCompleted()) throw new Error('afterCommit(): the transaction has ended; await what belongs to it')
  const report = reportOf(knex)
  whenEnded(knex, { committed: () => run(work, report) })
}

/** Does work outside of any transaction, in order. */
export function runAll(works: readonly AfterCommitWork[], report: ReportError): void {
  track(
    (async () => {
      for (const work of works) await run(work, report)
    })(),
  )
}

function reportOf(knex: Queryable | undefined): ReportError {
  let trx = knex
  while (isTransaction(trx)) {
    const report = REPORTS.get(trx)
    if (report) return report
    trx = trx.parentTransaction
  }
  return warn
}

function warn(error: unknown): void {
  process.emitWarning(`Work after a commit has failed: "${errorLine(error)}"`, { code: 'KOA_VIEWSETS_AFTER_COMMIT' })
}

/** Does one of them. It never fails: what takes errors may throw one itself. */
async function run(work: AfterCommitWork, report: ReportError): Promise<void> {
  try {
    await work()
  } catch (error) {
    try {
      report(error)
    } catch (failure) {
      warn(failure)
    }
  }
}
