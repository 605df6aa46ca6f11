/** Deep copies of data, so that nobody changes what another holds. */

import { copyNumerals } from './json-numerals.js'
import { isPlain } from './records.js'

/** True for a list, an object of data, a date, a map, a set or bytes: what two holders of it would share. */
export function isShared(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  return Array.isArray(value) || isPlain(value) || BUILT_IN.some((type) => value instanceof type) || isBytes(value)
}

/** A copy with copies of all data in it. Instances of classes, such as `raw('now()')`, stay the objects they are. */
export function ownCopy<Value>(value: Value): Value {
  if (!isShared(value)) return value
  const copy = copyOf(value)
  copyNumerals(value, copy)
  return copy as Value
}

const BUILT_IN = [Date, Map, Set]

function copyOf(value: object): unknown {
  if (Array.isArray(value)) return value.map(ownCopy)
  if (value instanceof Date) return new Date(value)
  if (value instanceof Map) return new Map([...value].map(([key, item]) => [key, ownCopy(item)]))
  if (value instanceof Set) return new Set([...value].map(ownCopy))
  if (Buffer.isBuffer(value)) return Buffer.from(value)
  if (isBytes(value)) return value.slice()
  const copy = Object.create(Object.getPrototypeOf(value) as object | null) as Record<string, unknown>
  for (const [name, member] of Object.entries(value)) {
    Object.defineProperty(copy, name, {
      value: ownCopy(member as unknown),
      writable: true,
      enumerable: true,
      configurable: true,
    })
  }
  return copy
}

function isBytes(value: object): value is Uint8Array {
  return ArrayBuffer.isView(value) && !(value instanceof DataView)
}
