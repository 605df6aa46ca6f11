/** A page of a list that PostgreSQL has written as JSON. */
import type { Position, Rows } from '../pagination/pagination.js'
import type { RawPage } from '../postgres/row-format.js'
import { inBytes, JsonText } from '../renderers/json-text.js'
import { RECORD_SEPARATOR } from './native-sql.js'

const SEPARATOR = String.fromCharCode(RECORD_SEPARATOR)
const COMMA = 0x2c
const QUOTE = 0x22
const BACKSLASH = 0x5c
const BRACE = 0x7b
const END_OF_BRACE = 0x7d
const BRACKET = 0x5b
const END_OF_BRACKET = 0x5d

/** A whole page that PostgreSQL has written, behind the number of its rows and, with positions, the values of each term. */
export class NativePage implements Rows {
  readonly length: number
  count: number | undefined = undefined
  readonly #page: RawPage | undefined
  /** The column that has the number of rows. */
  readonly #first: number
  #rows: WrittenRows | undefined = undefined

  /** @param first how many columns stand before the number of rows */
  constructor(page: RawPage | undefined, first: number) {
    this.length = Number(page?.texts[first] ?? 0)
    this.#page = page
    this.#first = first
  }

  position(index: number): Position {
    const texts = this.#page?.texts ?? []
    const position: (string | null)[] = []
    for (let term = this.#first + 1; term < texts.length; term++) {
      position.push(readValue(valueAt(texts[term] ?? 'null', index, this.length)))
    }
    return position
  }

  results(start: number, end: number, backwards = false): JsonText {
    const json = this.#page?.json ?? []
    if (start >= end) return new JsonText('[]')
    const isSeparated = this.#page !== undefined && this.#page.texts.length > this.#first + 1
    if (!isSeparated && start === 0 && end === this.length && !backwards) return new JsonText('[', ...json, ']')
    this.#rows ??= isSeparated ? separatedRows(json) : joinedRows(json)
    const { bytes, ends } = this.#rows
    const cut = (from: number, to: number) => bytes.subarray(from === 0 ? 0 : (ends[from - 1] as number) + 1, ends[to])
    if (!backwards) return new JsonText('[', cut(start, end - 1), ']')
    const pieces: (string | Buffer)[] = ['[', cut(end - 1, end - 1)]
    for (let index = end - 2; index >= start; index--) pieces.push(',', cut(index, index))
    return new JsonText(...pieces, ']')
  }
}

/** A value as it is, but for any text, which is a JSON string. */
function readValue(value: string): string | null {
  if (value.charCodeAt(0) === QUOTE) return JSON.parse(value) as string
  return value === 'null' ? null : value
}

/** One of the values of a term: pages are asked for the position of their first row or of one near their end. */
function valueAt(values: string, index: number, count: number): string {
  if (index < count / 2) {
    let start = 0
    for (let left = index; left > 0; left--) start = values.indexOf(SEPARATOR, start) + 1
    const end = values.indexOf(SEPARATOR, start)
    return end === -1 ? values.slice(start) : values.slice(start, end)
  }
  let end = values.length
  for (let left = count - 1 - index; left > 0; left--) end = values.lastIndexOf(SEPARATOR, end - 1)
  return values.slice(values.lastIndexOf(SEPARATOR, end - 1) + 1, end)
}

/** Rows with commas between, and where each of them ends. */
interface WrittenRows {
  readonly bytes: Buffer
  readonly ends: readonly number[]
}

/** Puts commas in place of the separators, in the bytes themselves: nobody else reads them. */
function separatedRows(json: RawPage['json']): WrittenRows {
  const bytes = inBytes(json)
  const ends: number[] = []
  for (let at = bytes.indexOf(RECORD_SEPARATOR); at !== -1; at = bytes.indexOf(RECORD_SEPARATOR, at + 1)) {
    bytes[at] = COMMA
    ends.push(at)
  }
  ends.push(bytes.length)
  return { bytes, ends }
}

/** Looks for the commas that are in no row: a part of a page that was read as a whole. */
function joinedRows(json: RawPage['json']): WrittenRows {
  const bytes = inBytes(json)
  const ends: number[] = []
  let depth = 0
  let inText = false
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at]
    if (byte === QUOTE) inText = !inText
    else if (inText) at += byte === BACKSLASH ? 1 : 0
    else if (byte === BRACE || byte === BRACKET) depth++
    else if (byte === END_OF_BRACE || byte === END_OF_BRACKET) depth--
    else if (byte === COMMA && depth === 0) ends.push(at)
  }
  ends.push(bytes.length)
  return { bytes, ends }
}
