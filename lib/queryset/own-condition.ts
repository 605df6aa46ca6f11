/** The conditions of a query on its rows and nothing else, for statements that hold or write a row: they ask them in one go. */

import { oncePer, RecentMap } from '../kernel/once-per.js'
import { configOf, oncePerCatalogue } from '../models/describe-model.js'
import type { AnyQueryBuilder, ModelClass } from '../models/objection.js'
import type { Queryable } from '../postgres/pg-types.js'
import { conditionKey, type KeyedCondition } from './condition-key.js'
import { hasOwn, watchConditions } from './group-conditions.js'
import { copyOf, OwnPlace, queryKey } from './query-key.js'
import { readsWholeRows } from './reads-whole-rows.js'
import type { SqlPart } from './sql-part.js'

/** Methods that may add tables to a query. */
const JOINING = /join|^(from|fromRaw|table|into)$/i

/** A condition, where a statement asks it: its key is another than that of none. */
const EVERY_ROW = 'true'

/** Most conditions that are cached for a model. */
const MOST = 500

/** SQL of conditions by the keys of their queries; null where no statement can ask them. */
const known = oncePerCatalogue((_model: ModelClass) => oncePer((_config: object) => new RecentMap<string | null>(MOST)))

/**
 * All that a query on these rows asks of them; undefined where it reads other tables, calls functions, or makes something of
 * its rows.
 */
export function ownCondition(query: AnyQueryBuilder, knex: Queryable): KeyedCondition | undefined {
  const model = query.modelClass() as ModelClass
  const key = queryKey(query, model, knex)
  if (!key) return keyed(writtenCondition(query, knex), true)
  const all = known(model)(configOf(knex))
  let sql = all.get(key.text)
  if (sql === undefined) {
    const marked = writtenCondition(copyOf(query, true), knex)
    // in another order its values cannot be told
    if (marked && !marked.bindings.every((value, index) => value instanceof OwnPlace && value.index === index))
      return keyed(writtenCondition(query, knex), true)
    sql = marked?.sql ?? null
    all.set(key.text, sql)
  }
  return keyed(sql === null ? undefined : { sql, bindings: key.values }, false)
}

function keyed(part: SqlPart | undefined, isVaried: boolean): KeyedCondition | undefined {
  const key = part && conditionKey([part])
  return part && key && { key, isVaried, ...part }
}

function writtenCondition(query: AnyQueryBuilder, knex: Queryable): SqlPart | undefined {
  const { tableName } = query.modelClass()
  if (query.knex() !== knex || !readsWholeRows(query) || hasOwn(query, JOINING)) return undefined
  const conditions = watchConditions(query)
  const { sql, bindings } = query.clone().clearOrder().toKnexQuery().toSQL()
  if (!conditions.readOwnRow) return undefined
  const [whole, narrowed] = ['select ??.* from ??', 'select ??.* from ?? where '].map(
    (text) => knex.raw(text, [tableName, tableName]).toSQL().sql,
  ) as [string, string]
  if (sql === whole) return { sql: EVERY_ROW, bindings: [] }
  return sql.startsWith(narrowed) ? { sql: sql.slice(narrowed.length), bindings } : undefined
}
