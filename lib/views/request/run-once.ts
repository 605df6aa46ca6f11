/** A request that brings an `Idempotency-Key`: its action, or the answer that is kept of it. */

import type { Knex } from 'knex'
import { answerOnce, onceRequest } from '../../idempotency/answer-once.js'
import type { CallersKey } from '../../idempotency/rule.js'
import { ConfigurationError } from '../../kernel/errors.js'
import { sentFiles } from '../../parsers/left-files.js'
import type { View } from '../view.js'
import { inViewTransaction } from './in-view-transaction.js'
import { recordWrites } from './log-writes.js'
import { respond } from './respond.js'

/** What comes in place of data where the answer was rendered before its transaction ended. */
export const ANSWERED = Symbol('answered')

/**
 * Runs the action and renders its answer inside of the transaction, which keeps it. A kept answer stands in the context, as one
 * that an action has written itself; what was to be done once was done with the first.
 * @throws {KeyRefused} 409, 422
 * @throws {ConfigurationError} the view has no database, or that has no table for answers
 */
export async function runOnce(view: View, key: CallersKey, action: () => unknown): Promise<typeof ANSWERED> {
  const { ctx, knex } = view
  if (!knex) {
    throw new ConfigurationError(`${view.constructor.name}: idempotent needs a database; let getKnex() return it`)
  }
  const { data, patch } = view.body
  // what is the same text may be another patch
  const body = patch === undefined ? data : [patch, data]
  const files = sentFiles(ctx)
  const once = await onceRequest(ctx, key, knex, files ? [body, files] : body)
  const answer = async (result?: unknown) => {
    respond(view, result)
    await (view.finalizeResponse() as unknown)
  }
  const perform = async () => {
    const result = await action()
    await recordWrites(view, view.trx as Knex.Transaction)
    await answer(result)
  }
  const isKept = await inViewTransaction(view, once.knex, () => answerOnce(view.trx as Knex.Transaction, once, perform))
  if (isKept === true) {
    await answer()
    view.afterAction = undefined
  }
  return ANSWERED
}
