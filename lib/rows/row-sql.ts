/** The SQL behind a row plan: the list inside, the tables joined to it around it. */

import type { ModelDescription } from '../models/model-description.js'
import type { AnyQueryBuilder } from '../models/objection.js'
import { type CompiledSql, nativeSql, type Queryable } from '../postgres/pg-types.js'
import { keysetTerms, positionOf } from '../queryset/keyset.js'
import { joinSql, type SqlPart } from '../queryset/sql-part.js'
import { type OrderTerm, orderBy, rawOf } from '../queryset/total-order.js'
import { visibleRowsOf } from '../queryset/visible-rows.js'
import { listText, referenceOf } from './json-text.js'
import { type CountSql, type ListJoins, listJoins } from './list-sql.js'
import type { RowPlan } from './row-shape.js'
import { direction, innerColumns, joinedTables, type KnexQuery, LIST_ALIAS, type OrderedPlan } from './sql-parts.js'

/** Selection of a statement: the count (if asked for), then the position (if asked for), then the plan's columns. */
export interface RowSelection extends OrderedPlan {
  readonly backwards: boolean
  /** The terms whose values are also selected, as a position's strings; undefined for none. */
  readonly positions: readonly OrderTerm[] | undefined
  readonly limit: number | undefined
  /**
   * The LIMIT is a parameter, for conditions with values: PostgreSQL then plans a prepared statement for the values themselves
   * where one plan for all of them would read many rows (`plan_cache_mode`). With a literal LIMIT it takes that plan for cheap, which
   * reads a whole table in its order where few rows have a value. Without such conditions it would plan each time for nothing.
   */
  readonly bindsLimit?: boolean
  readonly offset: number
  /** Way of counting the list, where that is asked for. */
  readonly counting: PageCount | undefined
  /** Counts related objects, where the plan shows their number. */
  readonly countSql?: CountSql | undefined
}

/** A count in the statement that reads the page. */
export interface PageCount {
  /** The query that counts. */
  readonly query: AnyQueryBuilder
  /**
   * Up to so many rows are read once, then counted, sorted and cut; a list that is longer gives none. undefined reads the
   * page by itself, which has no limit, but looks at the list once more for its count.
   */
  readonly upTo: number | undefined
  /** The conditions cost more than keeping the key of each row does: they stand in the statement once, for the count and the page. */
  readonly once: boolean
}

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
  if (!isWrapped(plan) && !counting) return nativeSql(selectPage(query, selection, false))
  const columns = outerColumns(selection)
  const { before, count, source, order } = pageParts(query, selection)
  const knex = query.knex() as Queryable
  const parts = [before, count, columns, source, order]
  const sql = `${before.sql}select ${count.sql}${columns.sql} from ${source.sql}${order.sql}`
  return nativeSql(knex.raw(sql, parts.flatMap(({ bindings }) => bindings) as never))
}

/** True where the page stands inside of what is joined to it. */
export function isWrapped({ joins, lists }: RowPlan): boolean {
  return joins.length > 0 || lists.length > 0
}

const NOTHING: SqlPart = { sql: '', bindings: [] }
const NO_LISTS: ListJoins = { before: [], joins: NOTHING }
const NAMED_PAGE: SqlPart = { sql: '??', bindings: [PAGE] }
/** Any operation but the count itself. */
const NARROWED = /^(?!count$)/

/** The parts of a statement, in their order. */
interface PageParts {
  /** What stands before it. */
  readonly before: SqlPart
  /** Its first column. */
  readonly count: SqlPart
  /** The page, and what is joined to it. */
  readonly source: SqlPart
  /** The list's order once more: a join may lose it. */
  readonly order: SqlPart
}

/** The page, its count, and what is joined to it. */
export function pageParts(query: AnyQueryBuilder, selection: RowSelection): PageParts {
  const { plan, countSql } = selection
  const { count, ...counted } = countedPage(query, selection)
  const hasLists = plan.lists.length > 0
  // lists are looked up by what is in the page
  const named = hasLists && !counted.isNamed ? [materialized(PAGE, counted.page)] : []
  const lists = hasLists ? listJoins({ plan, source: PAGE, path: [], parent: query, count: countSql }) : NO_LISTS
  const before = [...counted.before, ...named, ...lists.before]
  const page = named.length > 0 ? NAMED_PAGE : counted.page
  const tables = joinedTables(plan, visibleRowsOf(query))
  const queries = joinSql(before, ', ')
  return {
    before: before.length === 0 ? NOTHING : { ...queries, sql: `with ${queries.sql} ` },
    count,
    source: {
      sql: `${page.sql} as ??${tables.sql}${lists.joins.sql}`,
      bindings: [...page.bindings, LIST_ALIAS, ...tables.bindings, ...lists.joins.bindings],
    },
    order: isWrapped(plan) ? orderAgain(selection) : NOTHING,
  }
}

/** A page and its count. */
interface CountedPage {
  readonly before: readonly SqlPart[]
  readonly count: SqlPart
  readonly page: SqlPart
  /** The page stands before the statement. */
  readonly isNamed: boolean
}

/**
 * Where conditions may leave the page less than full it is looked at first, and the list not counted then; a whole table is
 * counted without, which is faster.
 */
function countedPage(query: AnyQueryBuilder, selection: RowSelection): CountedPage {
  const { counting, limit } = selection
  if (counting?.upTo !== undefined) return shortList(query, selection, counting.upTo)
  if (counting?.once) return keysOnce(query, selection)
  // a column more than the table has makes PostgreSQL build each row that an offset skips
  const page = { sql: '?', bindings: [selectPage(query, selection, isWrapped(selection.plan))] }
  if (!counting) return { before: [], count: NOTHING, page, isNamed: false }
  const count = counting.query.toKnexQuery()
  if (!counting.query.has(NARROWED)) {
    return { before: [], count: { sql: '?, ', bindings: [count] }, page, isNamed: false }
  }
  return {
    before: [materialized(PAGE, page)],
    count: { sql: `case when (select count(*) from ??) >= ${limit ?? 0} then ? end, `, bindings: [PAGE, count] },
    page: NAMED_PAGE,
    isNamed: true,
  }
}

/** A query that PostgreSQL runs once, under a name. */
function materialized(name: string, { sql, bindings }: SqlPart): SqlPart {
  return { sql: `?? as materialized ${sql}`, bindings: [name, ...bindings] }
}

/**
 * A list that is read once, for its count and for its page. PostgreSQL plans it as it plans a count, not as the first rows
 * of an order, and reads no more than one row too many of it.
 */
function shortList(query: AnyQueryBuilder, selection: RowSelection, upTo: number): CountedPage {
  const sorted = orderAgain(selection, '')
  const cut = cutOf(selection)
  const count = '(select count from ??)'
  return {
    before: [
      materialized(FOUND, { sql: '?', bindings: [selectColumns(query, selection, true).toKnexQuery()] }),
      { sql: `?? as (select count(*) from (select 1 from ?? limit ${upTo + 1}) as f)`, bindings: [COUNTED, FOUND] },
    ],
    count: { sql: `${count}, `, bindings: [COUNTED] },
    page: {
      sql: `(select * from ?? where ${count} <= ${upTo}${sorted.sql}${cut.sql})`,
      bindings: [FOUND, COUNTED, ...sorted.bindings, ...cut.bindings],
    },
    isNamed: false,
  }
}

/**
 * A list of which the keys are found once, for its count and for its page. PostgreSQL plans it as it plans a count: as the first rows of an
 * order it would try the conditions row by row, of a whole table where few rows or none meet them.
 */
function keysOnce(query: AnyQueryBuilder, selection: RowSelection): CountedPage {
  const { model, order } = selection
  const table = query.tableRefFor(query.modelClass())
  const inner = [...innerColumns(selection, true)]
  const keys = model.primaryKey.map((property) => `${table}.${model.columns.get(property)?.column ?? property}`)
  const found = query.clone().clearSelect()
  for (const [index, key] of keys.entries()) void found.select(`${key} as key${index}`)
  for (const [name, { column }] of inner) if (name.startsWith('o')) void found.select(`${table}.${column} as ${name}`)
  for (const [index, { related }] of order.entries()) {
    if (related) void found.select(rawOf(query, related.value(query), `o${index}`))
  }
  const columns = inner.flatMap(([name, { column }]) => (name.startsWith('o') ? [] : [`${table}.${column}`, name]))
  const values = order.flatMap((_, index) => [`${FOUND}.o${index}`, `o${index}`])
  const selected = Array((columns.length + values.length) / 2)
    .fill('?? as ??')
    .join(', ')
  const sorted = [orderAgain(selection, ''), orderAgain(selection, `${FOUND}.`)] as const
  const cut = cutOf(selection)
  const on = keys.map(() => '?? = ??').join(' and ')
  return {
    before: [materialized(FOUND, { sql: '?', bindings: [found.toKnexQuery()] })],
    count: { sql: '(select count(*) from ??), ', bindings: [FOUND] },
    page: {
      sql: `(select ${selected} from (select * from ??${sorted[0].sql}${cut.sql}) as ?? join ?? on ${on}${sorted[1].sql})`,
      bindings: [
        ...columns,
        ...values,
        FOUND,
        ...sorted[0].bindings,
        ...cut.bindings,
        ...[FOUND, model.model.tableName, ...keys.flatMap((key, index) => [key, `${FOUND}.key${index}`])],
        ...sorted[1].bindings,
      ],
    },
    isNamed: false,
  }
}

/** Where a page ends, and what it binds of its beginning. */
function cutOf({ limit, offset }: RowSelection): SqlPart {
  const end = limit === undefined ? '' : ` limit ${limit}`
  return offset > 0 ? { sql: `${end} offset ?`, bindings: [offset] } : { sql: end, bindings: [] }
}

/** The order by the columns that hold its values. */
function orderAgain({ order, backwards }: RowSelection, table = `${LIST_ALIAS}.`): SqlPart {
  if (order.length === 0) return NOTHING
  const terms = order.map((term) => `?? ${direction(term, backwards)}`)
  return { sql: ` order by ${terms.join(', ')}`, bindings: order.map((_, index) => `${table}o${index}`) }
}

/** Compiles a query as it is. */
export function compileQuery(query: AnyQueryBuilder): CompiledSql {
  return nativeSql(query.toKnexQuery())
}

/** The page of the list itself: its own columns, under plain names when something is put around it. */
function selectPage(query: AnyQueryBuilder, selection: RowSelection, wrapped: boolean): unknown {
  const { model, order, backwards, limit, bindsLimit = false, offset } = selection
  const page = selectColumns(query, selection, wrapped)
  orderBy(page, model, order, backwards)
  const built = page.toKnexQuery() as KnexQuery
  if (limit !== undefined) built.limit(limit, { skipBinding: !bindsLimit })
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

/** Finds for each term the column of the plan that says its position, or undefined where it must be selected by itself. */
export function positionCells(plan: RowPlan, model: ModelDescription, order: readonly OrderTerm[]): Places {
  return order.map(({ property }) => {
    const wanted = model.columns.get(property)
    if (!wanted || !SAME_TEXT.has(wanted.type)) return undefined
    const index = plan.columns.findIndex(({ table, column }) => table === 0 && column === wanted)
    return index === -1 ? undefined : index
  })
}

export function outerColumns({ plan, positions }: RowSelection): SqlPart {
  const columns: readonly SqlPart[] = [
    ...(positions ?? []).map((_, index) => ({ sql: '??', bindings: [`${LIST_ALIAS}.p${index}`] })),
    ...plan.columns.map((_, index) => ({ sql: '??', bindings: [referenceOf(index, plan)] })),
    ...plan.lists.map((list) => listText(list, plan)),
  ]
  if (columns.length === 0) return { sql: '1', bindings: [] }
  return joinSql(columns, ', ')
}
