/** Positions in an ordered list: read as PostgreSQL's text, and compared in the order's own way (wire format, section 2). */
import type { Column } from '../models/describe-model.js'

/** A piece of SQL with its bindings, in knex's notation. */
export interface SqlPart {
  readonly sql: string
  readonly bindings: readonly unknown[]
}

/** A term of an order, with its column. */
export interface KeysetTerm {
  readonly column: Column
  readonly descending: boolean
}

/** The value of a column as text, exact and independent of the session's settings. `reference` is `table.column`. */
export function positionColumn(_column: Column, reference: string): SqlPart {
  return { sql: '??::text', bindings: [reference] }
}

/** The condition that a row lies beyond a position. `shape` tells apart positions whose SQL differs (NULLs). */
export function beyond(
  _terms: readonly KeysetTerm[],
  _table: string,
  _position: readonly (string | null)[],
  _backwards: boolean,
): SqlPart & { readonly shape: string } {
  throw new Error('written next')
}
