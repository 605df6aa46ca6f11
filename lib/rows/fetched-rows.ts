/**
 * Rows of raw text as a page sees them. Classes, because a literal with a spread is another hidden class for each
 * request, and V8 keeps those, with the rows, until a full garbage collection.
 */
import { oncePer } from '../kernel/once-per.js'
import type { Position, Rows } from '../pagination/pagination.js'
import type { RawRow } from '../postgres/row-format.js'
import { type JsonText, jsonList } from '../renderers/json-text.js'
import { type CellsWriter, cellsWriter } from './row-cells.js'
import type { CellScope, RowPlan } from './row-plan.js'
import { type RowWriter, rowWriter } from './row-writer.js'

const writersOf = oncePer<RowPlan, RowWriter[]>(() => [])

/** The writer of a plan whose columns begin at `offset`; made once. */
export function writerOf(plan: RowPlan, offset: number): RowWriter {
  const made = writersOf(plan)
  made[offset] ??= rowWriter(plan, offset)
  return made[offset]
}

/** What tells where a row holds what. */
export interface TextRowsLayout {
  readonly plan: RowPlan
  /** The row's first column that is neither a count nor written: those that were selected for positions begin here. */
  readonly first: number
  /** Where the plan's columns begin. */
  readonly offset: number
  /** For each term of the order the plan's column that says its position, or undefined where it was selected by itself. */
  readonly places: readonly (number | undefined)[]
}

/** Rows whose cells are written here. */
export class TextRows implements Rows {
  readonly length: number
  count: number | undefined = undefined
  readonly #raw: readonly RawRow[]
  readonly #layout: TextRowsLayout
  readonly #scope: CellScope
  #cells: CellsWriter | undefined = undefined

  constructor(raw: readonly RawRow[], layout: TextRowsLayout, scope: CellScope) {
    this.length = raw.length
    this.#raw = raw
    this.#layout = layout
    this.#scope = scope
  }

  position(index: number): Position {
    const { places, offset } = this.#layout
    let extra = this.#layout.first
    const row = this.#raw[index] as RawRow
    const position: (string | null)[] = []
    for (const place of places) position.push(row[place === undefined ? extra++ : offset + place] ?? null)
    return position
  }

  results(start: number, end: number, backwards = false): JsonText {
    const { plan, offset } = this.#layout
    const write = writerOf(plan, offset)
    const last = end - 1 + start
    return jsonList(start, end, (index) => write(this.#raw[backwards ? last - index : index] as RawRow, this.#scope))
  }

  json(index: number): string {
    return writerOf(this.#layout.plan, this.#layout.offset)(this.#raw[index] as RawRow, this.#scope)
  }

  cells(index: number): readonly string[] {
    this.#cells ??= cellsWriter(this.#layout.plan, this.#layout.offset)
    return this.#cells(this.#raw[index] as RawRow, this.#scope)
  }
}
