/** Modes `encoded` and `encoded_pk`: a number in an alphabet. It hides nothing from a patient reader. */
import type { EncodeContext, IDCodec, IDValue } from './codec.js'
import { add, GREATEST, type Integer, toInteger, toStored } from './integers.js'
import { Positional } from './positional.js'

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

/** Writes keys as numbers in an alphabet. */
export class EncodedCodec implements IDCodec {
  readonly perUser = false
  readonly #number: KeyNumber
  readonly #width: number

  constructor(options: EncodedOptions) {
    this.#number = new KeyNumber(options)
    this.#width = options.width ?? 0
  }

  encode(value: IDValue, context: EncodeContext): string {
    refuseWindow(context)
    return this.#number.write(value).padStart(this.#width, this.#number.digits.alphabet.charAt(0))
  }

  decode(text: string): number | string | undefined {
    const number = this.#number.read(this.#strip(text))
    return number === undefined ? undefined : toStored(number)
  }

  /** Without what was filled in; the empty string, which is no number, where the string is not of its one width. */
  #strip(text: string): string {
    const { alphabet, longest } = this.#number.digits
    if (text.length < this.#width || text.length > Math.max(this.#width, longest)) return ''
    if (text.length > this.#width) return text
    let start = 0
    while (start < text.length - 1 && text.charAt(start) === alphabet.charAt(0)) start++
    return text.slice(start)
  }
}

/** @throws {TypeError} the id has no room for a moment */
export function refuseWindow({ notBefore, notAfter }: EncodeContext): void {
  if (notBefore === undefined && notAfter === undefined) return
  throw new TypeError('only signed ids take notBefore and notAfter')
}
