/** Writes rows of raw text as JSON text, one flat function for each plan (promise E22), or as the cells of a table (wire format, section 11). */

import { writeDateTime, writeTime } from '../fields/date-time-text.js'
import { representationOf } from '../fields/field.js'
import type { ExternalIds } from '../ids/external-ids.js'
import { writeJson } from '../kernel/json-numerals.js'
import { oncePer } from '../kernel/once-per.js'
import { parseJson } from '../kernel/parse-json.js'
import { storedJson } from '../models/exact-types.js'
import type { Position, Rows } from '../pagination/list-source.js'
import type { RawRow } from '../postgres/row-stream.js'
import { textCell, valueCell } from '../renderers/csv-renderer.js'
import { type JsonText, jsonList } from '../renderers/json-renderers.js'
import type { CellKind, CellScope, RowCell, RowMember, RowObject, RowPlan } from './row-shape.js'

/** Writes one row; `offset` columns stand before those of the plan. */
export type RowWriter = (row: RawRow, scope: CellScope) => string

type CellWriter = (text: string, scope: CellScope) => string

/** Characters that `JSON.stringify` escapes. */
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
    writeJson(representationOf(field, scope.parse(column.oid ?? 0, text), scope.context) ?? null) as string
}

/** The JSON text of one member where it is not null. */
function writerOfMember(member: Exclude<RowMember, { nested: RowObject }>, offset: number): RowWriter {
  if ('list' in member) return (row) => row[offset + member.list.index] as string
  const write = cellWriter(member.cell)
  const index = offset + member.cell.index
  return (row, scope) => write(row[index] as string, scope)
}

function cellWriter(cell: RowCell): CellWriter {
  if (cell.kind === 'id') return writeId(cell.ids)
  return cell.kind === 'value' ? writeValue(cell) : CELLS[cell.kind]
}

/**
 * The writer of a plan: generated code, which is what makes it fast. Where `--disallow-code-generation-from-strings` refuses
 * that, Koa does not load either.
 */
export function rowWriter({ object }: RowPlan, offset: number): RowWriter {
  const writers: CellWriter[] = []
  const body = `return (row, scope) => ${objectCode(object, offset, writers)}`
  // the code is made of indexes and of JSON.stringify's strings only
  // oxlint-disable-next-line typescript/no-implied-eval
  const make = new Function('writers', 'text', 'datetime', body) as (...parts: unknown[]) => RowWriter
  return make(writers, quoteText, writeDateTime)
}

function objectCode(object: RowObject, offset: number, writers: CellWriter[]): string {
  if (object.members.length === 0) return "'{}'"
  const parts = object.members.map((member, position) => {
    const key = JSON.stringify(`${position === 0 ? '{' : ','}${JSON.stringify(member.name)}:`)
    if ('nested' in member) {
      const { nested } = member
      return `${key} + (row[${offset + (nested.key ?? 0)}] === null ? 'null' : ${objectCode(nested, offset, writers)})`
    }
    if ('list' in member) return `${key} + row[${offset + member.list.index}]`
    const value = `row[${offset + member.cell.index}]`
    return `${key} + (${value} === null ? 'null' : ${cellCode(member.cell, value, writers)})`
  })
  return `${parts.join(' + ')} + '}'`
}

/** The commonest kinds are written out; the others are calls. */
function cellCode(cell: RowCell, value: string, writers: CellWriter[]): string {
  switch (cell.kind) {
    case 'number':
    case 'json':
      return value
    case 'quoted':
      return `'"' + ${value} + '"'`
    case 'boolean':
      return `(${value} === 't' ? 'true' : 'false')`
    case 'text':
      return `text(${value})`
    case 'datetime':
      return `'"' + datetime(${value}) + '"'`
    default:
      return `writers[${writers.push(cellWriter(cell)) - 1}](${value}, scope)`
  }
}

/** Writes one row; the cells are those of the plan's members, in order. */
type CellsWriter = (row: RawRow, scope: CellScope) => string[]

/** Kinds whose cell needs no detour through the JSON that is answered. */
const CSV_CELLS: Readonly<Partial<Record<CellKind, (text: string) => string>>> = {
  number: (text) => text,
  bigint: (text) => text,
  boolean: (text) => (text === 't' ? 'true' : 'false'),
  quoted: textCell,
  text: textCell,
  json: (text) => valueCell(storedJson(text)),
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
  const write = writerOfMember(member, offset)
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
  made[offset] ??= rowWriter(plan, offset)
  return made[offset]
}

/** Column offsets of a row. */
interface TextRowsLayout {
  readonly plan: RowPlan
  /** The row's first column that is neither a count nor written: those that were selected for positions begin here. */
  readonly first: number
  /** Index of the plan's first column. */
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
