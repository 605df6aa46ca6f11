/** Runs a view's action: body first, then the transaction, then the method (promises R6 and A8). */
import type { Knex } from 'knex'
import { parseBody } from '../parsers/parse-body.js'
import type { View } from './view.js'

const READING = new Set(['GET', 'HEAD', 'OPTIONS'])
/** A body is read for these; on DELETE only an action that asks for it reads one. */
const WITH_BODY = new Set(['POST', 'PUT', 'PATCH'])

/** What the action returns, once its transaction is committed. */
export async function runAction(view: View): Promise<unknown> {
  const { ctx, policies } = view
  if (WITH_BODY.has(ctx.method) && policies.parsers.length > 0) {
    view.body = await parseBody(ctx, policies.parsers)
    ;(ctx.request as { body?: unknown }).body = view.body.data
  }
  try {
    const knex = view.getKnex()
    view.knex = knex instanceof Promise ? await knex : knex
    // from here on a status of 400 and more is one that the action has set
    ctx.status = 200
    const writes = view.atomic && view.knex && !READING.has(ctx.method)
    return await (writes ? inTransaction(view, view.knex as Knex) : call(view))
  } finally {
    await view.body.dispose?.()
  }
}

async function call(view: View): Promise<unknown> {
  try {
    return await (view as unknown as Record<string, () => unknown>)[view.action]?.()
  } catch (error) {
    // knex would take it for no error, and the client be told of a success
    if (error === undefined) throw new Error(`${view.action}() has thrown undefined`)
    throw error
  }
}

/** Commits when the action returns, rolls back when it throws or has set a status of 400 or more. */
async function inTransaction(view: View, knex: Knex): Promise<unknown> {
  try {
    return await knex.transaction(async (trx) => {
      view.trx = trx
      let failure: unknown
      trx.on('query-error', (error) => {
        failure = error
      })
      const data = await call(view)
      if (view.ctx.status >= 400) throw new Refused(data)
      if (failure !== undefined) await checkUsable(trx, view.action, failure)
      return data
    })
  } catch (error) {
    if (error instanceof Refused) return error.data
    throw error
  } finally {
    view.trx = undefined
  }
}

/**
 * A failed query that the action has swallowed spoils its transaction: PostgreSQL then rolls back at COMMIT and reports
 * no error, so the client would be told of a success that is none. A savepoint (`trx.transaction()`) keeps it usable.
 */
async function checkUsable(trx: Knex.Transaction, action: string, cause: unknown): Promise<void> {
  try {
    await trx.raw('select 1')
  } catch {
    throw new Error(`${action}(): a query failed and the error was not passed on; run such queries in a savepoint`, {
      cause,
    })
  }
}

/** Carries the answer of an action that refused by its status out of the transaction. */
class Refused extends Error {
  readonly data: unknown

  constructor(data: unknown) {
    super('rolled back')
    this.data = data
  }
}
