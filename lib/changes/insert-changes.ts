/** INSERT of change records, in the transaction that makes the changes. */

import { afterCommit } from '../postgres/after-commit.js'
import type { Queryable } from '../postgres/pg-types.js'
import { runStatement, statementOf } from '../postgres/run-statement.js'
import { nameIn, onChanges, tableIn } from './changes-table.js'
import { hearerOf } from './committed-changes.js'

/** One change of one object. */
export interface WrittenChange {
  /** The table of the object's model. */
  readonly model: string
  /** The object's key as clients see it. */
  readonly key: string
  /** `create`, `update`, `delete`, `restore`, `purge`, or a word of the application's. */
  readonly action: string
  /** JSON of what is shown of the object before; null where it was not there. */
  readonly before: string | null
  /** JSON of what is shown of it now; null where it is not there any more. */
  readonly after: string | null
  /** JSON of columns of the row as it was, by which one can tell who saw it; null where it was not there. */
  readonly was: string | null
}

/** Origin of a change: caller and request. */
export interface ChangeOrigin {
  readonly caller: string | null
  readonly requestId: string | null
}

/** What stands in the statement besides the names of models; texts of JSON as they are, which hold what a JSON of them could not. */
const CELLS = ['key', 'action', 'before', 'after', 'was'] as const

/**
 * Records changes, in their order, by one statement.
 * @throws {ConfigurationError} there is no table, or not for the login: nothing for a client
 */
export async function insertChanges(
  trx: Queryable,
  { caller, requestId }: ChangeOrigin,
  changes: readonly WrittenChange[],
): Promise<void> {
  if (changes.length === 0) return
  const statement = statementOf(
    `insert into ${tableIn(trx)} (model, key, action, caller, request_id, before, after, was) ` +
      'select model, key, action, $1, $2, before::json, after::json, was::json ' +
      'from unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[]) as c(model, key, action, before, after, was)',
  )
  const lists = CELLS.map((cell) => changes.map((change) => change[cell]))
  const values = [caller, requestId, await namesIn(trx, changes), ...lists]
  await onChanges(trx, (own) => runStatement(own, statement, values))
  const tell = hearerOf(trx)
  if (tell) afterCommit(trx, tell)
}

async function namesIn(knex: Queryable, changes: readonly WrittenChange[]): Promise<readonly string[]> {
  const found = new Map<string, string>()
  for (const { model } of changes) if (!found.has(model)) found.set(model, await nameIn(knex, model))
  return changes.map(({ model }) => found.get(model) as string)
}
