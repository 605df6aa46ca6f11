/** What rules and querysets say of a new row, asked by the INSERT itself: one that they refuse is never stored. */

import { PermissionDenied } from '../../kernel/errors.js'
import type { Column } from '../../models/model-description.js'
import type { KeyedCondition } from '../../queryset/condition-key.js'
import { positionColumn, type SqlPart } from '../../queryset/keyset.js'
import { ownCondition } from '../../queryset/own-condition.js'
import { answerSql, askedOf } from '../../queryset/row-answers.js'
import type { AskedOfRow } from '../../rows/inserter.js'
import type { GenericView } from '../generic-view.js'
import { visibleQuery } from './visible-query.js'

/** What is asked of a new row: whether it may be there, whether its writer may read it, and which version it is. */
export interface AskedOfInsert extends AskedOfRow {
  /** Expressions that the INSERT returns: some fail for a row that may not be there, one says `false` of what may not be read. */
  readonly asked: readonly SqlPart[]
  /** How many of them, the last ones, are the strings of the version. */
  readonly terms: number
  /** What the INSERT cannot say: it is asked for once the row is there. */
  readonly isLeft: { readonly create: boolean; readonly read: boolean; readonly queryset: boolean }
}

const UNASKED: AskedOfInsert = {
  asked: [],
  isVaried: false,
  terms: 0,
  isLeft: { create: false, read: false, queryset: false },
}

/** What rules and the view's own queryset ask of the row that the view's action inserts, and its version. */
export function askedOfInsert(view: GenericView): AskedOfInsert {
  const { visibleRows } = view
  const { plan } = view
  const { model, versionTerms } = plan.resource
  if (!visibleRows && !plan.keepsQueryset && versionTerms.length === 0) return UNASKED
  const create = visibleRows?.written(model.model, 'create')
  const read = visibleRows?.written(model.model, 'read')
  const conditions = askedOf(model, [create, read], !model.triggers.before.insert)
  const guard = conditions.find(({ condition }) => condition === create)
  const readable = read === create ? undefined : conditions.find(({ condition }) => condition === read)
  const isReadLeft = read !== undefined && read !== create && !readable
  const kept = plan.keepsQueryset && !isReadLeft ? keptCondition(view) : undefined
  const terms = versionTerms.map(({ property }) => model.columns.get(property) as Column)
  return {
    asked: [
      ...(guard ? [guardSql(guard)] : []),
      ...(kept ? [guardSql(readable ? unlessUnread(kept, readable) : kept)] : []),
      ...(readable ? [answerSql(readable)] : []),
      ...terms.map((column) => positionColumn(column, column.column)),
    ],
    isVaried: kept?.isVaried === true,
    terms: terms.length,
    isLeft: {
      create: create !== undefined && !guard,
      read: isReadLeft,
      queryset: plan.keepsQueryset && !kept,
    },
  }
}

/** A row that its writer may not read is in no queryset of this caller's. */
function unlessUnread(kept: SqlPart, readable: SqlPart): SqlPart {
  return {
    sql: `(${kept.sql}) or (${readable.sql}) is not true`,
    bindings: [...kept.bindings, ...readable.bindings],
  }
}

/** The condition of the view's queryset on columns of its rows; undefined for any other. */
export function keptCondition(view: GenericView): KeyedCondition | undefined {
  const knex = view.trx ?? view.knex
  return knex && ownCondition(visibleQuery(view), knex)
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
