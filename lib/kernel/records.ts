/** Records: tests for objects of data among values of any kind. */

import { Numeral } from './json-numerals.js'

/** True for an object that is neither a list nor a number that holds its digits. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Numeral)
}

/** True for an object without a class of its own, of any realm. */
export function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null || Object.getPrototypeOf(prototype) === null
}

/** Tags of objects that JSON writes as values even if they have no members. */
const BOXED: ReadonlySet<string> = new Set(['Object', 'String', 'Number', 'Boolean'])

/** True for an object with something in it and no members, such as a map, a form, bytes or what a generator gives: JSON of it is `{}`. */
export function isOpaque(value: object): boolean {
  if (Object.keys(value).length > 0 || 'toJSON' in value || value instanceof String) return false
  return Symbol.iterator in value || Symbol.asyncIterator in value || !BOXED.has(tagOf(value))
}

/** The tag of an object (`Symbol.toStringTag`, or its built-in class), such as `Map`. */
export function tagOf(value: object): string {
  return Object.prototype.toString.call(value).slice(8, -1)
}

const repeated = new WeakSet<object>()

/** Marks a list as the values of one name that a form has several times, without brackets. */
export function asRepeated<List extends object>(values: List): List {
  repeated.add(values)
  return values
}

/** True for a list that `asRepeated()` has marked: a field that takes no lists reads the last of its values. */
export function isRepeated(values: object): boolean {
  return repeated.has(values)
}

/** The value itself where it is an object, or the objects of a list; else none. */
export function objectsIn(value: unknown): readonly object[] {
  return [value].flat().filter((one): one is object => typeof one === 'object' && one !== null)
}

/** The named members of a record whose values are not undefined. */
export function presentOf<T extends object, Name extends keyof T>(
  record: T,
  names: readonly Name[],
): Partial<Pick<T, Name>> {
  const present = names.filter((name) => record[name] !== undefined)
  return Object.fromEntries(present.map((name) => [name, record[name]])) as Partial<Pick<T, Name>>
}

/** A member that stands in the record itself; undefined for one of that name which it inherits, such as `constructor`. */
export function ownMember<Value>(record: Readonly<Record<string, Value>>, name: string): Value | undefined {
  return Object.hasOwn(record, name) ? record[name] : undefined
}
