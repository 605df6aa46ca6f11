/** JSON pointers (RFC 6901): where something stands in a JSON value. */
import { isJsonObject } from './json-values.js'

/** The steps of a pointer, from the outside in: names of members, and positions in lists as they were written. */
export type Pointer = readonly string[]

const ESCAPES = /~[01]/g
const WRONG_ESCAPE = /~(?![01])/
/** A position in a list: digits without leading zeros. */
const INDEX = /^(?:0|[1-9]\d{0,15})$/

/** The steps of a pointer; undefined for a text that is none. */
export function parsePointer(text: string): Pointer | undefined {
  if (text === '') return []
  if (!text.startsWith('/') || WRONG_ESCAPE.test(text)) return undefined
  return text
    .slice(1)
    .split('/')
    .map((step) => step.replace(ESCAPES, (code) => (code === '~1' ? '/' : '~')))
}

/** True where the one leads to what is inside of the other. */
export function isInside(inner: Pointer, outer: Pointer): boolean {
  return inner.length > outer.length && outer.every((step, index) => inner[index] === step)
}

/** The position that a step means in a list of this length; undefined for one that there is not. */
export function indexIn(step: string, length: number): number | undefined {
  const index = INDEX.test(step) ? Number(step) : length
  return index < length ? index : undefined
}

/** What stands where a step leads, in an object of one member at most. */
export type Found = { readonly value: unknown } | undefined

/** What stands where one step leads. */
export function childAt(parent: unknown, step: string): Found {
  if (Array.isArray(parent)) {
    const index = indexIn(step, parent.length)
    return index === undefined ? undefined : { value: parent[index] as unknown }
  }
  return isJsonObject(parent) && Object.hasOwn(parent, step) ? { value: parent[step] } : undefined
}

/** What stands where a pointer leads. */
export function valueAt(root: unknown, pointer: Pointer): Found {
  let found: Found = { value: root }
  for (const step of pointer) {
    found = childAt(found.value, step)
    if (!found) return undefined
  }
  return found
}
