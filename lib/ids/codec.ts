/** Codecs of ids: their contract, and integers of up to 64 bits: numbers where they are exact, else bigints. */
import { userText } from '../http/caller.js'
import { type Context, isAnonymous, userId } from '../http/context.js'

/** What an id is made of: a primary key, or a stored `public_id`. Integers beyond 2^53 are bigints or digits. */
export type IDValue = number | bigint | string

/** The caller that an id is read or written for. */
export interface IDContext {
  /** The user, or the user's id; only `includeUser` looks at it. */
  readonly user?: unknown
  /** The request of that user: where it may be of users of several kinds, their ids differ by that, too. */
  readonly ctx?: Context | undefined
}

/** The caller, and the window in which an id is valid; only signed ids have one. */
export interface EncodeContext extends IDContext {
  /** The id is not found before this moment: a Date, or Unix seconds. */
  readonly notBefore?: Date | number | undefined
  /** The id is not found from this moment on: a Date, or Unix seconds. @default as `expiresIn` says */
  readonly notAfter?: Date | number | undefined
}

/** Writes and reads the ids of one model. */
export interface IDCodec {
  /** Ids differ from user to user. */
  readonly perUser: boolean
  /** @throws {AuthenticationFailed} ids are per user, and there is none @throws {TypeError} the value has no id */
  encode(value: IDValue, context: EncodeContext): string
  /** The ids of a value under previous keys, which `decode` still accepts. @default none */
  former?(value: IDValue): readonly string[]
  /** The value; undefined for every string that `encode` would not write for this caller and now. */
  decode(text: string, context: IDContext): number | string | undefined
}

/** The id of a caller as it is signed; undefined for an anonymous one, and for an id that is neither text nor number. */
export function callerId({ user, ctx }: IDContext): string | undefined {
  const id = typeof user === 'object' || isAnonymous(user) ? userId(user) : user
  const isId = typeof id === 'string' || typeof id === 'number' || typeof id === 'bigint'
  if (!isId) return undefined
  // an id that the application writes for a user names no kind
  return ctx ? userText(ctx, { id }) : String(id)
}

export type Integer = number | bigint

const DIGITS = /^(?:0|-?[1-9][0-9]{0,18})$/
/** Every integer of up to 15 digits is exact as a number. */
const SAFE_DIGITS = 15
/** 2^63 - 1, the greatest int8. */
export const GREATEST = 2n ** 63n - 1n

/** Reads a stored key. @throws {TypeError} it is no integer of 64 bits */
export function toInteger(value: IDValue): Integer {
  if (typeof value === 'number' && Number.isSafeInteger(value)) return value
  const integer = typeof value === 'number' ? undefined : readInteger(String(value))
  if (integer === undefined) throw new TypeError('an external id is made of an integer of at most 64 bits')
  return integer
}

/** Reads decimal digits; undefined for anything but the one way to write an int8. */
export function readInteger(text: string): Integer | undefined {
  if (!DIGITS.test(text)) return undefined
  if (text.length <= SAFE_DIGITS) return Number(text)
  const integer = BigInt(text)
  return BigInt.asIntN(64, integer) === integer ? smallest(integer) : undefined
}

/** As a number, where that is exact. */
export function smallest(integer: bigint): Integer {
  const number = Number(integer)
  return Number.isSafeInteger(number) ? number : integer
}

export function add(one: Integer, other: number): Integer {
  const sum = typeof one === 'number' ? one + other : Number.NaN
  return Number.isSafeInteger(sum) ? sum : smallest(BigInt(one) + BigInt(other))
}

/** As values are bound: a number, or digits. */
export function toStored(integer: Integer): number | string {
  return typeof integer === 'number' ? integer : String(integer)
}
