/**
 * Numbers of JSON that JavaScript's would lose digits of, such as `9007199254740993`: the value is the nearest number, as
 * everywhere, and the text it was written as is kept beside it, so that it is written again as it was.
 */

const NUMERALS = Symbol('texts of numbers')

/** The texts of numbers, by name or position. */
export type Numerals = Map<string | number, string>

/** An array or object of JSON that remembers how its numbers were written; those without such numbers have no such thing. */
interface Container {
  [key: string | number]: unknown
  [NUMERALS]?: Numerals
}

/** A number that no array or object holds, with the text it was written as. It counts as the number it is. */
export class Numeral extends Number {
  readonly text: string

  /** @param text a number of JSON, or another numeral, as code that copies objects gives it */
  constructor(text: string | Numeral) {
    super(text)
    this.text = String(text instanceof Numeral ? text.text : text)
  }

  toJSON(): unknown {
    return isWriting ? token(this.text) : Number(this)
  }

  override toString(): string {
    return this.text
  }
}

/** Gives a copy that was made without them the texts of the numbers in it. */
export function copyNumerals(from: unknown, to: unknown): void {
  if (from === to || !isContainer(from) || !isContainer(to)) return
  const numerals = from[NUMERALS] && numeralsOf(to)
  for (const [key, text] of from[NUMERALS] ?? []) numerals?.set(key, text)
  // a list may have been made of values that have them
  const keys = from[NUMERALS] || Array.isArray(from) ? Object.keys(from) : []
  for (const key of keys) copyNumerals(from[key], to[key])
}

/** The text of a number in an array or object, where it is still the one that was read; undefined where the number says it all. */
export function numeralAt(container: unknown, key: string | number): string | undefined {
  const text = (container as Container)[NUMERALS]?.get(key)
  return text !== undefined && Object.is(Number(text), (container as Container)[key]) ? text : undefined
}

/** True of an array or object that has such numbers, at whatever depth. */
export function hasNumerals(value: unknown): boolean {
  return isContainer(value) && value[NUMERALS] !== undefined
}

/** A value that holds all its digits by itself, for a member of an array or object. */
export function memberOf(container: unknown, key: string | number): unknown {
  const text = numeralAt(container, key)
  return text === undefined ? (container as Container)[key] : new Numeral(text)
}

let isWriting = false
/** False while JSON is written in its shortest form. */
let isSpelled = true
/** What stands in the text that is being written in place of each token. */
let written: string[] = []

/** Stands in strings that are numbers, arrays or objects once they are written. Nobody else knows it. */
const SECRET = crypto.randomUUID()
/** In a string of JSON within JSON the quotes are escaped, once for each string; a run of backslashes is tried once. */
const TOKEN = new RegExp(`(?<!\\\\)(\\\\*)"${SECRET}:(\\d+)\\1"`, 'g')

function token(text: string): string {
  return `${SECRET}:${written.push(text) - 1}`
}

/** What `writeJson` writes, without the spaces of PostgreSQL. */
export function writeCompactly(value: unknown): string | undefined {
  isSpelled = false
  try {
    return writeJson(value)
  } finally {
    isSpelled = true
  }
}

/** `JSON.stringify`, with the digits of all numbers whose texts are known, and JSON of PostgreSQL as that has written it. */
export function writeJson(value: unknown): string | undefined {
  // a `toJSON()` of the application's may end here
  if (isWriting) return textOf(value)
  isWriting = true
  try {
    const text = textOf(value)
    return written.length > 0 ? text?.replace(TOKEN, replaceToken) : text
  } finally {
    isWriting = false
    if (written.length > 0) written = []
  }
}

function replaceToken(_: string, escapes: string, index: string): string {
  let text = written[Number(index)] as string
  // one backslash in a string, three in a string within a string
  for (let count = escapes.length; count > 0; count = (count - 1) / 2) text = JSON.stringify(text).slice(1, -1)
  return text
}

/** How PostgreSQL has written arrays and objects: members are in its order, with its spaces, and numbers with all their zeros. */
const spellings = new WeakMap<object, string>()

/** Remembers the text that an array or object was read from: `writeJson` writes it again, unless somebody has changed the value. */
export function keepSpelling(value: unknown, text: string): void {
  if (isContainer(value)) spellings.set(value, text)
}

function spellingOf(value: unknown): string | undefined {
  const text = isSpelled && isContainer(value) ? spellings.get(value) : undefined
  if (text === undefined) return undefined
  const wasWriting = isWriting
  isWriting = false
  try {
    return JSON.stringify(JSON.parse(text)) === JSON.stringify(value) ? text : undefined
  } finally {
    isWriting = wasWriting
  }
}

/** A value that `writeJson` writes as PostgreSQL has, with all its digits, wherever it stands: a copy has lost its own numerals. */
export function writable(value: unknown): unknown {
  if (isContainer(value) && spellings.has(value)) writesItself(value)
  return hasNumerals(value) && typeof (value as Container)['toJSON'] !== 'function'
    ? { toJSON: () => toJson(value) }
    : value
}

/** What a `toJSON()` gives back for a value inside it. */
export function toJson(value: unknown): unknown {
  if (value instanceof Numeral) return value.toJSON()
  if (!isWriting) return value
  const text = spellingOf(value) ?? (hasNumerals(value) ? containerText(value as Container) : undefined)
  return text === undefined ? value : token(text)
}

function textOf(value: unknown): string | undefined {
  if (value instanceof Numeral) return value.text
  const text = spellingOf(value)
  if (text !== undefined) return text
  return hasNumerals(value) ? containerText(value as Container) : JSON.stringify(value)
}

function containerText(container: Container): string {
  if (Array.isArray(container)) return listText(container)
  let text = ''
  for (const key of Object.keys(container)) {
    const json = numeralAt(container, key) ?? textOf(container[key])
    if (json === undefined) continue
    if (text !== '') text += ','
    text += `${JSON.stringify(key)}:${json}`
  }
  return `{${text}}`
}

function listText(list: readonly unknown[]): string {
  let text = ''
  for (let index = 0; index < list.length; index++) {
    if (index > 0) text += ','
    text += numeralAt(list, index) ?? textOf(list[index]) ?? 'null'
  }
  return `[${text}]`
}

function ownToJson(this: Container): unknown {
  return toJson(this)
}

function writesItself(container: Container): void {
  const isFree = Object.isExtensible(container) && !Object.hasOwn(container, 'toJSON')
  if (isFree) Object.defineProperty(container, 'toJSON', { value: ownToJson })
}

/** The texts of an array or object, and of what is in it; undefined where there are none. */
export function knownNumerals(container: object): Numerals | undefined {
  return (container as Container)[NUMERALS]
}

/** The numerals of an array or object, to be added to. Enumerable, so that a copy such as `{ ...value, seen: true }` keeps them. */
export function numeralsOf(value: object): Numerals {
  const container = value as Container
  let numerals = container[NUMERALS]
  if (!numerals) {
    numerals = new Map()
    container[NUMERALS] = numerals
    writesItself(container)
  }
  return numerals
}

/** True for an array or an object, of a class or not. */
export function isContainer(value: unknown): value is Container {
  return typeof value === 'object' && value !== null
}
