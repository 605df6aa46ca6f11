/**
 * Whether a row may be there, by the rules of the API. It is asked of every row before it is changed or deleted, and of every
 * row that was written, as it is then. Statements that hold or write a row say so themselves where they can, which is noted on
 * the row's object; rows of which nothing is noted are asked for by one statement more. Whoever lets code of the application,
 * triggers, or rows that are related have a hand in a row afterwards forgets what was noted, and asks again.
 */

import type { Model } from 'objection'
import type { SerializerContext } from '../fields/field.js'
import { PermissionDenied } from '../kernel/errors.js'
import type { ModelDescription } from '../models/model-description.js'
import { type AnyQueryBuilder, type ModelClass, modelOf } from '../models/objection.js'
import { isRowOf } from '../models/one-table.js'
import { nativeSql, type Queryable } from '../postgres/pg-types.js'
import { runStatement, statementOf } from '../postgres/run-statement.js'
import { answerOf, askedOf, type ConditionColumn, noteAnswer } from '../queryset/row-answers.js'
import {
  type Leading,
  leaveOutUnseen,
  type RowCondition,
  type RowWrite,
  visibleRowsIn,
} from '../queryset/visible-rows.js'
import { isOneOf, keysOfRows, type RowKeys, whereRows } from '../queryset/where-keys.js'
import { findSame } from './row-keys.js'

/** Rows, by the values of columns. */
export interface NamedRows extends RowKeys {
  readonly model: ModelClass
}

/**
 * Refuses objects that the caller may not change or delete as they are stored, or may not have made, or not into what they
 * are now.
 * @throws PermissionDenied
 */
export async function checkWrittenRows(
  context: SerializerContext,
  objects: readonly object[],
  write: RowWrite | 'read',
  knex: Queryable,
): Promise<void> {
  if (!(await allowsRows(context, objects, write, knex))) throw new PermissionDenied()
}

/**
 * True where rules let the caller write, or read, all of these objects, which are rows of one table.
 * @param beside what is to be asked of a single object next, and is noted, too
 */
export async function allowsRows(
  context: SerializerContext,
  objects: readonly object[],
  write: RowWrite | 'read',
  knex: Queryable,
  beside: readonly (RowWrite | 'read')[] = [],
): Promise<boolean> {
  const [first, ...others] = objects
  const visible = visibleRowsIn(context)
  const condition = first && visible?.allowed(modelOf(first), write)
  if (!condition) return true
  if (objects.some((object) => answerOf(object, condition) === false)) return false
  const unknown = objects.filter((object) => answerOf(object, condition) === undefined)
  if (unknown.length === 0) return true
  const next = beside.map((one) => visible?.allowed(modelOf(first), one))
  const asked = [condition, ...next.flatMap((one) => (one && answerOf(first, one) === undefined ? one : []))]
  const model = modelOf(first)
  const answers = await answersOf({ model, ...keysOfRows(model, unknown) }, asked, knex)
  for (const [index, one] of asked.entries()) {
    const holds = answers[index] === true
    if (others.length === 0 || holds) for (const object of unknown) noteAnswer(object, one, holds)
  }
  return answers[0] === true
}

/**
 * Refuses nested objects that the view set from which they come does not show: its queryset holds of what is written, too.
 * @throws PermissionDenied
 */
export async function checkRelated(
  context: SerializerContext,
  leading: Leading | undefined,
  written: readonly object[],
  knex: Queryable,
): Promise<void> {
  const visible = visibleRowsIn(context)
  if (!visible || !leading) return
  const seen = visible.related(leading)
  const { model } = leading
  const objects = written.filter((object) => isRowOf(model, object))
  if (!seen || !('query' in seen) || seen.mayBeLeft || objects.length === 0) return
  // what the rules of the caller hide is in no queryset of theirs
  if (!(await allowsRows(context, objects, 'read', knex))) return
  const query = model.query(knex)
  leaveOutUnseen(query, seen)
  const found = (await whereRows(query, objects as Model[])) as readonly Model[]
  if ((await findSame(model, objects, { found, knex })).includes(undefined)) throw new PermissionDenied()
}

/** Like `allowsRows()`, for rows that are given by the values of columns. */
export async function allowsNamed(
  context: SerializerContext,
  rows: NamedRows,
  write: RowWrite | 'read',
  knex: Queryable,
): Promise<boolean> {
  const condition = visibleRowsIn(context)?.allowed(rows.model, write)
  if (!condition || rows.keys.length === 0) return true
  const [holds] = await answersOf(rows, [condition], knex)
  return holds === true
}

/** What a statement can say of the row that it makes of another: nothing changes the row once it has returned it. */
export function askedOfChange(
  context: SerializerContext,
  model: ModelDescription,
  changed: Iterable<string>,
): readonly ConditionColumn[] {
  const visible = visibleRowsIn(context)
  const { isIndirect, hasHeirs, triggers, cascading } = model
  if (!visible || isIndirect || hasHeirs || triggers.after.update) return []
  const conditions = (['update', 'read'] as const).map((write) => visible.allowed(model.model, write))
  const changesOthers = triggers.before.update || [...changed].some((property) => cascading.has(property))
  return askedOf(model, conditions, !changesOthers)
}

/** Whether each condition holds of all of the rows. */
async function answersOf(
  { model, columns, keys }: NamedRows,
  conditions: readonly RowCondition[],
  knex: Queryable,
): Promise<readonly boolean[]> {
  const table = model.tableName
  const named = isOneOf(
    columns,
    columns.map(({ column }) => `${table}.${column}`),
    keys,
  )
  const parts = conditions.map((condition) => condition.where(table))
  const answers = parts.map(({ sql }) => `bool_and((${sql}) is true)::text`).join(', ')
  const bindings = [...parts.flatMap((part) => part.bindings), table, ...named.bindings]
  // a model that is bound to no database has queries in it that are not, either
  const query = model.raw(`select ${answers} from ?? where ${named.sql}`, bindings) as unknown as KnexRaw
  const { text, values } = nativeSql(query.toKnexRaw(model.query(knex)))
  const [row] = await runStatement(knex, statementOf(text), values)
  // of no row nothing is false
  return conditions.map((_, index) => row?.[index] !== 'false')
}

/** Objection's own, which its types do not say. */
interface KnexRaw {
  toKnexRaw(query: AnyQueryBuilder): unknown
}
