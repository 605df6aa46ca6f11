/** JSON, and a line of it for each object (NDJSON): of plain data, and of rows that are written already. */
import { ConfigurationError } from '../kernel/errors.js'
import { memberOf, toJson, writeJson } from '../kernel/json-numerals.js'
import { RecentMap } from '../kernel/once-per.js'
import { parseJson } from '../kernel/parse-json.js'
import { isOpaque, isRecord, tagOf } from '../kernel/records.js'
import { atOnce, type Steps } from '../kernel/turns.js'
import { BaseRenderer, columnsOf, mapRows, type StreamedRows, type StreamingRenderer } from './renderer.js'

/** JSON in strings, or in bytes of UTF-8, which may be cut within a character. */
export type JsonPieces = readonly (string | Buffer)[]

/** Characters after which a string is continued in another piece. */
export const LONGEST_PIECE = 32_768

/**
 * Text that stands in an answer as it is. To everything but the JSON renderer it is the value it spells.
 *
 * A long one comes in pieces, which are put together as bytes: a string of more than 128 kB is kept by V8 until a full
 * garbage collection, and pages of that size come one after the other in an export.
 */
export class JsonText {
  declare readonly pieces: JsonPieces

  constructor(...pieces: JsonPieces) {
    this.pieces = pieces
  }

  get text(): string {
    const { pieces } = this
    return pieces.every((piece) => typeof piece === 'string') ? pieces.join('') : inBytes(pieces).toString()
  }

  toJSON(): unknown {
    return toJson(parseJson(this.text))
  }
}

/** The bytes, made once: entity tag, length and socket each would make them of a string. One piece of bytes is not copied. */
export function inBytes(pieces: JsonPieces): Buffer {
  if (pieces.length === 1) return typeof pieces[0] === 'string' ? Buffer.from(pieces[0]) : (pieces[0] as Buffer)
  let length = 0
  for (const piece of pieces) length += typeof piece === 'string' ? Buffer.byteLength(piece) : piece.length
  const bytes = Buffer.allocUnsafe(length)
  let end = 0
  for (const piece of pieces) end += typeof piece === 'string' ? bytes.write(piece, end) : piece.copy(bytes, end)
  return bytes
}

/** The list of what `write` writes of each row. */
export function jsonList<Row, Scope>(
  rows: readonly Row[],
  write: (row: Row, scope: Scope) => string,
  scope: Scope,
): JsonText {
  return atOnce(jsonListSteps(rows, write, scope))
}

/** Steps of `jsonList()`, a piece each: rows may have long lists. */
export function* jsonListSteps<Row, Scope>(
  rows: readonly Row[],
  write: (row: Row, scope: Scope) => string,
  scope: Scope,
): Steps<JsonText> {
  const pieces: string[] = []
  let text = '['
  for (let index = 0; index < rows.length; index++) {
    if (index > 0) text += ','
    text += write(rows[index] as Row, scope)
    if (text.length < LONGEST_PIECE) continue
    pieces.push(text)
    text = ''
    yield
  }
  return new JsonText(...pieces, `${text}]`)
}

/** Characters of a body up to which Node sends a string sooner than bytes: it writes them together with the headers. */
const SHORT_BODY = 2048

function bodyOf(pieces: JsonPieces): string | Buffer {
  const [first] = pieces
  if (pieces.length === 1 && typeof first === 'string' && first.length <= SHORT_BODY) return first
  return inBytes(pieces)
}

/** Renders JSON, as `application/json` and for the suffix `.json`. */
export class JSONRenderer extends BaseRenderer implements StreamingRenderer {
  readonly mediaType = 'application/json'
  readonly format = 'json'
  readonly contentType = 'application/json; charset=utf-8'

  render(data: unknown): string | Buffer {
    if (data instanceof JsonText) return bodyOf(data.pieces)
    if (isRecord(data) && isOpaque(data)) {
      throw new ConfigurationError(
        `JSON has nothing of what is in a ${tagOf(data)}: answer with a list or a plain object`,
      )
    }
    const { results } = (data ?? {}) as { results?: unknown }
    // what JSON has no form for, such as a symbol, is nothing
    return isRecord(data) && results instanceof JsonText ? writeEnvelope(data) : (writeJson(data) ?? 'null')
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
function writeEnvelope(envelope: Record<string, unknown>): string | Buffer {
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
  return bodyOf(pieces)
}

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
    const items = answerItems(value) ?? [value]
    return items.map((_, index) => `${onOneLine(writeJson(memberOf(items, index)) ?? 'null')}\n`).join('')
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

/** JSON that is written already, as the value it spells. */
export function plain(value: unknown): unknown {
  return value instanceof JsonText ? parseJson(value.text) : value
}

/** The items of a list or of a page; undefined of any other value, such as an object of a serializer with a field `results`. */
export function answerItems(value: unknown): unknown[] | undefined {
  if (Array.isArray(value)) return value
  if (!isRecord(value) || columnsOf(value).length > 0) return undefined
  const results = plain(value['results'])
  return Array.isArray(results) ? results : undefined
}
