/**
 * Rows with the values that a query shows: where it computes a column, as a mask does, the conditions and orders that others add
 * read what it shows, not what the table holds.
 */

import type { Knex } from 'knex'
import { ConfigurationError } from '../kernel/errors.js'
import { quote } from '../kernel/quote.js'
import type { Column, ModelDescription } from '../models/model-description.js'
import type { AnyQueryBuilder } from '../models/objection.js'
import { bareName, escaped, quoteIdentifier, toReference } from '../models/table-reference.js'
import type { Queryable } from '../postgres/pg-types.js'
import { isShaped } from './count-rows.js'
import type { SqlPart } from './sql-part.js'

export interface ShownRowsOptions {
  /** Name of the class that declares the query, for messages. */
  readonly name: string
  readonly model: ModelDescription
}

/** The properties of the columns that a query computes. @throws {ConfigurationError} it selects an expression without a name */
export function computedColumns(query: AnyQueryBuilder, options: ShownRowsOptions): readonly string[] {
  const items = selectedItems(query.toKnexQuery() as Building, query, options)
  const columns = [...options.model.columns.values()]
  return columns.filter((column) => isComputed(column, items)).map(({ property }) => property)
}

/**
 * True where a query selects each column of its table as it is, whatever it selects besides.
 * @throws {ConfigurationError} it selects an expression without a name
 */
export function selectsWholeRows(query: AnyQueryBuilder, options: ShownRowsOptions): boolean {
  const items = selectedItems(query.toKnexQuery() as Building, query, options)
  return [...options.model.columns.values()].every(({ writtenName }) => items.get(writtenName)?.isOwn === true)
}

function isComputed({ writtenName }: Column, items: ReadonlyMap<string, Item>): boolean {
  return items.get(writtenName)?.isOwn === false
}

/**
 * A query for the rows that another one shows, which stand in the place of its table.
 * @param narrow adds conditions on the rows as the table has them
 * @returns undefined where it computes no column
 * @throws {ConfigurationError} it selects an expression without a name
 */
export function shownRows(
  query: AnyQueryBuilder,
  options: ShownRowsOptions,
  narrow?: (query: AnyQueryBuilder) => void,
): AnyQueryBuilder | undefined {
  const inner = query.clone().clear(query.has('distinctOn') ? AFTERWARDS : OUTSIDE)
  narrow?.(inner)
  const rows = inner.toKnexQuery() as Building
  const items = selectedItems(rows, query, options)
  const columns = [...options.model.columns.values()]
  if (!columns.some((column) => isComputed(column, items))) return undefined
  const sources = new Map<string, SqlPart>(items)
  const isWhole = !isShaped(query)
  for (const { writtenName, sqlType } of columns) {
    const known = sources.get(writtenName)
    // NULL by itself is a text to PostgreSQL
    const absent = { sql: sqlType === undefined ? 'null' : `null::${escaped(sqlType)}`, bindings: [] }
    if (known ? NULL.test(known.sql) : !isWhole) sources.set(writtenName, absent)
    else if (!known) sources.set(writtenName, columnOf(query, writtenName))
  }
  replaceSelected(rows, sources)
  return around(query, rows, [...items.keys()])
}

/** A query that selects each column of its table, besides what it selects itself. @throws as `shownRows()` */
export function withAllColumns(query: AnyQueryBuilder, options: ShownRowsOptions): AnyQueryBuilder {
  if (isShaped(query)) return query
  const items = selectedItems(query.toKnexQuery() as Building, query, options)
  const missing = [...options.model.columns.values()].filter(({ writtenName }) => !items.has(writtenName))
  const table = query.tableRefFor(query.modelClass())
  return missing.length === 0 ? query : query.select(missing.map(({ column }) => `${table}.${column}`))
}

/** Operations on rows that were found, such as the loading of related objects. */
const AFTERWARDS = /^(eager|runBefore|runAfter|onError|timeout)$/
/** Operations that belong around the rows that a query shows. */
const OUTSIDE = /^(eager|runBefore|runAfter|onError|timeout|orderBy|orderByRaw)$/
const INSIDE = /^(?!(?:eager|runBefore|runAfter|onError|timeout|orderBy|orderByRaw|withSchema|transacting|context)$)/
const NULL = /^\(*null\)*$/i

/** The query itself, with other rows in the place of its table. */
function around(query: AnyQueryBuilder, rows: Building, names: readonly string[]): AnyQueryBuilder {
  const model = query.modelClass()
  const table = bareName(query.tableRefFor(model))
  const outer = query.clone().clear(INSIDE).alias(table)
  const selected = names.map((name) => columnOf(outer, name).sql)
  return outer.from(model.raw('? as ??', [rows as never, table]) as never).select(model.raw(selected.join(', ')))
}

/** A query of knex as far as we look at it; it is not in its types. */
interface Statement {
  readonly grouping: string
  readonly distinct?: boolean
  readonly distinctOn?: boolean
  readonly value?: unknown
}
type Building = Knex.QueryBuilder & {
  _statements: Statement[]
  readonly client: { queryBuilder(): Knex.QueryBuilder; raw(sql: string, bindings: readonly unknown[]): unknown }
}

function isSelected({ grouping, distinctOn }: Statement): boolean {
  return grouping === 'columns' && distinctOn !== true
}

function replaceSelected(rows: Building, sources: ReadonlyMap<string, SqlPart>): void {
  const isDistinct = rows._statements.some(({ distinct }) => distinct === true)
  const sql = [...sources].map(([name, source]) => `${source.sql} as ${escaped(quoteIdentifier(name))}`).join(', ')
  const bindings = [...sources.values()].flatMap((source) => source.bindings)
  const value = [rows.client.raw(sql, bindings)]
  const others = rows._statements.filter((statement) => !isSelected(statement))
  rows._statements = [...others, { grouping: 'columns', value, distinct: isDistinct }]
}

/** Selected items of a query. */
interface Item extends SqlPart {
  /** It is the table's own column of that name. */
  readonly isOwn: boolean
}

/** Selected items of a query by name; of several under one name the last counts, as it does in rows. */
function selectedItems(rows: Building, query: AnyQueryBuilder, options: ShownRowsOptions): ReadonlyMap<string, Item> {
  const { name: owner, model } = options
  const list = rows.client.queryBuilder() as Building
  list._statements = rows._statements.filter(isSelected).map((one) => ({ ...one, distinct: false }))
  const { sql, bindings } = list.toSQL() as unknown as SqlPart
  const table = tableOf(query)
  const isJoined = rows._statements.some(({ grouping }) => grouping === 'join')
  const names = new Set([...model.columns.values()].map(({ writtenName }) => writtenName))
  const items = new Map<string, Item>()
  const add = (name: string, item: Item) => {
    items.delete(name)
    items.set(name, item)
  }
  let bound = 0
  for (const text of splitList(sql.replace(/^select /i, ''))) {
    const values = bindings.slice(bound, bound + (text.match(PLACE)?.length ?? 0))
    bound += values.length
    const [, expression = text, alias] = NAMED.exec(text) ?? []
    const path = partsOf(expression)
    if (path?.at(-1) === '*') {
      const isOwn = path.length === 1 ? !isJoined : isTable(path, table)
      for (const name of isOwn ? names : []) add(name, { ...columnOf(query, name), isOwn })
      continue
    }
    const called = FUNCTION.exec(expression)?.[1]
    const name = alias === undefined ? (path?.at(-1) ?? (called && nameOf(called))) : nameOf(alias)
    if (name === undefined) {
      if (!expression.match(IDENTIFIERS)?.some((one) => names.has(nameOf(one)))) continue
      throw new ConfigurationError(
        `${owner}: its queryset selects ${quote(expression)} without a name, so that filters cannot tell what it shows; name it by "as"`,
      )
    }
    const isOwn = path?.at(-1) === name && (path.length === 1 || isTable(path, table))
    add(name, { sql: expression, bindings: values, isOwn })
  }
  return items
}

const IDENTIFIER = '(?:"(?:[^"]|"")+"|[a-z_][\\w$]*)'
const IDENTIFIERS = new RegExp(IDENTIFIER, 'gi')
const NAMED = new RegExp(`^([\\s\\S]+?)\\s+as\\s+(${IDENTIFIER})$`, 'i')
const PATH = new RegExp(`^(?:${IDENTIFIER}\\.)*(?:${IDENTIFIER}|\\*)$`, 'i')
const FUNCTION = new RegExp(`^(?:${IDENTIFIER}\\.)*(${IDENTIFIER})\\s*\\([\\s\\S]*\\)$`, 'i')
/** Placeholder of a value, and no escaped question mark. */
const PLACE = /(?<!\\)\?/g
const TOKENS = /'(?:[^']|'')*'|"(?:[^"]|"")*"|[^'"()[\],]+|[\s\S]/g

/** The parts of a list between the commas that stand outside of parentheses. */
function splitList(sql: string): readonly string[] {
  const items = ['']
  let depth = 0
  for (const [token] of sql.matchAll(TOKENS)) {
    if (token === '(' || token === '[') depth++
    else if (token === ')' || token === ']') depth--
    if (token === ',' && depth === 0) items.push('')
    else items[items.length - 1] += token
  }
  return items.map((item) => item.trim())
}

function partsOf(expression: string): readonly string[] | undefined {
  return PATH.test(expression) ? expression.match(/\*|"(?:[^"]|"")+"|[^."]+/g)?.map(nameOf) : undefined
}

function isTable(path: readonly string[], table: string): boolean {
  return path.slice(0, -1).map(quoteIdentifier).join('.') === table
}

/** Identifier as PostgreSQL stores it. */
function nameOf(identifier: string): string {
  return identifier.startsWith('"') ? identifier.slice(1, -1).replaceAll('""', '"') : identifier.toLowerCase()
}

function columnOf(query: AnyQueryBuilder, name: string): SqlPart {
  return { sql: escaped(`${tableOf(query)}.${quoteIdentifier(name)}`), bindings: [] }
}

function tableOf(query: AnyQueryBuilder): string {
  return toReference(query.knex() as Queryable, query.tableRefFor(query.modelClass()))
}
