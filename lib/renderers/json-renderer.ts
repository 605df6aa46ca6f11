/** Compact JSON (wire format, section 6). */
import { JsonText } from './json-text.js'
import { BaseRenderer } from './renderer.js'
import { mapRows, type StreamedRows, type StreamingRenderer } from './streaming.js'

/** Renders JSON, as `application/json` and for the suffix `.json`. */
export class JSONRenderer extends BaseRenderer implements StreamingRenderer {
  readonly mediaType = 'application/json'
  readonly format = 'json'
  readonly contentType = 'application/json; charset=utf-8'

  render(data: unknown): string | Buffer {
    if (data instanceof JsonText) return inOne(data.pieces)
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
function writeEnvelope(envelope: Record<string, unknown>): string | Buffer {
  const written: string[] = []
  let text = ''
  for (const name in envelope) {
    const value = envelope[name]
    text += `${text === '' && written.length === 0 ? '{' : ','}${JSON.stringify(name)}:`
    if (!(value instanceof JsonText)) {
      text += JSON.stringify(value)
      continue
    }
    const [first = '', ...others] = value.pieces
    text += first
    const last = others.pop()
    if (last === undefined) continue
    written.push(text, ...others)
    text = last
  }
  return inOne([...written, `${text}}`])
}

/** One text as it is, several as their bytes. */
function inOne(pieces: readonly string[]): string | Buffer {
  if (pieces.length === 1) return pieces[0] as string
  let length = 0
  for (const piece of pieces) length += Buffer.byteLength(piece)
  const bytes = Buffer.allocUnsafe(length)
  let end = 0
  for (const piece of pieces) end += bytes.write(piece, end)
  return bytes
}
