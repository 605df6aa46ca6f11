/** Values as CSV (RFC 4180; wire format, section 11; promises G1 and G2). */
import Papa from 'papaparse'
import { hasNumerals, Numeral, writeJson } from '../kernel/json-numerals.js'

/** A string that a spreadsheet would take for a formula, full-width signs included. Negative decimals are none. */
const FORMULA = /^(?!-?\d+(?:\.\d+)?$)[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20]/
/** What begins a formula where a spreadsheet takes another character for the separator, as many do for their country. */
const HIDDEN_FORMULA = /[;\t|] *["']?[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20]/
/** Characters that need no escape in `filename`, and those that need none in `filename*` (RFC 8187). */
const UNSAFE = /[^A-Za-z0-9._-]/gu
const UNENCODED = /['()*]/g

const OPTIONS = { newline: '\r\n', quotes: (cell: string) => HIDDEN_FORMULA.test(cell) }

/** Records of cells, each with its line break. */
export function csvRecords(records: readonly (readonly string[])[]): string {
  return records.length === 0 ? '' : `${Papa.unparse(records as string[][], OPTIONS)}\r\n`
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
    if (typeof toJSON === 'function') return valueCell((value as { toJSON(): unknown }).toJSON())
  }
  const text = writeJson(value)
  return text === undefined || text === 'null' ? '' : text
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
