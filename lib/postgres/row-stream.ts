/**
 * Takes the rows of our queries from the bytes that PostgreSQL sends (its documentation, section 55.7, "DataRow"), before
 * pg's parser sees them. All other messages, and all rows of other queries, are for pg's parser.
 */

import { int32At, LENGTH_BYTES } from './row-format.js'
import { sharesTurns } from './share-turns.js'

/** The stream of a connection, with pg's parser as its only reader. */
export interface ByteStream {
  listeners(event: 'data'): unknown[]
  on(event: 'data', listener: Parse): unknown
  removeListener(event: 'data', listener: Parse): unknown
}

/** What takes the rows of the query that is running. */
export interface RowSink {
  /** @param bytes hold the row from `start` to before `end`; they may be kept, nobody writes to them any more */
  addRow(bytes: Buffer, start: number, end: number): void
  /** The same of a row that came in several pieces. */
  addPieces(pieces: readonly Buffer[]): void
}

type Parse = (chunk: Buffer) => void

/** Type and length. */
const HEADER_BYTES = 5
const DATA_ROW = 0x44
const PARSE_COMPLETE = 0x31
const BIND_COMPLETE = 0x32

const rowStreams = new WeakMap<ByteStream, RowStream>()

/** The reader of a connection's rows; undefined where more than pg's parser listens to the connection. */
export function rowStreamOf(stream: ByteStream): RowStream | undefined {
  const known = rowStreams.get(stream)
  if (known) return known
  const listeners = stream.listeners('data') as Parse[]
  const [parse, ...others] = listeners.filter((listener) => !sharesTurns(listener))
  if (!parse || others.length > 0) return undefined
  const made = new RowStream(parse)
  for (const listener of listeners) stream.removeListener('data', listener)
  stream.on('data', (chunk) => made.take(chunk))
  for (const listener of listeners) if (listener !== parse) stream.on('data', listener)
  rowStreams.set(stream, made)
  return made
}

/** Stands before pg's parser on one connection. */
export class RowStream {
  readonly #parse: Parse
  #sink: RowSink | undefined
  #isReading = false
  /** Bytes of the message that the last chunk ended in; pg's parser has its beginning. */
  #left = 0
  /** The row that the last chunk ended in, and how many bytes of it are to come. */
  #pieces: Buffer[] = []
  #missing = 0

  constructor(parse: Parse) {
    this.#parse = parse
  }

  /** The next answer is that of a query whose rows go to `sink`. */
  begin(sink: RowSink): void {
    this.#sink = sink
    this.#isReading = false
    this.#left = 0
    this.#missing = 0
  }

  /** The query has been answered, or nobody waits for it any more. */
  end(sink: RowSink): void {
    if (this.#sink !== sink) return
    this.#sink = undefined
    this.#pieces = []
  }

  take(chunk: Buffer): void {
    const sink = this.#sink
    if (!sink && this.#missing > 0) {
      this.#skip(chunk)
      return
    }
    if (!sink || !(this.#isReading || isAnswer(chunk))) {
      this.#sink = undefined
      this.#parse(chunk)
      return
    }
    this.#isReading = true
    let handedOver = this.#missing > 0 ? this.#goOn(chunk, sink) : 0
    let at = handedOver + this.#left
    while (at + HEADER_BYTES <= chunk.length) {
      const next = at + 1 + int32At(chunk, at + 1)
      if (next < at + HEADER_BYTES) break
      if (chunk[at] === DATA_ROW) {
        if (handedOver < at) this.#parse(chunk.subarray(handedOver, at))
        if (next > chunk.length) {
          this.#pieces = [chunk.subarray(at + HEADER_BYTES)]
          this.#missing = next - chunk.length
          this.#left = 0
          return
        }
        sink.addRow(chunk, at + HEADER_BYTES, next)
        handedOver = next
      }
      at = next
    }
    // a header that is cut in two: from here on this answer is for pg's parser
    if (at < chunk.length) this.#sink = undefined
    this.#left = Math.max(0, at - chunk.length)
    if (handedOver < chunk.length) this.#parse(handedOver === 0 ? chunk : chunk.subarray(handedOver))
  }

  /** Leaves out the rest of a row whose query has ended: pg's parser would take it for messages. */
  #skip(chunk: Buffer): void {
    const skipped = Math.min(this.#missing, chunk.length)
    this.#missing -= skipped
    if (skipped < chunk.length) this.#parse(chunk.subarray(skipped))
  }

  /** Goes on with a row that came in pieces, and returns how much of the chunk belongs to it. */
  #goOn(chunk: Buffer, sink: RowSink): number {
    const taken = Math.min(this.#missing, chunk.length)
    this.#pieces.push(taken === chunk.length ? chunk : chunk.subarray(0, taken))
    this.#missing -= taken
    if (this.#missing > 0) return taken
    const pieces = this.#pieces
    this.#pieces = []
    sink.addPieces(pieces)
    return taken
  }
}

/**
 * True for a chunk that begins with the first message of an answer. A message that has nothing to do with the query may
 * have been cut in two before it: its second half never begins like this, as none has three zeros in a row.
 */
function isAnswer(chunk: Buffer): boolean {
  return (chunk[0] === PARSE_COMPLETE || chunk[0] === BIND_COMPLETE) && int32At(chunk, 1) === LENGTH_BYTES
}
