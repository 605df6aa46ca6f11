/** Runs a hand-written route in one transaction, as view sets have one for each request that writes (promise A8). */
import type { Knex } from 'knex'
import type { Middleware } from '../lib/http/context.js'
import type { DatabaseOptions } from '../lib/http/database-role.js'
import { RouteDatabase } from '../lib/http/route-transaction.js'
import { checkKinds } from '../lib/kernel/option-kinds.js'

/**
 * Runs what comes after it in a transaction, `ctx.state.trx`: committed when it returns, rolled back when it throws or has
 * set a status of 400 or more; where it has answered nothing, a middleware around it may. The answer is sent when that
 * is done, so a body that is a stream must not read from it. Errors rise, those of COMMIT too: `errors()` answers them.
 * `ctx.afterCommit(work)` calls a function once it is committed, and never where it is rolled back.
 *
 * With `databaseRole` and `databaseSettings` it begins with them, as requests of view sets do: what the role may not do is
 * 401 or 403, and GET and HEAD cannot write. Give it behind `authentication()`, where they depend on the caller.
 * @throws {ConfigurationError} it is no knex, or an option is wrong
 * @example router.post('/orders', transaction(knex), async (ctx) => { ctx.body = await Order.query(ctx.state.trx).insert(…) })
 */
export function transaction(knex: Knex, options: DatabaseOptions = {}): Middleware {
  checkKinds('transaction()', options, { kinds: { databaseRole: 'any', databaseSettings: 'any' } })
  const database = new RouteDatabase('transaction()', knex, options)
  return async function runInTransaction(ctx, next) {
    try {
      await database.inTransaction(ctx, await database.open(ctx), next)
    } catch (error) {
      throw database.toError(ctx, error)
    }
  }
}
