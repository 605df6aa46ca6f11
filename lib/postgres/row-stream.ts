/**
 * Reads the rows of our queries from the bytes that PostgreSQL sends (its documentation, section 55.7, "DataRow"), before
 * pg's parser sees them. All other messages, and all rows of other queries, are for pg's parser. Long answers take several
 * turns of the event loop.
 */

import { firstTime } from '../kernel/once-per.js'
import { atTurnsEnd, isTurnOver } from '../kernel/turns.js'
import { clientOf, type PgConnection, poolOf, type Queryable } from './pg-types.js'

/** A row as PostgreSQL sent it: the text of each column, or null. */
export type RawRow = (string | null)[]

/** A page that PostgreSQL has written as JSON, behind the strings of the columns before it. */
export interface RawPage {
  readonly texts: RawRow
  /** Its pieces: bytes of UTF-8, which may be cut within a character, or the text where pg has read the row. None for null. */
  readonly json: readonly (Buffer | string)[]
}

/** Reads a row, from its bytes or from what pg's parser has made of them. */
export interface RowFormat<Row> {
  /** @param bytes hold the row from `start` to before `end` */
  readonly read: (bytes: Buffer, start: number, end: number) => Row
  /** @param pieces hold the row together; they may be cut anywhere */
  readonly readPieces: (pieces: readonly Buffer[]) => Row
  readonly ofTexts: (texts: RawRow) => Row
}

const LENGTH_BYTES = 4
const COUNT_BYTES = 2
/** Average length of cells above which each is decoded by itself. */
const LONG_CELL = 64
/** As Latin-1 these are no letters, but parts of letters in UTF-8. */
const NOT_ASCII = /[\u0080-\u00ff]/

/** All columns as strings. A row is read as one string that cells are cut from, in less than half the time of one for each. */
export const TEXTS: RowFormat<RawRow> = {
  read: readTexts,
  readPieces(pieces) {
    const bytes = Buffer.concat(pieces)
    return readTexts(bytes, 0, bytes.length)
  },
  ofTexts: (texts) => texts,
}

/** The last column as the bytes it came in: no string is made of a page that is only sent on. */
export const PAGE_FORMAT: RowFormat<RawPage> = {
  read(bytes, start) {
    return readPage([bytes], start) as RawPage
  },
  readPieces(pieces) {
    return readPage(pieces, 0) ?? (readPage([Buffer.concat(pieces)], 0) as RawPage)
  },
  ofTexts(texts) {
    const json = texts.at(-1) ?? null
    return { texts: texts.slice(0, -1), json: json === null ? [] : [json] }
  },
}

function int32At(bytes: Buffer, at: number): number {
  return (
    ((bytes[at] as number) << 24) |
    ((bytes[at + 1] as number) << 16) |
    ((bytes[at + 2] as number) << 8) |
    (bytes[at + 3] as number)
  )
}

function columnsOf(bytes: Buffer, start: number): number {
  return ((bytes[start] as number) << 8) | (bytes[start + 1] as number)
}

function readTexts(bytes: Buffer, start: number, end: number): RawRow {
  // columnsOf() and int32At() written out: every row and every cell come by
  const count = ((bytes[start] as number) << 8) | (bytes[start + 1] as number)
  const whole = end - start <= LONG_CELL * count ? bytes.toString('latin1', start, end) : undefined
  // asked of the row first, which most often answers it for all cells
  const isAscii = whole !== undefined && !NOT_ASCII.test(whole)
  const row: RawRow = []
  let at = start + COUNT_BYTES
  for (let index = 0; index < count; index++) {
    const length =
      ((bytes[at] as number) << 24) |
      ((bytes[at + 1] as number) << 16) |
      ((bytes[at + 2] as number) << 8) |
      (bytes[at + 3] as number)
    at += LENGTH_BYTES
    if (length < 0) {
      row.push(null)
      continue
    }
    const cell = whole?.slice(at - start, at - start + length)
    const isText = cell !== undefined && (isAscii || !NOT_ASCII.test(cell))
    row.push(isText ? cell : bytes.toString('utf8', at, at + length))
    at += length
  }
  return row
}

/** Undefined where the first piece ends before the page begins. */
function readPage([bytes, ...others]: readonly Buffer[], start: number): RawPage | undefined {
  if (!bytes || bytes.length < start + COUNT_BYTES) return undefined
  const texts: RawRow = []
  let at = start + COUNT_BYTES
  for (let left = columnsOf(bytes, start); at + LENGTH_BYTES <= bytes.length; left--) {
    const length = int32At(bytes, at)
    at += LENGTH_BYTES
    const end = at + Math.max(length, 0)
    if (left === 1) return { texts, json: length < 0 ? [] : [bytes.subarray(at, end), ...others] }
    texts.push(length < 0 ? null : bytes.toString('utf8', at, end))
    at = end
  }
  return undefined
}

const READER = Symbol('reads the rows of the connection')

/** The stream of a connection, with pg's parser as its only reader. */
export interface ByteStream {
  listeners(event: 'data'): unknown[]
  on(event: 'data', listener: Parse): unknown
  removeListener(event: 'data', listener: Parse): unknown
  [READER]?: RowStream
}

/** Receiver of the rows of the running query. */
export interface RowSink {
  /** @param bytes hold the row from `start` to before `end`; they may be kept, nobody writes to them any more */
  addRow(bytes: Buffer, start: number, end: number): void
  /** Takes a row that came in several pieces. */
  addPieces(pieces: readonly Buffer[]): void
}

type Parse = (chunk: Buffer) => void

/** Type and length. */
const HEADER_BYTES = 5
const DATA_ROW = 0x44
const PARSE_COMPLETE = 0x31
const BIND_COMPLETE = 0x32

/**
 * The reader of a connection's rows; undefined where more than pg's parser listens to the connection. It is the only one that
 * listens then, as pg's parser was: libraries such as pg-copy-streams take its place for a while, and count on that.
 */
export function rowStreamOf(stream: ByteStream): RowStream | undefined {
  const known = stream[READER]
  if (known) return known
  const [parse, ...others] = stream.listeners('data') as Parse[]
  if (!parse || others.length > 0) return undefined
  const made = new RowStream(parse)
  stream.removeListener('data', parse)
  stream.on('data', (chunk) => {
    made.take(chunk)
    made.giveWay?.(chunk)
  })
  stream[READER] = made
  return made
}

/** Stands before pg's parser on one connection. */
export class RowStream {
  /** Is called behind each chunk, for `shareTurns()`. */
  giveWay: Parse | undefined = undefined
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
      // int32At() written out: every row comes by
      const length =
        ((chunk[at + 1] as number) << 24) |
        ((chunk[at + 2] as number) << 16) |
        ((chunk[at + 3] as number) << 8) |
        (chunk[at + 4] as number)
      const next = at + 1 + length
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

/** Most bytes that Node reads of a socket at once, up to 32 times in one turn. */
const FULL = 65_536

interface Stream extends ByteStream {
  pause(): void
  resume(): void
}
const isNewPool = firstTime()

/**
 * Lets other requests have their turns while a connection of this pool brings a long answer: pg reads all that has
 * arrived in one turn of the event loop, which with lists of dates is a tenth of a second for a megabyte.
 */
export function shareTurns(knex: Queryable): void {
  const pool = poolOf(clientOf(knex))
  if (!pool || !isNewPool(pool)) return
  for (const { resource } of pool.free ?? []) share(resource)
  pool.on('createSuccess', (_, connection) => share(connection))
}

function share({ connection }: PgConnection): void {
  const stream = (connection as { readonly stream?: Stream } | undefined)?.stream
  if (!stream) return
  const resume = () => stream.resume()
  const giveWay: Parse = ({ length }) => {
    if (length < FULL || !isTurnOver()) return
    stream.pause()
    atTurnsEnd(resume)
  }
  const reader = rowStreamOf(stream)
  if (reader) reader.giveWay = giveWay
  else stream.on('data', giveWay)
}
