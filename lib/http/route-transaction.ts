/** The transaction of a hand-written route. */

import type { Knex } from 'knex'
import { type AfterCommitWork, afterCommit, reportTo } from '../postgres/after-commit.js'
import { inTransaction } from '../postgres/in-transaction.js'
import { reportError } from './answer-error.js'
import type { Context } from './context.js'

/** Where a route works. */
export interface RouteTransaction {
  /** Who begins it, for messages. */
  readonly name: string
  readonly knex: Knex
}

/**
 * Does the work in a transaction that is `ctx.state.trx` meanwhile, with `ctx.afterCommit()`. It is rolled back when the work
 * throws or has set a status of 400 or more.
 */
export async function inRouteTransaction(
  ctx: Context,
  { name, knex }: RouteTransaction,
  work: (trx: Knex.Transaction) => Promise<unknown>,
): Promise<void> {
  const attempt = async (trx: Knex.Transaction) => {
    ctx.state['trx'] = trx
    ctx['afterCommit'] = (waiting: AfterCommitWork) => afterCommit(trx, waiting)
    reportTo(trx, (error) => reportError(ctx, error))
    await work(trx)
  }
  try {
    await inTransaction(knex, { name, work: attempt, refused: () => hasRefused(ctx) })
  } finally {
    delete ctx.state['trx']
    delete ctx['afterCommit']
  }
}

/** Koa begins with 404: one that nobody has set says nothing of the work, which another middleware may still answer for. */
function hasRefused({ response }: Context): boolean {
  const { _explicitStatus: isSet = false } = response as { readonly _explicitStatus?: boolean }
  const isUnanswered = response.status === 404 && !isSet && !response.headerSent
  return response.status >= 400 && !isUnanswered
}
