/** Keys as numbers in an alphabet, an offset added. */

import type { IDValue } from './codec.js'
import { add, GREATEST, type Integer, toInteger } from './integers.js'
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
