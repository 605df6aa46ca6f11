/** Finds the rows of many keys. */

import type { Model } from 'objection'
import { describeModel } from '../models/describe-model.js'
import { exactValues } from '../models/exact-types.js'
import { type Column, keyColumns } from '../models/model-description.js'
import type { AnyQueryBuilder, ModelClass } from '../models/objection.js'
import { escaped } from '../models/table-reference.js'
import type { SqlPart } from './sql-part.js'

/** Adds the condition that the columns of one row have these values. */
export function whereKey<Query extends AnyQueryBuilder>(
  query: Query,
  columns: readonly Column[],
  values: readonly unknown[],
): Query {
  for (const [index, name] of columnReferences(query, columns).entries())
    void query.where(name, values[index] as string)
  return query
}

/** Columns of the query's table, as the query calls them. */
export function columnReferences(query: AnyQueryBuilder, columns: readonly Column[]): string[] {
  const table = query.tableRefFor(query.modelClass())
  return columns.map(({ column }) => `${table}.${column}`)
}

/** Adds the condition that the columns have one of the keys: one array parameter for each column, however many they are (promise R3). */
export function whereAnyKey<Query extends AnyQueryBuilder>(
  query: Query,
  columns: readonly Column[],
  keys: readonly (readonly unknown[])[],
): Query {
  const { sql, bindings } = isOneOf(columns, columnReferences(query, columns), keys)
  return query.whereRaw(sql, bindings)
}

/** The condition that columns, by the names that they have in a query, have one of these keys. */
export function isOneOf(
  columns: readonly Column[],
  references: readonly string[],
  keys: readonly (readonly unknown[])[],
): SqlPart {
  const lists = columns.map((_, index) => keys.map((values) => values[index]))
  if (columns.length === 1)
    return { sql: `?? = any(${arrayCast(columns[0] as Column)})`, bindings: [...references, ...lists] }
  const marks = references.map(() => '??').join(', ')
  if (columns.every(({ sqlType }) => sqlType !== undefined)) {
    const places = columns.map(arrayCast).join(', ')
    return { sql: `(${marks}) in (select * from unnest(${places}))`, bindings: [...references, ...lists] }
  }
  // PostgreSQL finds the types of single values only by what they are compared with
  const row = `(${columns.map(() => '?').join(', ')})`
  return { sql: `(${marks}) in (${keys.map(() => row).join(', ')})`, bindings: [...references, ...keys.flat()] }
}

/** The place of a list of values of the column's type. */
export function arrayCast({ sqlType }: Column): string {
  return sqlType === undefined ? '?' : `?::${escaped(sqlType)}[]`
}

/** Adds the condition that the row is one of these, by its primary key of one column or several. */
export function whereRows<Query extends AnyQueryBuilder>(query: Query, rows: readonly Model[]): Query {
  const { columns, keys } = keysOfRows(query.modelClass() as ModelClass, rows)
  return whereAnyKey(query, columns, keys)
}

/** The primary keys of rows, and their columns. */
export function keysOfRows(model: ModelClass, rows: readonly object[]): RowKeys {
  const columns = keyColumns(describeModel(model))
  return { columns, keys: rows.map((row) => exactValues(row, columns)) }
}

export interface RowKeys {
  readonly columns: readonly Column[]
  readonly keys: readonly (readonly unknown[])[]
}

/** Types whose values cannot be one parameter for many rows: lists of lists, of rows, and those not parted by commas. */
export const ONE_BY_ONE: ReadonlySet<string> = new Set(['array', 'composite', 'box'])
