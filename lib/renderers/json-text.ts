/** JSON that is written already. */

/** Characters after which a text is continued in another piece. */
export const LONGEST_PIECE = 32_768

/**
 * Text that stands in an answer as it is. To everything but the JSON renderer it is the value it spells.
 *
 * A long one comes in pieces, which are put together as bytes: a text of more than 128 kB is kept by V8 until a full
 * garbage collection, and pages of that size come one after the other in an export.
 */
export class JsonText {
  /** Texts, or bytes of UTF-8, which may be cut within a character. */
  readonly pieces: readonly (string | Buffer)[]

  constructor(...pieces: readonly (string | Buffer)[]) {
    this.pieces = pieces
  }

  get text(): string {
    const { pieces } = this
    if (pieces.every((piece) => typeof piece === 'string')) return pieces.join('')
    return Buffer.concat(pieces.map((piece) => (typeof piece === 'string' ? Buffer.from(piece) : piece))).toString()
  }

  toJSON(): unknown {
    return JSON.parse(this.text)
  }
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
