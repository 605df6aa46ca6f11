/** Reads from replicas on hand-written routes. */
import type { Knex } from 'knex'
import { isSafeMethod, type Middleware } from '../lib/http/context.js'
import { ConfigurationError } from '../lib/kernel/errors.js'
import type { Replicas } from '../lib/views/replicas.js'

/**
 * Chooses the database of a route, `ctx.state.knex`: a replica that has what the caller has written where it reads (GET, HEAD,
 * QUERY), else the primary, and then lets the caller remember what was written. A route is run once: where a replica fails
 * meanwhile, its error rises. See docs/reference/replicas.md.
 * @param replicas a `ReplicaSet` of `koa-viewsets/replicas`
 * @throws {ConfigurationError} it is none
 * @example router.get('/report', readFrom(replicas), async (ctx) => { ctx.body = await Order.query(ctx.state.knex) })
 */
export function readFrom(replicas: Replicas): Middleware {
  if (typeof (replicas as Partial<Replicas> | undefined)?.read !== 'function') {
    throw new ConfigurationError('readFrom(): give it new ReplicaSet({ primary, replicas })')
  }
  return async function readFromReplicas(ctx, next) {
    if (isSafeMethod(ctx.method)) {
      await replicas.read(ctx, async (knex) => {
        ctx.state['knex'] = knex
      })
      await next()
      return
    }
    ctx.state['knex'] = replicas.primary
    let failure: unknown
    try {
      await next()
    } catch (error) {
      failure = error
      throw error
    } finally {
      // what was written without a transaction stays, whatever is answered
      // a transaction() around it has not ended
      await replicas.wrote(ctx, { knex: ctx.state['trx'] as Knex | undefined, failure })
    }
  }
}
