/** What rules say of a new row, asked by the INSERT itself: one that they refuse is never stored. */

import { PermissionDenied } from '../../kernel/errors.js'
import type { SqlPart } from '../../queryset/keyset.js'
import { answerSql, askedOf } from '../../queryset/row-answers.js'
import type { GenericView } from '../generic-view.js'

/** What is asked of a new row: whether it may be there, and whether its writer may read it. */
export interface AskedOfInsert {
  /** Expressions that the INSERT returns: one fails for a row that may not be there, one says `false` of what may not be read. */
  readonly asked: readonly SqlPart[]
  /** What the INSERT cannot say: it is asked for once the row is there. */
  readonly isLeft: { readonly create: boolean; readonly read: boolean }
}

const NOTHING: AskedOfInsert = { asked: [], isLeft: { create: false, read: false } }

/** What rules ask of the row that the view's action inserts. */
export function askedOfInsert(view: GenericView): AskedOfInsert {
  const { visibleRows } = view
  const { model } = view.plan.resource
  const create = visibleRows?.written(model.model, 'create')
  const read = visibleRows?.written(model.model, 'read')
  if (!create && !read) return NOTHING
  const asked = askedOf(model, [create, read], !model.triggers.before.insert)
  const guard = asked.find(({ condition }) => condition === create)
  const readable = read === create ? undefined : asked.find(({ condition }) => condition === read)
  return {
    asked: [...(guard ? [guardSql(guard)] : []), ...(readable ? [answerSql(readable)] : [])],
    isLeft: { create: create !== undefined && !guard, read: read !== undefined && read !== create && !readable },
  }
}

/** True where a row that was inserted by one statement may be refused once it is there: a transaction takes it back. */
export function refusesInserted(view: GenericView): boolean {
  const { refusesRows, keepsQueryset } = view.plan
  return refusesRows && (keepsQueryset || askedOfInsert(view).isLeft.create)
}

/** A setting that nobody has: to ask for it is an error that names it. */
const REFUSED = 'koa_viewsets.refused'

/** SQL that is null for a row of which a condition holds, and an error for any other. */
function guardSql({ sql, bindings }: SqlPart): SqlPart {
  return { sql: `case when (${sql}) then null else current_setting('${REFUSED}') end`, bindings }
}

/** The error of a statement, where its guard has refused the row. */
export function refusalOf(error: unknown): unknown {
  // whatever language the message is in
  const isRefused = error instanceof Error && error.message.includes(REFUSED)
  return isRefused ? new PermissionDenied(undefined, { cause: error }) : error
}
