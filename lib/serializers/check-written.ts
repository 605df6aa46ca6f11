/** Rows that a caller may not write, by the rules of the API: asked of PostgreSQL, before a row is changed and afterwards. */

import type { SerializerContext } from '../fields/field.js'
import { PermissionDenied } from '../kernel/errors.js'
import { describeModel } from '../models/describe-model.js'
import { exactAt } from '../models/exact-types.js'
import type { Column } from '../models/model-description.js'
import { type ModelClass, modelOf } from '../models/objection.js'
import { nativeSql, type Queryable } from '../postgres/pg-types.js'
import { runStatement, statementOf } from '../postgres/run-statement.js'
import { type RowCondition, type RowWrite, visibleRowsIn } from '../queryset/visible-rows.js'
import { isOneOf } from '../queryset/where-keys.js'

/** Rows, by the values of columns. */
export interface NamedRows {
  readonly model: ModelClass
  readonly columns: readonly Column[]
  readonly keys: readonly (readonly unknown[])[]
}

/** Rows that were found to be the caller's to change: nobody else changes them until the transaction ends. */
const CHECKED: Readonly<Record<RowWrite, WeakSet<object>>> = {
  create: new WeakSet(),
  update: new WeakSet(),
  delete: new WeakSet(),
}

/** Refuses objects that the caller may not change or delete, as they are stored. @throws PermissionDenied */
export async function checkBefore(
  context: SerializerContext,
  objects: readonly object[],
  write: RowWrite,
  knex: Queryable,
): Promise<void> {
  if (!visibleRowsIn(context)) return
  const unchecked = objects.filter((object) => !CHECKED[write].has(object))
  await checkRows(context, unchecked, write, knex)
  noteChecked(unchecked, write)
}

/** Notes that objects are the caller's to change or delete. */
export function noteChecked(objects: readonly object[], write: RowWrite): void {
  for (const object of objects) CHECKED[write].add(object)
}

/** Refuses objects that the caller may not have written, as they are stored now. @throws PermissionDenied */
export async function checkRows(
  context: SerializerContext,
  objects: readonly object[],
  write: RowWrite,
  knex: Queryable,
): Promise<void> {
  const rows = namedRows(objects)
  if (rows) await checkNamed(context, rows, write, knex)
}

/** True where the caller may read all of these rows, as they are stored. */
export async function areReadable(context: SerializerContext, rows: NamedRows, knex: Queryable): Promise<boolean> {
  const condition = visibleRowsIn(context)?.written(rows.model, 'read')
  return !condition || holdsOfAll(rows, condition, knex)
}

/** The same as `checkRows()` of rows that are known by other columns. @throws PermissionDenied */
export async function checkNamed(
  context: SerializerContext,
  rows: NamedRows,
  write: RowWrite,
  knex: Queryable,
): Promise<void> {
  const condition = visibleRowsIn(context)?.written(rows.model, write)
  if (condition && !(await holdsOfAll(rows, condition, knex))) throw new PermissionDenied()
}

/** Objects by their primary keys; undefined for none. */
export function namedRows(objects: readonly object[]): NamedRows | undefined {
  const [first] = objects
  if (!first) return undefined
  const model = modelOf(first)
  const { columns, primaryKey } = describeModel(model)
  const key = primaryKey.flatMap((property) => columns.get(property) ?? [])
  const keys = objects.map((object) => key.map(({ property }) => exactAt(object, property)))
  return { model, columns: key, keys }
}

async function holdsOfAll(
  { model, columns, keys }: NamedRows,
  condition: RowCondition,
  knex: Queryable,
): Promise<boolean> {
  if (keys.length === 0) return true
  const table = model.tableName
  const named = isOneOf(
    columns,
    columns.map(({ column }) => `${table}.${column}`),
    keys,
  )
  const { sql, bindings } = condition.where(table)
  const { text, values } = nativeSql(
    knex.raw(`select 1 from ?? where ${named.sql} and (${sql}) is not true limit 1`, [
      table,
      ...named.bindings,
      ...bindings,
    ] as never),
  )
  return (await runStatement(knex, statementOf(text), values)).length === 0
}
