/** Writes one JSON value a line, for programs that read lists of any length. */
import { memberOf, writeJson } from '../kernel/json-numerals.js'
import { parseJson } from '../kernel/parse-json.js'
import { JsonText } from './json-renderer.js'
import { BaseRenderer, mapRows, type StreamedRows, type StreamingRenderer } from './renderer.js'

/**
 * Renders JSON lines, as `application/x-ndjson` and for the suffix `.ndjson`: the `results` of a page, the items of a list,
 * or one object, each on a line of its own.
 */
export class NDJSONRenderer extends BaseRenderer implements StreamingRenderer {
  readonly mediaType = 'application/x-ndjson'
  readonly format = 'ndjson'
  readonly contentType = 'application/x-ndjson; charset=utf-8'
  override readonly resultsOnly = true

  render(data: unknown): string {
    const value = plain(data)
    const results = plain((value as { results?: unknown } | null | undefined)?.results)
    const items: unknown[] = Array.isArray(value) ? value : Array.isArray(results) ? results : [value]
    return items.map((_, index) => `${onOneLine(writeJson(memberOf(items, index) ?? null) as string)}\n`).join('')
  }

  begin(): string {
    return ''
  }

  writeRows(rows: StreamedRows): string {
    return mapRows(rows, (index) => `${onOneLine(rows.json(index))}\n`).join('')
  }

  end(): string {
    return ''
  }
}

/** A column of type json keeps the line breaks that it was written with; in strings JSON has none. */
function onOneLine(json: string): string {
  return json.includes('\n') || json.includes('\r') ? json.replaceAll(/[\r\n]+/g, ' ') : json
}

function plain(value: unknown): unknown {
  return value instanceof JsonText ? parseJson(value.text) : value
}
