/** List sources of paginators: lists whose conditions and order are settled, and the slices that are read of them. */
import type { ModelDescription } from '../models/model-description.js'
import type { OrderTerm } from '../queryset/total-order.js'

/** How a list is counted: exactly, by the planner's estimate, up to a limit, or not at all. */
export type CountKind = 'exact' | 'estimated' | 'capped' | 'none'

/** A place in a list: for each term of its order the value as PostgreSQL's text, or null. */
export type Position = readonly (string | null)[]

/** Which rows to read. */
export interface Slice {
  /** The most rows to read. */
  readonly limit: number
  /** Rows to skip before the first. @default 0 */
  readonly offset?: number
  /** Only rows beyond this position. */
  readonly after?: Position
  /** Read against the list's order. The rows come back against it, too. */
  readonly backwards?: boolean
  /** Also read the position of each row. */
  readonly positions?: boolean
  /**
   * Also count the whole list, if the page is full: one that is not says how many rows there are. With `exact` no rows are
   * read behind the end (promise D3).
   */
  readonly count?: CountKind
}

/** Rows that were read. */
export interface Rows {
  /** How many rows there are. */
  readonly length: number
  /** The count of the whole list, when the slice asked for it; undefined where it was not needed. */
  readonly count: number | undefined
  /** The position of a row, when the slice asked for positions. */
  position(index: number): Position
  /** The rows from `start` to before `end`, `backwards` in turned order, in their written form: the `results` of an envelope. */
  results(start: number, end: number, backwards?: boolean): unknown
  /** A row as JSON, where rows are read as strings. */
  json?(index: number): string
  /** A row as the cells of a table, where rows are read as strings: those of the serializer's readable fields. */
  cells?(index: number): readonly string[]
}

/** A list to cut pages from: its conditions and its order are settled. */
export interface ListSource {
  /** What a position is bound to: the view's route name, or its class name. */
  readonly name: string
  /** The model of the rows. */
  readonly model: ModelDescription
  /** The order of the list. It is total: the primary key is in it. */
  readonly order: readonly OrderTerm[]
  /** The parameters that the view's filter backends read. */
  readonly parameters: ReadonlySet<string>
  /** Columns that the output shows. */
  readonly shown: ReadonlySet<string>
  /** True where clients never see the primary keys, so that no token may show one. */
  readonly hidesKeys?: boolean
  /** The connections behind the list. */
  readonly pool: ListPool
  /** Counts the list. `limit` is where `capped` stops. */
  count(kind?: CountKind, limit?: number): Promise<number>
  /** Reads one slice of the list. */
  read(slice: Slice): Promise<Rows>
  /** Declares a cursor of the database for the whole list, on a connection of its own. */
  open(options: RowCursorOptions): Promise<RowCursor>
}

/** A pool of connections. */
export interface ListPool {
  /** What lists of the same pool have in common. */
  readonly key: object
  /** The most connections it opens. */
  readonly size: number
  /** The database role and settings that its statements run with: a list that is read later is read with the same. */
  readonly runsWith?: string | undefined
}

/** Options of a database cursor that a list is read through. */
export interface RowCursorOptions {
  /** The cursor's name in the database: lower-case letters, digits and `_`. */
  readonly name: string
  /** The database ends it by itself after this many milliseconds without a fetch. */
  readonly idleMilliseconds: number
}

/** A list that is read in portions, as it was when the cursor was opened. */
export interface RowCursor {
  /** True once the connection is gone. */
  readonly lost: boolean
  /** Calls back when the connection is lost. */
  onLost(listener: () => void): void
  /** The next rows; fewer than asked for at the end. */
  fetch(size: number): Promise<Rows>
  /** Stops the `fetch` that is running, which then fails. Never throws. */
  cancel?(): Promise<void>
  /** Gives the connection back. Never throws. */
  close(): Promise<void>
}
