/** Ids without a secret: keys in decimal or as a number in an alphabet, which hides nothing from a patient reader, and stored ids. */
import type { EncodeContext, IDCodec, IDValue } from './codec.js'
import { readInteger, toInteger, toStored } from './integers.js'
import { type EncodedOptions, KeyNumber } from './key-number.js'

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

/** Writes keys in decimal. */
export class RawCodec implements IDCodec {
  readonly perUser = false

  encode(value: IDValue, context: EncodeContext): string {
    refuseWindow(context)
    return String(toInteger(value))
  }

  decode(text: string): number | string | undefined {
    const integer = readInteger(text)
    return integer === undefined ? undefined : toStored(integer)
  }
}

const TEXT = /^[A-Za-z0-9_-]{1,64}$/
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i

/** Shows stored ids as they are, and reads what may be one. */
export class StoredCodec implements IDCodec {
  readonly perUser = false
  readonly #isUuid: () => boolean

  /** @param isUuid the ids are UUIDs; asked at each read, because it depends on the catalogue */
  constructor(isUuid: () => boolean) {
    this.#isUuid = isUuid
  }

  encode(value: IDValue, context: EncodeContext): string {
    refuseWindow(context)
    return String(value)
  }

  decode(text: string): string | undefined {
    if (!this.#isUuid()) return TEXT.test(text) ? text : undefined
    return UUID.test(text) ? text.toLowerCase() : undefined
  }
}
