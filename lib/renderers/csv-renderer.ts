/** Tables as CSV (wire format, section 11). */
import { memberOf } from '../kernel/json-numerals.js'
import { parseJson } from '../kernel/parse-json.js'
import { columnsOf } from './columns.js'
import { attachment, csvRecords, textCell, valueCell } from './csv-text.js'
import { JsonText } from './json-text.js'
import { BaseRenderer, type RenderContext } from './renderer.js'
import { mapRows, type StreamedRows, type StreamingRenderer } from './streaming.js'

type Row = Readonly<Record<string, unknown>>

/**
 * Renders CSV for download, as `text/csv` and for the suffix `.csv`: the `results` of a page, the items of a list, or one
 * object as one row. The header is there even when no row is: a serializer's readable fields, then what other keys the rows
 * have. Texts that a spreadsheet would take for formulas get an apostrophe in front.
 * @example static override rendererClasses = [JSONRenderer, CSVRenderer]
 */
export class CSVRenderer extends BaseRenderer implements StreamingRenderer {
  readonly mediaType = 'text/csv'
  readonly format = 'csv'
  readonly contentType = 'text/csv; charset=utf-8'
  override readonly resultsOnly = true

  render(data: unknown): string {
    const { rows, columns } = tableOf(data)
    const header = new Set(columns)
    for (const row of rows) for (const name of Object.keys(row)) header.add(name)
    const names = [...header]
    const cells = rows.map((row) =>
      names.map((name) => valueCell(Object.hasOwn(row, name) ? memberOf(row, name) : null)),
    )
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
function tableOf(data: unknown): { rows: readonly Row[]; columns: readonly string[] } {
  const value = plain(data)
  if (!isObject(value)) return { rows: value === null || value === undefined ? [] : [toRow(value)], columns: [] }
  const list = Array.isArray(value) ? value : plain((value as Row)['results'])
  if (!Array.isArray(list)) return { rows: [toRow(value)], columns: columnsOf(value) }
  return { rows: list.map(toRow), columns: columnsOf(list) }
}

/** JSON that is written already, as the value it spells. */
function plain(value: unknown): unknown {
  return value instanceof JsonText ? parseJson(value.text) : value
}

/** A value that is no object has one column. */
function toRow(item: unknown): Row {
  const value = isObject(item) && 'toJSON' in item && typeof item.toJSON === 'function' ? item.toJSON() : item
  return isObject(value) && !Array.isArray(value) ? (value as Row) : { value }
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
