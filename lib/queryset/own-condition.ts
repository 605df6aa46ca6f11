/** The conditions of a query on its rows and nothing else, for statements that hold or write a row: they ask them in one go. */

import type { AnyQueryBuilder } from '../models/objection.js'
import type { Queryable } from '../postgres/pg-types.js'
import { type ConditionKey, conditionKey, type KeyedCondition } from './condition-key.js'
import { hasOwn, watchConditions } from './group-conditions.js'
import { readsWholeRows } from './reads-whole-rows.js'

/** What may add tables to a query. */
const JOINING = /join|^(from|fromRaw|table|into)$/i

const TRUE = { sql: 'true', bindings: [] }
/** A condition, where a statement asks it: its key is another than that of none. */
const EVERY_ROW: KeyedCondition = { ...TRUE, key: conditionKey([TRUE]) as ConditionKey }

/**
 * All that a query on these rows asks of them; undefined where it reads other tables, calls functions, or makes something of
 * its rows.
 */
export function ownCondition(query: AnyQueryBuilder, knex: Queryable): KeyedCondition | undefined {
  const { tableName } = query.modelClass()
  const isPlain = query.knex() === knex && query.tableRefFor(query.modelClass()) === tableName
  if (!isPlain || !readsWholeRows(query) || hasOwn(query, JOINING)) return undefined
  const conditions = watchConditions(query)
  const { sql, bindings } = query.clone().clearOrder().toKnexQuery().toSQL()
  if (!conditions.readOwnRow) return undefined
  const [whole, narrowed] = ['select ??.* from ??', 'select ??.* from ?? where '].map(
    (text) => knex.raw(text, [tableName, tableName]).toSQL().sql,
  ) as [string, string]
  if (sql === whole) return EVERY_ROW
  if (!sql.startsWith(narrowed)) return undefined
  const part = { sql: sql.slice(narrowed.length), bindings: bindings as readonly unknown[] }
  const key = conditionKey([part])
  return key && { key, isVaried: true, ...part }
}
