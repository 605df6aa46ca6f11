/** The SQL behind a row plan: the list inside, the tables joined to it around it. */

import { oncePer } from '../kernel/once-per.js'
import { describeModel } from '../models/describe-model.js'
import type { Column, ModelDescription } from '../models/model-description.js'
import type { AnyQueryBuilder } from '../models/objection.js'
import { type CompiledSql, nativeSql, type Queryable } from '../postgres/pg-types.js'
import { keysetTerms, positionOf } from '../queryset/keyset.js'
import { type OrderTerm, orderBy, rawOf } from '../queryset/total-order.js'
import type { RowJoin, RowPlan } from './row-plan.js'

/** What to select. A row has the count (if asked for), then the position (if asked for), then the plan's columns. */
export interface RowSelection {
  readonly plan: RowPlan
  readonly model: ModelDescription
  readonly order: readonly OrderTerm[]
  readonly backwards: boolean
  /** The terms whose values are also selected, as a position's strings; undefined for none. */
  readonly positions: readonly OrderTerm[] | undefined
  /** The literal LIMIT: PostgreSQL plans a statement anew each time when the limit is a parameter. */
  readonly limit: number | undefined
  readonly offset: number
  /** How the list is counted, where that is asked for. */
  readonly counting: Counting | undefined
}

/** A count in the statement that reads the page. */
export interface Counting {
  /** The query that counts. */
  readonly query: AnyQueryBuilder
  /**
   * Up to so many rows are read once, then counted, sorted and cut; a list that is longer gives none. undefined reads the
   * page by itself, which has no limit, but looks at the list once more for its count.
   */
  readonly upTo: number | undefined
}

/** A piece of SQL whose bindings are identifiers. */
export interface Part {
  readonly sql: string
  readonly bindings: readonly string[]
}

/** Knex's own builder, as far as we use it. */
interface KnexQuery {
  limit(value: number, options: { skipBinding: true }): KnexQuery
  offset(value: number): KnexQuery
}

/** The name of the page in the SQL around it. */
export const LIST = 'list'
/** Names of what stands before a statement: there they hide tables of the same name, which an application may have. */
const PAGE = 'koa_viewsets_page'
const FOUND = 'koa_viewsets_found'
const COUNTED = 'koa_viewsets_counted'

/**
 * Compiles a query that has its conditions and nothing else. Tables are joined to the page, not to the whole list, so
 * that conditions of the application need not say which table their columns are of.
 */
export function compileRows(query: AnyQueryBuilder, selection: RowSelection): CompiledSql {
  const { plan, counting } = selection
  if (plan.joins.length === 0 && !counting) return nativeSql(selectPage(query, selection, false))
  const columns = outerColumns(selection)
  const from = fromClause(selection)
  const { before, count, list } = pageParts(query, selection)
  const knex = query.knex() as Queryable
  const bindings = [...before.bindings, ...count.bindings, ...columns.bindings, ...list.bindings, ...from.bindings]
  const sql = `${before.sql}select ${count.sql}${columns.sql} from ${list.sql}${from.sql}`
  return nativeSql(knex.raw(sql, bindings as never))
}

/** A piece of SQL whose bindings are identifiers and queries. */
export interface QueryPart {
  readonly sql: string
  readonly bindings: readonly unknown[]
}

const NOTHING: QueryPart = { sql: '', bindings: [] }
/** Any operation but the count itself. */
const NARROWED = /^(?!count$)/

/** What stands before a statement, what its first column is, and what it reads from. */
interface PageParts {
  readonly before: QueryPart
  readonly count: QueryPart
  readonly list: QueryPart
}

/**
 * The page, and its count. Where conditions may leave the page less than full it is looked at first, and the list not
 * counted then; a whole table is counted without, which is faster.
 */
export function pageParts(query: AnyQueryBuilder, selection: RowSelection): PageParts {
  const { counting, limit } = selection
  if (counting?.upTo !== undefined) return shortListParts(query, selection, counting.upTo)
  const page = selectPage(query, selection, true)
  const inside = { sql: '? as ??', bindings: [page, LIST] }
  if (!counting) return { before: NOTHING, count: NOTHING, list: inside }
  const count = counting.query.toKnexQuery()
  if (!counting.query.has(NARROWED)) return { before: NOTHING, count: { sql: '?, ', bindings: [count] }, list: inside }
  return {
    before: { sql: 'with ?? as materialized ? ', bindings: [PAGE, page] },
    count: { sql: `case when (select count(*) from ??) >= ${limit ?? 0} then ? end, `, bindings: [PAGE, count] },
    list: { sql: '?? as ??', bindings: [PAGE, LIST] },
  }
}

/**
 * A list that is read once, for its count and for its page. PostgreSQL plans it as it plans a count, not as the first rows
 * of an order, and reads no more than one row too many of it.
 */
function shortListParts(query: AnyQueryBuilder, selection: RowSelection, upTo: number): PageParts {
  const { order, backwards, limit, offset } = selection
  const terms = order.map((term) => `?? ${direction(term, backwards)}`)
  const sorted = terms.length > 0 ? ` order by ${terms.join(', ')}` : ''
  const cut = `${limit === undefined ? '' : ` limit ${limit}`}${offset > 0 ? ' offset ?' : ''}`
  const count = '(select count from ??)'
  return {
    before: {
      sql: `with ?? as materialized ?, ?? as (select count(*) from (select 1 from ?? limit ${upTo + 1}) as f) `,
      bindings: [FOUND, selectColumns(query, selection, true).toKnexQuery(), COUNTED, FOUND],
    },
    count: { sql: `${count}, `, bindings: [COUNTED] },
    list: {
      sql: `(select * from ?? where ${count} <= ${upTo}${sorted}${cut}) as ??`,
      bindings: [FOUND, COUNTED, ...order.map((_, index) => `o${index}`), ...(offset > 0 ? [offset] : []), LIST],
    },
  }
}

function direction({ descending }: OrderTerm, backwards: boolean): string {
  return descending === backwards ? 'asc' : 'desc'
}

/** Compiles a query as it is. */
export function compileQuery(query: AnyQueryBuilder): CompiledSql {
  return nativeSql(query.toKnexQuery())
}

/** The page of the list itself: its own columns, under plain names when something is put around it. */
function selectPage(query: AnyQueryBuilder, selection: RowSelection, wrapped: boolean): unknown {
  const { model, order, backwards, limit, offset } = selection
  const page = selectColumns(query, selection, wrapped)
  orderBy(page, model, order, backwards)
  const built = page.toKnexQuery() as KnexQuery
  if (limit !== undefined) built.limit(limit, { skipBinding: true })
  if (offset > 0) built.offset(offset)
  return built
}

/** The whole list without an order: its own columns. */
function selectColumns(query: AnyQueryBuilder, selection: RowSelection, wrapped: boolean): AnyQueryBuilder {
  const { plan, model, order, positions } = selection
  const table = query.tableRefFor(query.modelClass())
  const list = query.clone().clearSelect()
  for (const [index, term] of keysetTerms(model, positions ?? []).entries()) {
    void list.select(rawOf(query, positionOf(term, query), `p${index}`))
  }
  for (const [name, column] of innerColumns(selection, wrapped))
    void list.select(`${table}.${column.column} as ${name}`)
  for (const [index, { related }] of wrapped ? order.entries() : []) {
    if (related) void list.select(rawOf(query, related.value(query), `o${index}`))
  }
  if (plan.columns.length === 0 && !positions?.length) void list.select(query.modelClass().raw('1'))
  return list
}

/** Types of which a cell has the very text that a position has. */
const SAME_TEXT: ReadonlySet<string> = new Set(['int2', 'int4', 'int8', 'numeric', 'uuid', 'text', 'varchar'])

/** The plan's column for each term of an order, or undefined. */
type Places = readonly (number | undefined)[]

interface Placed {
  plan?: RowPlan
  model?: ModelDescription
  found?: Places
}

/** The places that were asked for last, of an order. */
const placed = oncePer((_order: readonly OrderTerm[]): Placed => ({}))

/**
 * Finds for each term the column of the plan that says its position, or undefined where it must be selected by itself. Kept, as
 * views order by one array.
 */
export function positionCells(plan: RowPlan, model: ModelDescription, order: readonly OrderTerm[]): Places {
  const known = placed(order)
  if (known.found && known.plan === plan && known.model === model) return known.found
  const found = order.map(({ property }) => {
    const wanted = model.columns.get(property)
    if (!wanted || !SAME_TEXT.has(wanted.type)) return undefined
    const index = plan.columns.findIndex(({ table, column }) => table === 0 && column === wanted)
    return index === -1 ? undefined : index
  })
  Object.assign(known, { plan, model, found })
  return found
}

/** Columns of the list's own table that are needed, with the names they get. */
export function innerColumns({ plan, model, order }: RowSelection, wrapped: boolean): Map<string, Column> {
  const needed = new Map<string, Column>()
  for (const [index, { table, column }] of plan.columns.entries()) if (table === 0) needed.set(`c${index}`, column)
  if (!wrapped) return needed
  for (const [index, { property, related }] of order.entries()) {
    if (!related) needed.set(`o${index}`, model.columns.get(property) as Column)
  }
  for (const { table, parent, relation } of plan.joins) {
    if (parent !== 0) continue
    for (const [index, property] of relation.ownerProperties.entries()) {
      needed.set(`k${table}_${index}`, model.columns.get(property) as Column)
    }
  }
  return needed
}

export function outerColumns({ plan, positions }: RowSelection): Part {
  const bindings = [
    ...(positions ?? []).map((_, index) => `${LIST}.p${index}`),
    ...plan.columns.map(({ table, column }, index) =>
      table === 0 ? `${LIST}.c${index}` : `j${table}.${column.column}`,
    ),
  ]
  return { sql: bindings.length > 0 ? bindings.map(() => '??').join(', ') : '1', bindings }
}

/** The joins, and the list's order once more: a join may lose it. */
export function fromClause({ plan, order, backwards }: RowSelection): Part {
  if (plan.joins.length === 0) return { sql: '', bindings: [] }
  const joins = plan.joins.map((join) => joinClause(join, plan))
  const terms = order.map((term) => `?? ${direction(term, backwards)}`)
  return {
    sql: joins.map((join) => join.sql).join('') + (terms.length > 0 ? ` order by ${terms.join(', ')}` : ''),
    bindings: [...joins.flatMap((join) => join.bindings), ...order.map((_, index) => `${LIST}.o${index}`)],
  }
}

function joinClause({ table, parent, relation }: RowJoin, plan: RowPlan): Part {
  const related = describeModel(relation.model)
  const owner = plan.joins.find((join) => join.table === parent)?.relation.model
  const keys = relation.ownerProperties.map((property, index) => [
    `j${table}.${related.columns.get(relation.relatedProperties[index] as string)?.column}`,
    owner ? `j${parent}.${describeModel(owner).columns.get(property)?.column}` : `${LIST}.k${table}_${index}`,
  ])
  return {
    sql: ` left join ?? as ?? on ${keys.map(() => '?? = ??').join(' and ')}`,
    bindings: [relation.model.tableName, `j${table}`, ...keys.flat()],
  }
}
