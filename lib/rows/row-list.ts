/** A list read as rows of raw text and written as JSON without making objects: the ordinary path of a list. */

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
} from '../pagination/list-source.js'
import type { StatementLimits } from '../postgres/guarded.js'
import type { CompiledSql } from '../postgres/pg-types.js'
import { PAGE_FORMAT, type RawRow, type RowFormat, TEXTS } from '../postgres/row-stream.js'
import { runStatement, statementOf } from '../postgres/run-statement.js'
import { countQuery, countRows } from '../queryset/count-rows.js'
import { keysetTerms, rangesBeyond } from '../queryset/keyset.js'
import type { SqlPart } from '../queryset/sql-part.js'
import { joinOrder, type OrderTerm, orderText } from '../queryset/total-order.js'
import { whereBeyond } from '../queryset/where-beyond.js'
import { checkSlice, countedBy, DescribedList, type ListDescription } from './described-list.js'
import { compileNative, NativePage } from './native-page.js'
import { type ListKey, lengthKey, type RowAccess } from './row-access.js'
import { FetchedCursor, listPoolOf, openCursor } from './row-cursor.js'
import { compileQuery, compileRows, positionCells } from './row-sql.js'
import { TextRows } from './row-writer.js'
import { type SeenConditions, WHOLE_TABLES } from './seen-conditions.js'

export interface RowListOptions {
  readonly description: ListDescription
  /** A fresh query with the list's conditions. @param isMarked the values of the application's own have places */
  readonly query: (isMarked?: boolean) => AnyQueryBuilder
  /** Undefined where the SQL is made anew each time. */
  readonly key: ListKey | undefined
  /** Each client may write SQL of another form: it is not prepared. */
  readonly varied?: boolean | undefined
  readonly order: readonly OrderTerm[]
  /** The conditions stand in a statement once, for the page and its count. */
  readonly once?: boolean | undefined
  /** Limits of a cursor's statements, where the conditions may be slow. */
  readonly bounds?: StatementLimits | undefined
}

/** Most characters of client values in a cache key. */
const LONGEST_KEY = 512
/**
 * Lists of at most so many rows are read once for their count and their page. More rows would have to be kept by PostgreSQL,
 * and sorted, for little: the longer a list is, the less does its page cost beside its count.
 */
const SHORT = 1000
const NO_PLACES: readonly undefined[] = []
const NO_ROWS: readonly never[] = []

/** Way of counting a list: not at all, in the statement that reads its page, or by reading all of it. */
type Counted = 'not' | 'beside' | 'whole'

/** A slice with nothing left out, whatever a paginator has left out. */
type WholeSlice = Required<Omit<Slice, 'after' | 'count'>> & {
  readonly after: Position | undefined
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

/** What a slice's SQL is made of besides. */
interface Compiling {
  readonly counted: Counted
  readonly seen?: SeenConditions | undefined
  readonly bindsLimit: boolean
}

/** Reads rows of raw text through prepared statements. */
export class RowList extends DescribedList implements ListSource {
  readonly #access: RowAccess
  readonly #options: RowListOptions

  constructor(access: RowAccess, options: RowListOptions) {
    super(options.description, access.model, options.order)
    this.#access = access
    this.#options = options
  }

  async count(kind: CountKind = 'exact', limit?: number): Promise<number> {
    const { key, query } = this.#options
    if (kind !== 'exact' || !key) return countRows(query(), kind, limit)
    const { knex, client, statements } = this.#access
    const asked = { key: `count|${key.text}`, own: key.values, begun: key.begun }
    const compile = (marking?: SeenConditions) => compileQuery(countQuery(query(marking !== undefined)))
    const { statement, values } = WHOLE_TABLES.bind(statements, asked, compile)
    const [row] = await runStatement(knex, statement, values, client)
    return this.#note(Number(row?.[0] ?? 0))
  }

  /** PostgreSQL writes the JSON. */
  get isNative(): boolean {
    return this.#access.native
  }

  get pool(): ListPool {
    return listPoolOf(this.#access.knex)
  }

  async open(options: RowCursorOptions): Promise<RowCursor> {
    const { plan, knex, countSql } = this.#access
    const { query, bounds } = this.#options
    const statement = compileRows(joinOrder(query(), this.order), {
      plan,
      model: this.model,
      order: this.order,
      backwards: false,
      positions: undefined,
      limit: undefined,
      offset: 0,
      counting: undefined,
      countSql,
    })
    const cursor = await openCursor({ list: this.name, knex }, { ...options, bounds }, statement)
    const layout = { plan, first: 0, offset: 0, places: [] }
    return new FetchedCursor(cursor, async (size) => new TextRows(await cursor.fetchRaw(size), layout, this.#access))
  }

  async read(asked: Slice): Promise<Rows> {
    checkSlice(asked)
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
    const whole = countedBy(rows.length, slice)
    if (known !== undefined) rows.count = known
    else if (whole !== undefined) rows.count = this.#note(whole)
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
    if (this.#access.native) {
      const [page] = slice ? await this.#run(PAGE_FORMAT, slice, counted) : NO_ROWS
      return { rows: new NativePage(page, counted === 'not' ? 0 : 1), first: page?.texts[0] }
    }
    const raw = slice ? await this.#run(TEXTS, slice, counted) : NO_ROWS
    return { rows: this.#textRows(raw, slice?.positions === true, counted), first: raw[0]?.[0] }
  }

  /** True when lists like this one were short when one was last counted, but not so short that its page needs no count. */
  #seemsShort({ limit, after }: WholeSlice): boolean {
    const { key } = this.#options
    if (!key?.expensive || after) return false
    const length = this.#access.statements.lengths.get(key.text)
    return length !== undefined && length >= limit && length <= SHORT
  }

  /** True when the list was longer than that when it was last counted. */
  #seemsToReach(offset: number): boolean {
    const { key } = this.#options
    return key !== undefined && offset < (this.#access.statements.counts.get(lengthKey(key)) ?? 0)
  }

  #note(count: number): number {
    const { key } = this.#options
    const text = key && lengthKey(key)
    if (key && text !== undefined && text.length <= LONGEST_KEY) {
      const { counts, lengths } = this.#access.statements
      counts.set(text, count)
      if (key.expensive) lengths.set(key.text, count)
    }
    return count
  }

  #textRows(raw: readonly RawRow[], positions: boolean, counted: Counted): TextRows {
    const { plan } = this.#access
    const first = counted === 'not' ? 0 : 1
    const places = positions ? positionCells(plan, this.model, this.order) : NO_PLACES
    let offset = first
    for (const place of places) if (place === undefined) offset++
    return new TextRows(raw, { plan, first, offset, places }, this.#access)
  }

  /** Runs the list: by a kept statement where its key has one, else by one made now. */
  #run<Row>(format: RowFormat<Row>, slice: WholeSlice, counted: Counted): Promise<Row[]> {
    const { knex, native, client, statements, seen } = this.#access
    const { varied } = this.#options
    const key = seen && this.#options.key
    const { limit, offset, after, backwards, positions } = slice
    if (!key) {
      const { text, values } = this.#compile(slice, { counted, bindsLimit: true })
      const statement = varied ? { text, name: undefined } : statementOf(text)
      return runStatement(knex, statement, values, client, format)
    }
    const values = [...key.values]
    let nulls = ''
    if (after) {
      for (const value of after) {
        nulls += value === null ? '0' : '1'
        if (value !== null) values.push(value)
      }
    }
    // other pages are cut from rows that were found before
    const isCut = counted === 'whole' || (counted === 'beside' && this.#options.once === true)
    const bindsLimit = Number.isFinite(limit) && !isCut && key.values.length + seen.key.values.length > 0
    if (bindsLimit) values.push(limit)
    if (offset > 0) values.push(offset)
    const starts = counted === 'beside' && !this.#options.once ? [0, values.length] : undefined
    if (starts) values.push(...key.values)
    const text = `${native}|${limit}|${offset > 0}|${counted}|${backwards}|${positions}|${nulls}|${orderText(this.order)}|${key.text}${seen.key.text}`
    const bound = seen.bind(statements, { key: text, own: values, begun: key.begun, starts }, (marking) =>
      this.#compile(slice, { counted, seen: marking, bindsLimit }),
    )
    return runStatement(knex, bound.statement, bound.values, client, format)
  }

  /** @param seen for the statement to keep, in place of the one to run */
  #compile(slice: WholeSlice, { counted, seen, bindsLimit }: Compiling): CompiledSql {
    const { plan, native, countSql } = this.#access
    const { query, once } = this.#options
    const isMarked = seen !== undefined
    const list = joinOrder(seen ? seen.marked(query(isMarked)) : query(), this.order)
    const { backwards, limit } = slice
    const ranges = this.#ranges(slice)
    if (ranges) whereBeyond(list, { ranges, backwards, limit, model: this.model, order: this.order })
    return (native ? compileNative : compileRows)(list, {
      plan,
      model: this.model,
      order: this.order,
      backwards: slice.backwards,
      positions: this.#positions(slice),
      limit: Number.isFinite(slice.limit) ? slice.limit : undefined,
      bindsLimit,
      offset: slice.offset,
      counting:
        counted === 'not'
          ? undefined
          : { query: countQuery(query(isMarked)), upTo: counted === 'whole' ? SHORT : undefined, once: once === true },
      countSql,
    })
  }

  /** The order's columns that the page does not select already. */
  #positions({ positions }: WholeSlice): readonly OrderTerm[] | undefined {
    if (!positions) return undefined
    const { native, plan } = this.#access
    if (native) return this.order
    const cells = positionCells(plan, this.model, this.order)
    return this.order.filter((_, index) => cells[index] === undefined)
  }

  /** The rows that the slice begins behind; undefined where it begins at the start. */
  #ranges({ after: position, backwards }: WholeSlice): readonly SqlPart[] | undefined {
    if (!position) return undefined
    const { key, query } = this.#options
    // a list with a key is read from the table itself
    const table = key ? this.model.model.tableName : tableOf(query())
    const related = this.order.some((term) => term.related) ? query() : undefined
    return rangesBeyond({ terms: keysetTerms(this.model, this.order), table, query: related, position, backwards })
  }
}

function tableOf(query: AnyQueryBuilder): string {
  return query.tableRefFor(query.modelClass())
}
