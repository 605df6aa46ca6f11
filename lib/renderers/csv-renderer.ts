/** Lists as CSV (RFC 4180; wire format, section 11; promises G1 and G2). */

import Papa from 'papaparse'
import { hasNumerals, isContainer, memberOf, Numeral, writeCompactly } from '../kernel/json-numerals.js'
import { isRecord } from '../kernel/records.js'
import { answerItems, plain } from './json-renderers.js'
import {
  BaseRenderer,
  columnsOf,
  mapRows,
  type OutputColumn,
  type RenderContext,
  type StreamedRows,
  type StreamingRenderer,
} from './renderer.js'

/** A string that a spreadsheet would take for a formula, full-width signs included. Negative decimals are none. */
const FORMULA = /^(?!-?\d+(?:\.\d+)?$)[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20]/
/** What begins a formula where a spreadsheet takes another character for the separator, as many do for their country. */
const HIDDEN_FORMULA = /[;\t|] *["']?[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20]/
/** Characters that need no escape in `filename`, and those that need none in `filename*` (RFC 8187). */
const UNSAFE = /[^A-Za-z0-9._-]/gu
const UNENCODED = /['()*]/g

const OPTIONS = { newline: '\r\n', quotes: (cell: string) => HIDDEN_FORMULA.test(cell) }
/** Readers skip empty lines: a record of one empty cell is `""`. */
const ONE_COLUMN = { ...OPTIONS, quotes: (cell: string) => cell === '' || OPTIONS.quotes(cell) }

/** Records of cells, each with its line break. */
export function csvRecords(records: readonly (readonly string[])[]): string {
  const [first] = records
  if (!first) return ''
  return `${Papa.unparse(records as string[][], first.length === 1 ? ONE_COLUMN : OPTIONS)}\r\n`
}

/** A string as a cell, before quoting: what looks like a formula gets an apostrophe. */
export function textCell(text: string): string {
  return FORMULA.test(text) ? `'${text}` : text
}

/** A value of plain data as a cell, before quoting. */
export function valueCell(value: unknown): string {
  if (value === null || value === undefined) return ''
  if (typeof value === 'string') return textCell(value)
  if (typeof value === 'bigint') return String(value)
  if (value instanceof Numeral) return value.text
  if (typeof value === 'object' && !hasNumerals(value)) {
    const { toJSON } = value as { toJSON?: unknown }
    const own: unknown = typeof toJSON === 'function' ? (value as { toJSON(): unknown }).toJSON() : value
    if (own !== value) return valueCell(own)
  }
  const text = writeCompactly(value)
  return text === undefined || text === 'null' ? '' : text
}

/** The header of a table: what an object inside a row has stands behind the object's name and a dot. */
export function headerOf(columns: readonly OutputColumn[], prefix = ''): string[] {
  return columns.flatMap(({ name, field }) => {
    const inner = field?.shownFields
    return inner ? headerOf(inner, `${prefix}${name}.`) : [prefix + name]
  })
}

/** The values of a row by the names of the header. What is no object, in place of one, stands under its own name. */
export function flatRow(
  row: Row,
  columns: readonly OutputColumn[],
  { prefix = '', into = new Map<string, unknown>() }: { prefix?: string; into?: Map<string, unknown> } = {},
): ReadonlyMap<string, unknown> {
  for (const name of Object.keys(row)) {
    const value = memberOf(row, name)
    const inner = columns.find((column) => column.name === name)?.field?.shownFields
    if (!inner) into.set(prefix + name, value)
    else if (isRecord(value)) {
      flatRow(toRow(value), inner, { prefix: `${prefix}${name}.`, into })
    } else if (value !== null && value !== undefined) into.set(prefix + name, value)
  }
  return into
}

/** `Content-Disposition` of a download (RFC 6266): one valid line, whatever the name. */
export function attachment(name: string, format: string): string {
  const filename = `${name.toWellFormed()}.${format}`
  const safe = filename.replace(UNSAFE, '_')
  if (safe === filename) return `attachment; filename="${filename}"`
  const encoded = encodeURIComponent(filename).replace(
    UNENCODED,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `attachment; filename="${safe}"; filename*=UTF-8''${encoded}`
}

type Row = Readonly<Record<string, unknown>>

/**
 * Renders CSV for download, as `text/csv` and for the suffix `.csv`: the `results` of a page, the items of a list, or one
 * object as one row. The header is there even when no row is: a serializer's readable fields, those of one nested object as
 * `author.name`, then what other keys the rows have. Texts that a spreadsheet would take for formulas get an apostrophe in front.
 * @example static override rendererClasses = [JSONRenderer, CSVRenderer]
 */
export class CSVRenderer extends BaseRenderer implements StreamingRenderer {
  readonly mediaType = 'text/csv'
  readonly format = 'csv'
  readonly contentType = 'text/csv; charset=utf-8'
  override readonly resultsOnly = true

  render(data: unknown): string {
    const { rows, columns } = tableOf(data)
    const flat = rows.map((row) => flatRow(row, columns))
    const names = [...new Set([...headerOf(columns), ...flat.flatMap((row) => [...row.keys()])])]
    const cells = flat.map((row) => names.map((name) => valueCell(row.get(name))))
    if (names.length === 0) return ''
    return csvRecords([names.map(textCell), ...cells])
  }

  begin(columns: readonly string[]): string {
    return columns.length === 0 ? '' : csvRecords([columns.map(textCell)])
  }

  writeRows(rows: StreamedRows): string {
    return csvRecords(mapRows(rows, (index) => rows.cells(index)))
  }

  end(): string {
    return ''
  }

  override headers({ basename }: RenderContext): Readonly<Record<string, string>> {
    return { 'Content-Disposition': attachment(basename || 'data', this.format) }
  }
}

/** The rows of an answer, and the columns that a serializer has named. */
function tableOf(data: unknown): { rows: readonly Row[]; columns: readonly OutputColumn[] } {
  const value = plain(data)
  if (!isContainer(value)) return { rows: value === null || value === undefined ? [] : [toRow(value)], columns: [] }
  const list = answerItems(value)
  if (!list) return { rows: [toRow(value)], columns: columnsOf(value) }
  return { rows: list.map(toRow), columns: columnsOf(list) }
}

/** A value that is no object has one column. */
function toRow(item: unknown): Row {
  const value = isContainer(item) && 'toJSON' in item && typeof item.toJSON === 'function' ? item.toJSON() : item
  return isRecord(value) ? value : { value }
}
