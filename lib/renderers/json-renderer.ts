/** Compact JSON (wire format, section 6). */
import { writeJson } from '../kernel/json-numerals.js'
import { RecentMap } from '../kernel/once-per.js'
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
    if (typeof data !== 'object' || data === null || Array.isArray(data)) return writeJson(data) as string
    const { results } = data as { results?: unknown }
    return results instanceof JsonText ? writeEnvelope(data as Record<string, unknown>) : (writeJson(data) as string)
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

/** The names of members as JSON: envelopes have few. */
const names = new RecentMap<string>(64)

function writeName(name: string): string {
  let written = names.get(name)
  if (written === undefined) {
    written = `${JSON.stringify(name)}:`
    names.set(name, written)
  }
  return written
}

function writeValue(value: unknown): string | undefined {
  if (value === null) return 'null'
  // what envelopes hold most often: a count, a link
  return typeof value === 'number' || typeof value === 'string' ? JSON.stringify(value) : writeJson(value)
}

/** A page whose results are written already. What JSON has no form for is left out, as `JSON.stringify` does. */
function writeEnvelope(envelope: Record<string, unknown>): Buffer {
  const pieces: (string | Buffer)[] = []
  let text = '{'
  let separator = ''
  for (const name in envelope) {
    const value = envelope[name]
    const isWritten = value instanceof JsonText
    const json = isWritten ? '' : writeValue(value)
    if (json === undefined) continue
    text += separator + writeName(name) + json
    separator = ','
    if (!isWritten) continue
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
