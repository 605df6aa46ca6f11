/** Compact JSON (wire format, section 6). */
import { inBytes, JsonText, LONGEST_PIECE } from './json-text.js'
import { BaseRenderer } from './renderer.js'
import { mapRows, type StreamedRows, type StreamingRenderer } from './streaming.js'

/** Renders JSON, as `application/json` and for the suffix `.json`. */
export class JSONRenderer extends BaseRenderer implements StreamingRenderer {
  readonly mediaType = 'application/json'
  readonly format = 'json'
  readonly contentType = 'application/json; charset=utf-8'

  render(data: unknown): string | Buffer {
    if (data instanceof JsonText) return inBytes(data.pieces)
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
function writeEnvelope(envelope: Record<string, unknown>): Buffer {
  const pieces: (string | Buffer)[] = []
  let text = '{'
  for (const name in envelope) {
    const value = envelope[name]
    if (text !== '{') text += ','
    text += `${JSON.stringify(name)}:`
    if (!(value instanceof JsonText)) {
      text += JSON.stringify(value)
      continue
    }
    for (const piece of value.pieces) {
      if (typeof piece === 'string') {
        text += piece
        if (text.length < LONGEST_PIECE) continue
        pieces.push(text)
      } else pieces.push(text, piece)
      text = ''
    }
  }
  pieces.push(`${text}}`)
  return inBytes(pieces)
}
