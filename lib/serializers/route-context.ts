/** Serializers of hand-written routes: they work in the request's transaction, and for its caller, as those of views do. */

import type { SerializerContext } from '../fields/field.js'
import { configOf } from '../models/describe-model.js'
import type { ModelClass } from '../models/objection.js'
import { isKnex } from '../postgres/pg-types.js'
import { isTransaction } from '../postgres/transaction-end.js'

/**
 * The context with what the request of a hand-written route says besides: `ctx.state.user`, and `ctx.state.trx` where that
 * is a transaction of the model's database. What the context says itself, stays.
 */
export function routeContext(context: SerializerContext, model: ModelClass | undefined): SerializerContext {
  const { user, trx } = (context.ctx?.state ?? {}) as { readonly user?: unknown; readonly trx?: unknown }
  const own = model?.knex()
  const isOfModel = isKnex(trx) && isTransaction(trx) && model && (!own || configOf(own) === configOf(trx))
  return Object.assign({}, isOfModel && { knex: trx }, user !== undefined && { user }, context)
}
