/** Reads JSON without losing digits of numbers: the texts of those that JavaScript cannot keep are kept beside them. */
import { hasNumerals, isContainer, knownNumerals, Numeral, numeralsOf } from './json-numerals.js'
import { nextTurn } from './turns.js'

/** A number with fewer digits, and an exponent of fewer than three, is the one that JavaScript prints. */
const EXACT_DIGITS = 15
const EXPONENT_DIGITS = 2
/** The shortest number with such an exponent: `1e400`. */
const SHORTEST = 5
const GREATEST = String(Number.MAX_SAFE_INTEGER)
const PARTS = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/

/** Characters that are read in a few milliseconds. */
const SLICE = 131_072

const QUOTE = 0x22
const PLUS = 0x2b
const COMMA = 0x2c
const MINUS = 0x2d
const POINT = 0x2e
const ZERO = 0x30
const NINE = 0x39
const BRACKET = 0x5b
const BACKSLASH = 0x5c
const END_OF_BRACKET = 0x5d
const BRACE = 0x7b
const END_OF_BRACE = 0x7d
/** 1 for what a number is written in: a digit, a sign, the point, or e in either case. */
const OF_NUMBER = new Uint8Array(128)
for (const character of '0123456789+-.eE') OF_NUMBER[character.charCodeAt(0)] = 1

/** What is behind the digits of a number with an exponent. */
const EXPONENT = /[eE]([+-]?\d+)/y
const IN_QUOTES = /-?\d+(?:\.\d+)?[eE]([+-]?\d+)"/y
/** Numbers beyond are refused by themselves. */
const GREATEST_EXPONENT = 1_000

/**
 * How many characters longer the numbers of a JSON text are where no exponent shortens them, as PostgreSQL writes them; a
 * string counts that is such a number. Walks, as a pattern that tries each digit and quotation mark anew can block for minutes.
 */
export function lengthOfExponents(text: string): number {
  if (!/\d[eE][+-]?\d/.test(text)) return 0
  let length = 0
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at)
    const pattern = code === QUOTE ? IN_QUOTES : code >= ZERO && code <= NINE ? EXPONENT : undefined
    if (!pattern) continue
    pattern.lastIndex = at + 1
    const exponent = pattern.exec(text)?.[1]
    if (exponent !== undefined) length += Math.min(Math.abs(Number(exponent)), GREATEST_EXPONENT)
    if (code === QUOTE) at = endOfText(text, at)
  }
  return length
}

const WITH_EXPONENT = /^-?\d+(?:\.\d+)?[eE]([+-]?\d+)$/

/** How many characters longer one value is where no exponent shortens it: a number, or a string that is one. */
export function lengthOfExponent(value: unknown): number {
  if (typeof value === 'number' && Number.isInteger(value) && Math.abs(value) < 1e21) return 0
  if (typeof value !== 'number' && typeof value !== 'string' && !(value instanceof Numeral)) return 0
  const exponent = WITH_EXPONENT.exec(String(value))?.[1]
  return exponent === undefined ? 0 : Math.min(Math.abs(Number(exponent)), GREATEST_EXPONENT)
}

/** The same as `lengthOfExponents()` of a value that was made of a JSON text by others; without recursion. */
export function lengthOfExponentsIn(value: unknown): number {
  let length = 0
  const values = [value]
  for (let at = 0; at < values.length; at++) {
    const one = values[at]
    if (isContainer(one) && !(one instanceof Numeral)) for (const inner of Object.values(one)) values.push(inner)
    else length += lengthOfExponent(one)
  }
  return length
}

/** What `JSON.parse` makes of a text, with the texts of the numbers that it could not keep. @throws SyntaxError */
export function parseJson(text: string): unknown {
  return keepNumerals(JSON.parse(text), text)
}

/**
 * Remembers how the numbers of a value were written, where they are other ones than it has.
 * @param value what was made of the text
 * @param text valid JSON
 * @returns the value, or a `Numeral` in place of a number
 */
export function keepNumerals(value: unknown, text: string): unknown {
  if (!mayLoseDigits(text)) return value
  if (isContainer(value)) new Reader(text, value).read(text.length)
  return typeof value === 'number' ? keepNumeral(value, text.trim()) : value
}

/** Keeps the numerals of a long JSON string, in turns of the event loop. */
export async function keepNumeralsInTurns(value: unknown, text: string): Promise<unknown> {
  if (!mayLoseDigits(text)) return value
  if (!isContainer(value)) return keepNumerals(value, text)
  const reader = new Reader(text, value)
  while (reader.read(SLICE)) await nextTurn()
  return value
}

function keepNumeral(value: number, numeral: string): unknown {
  return Object.is(value, Number(numeral)) && !isExact(numeral, value) ? new Numeral(numeral) : value
}

/** Keeps the numerals of a list whose items were JSON strings, or lists of such strings. */
export function keepItemNumerals(values: unknown, texts: unknown): unknown {
  if (!Array.isArray(values) || !Array.isArray(texts)) return values
  for (const [position, text] of texts.entries()) {
    const value: unknown = values[position]
    const item = typeof text === 'string' ? keepNumerals(value, text) : keepItemNumerals(value, text)
    if (item instanceof Numeral) numeralsOf(values).set(position, item.text)
    else if (hasNumerals(item)) numeralsOf(values)
  }
  return values
}

/** Where a string of JSON has its second quotation mark, or the text's length where it has none. */
function endOfText(text: string, start: number): number {
  let at = start + 1
  while (at < text.length && text.charCodeAt(at) !== QUOTE) at += text.charCodeAt(at) === BACKSLASH ? 2 : 1
  return at
}

/** The place of a reader: in an array or object of the value that was made of the JSON string. */
interface Place {
  readonly container: unknown
  readonly isList: boolean
  readonly parent: Place | undefined
  /** In an array the position. */
  index: number
  /** In an object where the last name begins and ends; -1 before there is one. */
  start: number
  end: number
}

/** Walks through a JSON text and what was made of it, without recursion. */
class Reader {
  readonly #text: string
  readonly #root: object
  #place: Place | undefined
  #at = 0

  constructor(text: string, root: object) {
    this.#text = text
    this.#root = root
  }

  /** Goes on for about so many characters; false at the end. */
  read(characters: number): boolean {
    const text = this.#text
    const root = this.#root
    const end = Math.min(this.#at + characters, text.length)
    let at = this.#at
    for (; at < end; at++) {
      const code = text.charCodeAt(at)
      if (code === QUOTE) at = this.#skipText(at)
      else if (code === COMMA) this.#next()
      else if (code === BRACE || code === BRACKET) {
        const container = this.#place === undefined ? root : member(this.#place, this.#key())
        this.#place = { container, isList: code === BRACKET, parent: this.#place, index: 0, start: -1, end: -1 }
      } else if (code === END_OF_BRACE || code === END_OF_BRACKET) this.#place = this.#place?.parent
      else if (code === MINUS || (code >= ZERO && code <= NINE)) {
        const start = at
        while (OF_NUMBER[text.charCodeAt(at + 1)] === 1) at++
        this.#readNumber(start, at)
      }
    }
    this.#at = at
    return at < text.length
  }

  /** Where a string ends, which in an object is a name if there is none yet. */
  #skipText(start: number): number {
    const text = this.#text
    const place = this.#place
    const at = endOfText(text, start)
    if (place && !place.isList && place.start === -1) {
      place.start = start
      place.end = at + 1
    }
    return at
  }

  #next(): void {
    if (!this.#place) return
    this.#place.index++
    this.#place.start = -1
  }

  #readNumber(start: number, end: number): void {
    const place = this.#place
    if (!place || !isContainer(place.container)) return
    const known = knownNumerals(place.container)
    if (!known && !isLong(this.#text, start, end)) return
    const numeral = this.#text.slice(start, end + 1)
    const key = this.#key()
    const number = member(place, key)
    // of names that stand twice in an object the last counts; whether it is this one is asked where it is written
    if (isExact(numeral, number)) known?.delete(key)
    else if (typeof number === 'number') {
      numeralsOf(place.container).set(key, numeral)
      if (known) return
      for (let outer = place.parent; outer && isContainer(outer.container); outer = outer.parent) {
        if (knownNumerals(outer.container)) break
        numeralsOf(outer.container)
      }
    }
  }

  #key(): string | number {
    const { isList, index, start, end } = this.#place as Place
    return isList ? index : (JSON.parse(this.#text.slice(start, end)) as string)
  }
}

function member({ container }: Place, key: string | number): unknown {
  return isContainer(container) && Object.hasOwn(container, key) ? container[key] : undefined
}

/** True where a text may have a number that JavaScript cannot keep; it may stand in a string. Looks at few characters only. */
export function mayLoseDigits(text: string): boolean {
  for (let at = SHORTEST - 1; at < text.length; at += SHORTEST) {
    if (OF_NUMBER[text.charCodeAt(at)] !== 1) continue
    let start = at
    while (OF_NUMBER[text.charCodeAt(start - 1)] === 1) start--
    while (OF_NUMBER[text.charCodeAt(at + 1)] === 1) at++
    if (at - start >= SHORTEST - 1 && isLong(text, start, at)) return true
  }
  return false
}

/** True where so many digits stand together, or behind an e; dates and telephone numbers have signs between theirs. */
function isLong(text: string, start: number, end: number): boolean {
  let digits = 0
  let most = EXACT_DIGITS
  for (let at = start; at <= end; at++) {
    const code = text.charCodeAt(at)
    if (code >= ZERO && code <= NINE) {
      if (++digits > most) return true
    } else if (code !== POINT) {
      // a sign behind an e leaves it an exponent
      const isExponent = code !== MINUS && code !== PLUS
      most = isExponent || (digits === 0 && most === EXPONENT_DIGITS) ? EXPONENT_DIGITS : EXACT_DIGITS
      digits = 0
    }
  }
  return false
}

/** True for a number of JSON that is the one JavaScript prints for it. */
function isExact(numeral: string, number: unknown): boolean {
  if (!isLong(numeral, 0, numeral.length - 1)) return true
  if (isWhole(numeral)) return isSafe(numeral)
  const printed = String(number)
  return printed === numeral || spelling(printed) === spelling(numeral)
}

/** `Number.isSafeInteger` of a whole number, without the time that making a number of its text takes. */
function isSafe(numeral: string): boolean {
  const digits = numeral.charCodeAt(0) === MINUS ? numeral.slice(1) : numeral
  return digits.length < GREATEST.length || (digits.length === GREATEST.length && digits <= GREATEST)
}

function isWhole(numeral: string): boolean {
  for (let at = 1; at < numeral.length; at++) {
    const code = numeral.charCodeAt(at)
    if (code < ZERO || code > NINE) return false
  }
  return true
}

/** True for numerals of JSON that are one number, such as `10` and `1e1`. */
export function sameNumber(one: string, other: string): boolean {
  return one === other || spelling(one) === spelling(other)
}

/** A number in one spelling, whatever it was written as; zero has no sign. */
function spelling(numeral: string): string {
  const [, whole = '', fraction = '', exponent = '0'] = PARTS.exec(numeral) ?? []
  const digits = whole + fraction
  let start = 0
  let end = digits.length
  while (digits.charCodeAt(start) === ZERO) start++
  while (end > start && digits.charCodeAt(end - 1) === ZERO) end--
  if (start === end) return whole === '' ? numeral : '0'
  const sign = numeral.startsWith('-') ? '-' : ''
  return `${sign}${digits.slice(start, end)}e${Number(exponent) - fraction.length + digits.length - end}`
}
