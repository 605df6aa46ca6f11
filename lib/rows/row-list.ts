/** A list read as rows of raw text and written as JSON without making objects: the ordinary path of a list. */

import { RecentMap } from '../kernel/recent-map.js'
import type { ModelDescription } from '../models/describe-model.js'
import type { AnyQueryBuilder } from '../models/objection.js'
import type {
  CountKind,
  ListPool,
  ListSource,
  Position,
  RowCursor,
  RowCursorOptions,
  Rows,
  Slice,
} from '../pagination/pagination.js'
import type { Recipient } from '../postgres/abandoned-statements.js'
import type { CompiledSql } from '../postgres/compiled-sql.js'
import type { Queryable } from '../postgres/pg-types.js'
import { PAGE, type RawRow, type RowFormat, TEXTS } from '../postgres/row-format.js'
import { runStatement, runStatementAs, type Statement, statementOf } from '../postgres/run-statement.js'
import { countQuery, countRows } from '../queryset/count-rows.js'
import { keysetTerms, rangesBeyond, type SqlPart } from '../queryset/keyset.js'
import { type OrderTerm, orderText } from '../queryset/total-order.js'
import { whereBeyond } from '../queryset/where-beyond.js'
import { TextRows } from './fetched-rows.js'
import { NativePage } from './native-page.js'
import { compileNative } from './native-sql.js'
import { openCursor, poolOf, rowCursor } from './row-cursor.js'
import type { CellScope, RowPlan } from './row-plan.js'
import { compileQuery, compileRows, positionCells } from './row-sql.js'

/** What a request asks of the list, when its SQL can be kept: equal shapes are equal texts. */
export interface ListShape {
  readonly key: string
  /** The values that the conditions bind, in order. */
  readonly values: readonly unknown[]
  /** The conditions take longer than to keep a row. */
  readonly expensive: boolean
  readonly kept: KeptLists
}

/** What is kept of the lists and objects of a view. */
export class KeptLists {
  /** Compiled statements by shape. */
  readonly statements = new Map<string, Statement>()
  /** How many rows the lists had that were counted last, by shape and values. */
  readonly counts = new RecentMap<number>(128)
  /** The same by shape alone, where conditions are expensive. */
  readonly lengths = new RecentMap<number>(128)
}

/** What the lists of a view have in common. */
export interface ListDescription {
  readonly name: string
  /** The parameters that the view's filter backends read. */
  readonly parameters: ReadonlySet<string>
  /** Columns that the output shows. */
  readonly shown: ReadonlySet<string>
  /** True where clients never see the primary keys. */
  readonly hidesKeys: boolean
}

export interface RowListOptions {
  readonly description: ListDescription
  readonly model: ModelDescription
  readonly knex: Queryable
  /** Whoever the rows are for. */
  readonly recipient: Recipient
  readonly plan: RowPlan
  /** A fresh query with the list's conditions. */
  readonly query: () => AnyQueryBuilder
  readonly shape: ListShape | undefined
  readonly order: readonly OrderTerm[]
  readonly scope: CellScope
  /** How long one statement of a cursor may take, in milliseconds, where the conditions may be slow. */
  readonly statementMilliseconds?: number | undefined
  /** PostgreSQL writes the JSON. */
  readonly native: boolean
}

/** Shapes kept for one view; a client that asks for more has its lists compiled each time. */
export const MOST_SHAPES = 500
/** What clients have sent is not kept where it is longer. */
const LONGEST_KEY = 512
/**
 * Lists of at most so many rows are read once for their count and their page. More rows would have to be kept by PostgreSQL,
 * and sorted, for little: the longer a list is, the less does its page cost beside its count.
 */
const SHORT = 1000
const NO_PLACES: readonly undefined[] = []
const NO_ROWS: readonly never[] = []

/** How a list is counted: not at all, in the statement that reads its page, or by reading all of it. */
type Counted = 'not' | 'beside' | 'whole'

/** A slice with nothing left out, whatever a paginator has left out. */
interface WholeSlice {
  readonly limit: number
  readonly offset: number
  readonly after: Position | undefined
  readonly backwards: boolean
  readonly positions: boolean
  readonly count: CountKind | undefined
}

function wholeSlice(slice: Slice): WholeSlice {
  return {
    limit: slice.limit,
    offset: slice.offset ?? 0,
    after: slice.after,
    backwards: slice.backwards ?? false,
    positions: slice.positions ?? false,
    count: slice.count,
  }
}

/** Reads rows of raw text through prepared statements. */
export class RowList implements ListSource {
  readonly name: string
  readonly model: ModelDescription
  readonly order: readonly OrderTerm[]
  readonly parameters: ReadonlySet<string>
  readonly shown: ReadonlySet<string>
  readonly hidesKeys: boolean
  readonly #options: RowListOptions

  constructor(options: RowListOptions) {
    const { description } = options
    this.name = description.name
    this.model = options.model
    this.order = options.order
    this.parameters = description.parameters
    this.shown = description.shown
    this.hidesKeys = description.hidesKeys
    this.#options = options
  }

  async count(kind: CountKind = 'exact', limit?: number): Promise<number> {
    const { knex, shape, query, recipient } = this.#options
    if (kind !== 'exact' || !shape) return countRows(query(), kind, limit)
    const key = `count|${shape.key}`
    const kept = shape.kept.statements.get(key)
    const statement = kept ?? this.#keep(key, compileQuery(countQuery(query())), shape.values)
    const [row] = await runStatement(knex, statement, shape.values, recipient)
    return this.#note(Number(row?.[0] ?? 0))
  }

  /** PostgreSQL writes the JSON. */
  get isNative(): boolean {
    return this.#options.native
  }

  get pool(): ListPool {
    return poolOf(this.#options.knex)
  }

  async open(options: RowCursorOptions): Promise<RowCursor> {
    const { plan, query, knex, scope, statementMilliseconds } = this.#options
    const statement = compileRows(query(), {
      plan,
      model: this.model,
      order: this.order,
      backwards: false,
      positions: undefined,
      limit: undefined,
      offset: 0,
      counting: undefined,
    })
    const cursor = await openCursor(knex, { ...options, statementMilliseconds }, statement)
    const layout = { plan, first: 0, offset: 0, places: [] }
    return rowCursor(cursor, async (size) => new TextRows(await cursor.fetchRaw(size), layout, scope))
  }

  async read(asked: Slice): Promise<Rows> {
    const slice = wholeSlice(asked)
    const { limit, offset, count: kind } = slice
    const exact = kind === 'exact' && Number.isFinite(limit)
    if (exact && this.#seemsShort(slice)) {
      const found = await this.#readWhole(slice)
      if (found) return found
    }
    // where it may end before, it is counted first; else together with its page
    const known = exact && offset > 0 && !this.#seemsToReach(offset) ? await this.count() : undefined
    const counted = exact && known === undefined
    const isEmpty = known !== undefined && offset >= known
    const { rows, first } = await this.#fetch(isEmpty ? undefined : slice, counted ? 'beside' : 'not')
    if (kind === undefined) return rows
    if (known !== undefined) rows.count = known
    else if (rows.length < limit && (rows.length > 0 || offset === 0)) rows.count = this.#note(offset + rows.length)
    else rows.count = counted && rows.length > 0 ? this.#note(Number(first)) : await this.count(kind)
    return rows
  }

  /** The slice of a list of which all was read; undefined where nothing is left of it, or the list is no short one. */
  async #readWhole(slice: WholeSlice): Promise<Rows | undefined> {
    const { rows, first } = await this.#fetch(slice, 'whole')
    const count = Number(first ?? 0)
    if (count <= slice.offset || count > SHORT) return undefined
    rows.count = this.#note(count)
    return rows
  }

  /** Rows, and the first column of the first of them. Nothing is asked for where there is no slice. */
  async #fetch(
    slice: WholeSlice | undefined,
    counted: Counted,
  ): Promise<{ rows: TextRows | NativePage; first: string | null | undefined }> {
    if (this.#options.native) {
      const [page] = slice ? await this.#run(PAGE, slice, counted) : NO_ROWS
      return { rows: new NativePage(page, counted === 'not' ? 0 : 1), first: page?.texts[0] }
    }
    const raw = slice ? await this.#run(TEXTS, slice, counted) : NO_ROWS
    return { rows: this.#textRows(raw, slice?.positions === true, counted), first: raw[0]?.[0] }
  }

  /** True when lists like this one were short when one was last counted, but not so short that its page needs no count. */
  #seemsShort({ limit, after }: WholeSlice): boolean {
    const { shape } = this.#options
    if (!shape?.expensive || after) return false
    const length = shape.kept.lengths.get(shape.key)
    return length !== undefined && length >= limit && length <= SHORT
  }

  /** True when the list was longer than that when it was last counted. */
  #seemsToReach(offset: number): boolean {
    const { shape } = this.#options
    return shape !== undefined && offset < (shape.kept.counts.get(countKey(shape)) ?? 0)
  }

  #note(count: number): number {
    const { shape } = this.#options
    if (shape) {
      const key = countKey(shape)
      if (key.length <= LONGEST_KEY) {
        shape.kept.counts.set(key, count)
        if (shape.expensive) shape.kept.lengths.set(shape.key, count)
      }
    }
    return count
  }

  #textRows(raw: readonly RawRow[], positions: boolean, counted: Counted): TextRows {
    const { plan, scope } = this.#options
    const first = counted === 'not' ? 0 : 1
    const places = positions ? positionCells(plan, this.model, this.order) : NO_PLACES
    let offset = first
    for (const place of places) if (place === undefined) offset++
    return new TextRows(raw, { plan, first, offset, places }, scope)
  }

  /** Runs the list: by a kept text where the shape has one, else by a text made now. */
  #run<Row>(format: RowFormat<Row>, slice: WholeSlice, counted: Counted): Promise<Row[]> {
    const { knex, shape, native, recipient } = this.#options
    const { limit, offset, after, backwards, positions } = slice
    if (!shape) {
      const { text, values } = this.#compile(slice, counted, this.#ranges(slice))
      return runStatementAs(format, knex, statementOf(text), values, recipient)
    }
    const values = [...shape.values]
    let nulls = ''
    if (after) {
      for (const value of after) {
        nulls += value === null ? '0' : '1'
        if (value !== null) values.push(value)
      }
    }
    if (offset > 0) values.push(offset)
    if (counted === 'beside') values.push(...shape.values)
    const key = `${native}|${limit}|${offset > 0}|${counted}|${backwards}|${positions}|${nulls}|${orderText(this.order)}|${shape.key}`
    const kept = shape.kept.statements.get(key)
    if (kept) return runStatementAs(format, knex, kept, values, recipient)
    const ranges = this.#ranges(slice)
    const compiled = this.#compile(slice, counted, ranges)
    // several ranges bind the conditions several times; their text is made anew each time
    const several = ranges !== undefined && ranges.length !== 1
    return several
      ? runStatementAs(format, knex, statementOf(compiled.text), compiled.values, recipient)
      : runStatementAs(format, knex, this.#keep(key, compiled, values), values, recipient)
  }

  /** Keeps a compiled text, once it is certain that it binds what the shape says it does. */
  #keep(key: string, compiled: CompiledSql, values: readonly unknown[]): Statement {
    const { shape } = this.#options
    if (compiled.values.length !== values.length || compiled.values.some((value, index) => value !== values[index])) {
      throw new Error(`${this.name}: a filter backend binds other values than its part says`)
    }
    const statement = statementOf(compiled.text)
    if (shape && shape.kept.statements.size < MOST_SHAPES) shape.kept.statements.set(key, statement)
    return statement
  }

  #compile(slice: WholeSlice, counted: Counted, ranges: readonly SqlPart[] | undefined): CompiledSql {
    const { plan, query } = this.#options
    const list = query()
    const { backwards, limit } = slice
    if (ranges) whereBeyond(list, { ranges, backwards, limit, model: this.model, order: this.order })
    return (this.#options.native ? compileNative : compileRows)(list, {
      plan,
      model: this.model,
      order: this.order,
      backwards: slice.backwards,
      positions: this.#positions(slice),
      limit: Number.isFinite(slice.limit) ? slice.limit : undefined,
      offset: slice.offset,
      counting:
        counted === 'not' ? undefined : { query: countQuery(query()), upTo: counted === 'whole' ? SHORT : undefined },
    })
  }

  /** The terms whose values no cell says. */
  #positions({ positions }: WholeSlice): readonly OrderTerm[] | undefined {
    if (!positions) return undefined
    const { native, plan } = this.#options
    if (native) return this.order
    const cells = positionCells(plan, this.model, this.order)
    return this.order.filter((_, index) => cells[index] === undefined)
  }

  /** The rows that the slice begins behind; undefined where it begins at the start. */
  #ranges({ after: position, backwards }: WholeSlice): readonly SqlPart[] | undefined {
    if (!position) return undefined
    const { shape, query } = this.#options
    // a list with a shape is read from the table itself
    const table = shape ? this.model.model.tableName : tableOf(query())
    return rangesBeyond({ terms: keysetTerms(this.model, this.order), table, position, backwards })
  }
}

function countKey({ key, values }: ListShape): string {
  return `${key}|${values.join('\0')}`
}

function tableOf(query: AnyQueryBuilder): string {
  return query.tableRefFor(query.modelClass())
}
