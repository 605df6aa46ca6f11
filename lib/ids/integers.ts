/** Integers of up to 64 bits: numbers where they are exact, else bigints. */
import type { IDValue } from './codec.js'

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
