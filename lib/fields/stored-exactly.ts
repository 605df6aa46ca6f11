/**
 * Refuses values that a column would store as others: PostgreSQL rounds and cuts them without a word (promise B5), or writes
 * out what a short text stands for. What it would read by the time zone of the session is said to be of UTC (promise B15). Asked
 * of what clients send, whatever field has read it.
 */

import { type ErrorMessages, MOST_MESSAGES, ValidationError } from '../kernel/errors.js'
import type { Column } from '../models/model-description.js'
import { readDecimal, writeDecimal } from './decimal-field.js'
import { INEXACT, isExactDouble, isExactSingle } from './exact-float.js'
import { elementOf, hasFieldOfItsOwn } from './field-for-column.js'
import { checkLength, countCharacters, counted } from './string-field.js'
import { checkXml } from './xml-text.js'

/** @throws ValidationError the column would store another value */
type Check = (text: string) => void

/** The places of the seconds of a time type that says nothing of its own. */
const MICROSECONDS = 6
const FRACTION = /\.(\d+)/
const NOT_ZERO = /[1-9]/
const TIME_OF_DAY = /\d[T ]\d\d:/
const MIDNIGHT = /[T ]00:00(?::00(?:\.0+)?)?(?:Z|[+-]00(?::?00)?)?$/

function refuse(message: string): never {
  throw new ValidationError(message)
}

function tooManyPlaces(places: number): never {
  return refuse(`Ensure that there are no more than ${counted(places, 'decimal place')}.`)
}

function unless(isExact: (text: string) => boolean, message: string): () => Check {
  return () => (text) => {
    if (!isExact(text)) refuse(message)
  }
}

/** PostgreSQL 15 allows a scale below zero, of which `numeric(3,-2)` has the hundreds. */
function decimalPlaces({ scale }: Column): Check | undefined {
  if (scale === undefined) return undefined
  const zeros = '0'.repeat(Math.max(-scale, 0))
  return (text) => {
    const { whole = '', fraction = '' } = readDecimal(text) ?? {}
    if (NOT_ZERO.test(fraction.slice(Math.max(scale, 0))) && scale >= 0) tooManyPlaces(scale)
    if (scale >= 0 || !NOT_ZERO.test(whole + fraction)) return
    if (!whole.endsWith(zeros) || NOT_ZERO.test(fraction)) refuse(`Ensure that this value is a multiple of 1${zeros}.`)
  }
}

/** The seconds of a time type. */
function seconds({ precision = MICROSECONDS }: Column): Check {
  return (text) => {
    if (NOT_ZERO.test((FRACTION.exec(text)?.[1] ?? '').slice(precision))) tooManyPlaces(precision)
  }
}

const PARTS = ['year', 'month', 'day', 'hour', 'minute', 'second'] as const
const DURATION = /^P(?:(-?\d+)Y)?(?:(-?\d+)M)?(?:(-?\d+)D)?(?:T(?:(-?\d+)H)?(?:(-?\d+)M)?(?:(-?[\d.]+)S)?)?$/

/** True for an interval that has something smaller than the part. */
function smallerParts(text: string, part: (typeof PARTS)[number]): boolean {
  const found = DURATION.exec(text)?.slice(1) ?? []
  return found.slice(PARTS.indexOf(part) + 1).some((digits) => digits !== undefined && Number(digits) !== 0)
}

/** An interval may be of certain parts only, such as `interval day to hour`. */
function interval(column: Column): Check {
  const { leastPart } = column
  const checkSeconds = seconds(column)
  return (text) => {
    if (leastPart && smallerParts(text, leastPart))
      refuse(`Ensure that there is nothing smaller than one ${leastPart}.`)
    checkSeconds(text)
  }
}

/**
 * Spaces beyond the length are cut off. Of any other text PostgreSQL says itself that it is too long, once code of the
 * application has made of it what is stored, such as the hash of a password.
 */
function characters({ maxLength }: Column): Check | undefined {
  if (maxLength === undefined) return undefined
  return (text) => {
    let end = text.length
    while (text[end - 1] === ' ') end--
    if (end < text.length && countCharacters(text.slice(0, end)) <= maxLength) checkLength(text, undefined, maxLength)
  }
}

/** The type `name` is cut by bytes. */
function bytes({ maxLength = Number.POSITIVE_INFINITY }: Column): Check {
  return (text) => {
    if (Buffer.byteLength(text) > maxLength) refuse(`Ensure this field has no more than ${counted(maxLength, 'byte')}.`)
  }
}

const double = unless((text) => !NOT_ZERO.test(text) || isExactDouble(text), INEXACT)
const single = unless((text) => !Number.isFinite(Number(text)) || isExactSingle(Number(text)), INEXACT)
const day = unless(
  (text) => !TIME_OF_DAY.test(text) || MIDNIGHT.test(text),
  'Ensure that there is nothing smaller than one day.',
)
/** One byte, of which those beyond ASCII are no characters. */
const oneByte = unless((text) => /^[\u0001-\u007f]?$/.test(text), 'Ensure this field has no more than 1 byte.')
/** PostgreSQL counts below zero from the greatest on, and takes other bases. */
const WHOLE = /^\s*(?:0|[1-9]\d*)\s*$/
const whole = unless((text) => WHOLE.test(text), 'A valid integer is required.')
/** PostgreSQL 15 takes those beyond the greatest, and counts on from 0. */
const counter = unless((text) => Number(text) < 2 ** 32 && WHOLE.test(text), 'A valid integer is required.')
/** Amounts have two places at most. */
const amount = unless((text) => !/\.\d{3}/.test(text), 'Ensure that there are no more than 2 decimal places.')
const xml: () => Check = () => checkXml
/** The most characters of a query of full text: PostgreSQL goes into each of its words, for all that come behind it. So of a composite type with such a part, or with XML. */
const LONGEST_TEXT = 16_384
const query: () => Check = () => (text) => checkLength(text, undefined, LONGEST_TEXT)
const COORDINATE = /(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?/gi
const shape = unless(
  (text) =>
    (text.match(COORDINATE) ?? []).every((number) =>
      isExactDouble(number.replace(/^\./, '0.').replace(/\.(?!\d)/, '')),
    ),
  'Ensure that its numbers have no more digits than are stored.',
)
/** A number that stands by itself in a text, as `numeric` takes it: each is tried from its first digit on. */
const POWER = /(?<![\w.])(?:[\d_]+(?:\.[\d_]*)?|\.[\d_]+)e([+-]?[\d_]+)/gi
/** What a JSON value may have, too. */
const MOST_ZEROS = 1_000
/** Numbers within a text of another type, as of a `jsonpath` or a composite type, are written with all digits by PostgreSQL. */
const powers = unless((text) => {
  let zeros = 0
  for (const [, exponent = ''] of text.matchAll(POWER)) zeros += Math.abs(Number(exponent.replaceAll('_', '')))
  return zeros <= MOST_ZEROS
}, `Ensure that the exponents of its numbers add up to no more than ${MOST_ZEROS}.`)()

function other({ isCostly }: Column): Check {
  return (text) => {
    if (isCostly) checkLength(text, undefined, LONGEST_TEXT)
    powers(text)
  }
}

const CHECKS: Readonly<Record<string, (column: Column) => Check | undefined>> = {
  float4: single,
  float8: double,
  numeric: decimalPlaces,
  varchar: characters,
  bpchar: characters,
  name: bytes,
  date: day,
  time: seconds,
  timetz: seconds,
  timestamp: seconds,
  timestamptz: seconds,
  interval,
  char: oneByte,
  oid: whole,
  xid: counter,
  xid8: whole,
  cid: counter,
  money: amount,
  tsquery: query,
  xml,
  ...Object.fromEntries(['point', 'circle', 'line', 'lseg', 'box', 'path', 'polygon'].map((type) => [type, shape])),
}

const NO_ZONE = /^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?)?$/

/** A day, or a point in time without an offset, as one of UTC. */
function inUtc(text: string): string {
  const match = NO_ZONE.exec(text)
  if (match === null) return text
  return match[1] === undefined ? `${text}T00:00:00Z` : `${text}Z`
}

/** Makes of a value what a column stores as that. @throws ValidationError it would store another one */
export type ExactForm = (value: unknown) => unknown

/** The exact form of what a field has read for the column; undefined where that is any value's own. */
export function exactForm(column: Column): ExactForm | undefined {
  if (column.sqlType === undefined) return undefined
  if (column.type === 'array') return itemsForm(exactForm(elementOf(column)))
  const make = CHECKS[column.type] ?? (hasFieldOfItsOwn(column) ? undefined : other)
  const check = make?.(column)
  return (
    check &&
    ((value) => {
      if (typeof value === 'string') {
        check(value)
        return column.type === 'timestamptz' ? inUtc(value) : value
      }
      if (typeof value === 'number') check(plainText(value))
      return value
    })
  )
}

function plainText(value: number): string {
  const decimal = readDecimal(value)
  return decimal ? writeDecimal(decimal) : String(value)
}

function itemsForm(form: ExactForm | undefined): ExactForm | undefined {
  return (
    form &&
    function formItems(value): unknown {
      if (!Array.isArray(value)) return value
      const given: readonly unknown[] = value
      let items: unknown[] | undefined
      const errors: ErrorMessages = {}
      let told = 0
      for (const [position, item] of given.entries()) {
        try {
          const exact = Array.isArray(item) ? formItems(item) : form(item)
          if (exact === item) continue
          items ??= [...given]
          items[position] = exact
        } catch (error) {
          if (!(error instanceof ValidationError)) throw error
          errors[position] = error.messages
          if (++told >= MOST_MESSAGES) break
        }
      }
      if (told > 0) throw new ValidationError(errors)
      return items ?? value
    }
  )
}
