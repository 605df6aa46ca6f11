/** The database of a hand-written route: its transactions, and the role and settings that they begin with. */

import type { Knex } from 'knex'
import { ConfigurationError } from '../kernel/errors.js'
import { type AfterCommitWork, afterCommit } from '../postgres/after-commit.js'
import { inTransaction } from '../postgres/in-transaction.js'
import { closeUnanswered } from '../postgres/lost-connections.js'
import { noteDatabase } from '../postgres/watch-statements.js'
import { reportError } from './answer-error.js'
import type { Context } from './context.js'
import { type DatabaseOptions, type DatabaseScope, databaseScope, knexInScope, roleRefusal } from './database-role.js'
import { mayFailUnsent } from './response-body.js'

export class RouteDatabase {
  /** Whose it is, for messages: `transaction()`. */
  readonly #name: string
  readonly #knex: Knex
  readonly #scope: DatabaseScope | undefined

  /** @throws {ConfigurationError} it is no knex, or an option cannot be set */
  constructor(name: string, knex: Knex, options: DatabaseOptions) {
    if (typeof (knex as Partial<Knex> | undefined)?.transaction !== 'function') {
      throw new ConfigurationError(`${name.replace('()', '(knex)')}: give a knex instance`)
    }
    noteDatabase(knex)
    closeUnanswered(knex)
    this.#name = name
    this.#knex = knex
    this.#scope = databaseScope(name, options)
  }

  /** The pool of a request, whose statements run with role and settings where they are declared. */
  async open(ctx: Context): Promise<Knex> {
    return this.#scope ? knexInScope(ctx, this.#knex, this.#scope) : this.#knex
  }

  /**
   * Does the work in a transaction that is `ctx.state.trx` meanwhile, with `ctx.afterCommit()`. It is rolled back when the
   * work throws or has set a status of 400 or more.
   */
  async inTransaction(ctx: Context, knex: Knex, work: (trx: Knex.Transaction) => Promise<unknown>): Promise<void> {
    // it may be a savepoint in another
    const { state, afterCommit: outer } = ctx
    const around: unknown = state['trx']
    const attempt = async (trx: Knex.Transaction) => {
      state['trx'] = trx
      ctx['afterCommit'] = (waiting: AfterCommitWork) => afterCommit(trx, waiting)
      await work(trx)
      mayFailUnsent(ctx)
    }
    try {
      const report = (error: unknown) => reportError(ctx, error)
      await inTransaction(knex, { name: this.#name, work: attempt, refused: () => hasRefused(ctx), report })
    } finally {
      restore(state, 'trx', around)
      restore(ctx, 'afterCommit', outer)
    }
  }

  /** What an error of the work is for the client: what its role may not do is 401 or 403. */
  toError(ctx: Context, error: unknown): unknown {
    return (this.#scope && roleRefusal(ctx, error)) ?? error
  }
}

/** Puts back what was there before; what was not there is gone. */
function restore(target: object, name: string, before: unknown): void {
  if (before === undefined) Reflect.deleteProperty(target, name)
  else Object.assign(target, { [name]: before })
}

/**
 * True where the work is rolled back for its status. Koa begins with 404: one that nobody has set says nothing of the work,
 * which another middleware may still answer for.
 */
export function hasRefused({ response }: Context): boolean {
  const { _explicitStatus: isSet = false } = response as { readonly _explicitStatus?: boolean }
  const isUnanswered = response.status === 404 && !isSet && !response.headerSent
  return response.status >= 400 && !isUnanswered
}
