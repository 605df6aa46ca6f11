/** GROUP BY: groups of objects as a list to cut pages from, and the statements that read them. */

import type { SerializerContext } from '../fields/field.js'
import { PathStart } from '../filters/field-path.js'
import { builtFor } from '../filters/relations/related-condition.js'
import { ConfigurationError } from '../kernel/errors.js'
import { standardExact, standardValue } from '../models/exact-types.js'
import type { ModelDescription } from '../models/model-description.js'
import { type AnyQueryBuilder, modelName } from '../models/objection.js'
import { bareName } from '../models/table-reference.js'
import type { CountKind, ListPool, ListSource, Position, RowCursor, Rows, Slice } from '../pagination/list-source.js'
import { sqlStateOf } from '../postgres/database-errors.js'
import { type CompiledSql, nativeSql, type Queryable } from '../postgres/pg-types.js'
import { runStatement, type StatementClient } from '../postgres/run-statement.js'
import { isShaped, unordered } from '../queryset/count-rows.js'
import { hasOwn } from '../queryset/group-conditions.js'
import { readsBelow } from '../queryset/read-columns.js'
import { readExactly } from '../queryset/read-exactly.js'
import type { SqlPart } from '../queryset/sql-part.js'
import { joinOrder } from '../queryset/total-order.js'
import { checkSlice, countedBy, DescribedList } from '../rows/described-list.js'
import { listPoolOf } from '../rows/row-cursor.js'
import { Figure } from './figure.js'
import { COUNTING } from './functions.js'
import type { AskedFigures } from './read-asked.js'

/** A row of an aggregated answer. */
export type FigureRow = Readonly<Record<string, unknown>>

export interface FigureListOptions {
  readonly name: string
  readonly model: ModelDescription
  /** The parameters that the view's filter backends read. */
  readonly parameters: ReadonlySet<string>
  /** A fresh query of the objects. */
  readonly query: () => AnyQueryBuilder
  readonly asked: AskedFigures
  readonly context: () => SerializerContext
  /** Whom the rows are for: once it is gone, they are read no further. */
  readonly client: StatementClient
}

/** Groups behind each other, each one row. */
export class FigureList extends DescribedList implements ListSource {
  readonly #options: FigureListOptions

  constructor(options: FigureListOptions) {
    const { name, model, parameters } = options
    // no column orders groups, so that no position can be kept of one
    super({ name, parameters, shown: new Set(), hidesKeys: false }, model, [])
    this.#options = options
  }

  get pool(): ListPool {
    return listPoolOf(this.#options.query().knex())
  }

  /** The one group of all objects. */
  async only(): Promise<FigureRow> {
    const [row] = await this.#rows({})
    return row as FigureRow
  }

  async count(kind: CountKind = 'exact', limit?: number): Promise<number> {
    const { query, asked, client } = this.#options
    const figures = [...asked.figures.slice(0, asked.groups), ALL_GROUPS]
    const [row] = await valuesOf(query(), { ...asked, figures, order: [] }, { page: { limit: 1 }, client })
    const found = Number(row?.at(-1) ?? 0)
    return kind === 'capped' && limit !== undefined ? Math.min(found, limit) : found
  }

  async read({ limit, offset = 0, after, positions, count }: Slice): Promise<Rows> {
    if (after || positions) throw positionless(this.name)
    checkSlice({ limit, offset })
    const counts = count !== undefined && count !== 'none'
    const values = await this.#rows({ limit, offset, counts: counts && Number.isFinite(limit) })
    const rows = values.map(({ [TOTAL]: _total, ...row }) => row)
    const total = counts ? await this.#total(values, { limit, offset }, count) : undefined
    return {
      length: rows.length,
      count: total,
      position: (): Position => {
        throw positionless(this.name)
      },
      results: (start, end, backwards) => (backwards ? rows.slice(start, end).reverse() : rows.slice(start, end)),
    }
  }

  open(): Promise<RowCursor> {
    return Promise.reject(positionless(this.name))
  }

  /** The count stands beside each group; where none is read, there is none to read it from. */
  async #total(values: readonly FigureRow[], slice: Pick<Slice, 'limit' | 'offset'>, kind: CountKind): Promise<number> {
    const total = values[0]?.[TOTAL]
    if (total !== undefined) return total as number
    return countedBy(values.length, slice) ?? this.count(kind)
  }

  async #rows(page: FigurePage): Promise<readonly FigureRow[]> {
    const { query, asked, context, client } = this.#options
    return readFigureRows(query(), asked, { page, context: context(), client })
  }
}

function positionless(name: string): ConfigurationError {
  return new ConfigurationError(
    `${name}: its paginator goes by positions of rows, and groups have none; page by number, or by limit and offset`,
  )
}

/** The name of the count of all groups in a row: no figure has it. */
const TOTAL = ''
const ALL_GROUPS = new Figure({ name: TOTAL, ...COUNTING, wrap: () => 'count(*) over ()' })

export interface FigurePage {
  /** @default all */
  readonly limit?: number
  readonly offset?: number
  /** Also count all groups, in each row. */
  readonly counts?: boolean
}

/** What is read, and whom it is for. */
export interface FigureReading {
  readonly page: FigurePage
  readonly context: SerializerContext
  readonly client: StatementClient
}

/** Reads groups: their values by name, as they are shown. */
export async function readFigureRows(
  query: AnyQueryBuilder,
  asked: AskedFigures,
  { page, context, client }: FigureReading,
): Promise<readonly FigureRow[]> {
  const figures = page.counts ? [...asked.figures, ALL_GROUPS] : asked.figures
  const rows = await valuesOf(query, { ...asked, figures }, { page, client })
  return rows.map((row) =>
    Object.fromEntries(figures.map((figure, index) => [figure.name, figure.show(row[index], context)])),
  )
}

async function valuesOf(
  query: AnyQueryBuilder,
  asked: AskedFigures,
  { page, client }: Omit<FigureReading, 'context'>,
): Promise<unknown[][]> {
  const objects = unordered(query)
  const needsOwnRows = objects.hasSelects() || isShaped(objects) || hasOwn(objects, /^onBuild/)
  const knex = query.knex() as Queryable
  if (!readsBelow(objects)) {
    if (isShaped(objects)) throw unreadable(objects)
    return readByModel(grouped(objects.clear(/^(select|column)/), asked, page), asked)
  }
  const { text, values } = needsOwnRows
    ? aroundRows(objects, asked, page)
    : nativeSql(grouped(objects, asked, page).toKnexQuery())
  const rows = await runStatement(knex, { text, name: undefined }, values, client).catch((error: unknown) => {
    throw needsOwnRows && sqlStateOf(error) === UNDEFINED_COLUMN ? leftOut(objects, error) : error
  })
  const parsers = asked.figures.map(({ oid }) => standardExact.getTypeParser(oid, 'text'))
  return rows.map((row) => parsers.map((parse, index) => parsed(row[index], parse)))
}

function parsed(text: string | null | undefined, parse: (text: string) => unknown): unknown {
  return text === null || text === undefined ? null : parse(text)
}

/** What hooks of the application, or an executing of its own, make of the query. */
async function readByModel(query: AnyQueryBuilder, { figures }: AskedFigures): Promise<unknown[][]> {
  const rows = (await readExactly(query)) as Readonly<Record<string, unknown>>[]
  return rows.map((row) => figures.map((_, index) => standardValue(row, alias(index), row[alias(index)]) ?? null))
}

const UNDEFINED_COLUMN = '42703'

/** What the application's query does not select of its rows, nothing may be computed of: that it is left out may hide it. */
function leftOut(query: AnyQueryBuilder, cause: unknown): ConfigurationError {
  return new ConfigurationError(
    `${modelName(query.modelClass())}: the queryset selects its own columns and leaves out one that aggregates or facets need; select it, or take it out of what is declared`,
    { cause },
  )
}

function unreadable(query: AnyQueryBuilder): ConfigurationError {
  return new ConfigurationError(
    `${modelName(query.modelClass())}: its queries run hooks, and one of them is grouped or distinct: aggregates cannot be made of both; select by a condition`,
  )
}

/** The query itself, of groups in place of objects. */
function grouped(query: AnyQueryBuilder, asked: AskedFigures, page: FigurePage): AnyQueryBuilder {
  joinOrder(
    query,
    asked.figures.flatMap((figure) => figure.joined(query) ?? []),
  )
  const columns = columnsOf(PathStart.of(query), asked, query)
  void query.select(query.modelClass().raw(columns.sql, columns.bindings as never))
  cut(query, asked, page)
  return query
}

/** A query of the rows that the application's own selects and groups make, in the place of the table. */
function aroundRows(query: AnyQueryBuilder, asked: AskedFigures, page: FigurePage): CompiledSql {
  const table = bareName(query.tableRefFor(query.modelClass()))
  const columns = columnsOf(PathStart.of(query, table), asked)
  const knex = query.knex() as Queryable
  const built = knex
    .queryBuilder()
    .select(knex.raw(columns.sql, columns.bindings.map((binding) => builtFor(knex, binding)) as never))
    .from(knex.raw('? as ??', [query.toKnexQuery(), table] as never))
  cut(built, asked, page)
  return nativeSql(built)
}

/** What queries of knex and of Objection have of groups. */
interface Grouping {
  groupByRaw(sql: string): unknown
  orderByRaw(sql: string): unknown
  limit(rows: number): unknown
  offset(rows: number): unknown
}

/** Groups what is selected, in its order, and cuts the page out of it. */
function cut(query: Grouping, asked: AskedFigures, { limit, offset }: FigurePage): void {
  if (asked.groups > 0) {
    query.groupByRaw(ordinals(asked))
    if (asked.order.length > 0) query.orderByRaw(orderSql(asked))
  }
  if (limit !== undefined && Number.isFinite(limit)) query.limit(limit)
  if (offset) query.offset(offset)
}

function columnsOf(start: PathStart, { figures }: AskedFigures, joined?: AnyQueryBuilder): SqlPart {
  const parts = figures.map((figure) => figure.sql(start, joined))
  return {
    sql: parts.map(({ sql }) => `${sql} as ??`).join(', '),
    bindings: parts.flatMap(({ bindings }, index) => [...bindings, alias(index)]),
  }
}

/** One lower-case word, so that no mapper of names changes it. */
function alias(index: number): string {
  return `figure${String.fromCodePoint(...[...String(index)].map((digit) => 97 + Number(digit)))}`
}

function ordinals({ groups }: AskedFigures): string {
  return Array.from({ length: groups }, (_, index) => index + 1).join(', ')
}

function orderSql({ order }: AskedFigures): string {
  return order.map(({ position, descending }) => `${position + 1}${descending ? ' desc' : ''}`).join(', ')
}
