/** The operations of a JSON patch (RFC 6902, section 4) and their pointers (RFC 6901), checked as far as they tell without what they change. */

import { type ErrorMessages, MOST_MESSAGES, ValidationError } from '../kernel/errors.js'
import { memberOf } from '../kernel/json-numerals.js'
import { readStep } from '../kernel/json-pointer.js'
import { ownMember } from '../kernel/records.js'
import { UnknownNames } from '../kernel/unknown-names.js'
import { isJsonObject, type JsonObject, workingCopy } from './json-values.js'

const NAMES = ['add', 'remove', 'replace', 'move', 'copy', 'test'] as const

/** One operation. */
export interface PatchOperation {
  readonly op: (typeof NAMES)[number]
  readonly path: Pointer
  /** Where `move` and `copy` take the value from. */
  readonly from: Pointer
  /** The value of `add`, `replace` and `test`, a working copy. */
  readonly value: unknown
}

const WITH_FROM: ReadonlySet<unknown> = new Set(['move', 'copy'])
const WITH_VALUE: ReadonlySet<unknown> = new Set(['add', 'replace', 'test'])

/**
 * @param most how many there may be
 * @throws ValidationError the document is no list, or too long a list; by position: what is wrong with an operation
 */
export function readOperations(document: unknown, most = Number.POSITIVE_INFINITY): readonly PatchOperation[] {
  if (!Array.isArray(document)) throw new ValidationError('Expected a list of items.')
  if (document.length > most) throw new ValidationError(`Give at most ${most} operations.`)
  const errors: ErrorMessages = {}
  let wrong = 0
  const operations = document.map((given: unknown, position) => {
    const read = isJsonObject(given) ? readOperation(given) : { errors: { non_field_errors: ['Expected an object.'] } }
    if ('op' in read) return read
    if (wrong++ < MOST_MESSAGES) errors[position] = read.errors
    return undefined
  })
  if (wrong > 0) throw new ValidationError(errors)
  return operations as PatchOperation[]
}

function readOperation(given: JsonObject): PatchOperation | { readonly errors: ErrorMessages } {
  const errors: ErrorMessages = {}
  const op = ownMember(given, 'op')
  if (op === undefined) errors['op'] = ['This field is required.']
  else if (!isName(op)) errors['op'] = [unknownOperation(op)]
  const path = readPointer(given, 'path', errors)
  const from = WITH_FROM.has(op) ? readPointer(given, 'from', errors) : []
  if (WITH_VALUE.has(op) && !Object.hasOwn(given, 'value')) errors['value'] = ['This field is required.']
  if (op === 'move' && Object.keys(errors).length === 0 && isInside(path, from)) {
    errors['path'] = ['A value cannot be moved into itself.']
  }
  if (!isName(op) || Object.keys(errors).length > 0) return { errors }
  return { op, path, from, value: WITH_VALUE.has(op) ? workingCopy(memberOf(given, 'value')) : undefined }
}

function unknownOperation(op: unknown): string {
  return new UnknownNames('operation').message(typeof op === 'string' ? op : '', () => NAMES)
}

function readPointer(given: JsonObject, name: string, errors: ErrorMessages): Pointer {
  const text = ownMember(given, name)
  const pointer = typeof text === 'string' ? parsePointer(text) : undefined
  if (!pointer) errors[name] = [text === undefined ? 'This field is required.' : 'Must be a JSON pointer.']
  return pointer ?? []
}

function isName(op: unknown): op is PatchOperation['op'] {
  return (NAMES as readonly unknown[]).includes(op)
}

/** The steps of a pointer, from the outside in: names of members, and positions in lists as they were written. */
export type Pointer = readonly string[]

const WRONG_ESCAPE = /~(?![01])/
/** A position in a list: digits without leading zeros. */
const INDEX = /^(?:0|[1-9]\d{0,15})$/

/** The steps of a pointer; undefined for a text that is none. */
function parsePointer(text: string): Pointer | undefined {
  if (text === '') return []
  if (!text.startsWith('/') || WRONG_ESCAPE.test(text)) return undefined
  return text.slice(1).split('/').map(readStep)
}

/** True where the one leads to what is inside of the other. */
function isInside(inner: Pointer, outer: Pointer): boolean {
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
