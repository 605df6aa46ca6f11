/** What must be there for writes that are done once (promise I23). */

import type { Knex } from 'knex'
import { idempotencyTable } from '../../idempotency/table.js'
import { ConfigurationError } from '../../kernel/errors.js'
import { setting } from '../../kernel/settings.js'
import type { Queryable } from '../../postgres/pg-types.js'
import { isBuiltIn } from '../built-in.js'
import { type GovernedClass, policiesOf } from '../policies.js'

/**
 * Looks for the table of kept answers.
 * @param knex the database of the view; undefined where only a request knows it
 * @throws {ConfigurationError} it is not there, or the login of the connections may not use it
 */
export async function checkIdempotency(
  view: GovernedClass & { readonly prototype: object },
  knex: Queryable | undefined,
): Promise<void> {
  if (!policiesOf(view).idempotency) return
  // read by requests, and wrong for all of them where the environment has them wrong
  void [
    setting('idempotencyTable'),
    setting('idempotencyTtl'),
    setting('idempotencyMaxAnswer'),
    setting('idempotencyMaxCaller'),
  ]
  if (!knex) return
  try {
    await idempotencyTable(knex as Knex)
  } catch (error) {
    // that of its requests may be another, or one in a transaction of this
    if (!isBuiltIn(view.prototype, 'getKnex')) return
    throw error instanceof ConfigurationError ? new ConfigurationError(`${view.name}: ${error.message}`) : error
  }
}
