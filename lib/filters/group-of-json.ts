/** Writes a tree of conditions in JSON as the text of a group, by docs/reference/query-method.md: `{ or: [{ n: 1 }, { not: { n: 2 } }] }`. */

import { ValidationError } from '../kernel/errors.js'

/** Groups of a tree, and the members that one of conditions may have in their place. */
export const GROUP_NAMES: ReadonlySet<string> = new Set(['and', 'or', 'not'])

/** Reads one value of an object as the text that a URL would have. @throws ValidationError */
export type ReadValue = (container: object, key: string) => string

/**
 * The text of a tree: conditions of one object hold together.
 * @throws ValidationError it is none, naming the place by a JSON pointer
 */
export function groupOfJson(tree: unknown, read: ReadValue, at = ''): string {
  if (!isObject(tree)) throw misplaced(at, 'Give an object with conditions.')
  const parts = Object.keys(tree).map((name) => partOf(tree, name, { read, at: `${at}/${escaped(name)}` }))
  if (parts.length === 0) throw misplaced(at, 'Give at least one condition.')
  return parts.length === 1 ? (parts[0] as string) : `and(${parts.join(',')})`
}

function partOf(
  tree: Readonly<Record<string, unknown>>,
  name: string,
  { read, at }: { read: ReadValue; at: string },
): string {
  const value = tree[name]
  if (name === 'not') return `not(${groupOfJson(value, read, at)})`
  if (GROUP_NAMES.has(name)) {
    if (!Array.isArray(value) || value.length === 0) throw misplaced(at, 'Give a list of objects with conditions.')
    return `${name}(${value.map((item, index) => groupOfJson(item, read, `${at}/${index}`)).join(',')})`
  }
  const related = RELATED.exec(name)
  if (related) {
    const [, kind, relation] = related
    const isBare = isObject(value) && Object.keys(value).length === 0
    return isBare ? `${kind}(${relation})` : `${kind}(${relation},${groupOfJson(value, read, at)})`
  }
  if (!NAME.test(name)) throw misplaced(at, 'Unknown field.')
  try {
    return `${name}="${read(tree, name).replace(/[\\"]/g, '\\$&')}"`
  } catch (error) {
    if (!(error instanceof ValidationError)) throw error
    // values have no fields of their own
    throw misplaced(at, Array.isArray(error.messages) ? String(error.messages[0]) : 'Invalid value.')
  }
}

/** Is there a related object such that …: `{ "any(reviews)": { stars__gte: 4 } }`. */
const RELATED = /^(any|none)\((\w+)\)$/

/** What a name of a condition may be made of, `count(reviews)__gte` among them: nothing that ends it. */
const NAME = /^(?:count\(\w+\))?\w*$/

function misplaced(at: string, message: string): ValidationError {
  return new ValidationError(at === '' ? message : `At ${at}: ${message}`)
}

function escaped(name: string): string {
  return name.slice(0, 64).replaceAll('~', '~0').replaceAll('/', '~1')
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
