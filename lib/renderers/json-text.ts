/** JSON that is written already. */
import { toJson } from '../kernel/json-numerals.js'
import { parseJson } from '../kernel/parse-json.js'

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
  readonly pieces: JsonPieces

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

/** The list of what `write` writes for the numbers from `start` to before `end`. */
export function jsonList(start: number, end: number, write: (index: number) => string): JsonText {
  const pieces: string[] = []
  let text = '['
  for (let index = start; index < end; index++) {
    if (index > start) text += ','
    text += write(index)
    if (text.length < LONGEST_PIECE) continue
    pieces.push(text)
    text = ''
  }
  return new JsonText(...pieces, `${text}]`)
}
