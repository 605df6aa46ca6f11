/** Keys of many objects as a table of SQL: each with its place, whatever their types. */

import { writeJson } from '../kernel/json-numerals.js'
import { exactAt } from '../models/exact-types.js'
import type { Column } from '../models/model-description.js'
import type { AnyQueryBuilder } from '../models/objection.js'
import { escaped } from '../models/table-reference.js'
import type { SqlPart } from './sql-part.js'
import { arrayCast, ONE_BY_ONE } from './where-keys.js'

/** The column that says which of the keys a row is, from 1 on: no column of the application's, and no name that mappers change. */
export const PLACE = 'koaviewsetsplace'

export interface KeysToWrite {
  /** Columns of the values; undefined where the catalogue was not read. */
  readonly columns: readonly (Column | undefined)[]
  readonly values: readonly (readonly unknown[])[]
  /** Aliases of the table and its columns. */
  readonly table: string
  readonly names: readonly string[]
  /** A query of these columns, of which types are taken where no catalogue says them. */
  readonly typed?: (() => AnyQueryBuilder) | undefined
}

/** The table of the keys: a list for each column, but for types of which no list of values can be sent. */
export function keyRows(keys: KeysToWrite): SqlPart {
  const { columns, table, names } = keys
  const { sql, bindings } = plainRows(keys)
  // lists of values have lost the collation of their column
  if (!columns.some((column) => column?.collation)) return { sql, bindings }
  const own = columns.map((column) => (column?.collation ? `?? collate ${escaped(column.collation)} as ??` : '??'))
  const selected = columns.flatMap((column, index) =>
    column?.collation ? [names[index], names[index]] : [names[index]],
  )
  return {
    sql: `(select ${own.join(', ')}, ?? from ${sql}) as ??`,
    bindings: [...selected, PLACE, ...bindings, table],
  }
}

function plainRows({ columns, values, table, names, typed }: KeysToWrite): SqlPart {
  const named = [table, ...names, PLACE]
  const marks = `??(${[...names, PLACE].map(() => '??').join(', ')})`
  const isTyped = columns.every((column) => column?.sqlType !== undefined)
  if (isTyped && !columns.some((column) => ONE_BY_ONE.has((column as Column).type))) {
    const lists = columns.map((_, index) => values.map((row) => row[index]))
    const places = (columns as readonly Column[]).map(arrayCast).join(', ')
    return { sql: `unnest(${places}) with ordinality as ${marks}`, bindings: [...lists, ...named] }
  }
  const casts = columns.map((column) => (isTyped ? `?::${escaped(column?.sqlType ?? '')}` : '?')).join(', ')
  const rows = values.map((_, index) => `select ${casts}, ${index + 1}`)
  // a select of nothing gives the values behind it their types
  const empty = isTyped || !typed ? [] : [typed()]
  // a union in the FROM of a query whose rows are locked would have to lock rows itself
  return {
    sql: `(with keys as (${[...empty.map(() => '?'), ...rows].join(' union all ')}) select * from keys) as ${marks}`,
    bindings: [...empty, ...values.flat(), ...named],
  }
}

/**
 * Values of some columns of an object, as they are sent to the database.
 * @param columns those columns, of which JSON is sent as its text: pg would make a PostgreSQL array of a list
 */
export function valuesOf(
  object: object,
  properties: readonly string[],
  columns: readonly (Column | undefined)[] = [],
): readonly unknown[] {
  return properties.map((property, index) => {
    const value = exactAt(object, property) ?? null
    return value !== null && columns[index]?.type === 'jsonb' ? writeJson(value) : value
  })
}

/** The text of a key, which only what is the same has. JSON has no Infinity and no bigint; clients may write a uuid in capitals. */
export function spelling(key: readonly unknown[], columns: readonly (Column | undefined)[]): string {
  return JSON.stringify(
    key.map((value, index) => {
      if (typeof value === 'number' || typeof value === 'bigint') return String(value)
      return columns[index]?.type === 'uuid' && typeof value === 'string' ? value.toLowerCase() : value
    }),
  )
}

const TEXTS: ReadonlySet<string> = new Set(['text', 'varchar', 'bpchar', 'citext', 'name'])

/** False for a text and a value that is none: SQL has no `=` for the two, and no foreign key could join them. */
export function areComparable(one: Column | undefined, other: Column | undefined): boolean {
  return !one || !other || TEXTS.has(one.type) === TEXTS.has(other.type)
}
