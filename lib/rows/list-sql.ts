/**
 * The SQL of lists and numbers inside rows: for all owners of a page together, joined to it by their keys. So PostgreSQL reads
 * the related rows of all of them at once where no index leads to those of one; only a list with a limit is read owner by owner.
 */

import { describeModel } from '../models/describe-model.js'
import type { AnyQueryBuilder, ModelClass } from '../models/objection.js'
import { relatedRowsQuery } from '../queryset/related-lists.js'
import { joinSql, type SqlPart } from '../queryset/sql-part.js'
import { orderByKey } from '../queryset/total-order.js'
import { visibleRowsOf } from '../queryset/visible-rows.js'
import { cellText, objectText, referenceOf } from './json-text.js'
import type { InnerCount, InnerList, InnerRows, ListCell, RowPlan } from './row-shape.js'
import { direction, innerColumns, joinedTables, type KnexQuery, LIST_ALIAS } from './sql-parts.js'

/** The name of no table of the application's: inside, it hides tables around it. */
const KEYS = 'koa_viewsets_keys'

/** Related objects that are counted. */
export interface CountedRows {
  readonly model: ModelClass
  readonly relation: string
  /** The relations from the view's objects to the owners. */
  readonly path: readonly string[]
  /** Alias of the owners in the outer SQL. */
  readonly owner: string
}

/** The SQL of their number for one owner, and the columns of the owner that it reads. */
export type CountSql = (
  asked: CountedRows,
  parent: AnyQueryBuilder,
) => SqlPart & { readonly columns: readonly string[] }

/** Rows that have lists inside. */
interface Outside {
  readonly plan: RowPlan
  /** The name of what selects them, before the statement. */
  readonly source: string
  /** The relations from the view's objects to them. */
  readonly path: readonly string[]
  readonly parent: AnyQueryBuilder
  readonly count: CountSql | undefined
}

/** CTEs before a statement, and joins to its rows. */
export interface ListJoins {
  readonly before: readonly SqlPart[]
  readonly joins: SqlPart
}

/** The lists of a plan, each under a name of its own (`l0`). */
export function listJoins(outside: Outside): ListJoins {
  const { plan } = outside
  const before: SqlPart[] = []
  const joins = plan.lists.map((list, index) => {
    const made =
      list.content.kind === 'list' ? rowsAsJson(list.content, outside, index, before) : numbers(list.content, outside)
    return joinOn(list, made, plan)
  })
  return { before, joins: joinSql(joins) }
}

/** Joins what was made for each key. */
function joinOn({ index, content: { keys } }: ListCell, made: SqlPart, plan: RowPlan): SqlPart {
  const name = `l${index - plan.columns.length}`
  const pairs = keys.flatMap((key, position) => [`${name}.k${position}`, referenceOf(key, plan)])
  return {
    sql: ` left join (${made.sql}) as ?? on ${keys.map(() => '?? = ??').join(' and ')}`,
    bindings: [...made.bindings, name, ...pairs],
  }
}

/** The keys of all owners, each once. */
function keysOf({ keys }: InnerRows, { plan, source, parent }: Outside, names: readonly string[]): SqlPart {
  const tables = joinedTables(plan, visibleRowsOf(parent))
  return {
    sql: `(select distinct ${keys.map(() => '?? as ??').join(', ')} from ?? as ??${tables.sql}) as ??`,
    bindings: [
      ...keys.flatMap((key, index) => [referenceOf(key, plan), names[index]]),
      ...[source, LIST_ALIAS, ...tables.bindings, KEYS],
    ],
  }
}

function numbers(content: InnerCount, outside: Outside): SqlPart {
  const { owner, relation, path, keys } = content
  const asked = { model: owner, relation: relation.name, path: [...outside.path, ...path], owner: KEYS }
  if (!outside.count) throw new Error(`nobody counts "${relation.name}"`)
  const count = outside.count(asked, outside.parent)
  const from = keysOf(content, outside, count.columns)
  const own = count.columns.map((column) => `${KEYS}.${column}`)
  return {
    sql: `select ${keys.map(() => '?? as ??').join(', ')}, ${count.sql}::text as ?? from ${from.sql}`,
    bindings: [...own.flatMap((name, index) => [name, `k${index}`]), ...count.bindings, 'json', ...from.bindings],
  }
}

function rowsAsJson(list: InnerList, outside: Outside, index: number, before: SqlPart[]): SqlPart {
  const { plan, relation, path } = list
  const source = `${outside.source}_${index}`
  const rows = rowsOf(list, outside)
  const inside = { ...outside, plan, source, path: [...outside.path, ...path, relation.name] }
  const lists = listJoins(inside)
  // what is looked into once more stands before the statement
  const isNamed = plan.lists.length > 0
  if (isNamed) before.push({ sql: `?? as materialized (${rows.sql})`, bindings: [source, ...rows.bindings] })
  before.push(...lists.before)
  const from = isNamed ? { sql: '??', bindings: [source] } : { sql: `(${rows.sql})`, bindings: rows.bindings }
  return aggregated(list, from, { lists: lists.joins, tables: joinedTables(plan, visibleRowsOf(outside.parent)) })
}

/** A row for each owner: its key, and the JSON of its list. @param joins what is joined to the rows of the lists */
function aggregated(
  list: InnerList,
  from: SqlPart,
  { tables, lists }: Readonly<Record<'tables' | 'lists', SqlPart>>,
): SqlPart {
  const { plan, order, keys, isFlat } = list
  const [first] = plan.object.members
  const item = isFlat && first && 'cell' in first ? cellText(first.cell, plan) : objectText(plan.object, plan)
  const terms = order?.map((term) => `?? ${direction(term, false)}`) ?? ['??']
  const sorted = order?.map((_, index) => `${LIST_ALIAS}.o${index}`) ?? [`${LIST_ALIAS}.n`]
  const own = keys.map((_, index) => `${LIST_ALIAS}.k${index}`)
  const marks = own.map(() => '??').join(', ')
  return {
    sql:
      `select ${marks}, '[' || string_agg(${item.sql}, ',' order by ${terms.join(', ')}) || ']' as ?? ` +
      `from ${from.sql} as ??${tables.sql}${lists.sql} group by ${marks}`,
    bindings: [
      ...[...own, ...item.bindings, ...sorted, 'json'],
      ...[...from.bindings, LIST_ALIAS, ...tables.bindings, ...lists.bindings, ...own],
    ],
  }
}

/** The related rows of all owners: the key, then the columns that the plan needs. */
function rowsOf(list: InnerList, outside: Outside): SqlPart {
  const { owner, relation, keys, shown, order, plan } = list
  const names = keys.map((_, index) => `k${index}`)
  const references = names.map((name) => `${KEYS}.${name}`)
  const declared = { relation: relation.name, modifiers: shown?.modifiers ?? [], order: shown?.order ?? [] }
  const query = relatedRowsQuery(declared, { owner, relation, references, parent: outside.parent })
  const limit = shown?.limit
  if (limit !== undefined || !order) orderByKey(query, declared.order)
  const table = query.tableRefFor(query.modelClass())
  const model = describeModel(relation.model)
  const columns = [...innerColumns({ plan, model, order: order ?? [] }, true)]
  void query.clearSelect().select(columns.map(([name, { column }]) => `${table}.${column} as ${name}`))
  const built = query.toKnexQuery() as KnexQuery
  // a literal, as that of a page
  if (limit !== undefined) built.limit(limit, { skipBinding: true })
  const from = keysOf(list, outside, names)
  const rows = order ? '?' : '(select i.*, row_number() over () as ?? from ? as i)'
  return {
    sql: `select ${names.map(() => '??').join(', ')}, r.* from ${from.sql} cross join lateral ${rows} as r`,
    bindings: [...references, ...from.bindings, ...(order ? [] : ['n']), built],
  }
}
