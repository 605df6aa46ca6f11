/** Slices of a list, and the rows that are read of one. */

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
