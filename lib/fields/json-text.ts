/** JSON values of any shape: read from text, and checked without recursion (promises A4, B7, B8, B11). */
import { ValidationError } from '../kernel/errors.js'
import { isContainer, knownNumerals, Numeral, numeralAt } from '../kernel/json-numerals.js'
import { parseJson } from '../kernel/parse-json.js'
import { quote } from '../kernel/quote.js'
import { isPlain } from '../kernel/records.js'
import { isTurnOver, nextTurn } from '../kernel/turns.js'
import { MAX_DECIMAL_PLACES, MAX_WHOLE_DIGITS } from './decimal-field.js'
import { checkedText } from './string-field.js'

/** How deep arrays and objects may stand in each other. */
const MAX_DEPTH = 64
/** Members that are checked between two looks at the clock. */
const STEP = 1_000
const NOT_JSON = 'Must be valid JSON.'
/** jsonb writes all digits of a number: `1e131071` would come back as so many. */
const MAX_EXPONENT = 1000
const EXPONENT = /e/i
const NUMERAL = /^-?(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/
/** Types that JSON.stringify drops or throws on; code may pass them. */
const NEVER_JSON = new Set(['bigint', 'function', 'symbol'])

/** What a string of a form or a query string stands for. @throws ValidationError when it is not JSON */
export function readJson(text: string): unknown {
  try {
    return parseJson(text)
  } catch (cause) {
    throw new ValidationError(NOT_JSON, { cause })
  }
}

/**
 * The list that the values of one name in a form stand for: one string may be a JSON array, or empty for an empty list;
 * one list is what names with brackets stand for, whose strings are items; else each value is an item. Lists in it are lists
 * of such items, unless `readList` reads them.
 * @throws ValidationError
 */
export function readItems(
  values: readonly unknown[],
  readItem: (text: string) => unknown,
  readOther: (value: unknown) => unknown = (value) => value,
  readList?: (list: readonly unknown[]) => unknown,
): unknown {
  const [first] = values
  if (values.length === 1 && first === '') return []
  if (values.length === 1 && typeof first === 'string' && first.trimStart().startsWith('[')) return readJson(first)
  const read = (value: unknown): unknown => {
    if (Array.isArray(value)) return readList ? readList(value) : value.map(read)
    return typeof value === 'string' ? readItem(value) : readOther(value)
  }
  return values.length === 1 && Array.isArray(first) ? first.map(read) : values.map(read)
}

/** The values that `fromTexts()` gets of what stands in a form: a list of one has been made by brackets. */
export function formValues(input: unknown): readonly unknown[] {
  return Array.isArray(input) && input.length !== 1 ? input : [input]
}

/** What stands in a form for a field; undefined where that is refused when it is validated. */
export function readForm(field: { fromTexts(values: readonly unknown[]): unknown }, input: unknown): unknown {
  try {
    return field.fromTexts(formValues(input))
  } catch {
    return undefined
  }
}

/**
 * Refuses what PostgreSQL cannot hold as JSON: NUL and lone surrogates in values and keys, numbers that are not finite, or
 * whose digits or exponent are too many, more than 64 levels, the key `__proto__`, objects of a class such as a file of a
 * form. A promise only where it takes more than its share of a turn of the event loop.
 * @throws ValidationError
 */
export function checkJson(root: unknown): Promise<void> | undefined {
  if (root instanceof Numeral) {
    checkNumeral(root.text)
    return undefined
  }
  checkScalar(root)
  return isContainer(root) ? checkLevels({ root, level: [root], at: 0, depth: 1, next: [] }) : undefined
}

/** The state of a walk through a value, level by level. */
interface Progress {
  readonly root: object
  level: readonly object[]
  /** The next of this level. */
  at: number
  depth: number
  next: object[]
}

function checkLevels(progress: Progress): Promise<void> | undefined {
  let members = 0
  while (progress.level.length > 0) {
    if (progress.depth > MAX_DEPTH) throw new ValidationError(`Nested too deeply: at most ${MAX_DEPTH} levels.`)
    while (progress.at < progress.level.length) {
      const container = progress.level[progress.at++] as object
      if (!Array.isArray(container) && !isPlain(container)) throw new ValidationError(NOT_JSON)
      members += 1 + checkMembers(progress.root, container, progress.next)
      if (members < STEP) continue
      members = 0
      if (isTurnOver()) return nextTurn().then(() => checkLevels(progress))
    }
    progress.level = progress.next
    progress.at = 0
    progress.next = []
    progress.depth++
  }
  return undefined
}

/** Checks the members of an array or object, adds those to `next` that have members themselves, and counts them. */
function checkMembers(root: object, container: object, next: object[]): number {
  const isList = Array.isArray(container)
  const numerals = knownNumerals(container)
  for (const [key, text] of numerals ?? []) checkNumeral(text, () => placeOf(root, container, key))
  const keys = isList ? undefined : Object.keys(container)
  const length = keys?.length ?? (container as unknown[]).length
  for (let index = 0; index < length; index++) {
    const key = keys ? (keys[index] as string) : index
    const value = (container as Record<string | number, unknown>)[key]
    if (typeof key === 'string') checkKey(key, value)
    if (isContainer(value)) next.push(value)
    // of some the digits are known, and they need not be finite
    else if (!numerals?.has(key) || numeralAt(container, key) === undefined) checkScalar(value)
  }
  return length
}

function checkScalar(value: unknown): void {
  if (typeof value === 'string') checkedText(value)
  if (typeof value === 'number' && !Number.isFinite(value)) throw new ValidationError('A valid number is required.')
  if (NEVER_JSON.has(typeof value)) throw new ValidationError(NOT_JSON)
}

/** @throws ValidationError a number of JSON has more digits than a column keeps, or stands for more */
function checkNumeral(text: string, place: () => string = () => ''): void {
  if (text.length < MAX_EXPONENT && !EXPONENT.test(text)) return
  const [, whole = '', fraction = '', exponent = '0'] = NUMERAL.exec(text) ?? []
  // of more jsonb refuses what stands before the point, and cuts off what stands behind it
  const isWithin =
    Math.abs(Number(exponent)) <= MAX_EXPONENT &&
    whole.length + MAX_EXPONENT <= MAX_WHOLE_DIGITS &&
    fraction.length + MAX_EXPONENT <= MAX_DECIMAL_PLACES
  if (isWithin) return
  const where = place()
  throw new ValidationError(`The number${where === '' ? '' : ` at ${quote(where)}`} is too large or too precise.`)
}

/** Where a member stands, for people: `a.0.b`. */
function placeOf(root: unknown, container: object, key: string | number): string {
  const places: [unknown, string][] = [[root, '']]
  for (const [value, path] of places) {
    if (value === container) return `${path}${key}`
    if (!isContainer(value)) continue
    for (const [name, inner] of Object.entries(value)) if (isContainer(inner)) places.push([inner, `${path}${name}.`])
  }
  return String(key)
}

/** The body's parser refuses the same names, but for values that may be stored so; a string of a form has not been through it. */
function checkKey(key: string, value: unknown): void {
  checkedText(key)
  if (isForbidden(key, value)) throw new ValidationError(NOT_JSON)
}

/** True for a member that code which copies objects would take for a prototype. */
export function isForbidden(key: string, value: unknown): boolean {
  return key === '__proto__' || (key === 'constructor' && isContainer(value) && Object.hasOwn(value, 'prototype'))
}

/** True where such a member stands in it, at any depth. */
export function hasForbidden(root: unknown): boolean {
  // each once: what code has put together may lead back to itself
  const values = new Set([root])
  for (const value of values) {
    if (!isContainer(value) || !(Array.isArray(value) || isPlain(value))) continue
    for (const [key, inner] of Object.entries(value)) {
      if (isForbidden(key, inner)) return true
      values.add(inner)
    }
  }
  return false
}
