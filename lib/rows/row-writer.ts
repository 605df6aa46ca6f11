/** Writes rows of raw text as JSON text (promise E22), or as the cells of a table (wire format, section 11). */

import { writeDateTime, writeTime } from '../fields/date-time-text.js'
import type { ExternalIds } from '../ids/external-ids.js'
import { writeJson } from '../kernel/json-numerals.js'
import { oncePer } from '../kernel/once-per.js'
import { parseJson } from '../kernel/parse-json.js'
import type { Position, Rows } from '../pagination/list-source.js'
import type { RawRow } from '../postgres/row-stream.js'
import { textCell, valueCell } from '../renderers/csv-renderer.js'
import { type JsonText, jsonList } from '../renderers/json-renderers.js'
import type { CellKind, CellScope, RowCell, RowMember, RowObject, RowPlan } from './row-shape.js'

/** Writes one row; `offset` columns stand before those of the plan. */
export type RowWriter = (row: RawRow, scope: CellScope) => string

type CellWriter = (text: string, scope: CellScope) => string

/** What `JSON.stringify` would have to change in a string. */
const ESCAPED = /[\u0000-\u001f"\\\ud800-\udfff]/
/** Beyond this length `JSON.stringify` is faster than looking first. */
const LONG = 2048
/** Every integer of up to 15 digits is safe as a number. */
const SAFE_DIGITS = 15

const writersOf = oncePer<RowPlan, RowWriter[]>(() => [])

/** NaN, Infinity and -Infinity are no JSON numbers; with an exponent PostgreSQL has a spelling of its own. */
function writeFloat(text: string): string {
  if (text === 'NaN' || text.endsWith('y')) return `"${text}"`
  return text === '-0' || text.includes('e') ? String(Number(text)) : text
}

const CELLS: Readonly<Record<Exclude<CellKind, 'value' | 'id'>, CellWriter>> = {
  number: (text) => text,
  bigint: (text) => (text.length <= SAFE_DIGITS || Number.isSafeInteger(Number(text)) ? text : `"${text}"`),
  float: writeFloat,
  boolean: (text) => (text === 't' ? 'true' : 'false'),
  quoted: (text) => `"${text}"`,
  text: quoteText,
  json: (text) => text,
  datetime: (text) => `"${writeDateTime(text)}"`,
  time: (text) => `"${writeTime(text)}"`,
}

/** A string as JSON. */
export function quoteText(text: string): string {
  return text.length < LONG && !ESCAPED.test(text) ? `"${text}"` : JSON.stringify(text)
}

/** An external id: letters, digits and separators, of which JSON escapes none. Only ids per user look at the request. */
function writeId(ids: ExternalIds | undefined): CellWriter {
  if (!ids) throw new Error('a cell of kind id has no ids')
  return ids.perUser ? (text, scope) => `"${ids.encode(text, scope.context)}"` : (text) => `"${ids.encode(text)}"`
}

/** Through pg's parser and the field, as for a model instance. */
function writeValue({ field, column }: RowCell): CellWriter {
  return (text, scope) =>
    writeJson(field.toRepresentation(scope.parse(column.oid ?? 0, text), scope.context) ?? null) as string
}

/** Makes the writer of an object whose columns begin at `offset`. */
function objectWriter({ members }: RowObject, offset: number): RowWriter {
  const writers = members.map((member, position) =>
    memberWriter(member, offset, `${position === 0 ? '{' : ','}${JSON.stringify(member.name)}:`),
  )
  if (writers.length === 0) return () => '{}'
  return (row, scope) => {
    let text = ''
    for (const write of writers) text += write(row, scope)
    return `${text}}`
  }
}

/** Makes the writer of a member's JSON, behind its name. */
function memberWriter(member: RowMember, offset: number, name = ''): RowWriter {
  if ('nested' in member) {
    const write = objectWriter(member.nested, offset)
    const keyIndex = offset + (member.nested.key ?? 0)
    return (row, scope) => name + (row[keyIndex] === null ? 'null' : write(row, scope))
  }
  if ('list' in member) {
    const listIndex = offset + member.list.index
    return (row) => name + row[listIndex]
  }
  const write = cellWriter(member.cell)
  const index = offset + member.cell.index
  return (row, scope) => {
    const text = row[index] as string | null
    return name + (text === null ? 'null' : write(text, scope))
  }
}

function cellWriter(cell: RowCell): CellWriter {
  if (cell.kind === 'id') return writeId(cell.ids)
  return cell.kind === 'value' ? writeValue(cell) : CELLS[cell.kind]
}

/** Writes one row; the cells are those of the plan's members, in order. */
type CellsWriter = (row: RawRow, scope: CellScope) => string[]

/** Kinds whose cell needs no detour through JSON. */
const CSV_CELLS: Readonly<Partial<Record<CellKind, (text: string) => string>>> = {
  number: (text) => text,
  bigint: (text) => text,
  boolean: (text) => (text === 't' ? 'true' : 'false'),
  quoted: textCell,
  text: textCell,
  datetime: (text) => textCell(writeDateTime(text)),
  time: (text) => textCell(writeTime(text)),
}

/** The cells of a plan whose columns begin at `offset`. */
function cellsWriter(plan: RowPlan, offset: number): CellsWriter {
  const cells = plan.object.members.flatMap((member) => cellsOf(member, offset))
  return (row, scope) => cells.map((write) => write(row, scope))
}

/** One cell, or those of the object that is joined to the row. */
function cellsOf(member: RowMember, offset: number): RowWriter[] {
  if ('nested' in member) {
    const key = offset + (member.nested.key ?? 0)
    const inner = member.nested.members.flatMap((one) => cellsOf(one, offset))
    return inner.map((write) => (row, scope) => (row[key] === null ? '' : write(row, scope)))
  }
  const index = offset + ('list' in member ? member.list.index : member.cell.index)
  const plain = 'cell' in member ? CSV_CELLS[member.cell.kind] : undefined
  const write = memberWriter(member, offset)
  return [
    (row, scope) => {
      const text = row[index] as string | null
      if (text === null) return ''
      return plain ? plain(text) : valueCell(parseJson(write(row, scope)))
    },
  ]
}

/** The writer of a plan whose columns begin at `offset`; made once. */
export function writerOf(plan: RowPlan, offset: number): RowWriter {
  const made = writersOf(plan)
  made[offset] ??= objectWriter(plan.object, offset)
  return made[offset]
}

/** Column offsets of a row. */
interface TextRowsLayout {
  readonly plan: RowPlan
  /** The row's first column that is neither a count nor written: those that were selected for positions begin here. */
  readonly first: number
  /** Where the plan's columns begin. */
  readonly offset: number
  /** For each term of the order the plan's column that says its position, or undefined where it was selected by itself. */
  readonly places: readonly (number | undefined)[]
}

/**
 * Rows of raw text as a page sees them. A class, because a literal with a spread is another hidden class for each
 * request, and V8 keeps those, with the rows, until a full garbage collection.
 */
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
    const rows = this.#raw.slice(start, end)
    return jsonList(backwards ? rows.reverse() : rows, writerOf(plan, offset), this.#scope)
  }

  json(index: number): string {
    return writerOf(this.#layout.plan, this.#layout.offset)(this.#raw[index] as RawRow, this.#scope)
  }

  cells(index: number): readonly string[] {
    this.#cells ??= cellsWriter(this.#layout.plan, this.#layout.offset)
    return this.#cells(this.#raw[index] as RawRow, this.#scope)
  }
}
