/** What rules say of a new row, asked by the INSERT itself: one that they refuse is never stored. */

import { PermissionDenied } from '../../kernel/errors.js'
import type { SqlPart } from '../../queryset/keyset.js'
import { conditionKey } from '../../rows/row-access.js'
import type { GenericView } from '../generic-view.js'

/**
 * The condition on a new row; undefined where there is none, or where it reads the row's own table: of that a statement sees
 * what was there before it.
 */
export function insertGuard(view: GenericView): SqlPart | undefined {
  const { tableName } = view.plan.viewClass.modelClass()
  const part = newRows(view)?.where(tableName)
  return part && conditionKey([part]) && !part.bindings.includes(tableName) ? part : undefined
}

function newRows(view: GenericView) {
  return view.visibleRows?.written(view.plan.viewClass.modelClass(), 'create')
}

/** True where a row that was inserted by one statement may be refused once it is there: a transaction takes it back. */
export function refusesInserted(view: GenericView): boolean {
  const { refusesRows, keepsQueryset } = view.plan
  return refusesRows && (keepsQueryset || (newRows(view) !== undefined && insertGuard(view) === undefined))
}

/** A setting that nobody has: to ask for it is an error that names it. */
const REFUSED = 'koa_viewsets.refused'

/** SQL that is null for a row of which a condition holds, and an error for any other. */
export function guardSql({ sql, bindings }: SqlPart): SqlPart {
  return { sql: `case when (${sql}) then null else current_setting('${REFUSED}') end`, bindings }
}

/** The error of a statement, where its guard has refused the row. */
export function refusalOf(error: unknown): unknown {
  // whatever language the message is in
  const isRefused = error instanceof Error && error.message.includes(REFUSED)
  return isRefused ? new PermissionDenied(undefined, { cause: error }) : error
}
