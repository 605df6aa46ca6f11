/** How the rows of a query are read from PostgreSQL's bytes (its documentation, section 55.7, "DataRow"). */

/** A row as PostgreSQL sent it: the text of each column, or null. */
export type RawRow = (string | null)[]

/** A page that PostgreSQL has written as JSON, behind the texts of the columns before it. */
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

export const LENGTH_BYTES = 4
const COUNT_BYTES = 2
/** Where cells are longer than this on average, each is read as a text of its own. */
const LONG_CELL = 64
/** As Latin-1 these are no letters, but parts of letters in UTF-8. */
const NOT_ASCII = /[\u0080-\u00ff]/

/** All columns as texts. A row is read as one text that cells are cut from, in less than half the time of one for each. */
export const TEXTS: RowFormat<RawRow> = {
  read: readTexts,
  readPieces(pieces) {
    const bytes = Buffer.concat(pieces)
    return readTexts(bytes, 0, bytes.length)
  },
  ofTexts: (texts) => texts,
}

/** The last column as the bytes it came in: no text is made of a page that is only sent on. */
export const PAGE: RowFormat<RawPage> = {
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

export function int32At(bytes: Buffer, at: number): number {
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
