/** Compact JSON (wire format, section 6). */
import { JsonText } from './json-text.js'
import { BaseRenderer } from './renderer.js'
import { mapRows, type StreamedRows, type StreamingRenderer } from './streaming.js'

/** Renders JSON, as `application/json` and for the suffix `.json`. */
export class JSONRenderer extends BaseRenderer implements StreamingRenderer {
  readonly mediaType = 'application/json'
  readonly format = 'json'
  readonly contentType = 'application/json; charset=utf-8'

  render(data: unknown): string {
    if (data instanceof JsonText) return data.text
    if (typeof data !== 'object' || data === null || Array.isArray(data)) return JSON.stringify(data)
    const { results } = data as { results?: unknown }
    return results instanceof JsonText ? writeEnvelope(data as Record<string, unknown>) : JSON.stringify(data)
  }

  begin(): string {
    return '['
  }

  writeRows(rows: StreamedRows, first: boolean): string {
    return (first ? '' : ',') + mapRows(rows, (index) => rows.json(index)).join(',')
  }

  end(): string {
    return ']'
  }
}

/** A page whose results are written already. */
function writeEnvelope(envelope: Record<string, unknown>): string {
  let text = ''
  for (const name in envelope) {
    const value = envelope[name]
    const written = value instanceof JsonText ? value.text : JSON.stringify(value)
    text += `${text === '' ? '{' : ','}${JSON.stringify(name)}:${written}`
  }
  return `${text}}`
}
