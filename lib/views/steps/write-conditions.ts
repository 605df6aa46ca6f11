/** What rules and querysets say of a row that is written, asked by the INSERT or UPDATE itself: one that they refuse is never stored. */

import { PermissionDenied } from '../../kernel/errors.js'
import { isError } from '../../kernel/realms.js'
import type { Column } from '../../models/model-description.js'
import type { RawRow } from '../../postgres/run-statement.js'
import type { KeyedCondition } from '../../queryset/condition-key.js'
import { positionColumn } from '../../queryset/keyset.js'
import { ownCondition } from '../../queryset/own-condition.js'
import { readsWholeRows } from '../../queryset/reads-whole-rows.js'
import { answerSql, askedOf } from '../../queryset/row-answers.js'
import type { SqlPart } from '../../queryset/sql-part.js'
import type { RowConditions } from '../../rows/write-sql.js'
import type { GenericView } from '../generic-view.js'
import { recordedBeside } from '../request/log-writes.js'
import { querysetOf, visibleQuery } from './visible-query.js'

/** What is asked of a written row: whether it may be there, whether its writer may read it, and which version it is. */
export interface WriteConditions extends RowConditions {
  /** Expressions that the statement returns: some fail for a row that may not be there, one says `false` of what may not be read. */
  readonly asked: readonly SqlPart[]
  /** How many of them, the last ones, are the strings of the version. */
  readonly terms: number
  /** The view's own queryset makes more of its rows than the table has: a statement cannot return what it shows. */
  readonly isShaped: boolean
  /** What the statement cannot say: it is asked for once the row is there. */
  readonly isLeft: { readonly write: boolean; readonly read: boolean; readonly queryset: boolean }
}

/**
 * What rules and the view's own queryset ask of the row that the view's action inserts or changes by one statement, and its
 * version.
 * @param own the condition of that queryset, where it has been asked for
 */
export function writeConditions(view: GenericView, write: 'create' | 'update', own?: KeyedCondition): WriteConditions {
  const { visibleRows } = view
  const { plan } = view
  const { model, versionTerms, isWholeTable } = plan.resource
  const beside = recordedBeside(view, write)
  const writable = visibleRows?.allowed(model.model, write)
  const read = visibleRows?.allowed(model.model, 'read')
  // an UPDATE that waits for its row sees other tables as they were before
  const readsOthers = write === 'create' && !model.triggers.before.insert
  const conditions = askedOf(model, [writable, read], readsOthers)
  const guard = conditions.find(({ condition }) => condition === writable)
  const readable = read === writable ? undefined : conditions.find(({ condition }) => condition === read)
  const isReadLeft = read !== undefined && read !== writable && !readable
  const condition = own ?? (isWholeTable ? undefined : conditionOfOwn(view))
  const kept = plan.keepsQueryset && !isReadLeft && condition !== SHAPED ? condition : undefined
  const terms = versionTerms.map(({ property }) => model.columns.get(property) as Column)
  return {
    asked: [
      ...(guard ? [guardSql(guard)] : []),
      ...(kept ? [guardSql(readable ? unlessUnread(kept, readable) : kept)] : []),
      ...(readable ? [answerSql(readable)] : []),
      ...terms.map((column) => positionColumn(column, column.column)),
    ],
    isVaried: kept?.isVaried === true,
    beside,
    terms: terms.length,
    isShaped: condition === SHAPED,
    isLeft: {
      write: writable !== undefined && !guard,
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

const SHAPED = 'shaped'

/** The condition of the view's own queryset on columns of its rows; undefined for any other. */
function conditionOfOwn(view: GenericView): KeyedCondition | typeof SHAPED | undefined {
  const knex = view.trx ?? view.knex
  const query = querysetOf(view)
  if (!readsWholeRows(query)) return SHAPED
  return knex && ownCondition(visibleQuery(view, query), knex)
}

/** A setting that nobody has: to ask for it is an error that names it. */
const REFUSED = 'koa_viewsets.refused'

/** SQL that is null for a row of which a condition holds, and an error for any other. */
function guardSql({ sql, bindings }: SqlPart): SqlPart {
  return { sql: `case when (${sql}) then null else current_setting('${REFUSED}') end`, bindings }
}

/** True where the answers to what is asked of a row say that its writer may not read it. */
export function isUnread({ asked, terms }: WriteConditions, answers: RawRow): boolean {
  return answers.slice(0, asked.length - terms).includes('false')
}

/** The error of a statement, where its guard has refused the row. */
export function refusalOf(error: unknown): unknown {
  // whatever language the message is in
  const isRefused = isError(error) && error.message.includes(REFUSED)
  return isRefused ? new PermissionDenied(undefined, { cause: error }) : error
}
