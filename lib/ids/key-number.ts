/** Keys as numbers in an alphabet, an offset added. */
import { add, GREATEST, type IDValue, type Integer, smallest, toInteger } from './codec.js'

export interface EncodedOptions {
  readonly alphabet: string
  /** Added before encoding. */
  readonly offset: number
  /** Shorter strings are filled on the left with the first character. */
  readonly width?: number
}

/** The number of an id: the key and the offset, in the alphabet. */
export class KeyNumber {
  readonly digits: Positional
  readonly #offset: number

  constructor({ alphabet, offset }: EncodedOptions) {
    this.digits = new Positional(alphabet)
    this.#offset = offset
  }

  /** @throws {TypeError} the key is no integer, below 0, or too large */
  write(key: IDValue): string {
    const integer = toInteger(key)
    const number = this.#offset === 0 ? integer : add(integer, this.#offset)
    if (integer < 0 || number > GREATEST) {
      throw new TypeError(`a key of ${integer} has no external id: it and the offset must be from 0 to 2^63 - 1`)
    }
    return this.digits.write(number)
  }

  read(text: string): Integer | undefined {
    const number = this.digits.read(text)
    if (number === undefined || number < this.#offset) return undefined
    return this.#offset === 0 ? number : add(number, -this.#offset)
  }
}

const NO_DIGIT = 255

/** Writes whole numbers from 0 to 2^63 - 1 and reads them back. */
class Positional {
  readonly alphabet: string
  /** The digits of 2^63 - 1. */
  readonly longest: number
  readonly #base: number
  /** As many digits always make an exact number. */
  readonly #safeLength: number
  readonly #digits: Uint8Array

  constructor(alphabet: string) {
    this.alphabet = alphabet
    this.#base = alphabet.length
    this.#digits = new Uint8Array(128).fill(NO_DIGIT)
    for (let digit = 0; digit < alphabet.length; digit++) this.#digits[alphabet.charCodeAt(digit)] = digit
    this.#safeLength = Math.floor(Math.log(Number.MAX_SAFE_INTEGER) / Math.log(alphabet.length))
    this.longest = this.write(GREATEST).length
  }

  /** Most significant digit first, no leading zero digit. */
  write(value: Integer): string {
    let text = ''
    let rest = value
    if (typeof rest === 'bigint') {
      const base = BigInt(this.#base)
      for (; rest > Number.MAX_SAFE_INTEGER; rest /= base) text = this.alphabet.charAt(Number(rest % base)) + text
    }
    let number = Number(rest)
    do {
      const high = Math.floor(number / this.#base)
      text = this.alphabet.charAt(number - high * this.#base) + text
      number = high
    } while (number > 0)
    return text
  }

  /** Undefined for anything that `write` does not write. */
  read(text: string): Integer | undefined {
    const { length } = text
    if (length === 0 || length > this.longest) return undefined
    if (length > 1 && text.startsWith(this.alphabet.charAt(0))) return undefined
    let number = 0
    let big = 0n
    const isSafe = length <= this.#safeLength
    for (let index = 0; index < length; index++) {
      const digit = this.#digits[text.charCodeAt(index)] ?? NO_DIGIT
      if (digit === NO_DIGIT) return undefined
      if (isSafe) number = number * this.#base + digit
      else big = big * BigInt(this.#base) + BigInt(digit)
    }
    if (isSafe) return number
    return big > GREATEST ? undefined : smallest(big)
  }
}
