/**
 * Rows of raw text as a page sees them. Classes, because a literal with a spread is another hidden class for each
 * request, and V8 keeps those, with the rows, until a full garbage collection.
 */
import type { Position, Rows } from '../pagination/pagination.js'
import type { RawPage, RawRow } from '../queryset/row-format.js'
import { JsonText, jsonList } from '../renderers/json-text.js'
import { RECORD_SEPARATOR } from '../serializers/native-sql.js'
import { type CellsWriter, cellsWriter } from '../serializers/row-cells.js'
import type { CellScope, RowPlan } from '../serializers/row-plan.js'
import { type RowWriter, rowWriter } from '../serializers/row-writer.js'

const writers = new WeakMap<RowPlan, RowWriter[]>()

/** The writer of a plan whose columns begin at `offset`; made once. */
export function writerOf(plan: RowPlan, offset: number): RowWriter {
  let made = writers.get(plan)
  if (!made) {
    made = []
    writers.set(plan, made)
  }
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

const COMMA = 0x2c
const QUOTE = 0x22
const BACKSLASH = 0x5c
const BRACE = 0x7b
const END_OF_BRACE = 0x7d
const BRACKET = 0x5b
const END_OF_BRACKET = 0x5d

/** A whole page that PostgreSQL has written, behind the number of its rows and, with positions, a list for each term. */
export class NativePage implements Rows {
  readonly length: number
  count: number | undefined = undefined
  readonly #page: RawPage | undefined
  /** The column that has the number of rows. */
  readonly #first: number
  #positions: readonly Position[] | undefined = undefined
  #rows: WrittenRows | undefined = undefined

  /** @param first how many columns stand before the number of rows */
  constructor(page: RawPage | undefined, first: number) {
    this.length = Number(page?.texts[first] ?? 0)
    this.#page = page
    this.#first = first
  }

  position(index: number): Position {
    this.#positions ??= positionsOf(this.#page?.texts ?? [], this.#first + 1)
    const position: (string | null)[] = []
    for (const term of this.#positions) position.push(term[index] ?? null)
    return position
  }

  results(start: number, end: number, backwards = false): JsonText {
    const json = this.#page?.json ?? []
    if (start >= end) return new JsonText('[]')
    const isSeparated = this.#page !== undefined && this.#page.texts.length > this.#first + 1
    if (!isSeparated && start === 0 && end === this.length && !backwards) return new JsonText('[', ...json, ']')
    this.#rows ??= isSeparated ? separatedRows(json) : joinedRows(json)
    const { bytes, ends } = this.#rows
    const cut = (from: number, to: number) => bytes.subarray(from === 0 ? 0 : (ends[from - 1] as number) + 1, ends[to])
    if (!backwards) return new JsonText('[', cut(start, end - 1), ']')
    const pieces: (string | Buffer)[] = ['[', cut(end - 1, end - 1)]
    for (let index = end - 2; index >= start; index--) pieces.push(',', cut(index, index))
    return new JsonText(...pieces, ']')
  }
}

/** What the lists of a page say: for each term the values of all rows. */
function positionsOf(texts: RawRow, first: number): readonly Position[] {
  const positions: Position[] = []
  for (let index = first; index < texts.length; index++) positions.push(JSON.parse(texts[index] ?? '[]') as Position)
  return positions
}

/** Rows with commas between, and where each of them ends. */
interface WrittenRows {
  readonly bytes: Buffer
  readonly ends: readonly number[]
}

/** Puts commas in place of the separators, in the bytes themselves: nobody else reads them. */
function separatedRows(json: RawPage['json']): WrittenRows {
  const bytes = inOne(json)
  const ends: number[] = []
  for (let at = bytes.indexOf(RECORD_SEPARATOR); at !== -1; at = bytes.indexOf(RECORD_SEPARATOR, at + 1)) {
    bytes[at] = COMMA
    ends.push(at)
  }
  ends.push(bytes.length)
  return { bytes, ends }
}

/** Looks for the commas that are in no row: a part of a page that was read as a whole. */
function joinedRows(json: RawPage['json']): WrittenRows {
  const bytes = inOne(json)
  const ends: number[] = []
  let depth = 0
  let inText = false
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    if (byte === QUOTE) inText = !inText
    else if (inText) at += byte === BACKSLASH ? 1 : 0
    else if (byte === BRACE || byte === BRACKET) depth++
    else if (byte === END_OF_BRACE || byte === END_OF_BRACKET) depth--
    else if (byte === COMMA && depth === 0) ends.push(at)
  }
  ends.push(bytes.length)
  return { bytes, ends }
}

function inOne(json: RawPage['json']): Buffer {
  const [first] = json
  if (json.length === 1 && typeof first === 'object') return first
  return Buffer.concat(json.map((piece) => (typeof piece === 'string' ? Buffer.from(piece) : piece)))
}
