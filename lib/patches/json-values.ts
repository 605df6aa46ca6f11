/** JSON values while a patch is applied to them: copies in which each number holds all its digits by itself. */

import { hasNumerals, isContainer, memberOf, Numeral, numeralsOf, writeJson } from '../kernel/json-numerals.js'
import { lengthOfExponent, parseJson, sameNumber } from '../kernel/parse-json.js'
import { isRecord } from '../kernel/records.js'

/** An object of JSON. */
export type JsonObject = Record<string, unknown>

/** True for an object of JSON. */
export function isJsonObject(value: unknown): value is JsonObject {
  return isRecord(value)
}

/** Sets a member, whatever its name: `__proto__` is one like any other. */
export function setMember(object: JsonObject, name: string, value: unknown): void {
  if (name !== '__proto__') object[name] = value
  else Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true })
}

/** A copy to work on. Numbers that JavaScript's would lose digits of are `Numeral`s in it, wherever they are moved to. */
export function workingCopy(value: unknown): unknown {
  if (!isContainer(value) || value instanceof Numeral) return value
  const isExact = !hasNumerals(value)
  if (Array.isArray(value)) {
    return value.map((item: unknown, index) => workingCopy(isExact ? item : memberOf(value, index)))
  }
  const copy: JsonObject = {}
  for (const name of Object.keys(value))
    setMember(copy, name, workingCopy(isExact ? value[name] : memberOf(value, name)))
  return copy
}

/** What a working copy has become, as a parsed body has it: numbers, their texts kept beside them. */
export function finished(value: unknown): unknown {
  if (isContainer(value) && !(value instanceof Numeral)) finish(value)
  return value
}

/** True where numerals stand in it. */
function finish(container: object): boolean {
  let found = false
  for (const [name, value] of Object.entries(container)) {
    const key = Array.isArray(container) ? Number(name) : name
    if (value instanceof Numeral) {
      setMember(container as JsonObject, name, Number(value))
      numeralsOf(container).set(key, value.text)
      found = true
    } else if (isContainer(value) && finish(value)) {
      numeralsOf(container)
      found = true
    }
  }
  return found
}

/** A working copy of what a client reads of a value. */
export function workingCopyOf(shown: unknown): unknown {
  const text = writeJson(shown)
  return text === undefined ? undefined : workingCopy(parseJson(text))
}

/** True for values that are equal as RFC 6902 (section 4.6) has it: numbers by their value, members in any order. */
export function isEqual(one: unknown, other: unknown): boolean {
  if (one instanceof Numeral || other instanceof Numeral) {
    const [text, otherText] = [digitsOf(one), digitsOf(other)]
    return text !== undefined && otherText !== undefined && sameNumber(text, otherText)
  }
  if (Array.isArray(one)) {
    return (
      Array.isArray(other) && one.length === other.length && one.every((item, index) => isEqual(item, other[index]))
    )
  }
  if (!isJsonObject(one)) return one === other
  if (!isJsonObject(other)) return false
  const names = Object.keys(one)
  if (names.length !== Object.keys(other).length) return false
  return names.every((name) => Object.hasOwn(other, name) && isEqual(one[name], other[name]))
}

/** All digits of a number; undefined for another value. */
function digitsOf(value: unknown): string | undefined {
  if (value instanceof Numeral) return value.text
  return typeof value === 'number' ? String(value) : undefined
}

/** The characters of a value's JSON, about, numbers as PostgreSQL writes them; any number above `most` where they are more. */
export function sizeOf(value: unknown, most: number): number {
  if (typeof value === 'string') return value.length + 2 + lengthOfExponent(value)
  if (!isContainer(value) || value instanceof Numeral) return String(value).length + lengthOfExponent(value)
  let size = 2
  for (const [name, member] of Object.entries(value)) {
    if (size > most) break
    size += (Array.isArray(value) ? 1 : name.length + 4) + sizeOf(member, most - size)
  }
  return size
}
