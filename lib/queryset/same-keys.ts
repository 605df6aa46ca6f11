/** Equality of keys. PostgreSQL says so, but for types whose values are equal where their texts are. */

import type { Column } from '../models/model-description.js'
import { nativeSql, type Queryable } from '../postgres/pg-types.js'
import { runStatement } from '../postgres/run-statement.js'
import { keyRows, PLACE, spelling } from './key-rows.js'

/** The values of a key, in the order of its columns. */
type Key = readonly unknown[]

/** Canonical value of a key: equal for keys that are the same. */
export type CanonicalKey = number | string

/**
 * A name for each key, which the keys have in common that SQL calls equal. It costs a statement where the columns have a type
 * whose values have several spellings, and several are given.
 */
export async function namesOfKeys(
  columns: readonly (Column | undefined)[],
  keys: readonly Key[],
  knex: Queryable,
): Promise<readonly CanonicalKey[]> {
  const texts = keys.map((key) => spelling(key, columns))
  if (columns.every(isSpelledOnce)) return texts
  const distinct = new Map(texts.map((text, index) => [text, keys[index] as Key]))
  if (distinct.size <= 1) return texts
  const ranks = await rankKeys(columns as readonly Column[], [...distinct.values()], knex)
  const names = new Map([...distinct.keys()].map((text, index) => [text, ranks[index] as string]))
  return texts.map((text) => names.get(text) as string)
}

/** Canonical values of keys of one column. */
export function namesOfValues(
  column: Column | undefined,
  values: readonly unknown[],
  knex: Queryable,
): Promise<readonly CanonicalKey[]> {
  const keys = values.map((value) => [value])
  return namesOfKeys([column], keys, knex)
}

/** For each pair of values of a column whether they are the same. */
export async function areSame(
  column: Column | undefined,
  pairs: readonly (readonly [unknown, unknown])[],
  knex: Queryable,
): Promise<readonly boolean[]> {
  const names = await namesOfValues(column, pairs.flat(), knex)
  return pairs.map((_, index) => names[2 * index] === names[2 * index + 1])
}

const SPELLED_ONCE: ReadonlySet<string> = new Set([
  'int2',
  'int4',
  'int8',
  'oid',
  'xid',
  'bool',
  'uuid',
  'enum',
  'text',
  'varchar',
])

/** True for a column whose values are equal where their texts are. */
export function isSpelledOnce(column: Column | undefined): boolean {
  // before the catalogue was read nothing says how SQL compares
  if (column?.sqlType === undefined) return true
  return SPELLED_ONCE.has(column.type) && column.collation === undefined
}

/** Names of no table and no column of the application's. */
const KEYS = 'koa_viewsets_keys'
const KEY = 'koa_viewsets_key'

async function rankKeys(columns: readonly Column[], keys: readonly Key[], knex: Queryable): Promise<readonly string[]> {
  const names = columns.map((_, index) => `${KEY}${index}`)
  const rows = keyRows({ columns, values: keys, table: KEYS, names })
  const sql = `select dense_rank() over (order by ${names.map(() => '??').join(', ')}) from ${rows.sql} order by ??`
  const { text, values } = nativeSql(knex.raw(sql, [...names, ...rows.bindings, PLACE] as never))
  const ranks = await runStatement(knex, { text, name: undefined }, values)
  return ranks.map(([rank]) => rank as string)
}
