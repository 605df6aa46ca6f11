/** Codecs of ids: readable ones, and `signed`: a number that only we can have written, for one user and a time if so configured. */
import { AuthenticationFailed } from '../kernel/errors.js'
import { Hmac } from '../kernel/hmac.js'
import { UUID } from '../kernel/id-text.js'
import { derive, equalBytes } from '../kernel/signing.js'
import {
  callerId,
  type EncodeContext,
  type IDCodec,
  type IDContext,
  type IDValue,
  readInteger,
  toInteger,
  toStored,
} from './codec.js'
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

export interface SignedOptions extends EncodedOptions {
  readonly table: string
  /** The first signs, all verify. */
  readonly hmacKeys: readonly [string, ...string[]]
  readonly includeUser: boolean
  readonly separator: string
  readonly signatureBytes: number
  /** Seconds that an id is valid at least; less than twice as long. */
  readonly expiresIn: number | undefined
  /** The time in milliseconds. */
  readonly now: () => number
}

/** From when to when an id is valid, in Unix seconds. */
interface Window {
  readonly start: number | undefined
  readonly end: number | undefined
}

/** Writes keys as signed numbers. */
export class SignedCodec implements IDCodec {
  readonly perUser: boolean
  readonly #options: SignedOptions
  readonly #number: KeyNumber
  readonly #signers: readonly [Signer, ...Signer[]]
  readonly #longest: number
  /** The last window written: all ids of an answer have the same. */
  #step: { readonly end: number; readonly text: string } | undefined

  constructor(options: SignedOptions) {
    const { hmacKeys, table, signatureBytes, includeUser } = options
    const [current, ...previous] = hmacKeys
    this.#options = options
    this.perUser = includeUser
    this.#number = new KeyNumber(options)
    this.#signers = [
      new Signer(current, table, signatureBytes),
      ...previous.map((key) => new Signer(key, table, signatureBytes)),
    ]
    this.#longest = 3 * this.#number.digits.longest + signatureBytes * 2 + 3
  }

  encode(value: IDValue, context: EncodeContext): string {
    const { separator } = this.#options
    const user = this.perUser ? callerId(context) : undefined
    if (this.perUser && user === undefined) throw new AuthenticationFailed()
    const number = this.#number.write(value)
    const window = this.#windowText(context)
    const signed = window === '' ? number : `${number}${separator}${window}`
    return `${signed}${separator}${this.#signers[0].sign(signed, user)}`
  }

  /** Of ids that are for everybody, and do not expire. */
  former(value: IDValue): readonly string[] {
    const number = this.#number.write(value)
    return this.#signers
      .slice(1)
      .map((signer) => `${number}${this.#options.separator}${signer.sign(number, undefined)}`)
  }

  decode(text: string, context: IDContext): number | string | undefined {
    if (text.length > this.#longest) return undefined
    const parts = text.split(this.#options.separator)
    const [digits = '', middle] = parts
    const signature = parts.at(-1) as string
    const isWindowed = parts.length === 3
    if (parts.length !== 2 && !isWindowed) return undefined
    const number = this.#number.read(digits)
    const window = isWindowed ? this.#readWindow(middle as string) : NO_WINDOW
    if (number === undefined || window === undefined) return undefined
    const user = this.perUser ? callerId(context) : undefined
    if (this.perUser && user === undefined) return undefined
    if (!this.#verifies(text.slice(0, -signature.length - 1), signature, user)) return undefined
    return this.#isOpen(window) ? toStored(number) : undefined
  }

  #verifies(signed: string, signature: string, user: string | undefined): boolean {
    if (signature.length !== this.#options.signatureBytes * 2) return false
    // one byte a character, so that no other character is taken for one of ours
    const given = Buffer.from(signature, 'utf8')
    return this.#signers.some((signer) => equalBytes(Buffer.from(signer.sign(signed, user)), given))
  }

  #isOpen({ start, end }: Window): boolean {
    if (end === undefined && this.#options.expiresIn !== undefined) return false
    if (start === undefined && end === undefined) return true
    const now = this.#seconds()
    return (start === undefined || start <= now) && (end === undefined || now < end)
  }

  /** The seconds of the clock. */
  #seconds(): number {
    return Math.floor(this.#options.now() / 1000)
  }

  #windowText({ notBefore, notAfter }: EncodeContext): string {
    const { expiresIn } = this.#options
    const usual = expiresIn === undefined ? undefined : (Math.floor(this.#seconds() / expiresIn) + 2) * expiresIn
    if (notBefore === undefined && notAfter === undefined) return usual === undefined ? '' : this.#usualText(usual)
    const start = notBefore === undefined ? undefined : secondsOf(notBefore)
    const end = notAfter === undefined ? usual : secondsOf(notAfter)
    const side = (seconds: number | undefined) => (seconds === undefined ? '' : this.#number.digits.write(seconds))
    return `${side(start)}-${side(end)}`
  }

  #usualText(end: number): string {
    if (this.#step?.end !== end) this.#step = { end, text: `-${this.#number.digits.write(end)}` }
    return this.#step.text
  }

  #readWindow(text: string): Window | undefined {
    const sides = text.split('-')
    if (sides.length !== 2 || text === '-') return undefined
    const [start, end] = sides.map((side) => (side === '' ? null : this.#number.digits.read(side)))
    if (start === undefined || end === undefined) return undefined
    return { start: start === null ? undefined : Number(start), end: end === null ? undefined : Number(end) }
  }
}

const NO_WINDOW: Window = { start: undefined, end: undefined }

/** @throws {TypeError} it is no moment since 1970 */
function secondsOf(moment: Date | number): number {
  const seconds = typeof moment === 'number' ? moment : Math.floor(moment.getTime() / 1000)
  if (Number.isSafeInteger(seconds) && seconds >= 0) return seconds
  throw new TypeError('notBefore and notAfter take a Date or whole Unix seconds, from 1970 on')
}

/** Signs for one key and table. */
export class Signer {
  readonly #hmac: Hmac
  readonly #length: number

  /** @param bytes of the signature, 8 to 32 */
  constructor(secret: string, table: string, bytes: number) {
    this.#hmac = new Hmac(derive(secret, 'id/v1'), netstring(table))
    this.#length = bytes * 2
  }

  /** @param user the user's id; undefined where ids are for everybody */
  sign(text: string, user: string | undefined): string {
    const parts = user === undefined ? netstring(text) : `${netstring(text)}4:user,${netstring(user)}`
    return this.#hmac.hex(parts).slice(0, this.#length)
  }
}

function netstring(text: string): string {
  return `${Buffer.byteLength(text)}:${text},`
}
