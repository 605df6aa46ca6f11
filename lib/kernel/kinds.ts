/** Kinds of statics and options (`'text'`, `'count'` …): a value of another kind is refused before any request. */

import { quote } from './quote.js'
import { isRecord } from './records.js'
import { isStandardSchema } from './standard-schema.js'

interface Test {
  is(value: unknown): boolean
  /** What to give, for the message. */
  readonly wanted: string
}

const isText = (value: unknown) => typeof value === 'string'
const isNumber = (value: unknown) => typeof value === 'number' && !Number.isNaN(value)
const isWholeFrom = (least: number) => (value: unknown) => Number.isSafeInteger(value) && (value as number) >= least
const isName = (value: unknown) => typeof value === 'string' && value !== ''
/** A token of HTTP (RFC 9110 section 5.6.2), as names of headers and cookies are. */
export const isToken = (value: unknown): boolean => typeof value === 'string' && /^[\w!#$%&'*+.^`|~-]+$/.test(value)
const isMediaType = (value: unknown) => typeof value === 'string' && /^[^\s;,/A-Z]+\/[^\s;,/A-Z]+$/.test(value)
const isFunction = (value: unknown) => typeof value === 'function' && !isGenerator(value)
const isListOf = (is: (item: unknown) => boolean) => (value: unknown) => Array.isArray(value) && value.every(is)

/** Milliseconds that timers can wait: with more they fire at once. */
const LONGEST_TIMER = 2 ** 31 - 1
const MOST_SECONDS = 1_000_000

const TESTS = {
  /** Checked elsewhere. */
  any: { is: () => true, wanted: 'a value' },
  /** Checked elsewhere; null might be taken for all, or for none. */
  condition: { is: (value) => value !== null, wanted: 'true for all, false for none, or leave it out' },
  boolean: { is: (value) => typeof value === 'boolean', wanted: 'true or false' },
  count: { is: isWholeFrom(0), wanted: 'a whole number of at least 0' },
  size: { is: isWholeFrom(1), wanted: 'a whole number of at least 1' },
  seconds: {
    is: (value) => isNumber(value) && (value as number) > 0 && (value as number) <= MOST_SECONDS,
    wanted: `a number of seconds above 0, at most ${MOST_SECONDS}`,
  },
  milliseconds: {
    is: (value) => isWholeFrom(1)(value) && (value as number) <= LONGEST_TIMER,
    wanted: `a whole number of milliseconds from 1 to ${LONGEST_TIMER}`,
  },
  number: { is: isNumber, wanted: 'a number' },
  'number or text': { is: (value) => isNumber(value) || isText(value), wanted: 'a number, or its digits as a text' },
  text: { is: isText, wanted: 'a text' },
  name: { is: isName, wanted: 'a name' },
  suffix: { is: (value) => typeof value === 'string' && /^[\w-]+$/.test(value), wanted: 'letters and digits' },
  path: {
    is: (value) => typeof value === 'string' && value.startsWith('/'),
    wanted: 'a path that begins with a slash',
  },
  'name or null': { is: (value) => value === null || isName(value), wanted: 'a name, or null' },
  'token or null': {
    is: (value) => value === null || isToken(value),
    wanted: "a name of letters, digits, '-' and '_', or null",
  },
  names: { is: isListOf(isName), wanted: 'a list of names' },
  'media types': {
    is: (value) => isListOf(isMediaType)(value) && (value as readonly string[]).length > 0,
    wanted: 'a list of media types, in lower case and without parameters',
  },
  'name or names': { is: (value) => isName(value) || isListOf(isName)(value), wanted: 'a name, or a list of names' },
  'names or null': {
    is: (value) => value === null || isName(value) || isListOf(isName)(value),
    wanted: 'a name, a list of names, or null',
  },
  fields: {
    is: (value) => value === '__all__' || isListOf(isName)(value),
    wanted: "a list of names, or '__all__'",
  },
  list: { is: Array.isArray, wanted: 'a list' },
  function: { is: isFunction, wanted: 'a function' },
  functions: { is: isListOf(isFunction), wanted: 'a list of functions' },
  validators: {
    is: isListOf((item) => isFunction(item) || isStandardSchema(item)),
    wanted: 'a list of functions, or schemas of zod, valibot or arktype',
  },
  record: { is: isRecord, wanted: 'an object' },
} satisfies Record<string, Test>

/** True for a generator function. Calling it runs none of its code, and returns an object that would pass for a user or a value. */
export function isGenerator(value: unknown): boolean {
  return typeof value === 'function' && Object.prototype.toString.call(value).endsWith('GeneratorFunction]')
}

/** A kind of value. */
export type Kind = keyof typeof TESTS

/** The kinds of several values, by name. */
export type Kinds = Readonly<Record<string, Kind>>

/** What is wrong with a value, for a message, such as `is "yes"; give true or false`; undefined where it is of its kind. */
export function wrongKind(value: unknown, kind: Kind): string | undefined {
  const test: Test = TESTS[kind]
  return test.is(value) ? undefined : `is ${shown(value)}; give ${test.wanted}`
}

function shown(value: unknown): string {
  if (isGenerator(value)) return 'a generator function'
  if (typeof value === 'function') return value.name === '' ? 'a function' : value.name
  return quote(value)
}
