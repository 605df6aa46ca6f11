/** Deletes a row by a kept statement, which records it, too, where its changes are. */

import type { ModelClass } from '../models/objection.js'
import type { Queryable } from '../postgres/pg-types.js'
import { runStatement, statementOf } from '../postgres/run-statement.js'
import { boundOf, keptText, shapeOf } from '../queryset/one-row.js'
import { deleteSql, type RowDelete } from './write-sql.js'

/** Deletes a row. @returns false where there is none */
export async function deleteRow(
  model: ModelClass,
  { named, where, beside }: RowDelete,
  knex: Queryable,
): Promise<boolean> {
  const isVaried = where.some((one) => one.isVaried)
  const shape = isVaried ? undefined : `delete|${shapeOf({ named, where })}${beside?.shape ?? ''}`
  const text = keptText(model, knex, shape, () => deleteSql(model, { named, where, beside }))
  const statement = isVaried ? { text, name: undefined } : statementOf(text)
  const bound = boundOf({ named, where })
  return (await runStatement(knex, statement, beside ? [...bound, ...beside.values] : bound)).length > 0
}
