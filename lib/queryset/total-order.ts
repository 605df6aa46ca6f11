/**
 * Makes the order of a list total, so that no page repeats or loses a row (promise C10), and joins the list to what it is
 * ordered by in tables of related objects, where that doubles no row and hides no name.
 */

import type { RawBuilder } from 'objection'
import { oncePer } from '../kernel/once-per.js'
import { columnProblem } from '../models/build-model.js'
import { describeModel } from '../models/describe-model.js'
import { type Column, type ModelDescription, tellsAllApart, tellsApart } from '../models/model-description.js'
import type { AnyQueryBuilder, ModelClass } from '../models/objection.js'
import { escaped, quoteIdentifier } from '../models/table-reference.js'
import { LOCKS } from './count-rows.js'
import { POSITION_TAGS } from './position-tags.js'
import type { SqlPart } from './sql-part.js'

/** An ordering term: a property of the model, or a path to one of a related object, and its direction. */
export interface OrderTerm {
  readonly property: string
  readonly descending: boolean
  /** What a path leads to, or the text of a column whose values have no order; undefined for any other column of the model's own. */
  readonly related?: RelatedTerm | undefined
}

/** A column of the one object that a relation leads to. */
export interface RelatedTerm {
  /** Named by the path; it may always be NULL, and is unique for no list. */
  readonly column: Column
  /** The SQL is known only once it is built. */
  readonly narrowed: boolean
  /** Number of relations on the path. */
  readonly subQueries: number
  /** SQL for the value that rows of the query have, once `joinOrder()` has joined it. */
  value(query: AnyQueryBuilder): SqlPart
  /** SQL that joins the value to the query; undefined where nothing says that it doubles no row. */
  readonly join: ((query: AnyQueryBuilder) => SqlPart) | undefined
}

/** Reads `-created_at` as a term. */
export function parseOrderTerm(text: string): OrderTerm {
  return text.startsWith('-') ? { property: text.slice(1), descending: true } : { property: text, descending: false }
}

/** The order as a string: the properties joined by commas, `-` before descending ones. Kept, as views order by one array. */
export const orderText = oncePer((order: readonly OrderTerm[]): string =>
  order.map(({ property, descending }) => (descending ? `-${property}` : property)).join(','),
)

/**
 * The terms with the primary key behind them, in the direction of the last; as they are when one of them is unique. Where
 * nothing says that the key is unique, as in a view, all columns follow, so that only rows which are the same are alike.
 * @param options.positions only columns that a position can be made of
 */
export function totalOrder(
  model: ModelDescription,
  terms: readonly OrderTerm[],
  { positions = false } = {},
): readonly OrderTerm[] {
  const { columns, primaryKey } = model
  if (hasUnique(model, terms)) return terms
  const descending = terms.at(-1)?.descending ?? false
  const used = new Set(terms.map((term) => term.property))
  const key = primaryKey.filter((property) => columns.has(property))
  const all = [...columns.values()].filter((column) => !positions || isPosition(column))
  const others = tellsAllApart(model, [...used, ...key]) ? [] : all
  const added = new Set([...key, ...others.map(({ property }) => property)])
  const behind = [...added].filter((property) => !used.has(property))
  return [...terms, ...behind.map((property) => termOf(model, property, descending))]
}

/** The order of the primary key, and of all columns where nothing says that it is unique. */
export function keyOrder(model: ModelDescription): readonly OrderTerm[] {
  if (hasKey(model) && !tellsAllApart(model, model.primaryKey)) return totalOrder(model, [])
  return model.primaryKey.map((property) => termOf(model, property, false))
}

/** Values that PostgreSQL cannot order are ordered by their text; a name that knex would read otherwise is SQL. */
function termOf({ columns }: ModelDescription, property: string, descending: boolean): OrderTerm {
  const column = columns.get(property)
  if (!column || (column.isOrdered && isPlainName(column))) return { property, descending }
  const name = escaped(quoteIdentifier(column.nativeName))
  const value = (query: AnyQueryBuilder) => ({
    sql: column.isOrdered ? `??.${name}` : `??.${name}::text collate "C"`,
    bindings: [query.tableRefFor(query.modelClass())],
  })
  return { property, descending, related: { column, narrowed: false, subQueries: 0, value, join: undefined } }
}

function isPlainName(column: Column): boolean {
  return columnProblem(column) === undefined && !column.column.includes('.')
}

function isPosition(column: Column): boolean {
  return column.isOrdered && POSITION_TAGS.has(column.type) && isPlainName(column)
}

function hasUnique(model: ModelDescription, terms: readonly OrderTerm[]): boolean {
  return uniqueAmong(model, terms) !== undefined
}

function uniqueAmong(model: ModelDescription, terms: readonly OrderTerm[]): OrderTerm | undefined {
  return terms.find(({ property }) => {
    const column = model.columns.get(property)
    return column?.unique && !column.holdsNull && tellsApart(model, [property])
  })
}

/** True when an order of these terms can be made total: a table may have no column that the model names its rows by. */
export function canBeTotal(model: ModelDescription, terms: readonly OrderTerm[]): boolean {
  return hasUnique(model, terms) || hasKey(model)
}

/** True where the table has all columns that the model names its rows by. */
export function hasKey({ columns, primaryKey }: ModelDescription): boolean {
  return primaryKey.every((property) => columns.has(property))
}

/**
 * The properties that distinguish the rows of a list in this order: the primary key, or what of the order is unique;
 * undefined where nothing is known to.
 */
export function rowKey(model: ModelDescription, terms: readonly OrderTerm[]): readonly string[] | undefined {
  const unique = hasKey(model) ? undefined : uniqueAmong(model, terms)
  if (unique) return [unique.property]
  return tellsApart(model, model.primaryKey) ? model.primaryKey : undefined
}

/**
 * False where SQL would refuse the order: a query with DISTINCT or GROUP BY can only be ordered by what it selects.
 * Its order is then the application's own.
 */
export function canOrderBy(query: AnyQueryBuilder, model: ModelDescription, terms: readonly OrderTerm[]): boolean {
  if (query.has('distinctOn')) return false
  if (!query.has('distinct') && !query.has('groupBy')) return true
  // `max(id) as id` is no column to order by
  if (query.has('groupBy') && query.has(/^(min|max)$/)) return false
  const table = query.tableRefFor(query.modelClass())
  // documented, but missing from Objection's types
  const selecting = query as AnyQueryBuilder & { hasSelection(column: string): boolean }
  return terms.every(({ property, related }) => {
    if (related && query.has('distinct')) return false
    const column = model.columns.get(property)?.column ?? property
    return selecting.hasSelection(`${table}.${column}`)
  })
}

/** An expression as Objection takes it, under a name where one is given. */
export function rawOf(query: AnyQueryBuilder, { sql, bindings }: SqlPart, name?: string): RawBuilder {
  const model = query.modelClass()
  if (name === undefined) return model.raw(sql, bindings)
  return model.raw(`${sql} as ??`, [...bindings, name] as never)
}

/** Orders a query. Names must come from a declaration, never from a client. */
export function orderBy(
  query: AnyQueryBuilder,
  model: ModelDescription,
  terms: readonly OrderTerm[],
  backwards = false,
): AnyQueryBuilder {
  const table = query.tableRefFor(query.modelClass())
  for (const { property, descending, related } of terms) {
    const direction = descending === backwards ? 'asc' : 'desc'
    const column = model.columns.get(property)?.column ?? property
    void query.orderBy(related ? rawOf(query, related.value(query)) : `${table}.${column}`, direction)
  }
  return query
}

/** Orders by declared terms, else by the primary key, after any order that the query has. */
export function orderByKey(query: AnyQueryBuilder, declared: readonly OrderTerm[] = []): AnyQueryBuilder {
  const model = describeModel(query.modelClass() as ModelClass)
  return orderBy(query, model, declared.length > 0 ? declared : keyOrder(model))
}

/** What a join would be an error in: PostgreSQL locks no rows that may be missing, groups are not by it, and a union has columns of its own. */
const SHAPED = new RegExp(`^(${LOCKS}|groupBy|union|intersect|except)`)

/** True for a query that may be joined: its rows stay what they are. It stays true of a query that is joined. */
export function isJoinable(query: AnyQueryBuilder): boolean {
  // documented, but missing from Objection's types: true for `select *`, which would have the join's columns, too
  const selecting = query as AnyQueryBuilder & { hasSelection(column: string, explicit: boolean): boolean }
  return !query.has(SHAPED) && !selecting.hasSelection(`${ORDER}.${VALUE}`, true)
}

const ORDER = 'order'
/** Alias of the joined value; with a space, so that it is no column of the application's. */
export const VALUE = 'order value'

type Joined = OrderTerm & { readonly related: { readonly join: NonNullable<RelatedTerm['join']> } }

/** Joins a query to the values that `value()` of its terms then names. */
export function joinOrder(query: AnyQueryBuilder, order: readonly OrderTerm[]): AnyQueryBuilder {
  const joined = order.filter((term): term is Joined => term.related?.join !== undefined)
  if (joined.length === 0 || !isJoinable(query)) return query
  for (const { related } of new Map(joined.map((term) => [term.property, term])).values()) {
    const { sql, bindings } = related.join(query)
    void query.joinRaw(sql, bindings)
  }
  return query
}
