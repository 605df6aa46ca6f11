/**
 * Dates and times as text: strict ISO 8601 on the way in, PostgreSQL's text to the wire's form on the way out
 * (wire format, section 6, promises B6 and B15). Nothing here depends on the time zone of the process, but `writeDateOf`.
 */
import { databaseText } from '../models/database-text.js'

const DATE = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])$/
/** The last is the end of the day, which PostgreSQL distinguishes from the beginning of one. */
const TIME = /^(?:(?:[01]\d|2[0-3]):[0-5]\d(?::[0-5]\d(?:\.\d{1,6})?)?|24:00(?::00(?:\.0{1,6})?)?)$/
/** The time of day; hours, minutes and seconds of the offset. Seconds are those of a local mean time. */
const OFFSET_TIME = /^([\d:.]+)(?:Z|([+-](?:0\d|1[0-5]))(?::([0-5]\d)(?::([0-5]\d))?)?)$/
/** Captures minute, second and fraction; sign, hours and minutes of the offset. Without an offset it is UTC. */
const DATE_TIME =
  /^(\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d)(:[0-5]\d)?(?:\.(\d{1,6}))?(?:Z|([+-])([01]\d|2[0-3])(?::?([0-5]\d))?)?$/
/** What is stored of an input, and shown unless the year is out of range. */
const WIRE = /^(?!0000)\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{0,5}[1-9])?Z$/
/** PostgreSQL's text of a timestamp, and the forms of ISO 8601 near to it. */
const STAMP =
  /^([+-]?\d{4,6})-(\d\d)-(\d\d)[ T](\d\d):(\d\d)(?::(\d\d)(?:\.(\d+))?)?(Z|([+-])(\d\d)(?::?(\d\d)(?::?(\d\d))?)?)?( BC)?$/
/** What is shown of a day beyond the years 0001 to 9999, or of a point in time there: year, month, day, time and era. */
const FAR =
  /^(\d{4}|[1-9]\d{4,6})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])(?:[T ]((?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,6})?)(?:Z|\+00(?::00)?)?)?( BC)?$/
const TRAILING_ZEROS = /0+$/
/** The time of day and the zone behind a day. */
const HOURS = /[T ]\d\d:\S*/
const LATER_PARTS = /:\d\d\.\d+Z$/
const ZERO_PARTS = /(?::00){1,2}$/

const SPACE = 0x20
const HYPHEN = 0x2d
const POINT = 0x2e
const ZERO = 0x30
const NINE = 0x39
const COLON = 0x3a
/** The calendar repeats itself every 400 years. */
const CYCLE = 400
/** The last whole years that PostgreSQL has, by type; the first day of all is 24 November 4714 BC. */
const LAST_YEAR: Readonly<Record<string, number>> = { date: 5_874_897, timestamp: 294_276, timestamptz: 294_276 }
const FIRST_YEAR = -4713
const FIRST_DAY = '11-24'

/** `2026-03-28`, a day that exists, in the years 0001 to 9999; undefined for anything else. */
export function readDate(text: string): string | undefined {
  return DATE.test(text) && !text.startsWith('0000') && isDay(text) ? text : undefined
}

/** `HH:MM[:SS[.ffffff]]` up to `24:00:00`, with seconds and without trailing zeros; undefined for anything else. */
export function readTime(text: string): string | undefined {
  if (!TIME.test(text)) return undefined
  return text.length === 5 ? `${text}:00` : writeTime(text)
}

/** A time with an offset of less than 16 hours, as PostgreSQL prints it; undefined for anything else: `12:30Z` becomes `12:30:00+00`. */
export function readOffsetTime(text: string): string | undefined {
  const [, written = '', hours = '+00', minutes = '00', seconds = '00'] = OFFSET_TIME.exec(text) ?? []
  const time = readTime(written)
  if (time === undefined) return undefined
  const offset = `${hours}:${minutes}:${seconds}`.replace(ZERO_PARTS, '')
  return `${time}${offset === '-00' ? '+00' : offset}`
}

/** A date and time in UTC as it is shown, naive text taken as UTC; undefined for anything but strict ISO 8601. */
export function readDateTime(text: string): string | undefined {
  const match = DATE_TIME.exec(text)
  if (match === null || !isDay(text)) return undefined
  const [, minute = '', second, fraction, sign, hours = '0', minutes = '0'] = match
  if (second === undefined && fraction !== undefined) return undefined
  const rest = `${second ?? ':00'}${fraction === undefined ? '' : writeFraction(fraction)}Z`
  const offset = Number(hours) * 60 + Number(minutes)
  return inRange(`${offset === 0 ? minute : minuteBefore(minute, sign === '-' ? -offset : offset)}${rest}`)
}

/**
 * PostgreSQL's text of a day or a point in time as it is shown beyond the years 0001 to 9999, which clients may name and
 * not store; undefined for anything else, and for types that have none.
 */
export function readFar(type: string, text: string): string | undefined {
  const lastYear = LAST_YEAR[type]
  const match = lastYear === undefined ? null : FAR.exec(text)
  if (lastYear === undefined || match === null) return undefined
  const [, digits = '', month = '', day = '', time, era] = match
  const year = era === undefined ? Number(digits) : 1 - Number(digits)
  const isFar = year > 9999 || (era !== undefined && year <= 0)
  if (!isFar || (time === undefined) !== (type === 'date') || year > lastYear || year < FIRST_YEAR) return undefined
  if (year === FIRST_YEAR && `${month}-${day}` < FIRST_DAY) return undefined
  const cycle = year - Math.floor(year / CYCLE) * CYCLE
  return Number(day) <= daysOfMonth(cycle, Number(month)) ? text.replace('T', ' ') : undefined
}

/** A day or a point in time that a column shows and no calendar has. */
export function isInfinite(text: string): boolean {
  return text === 'infinity' || text === '-infinity'
}

/** A Date as a date and time, with the microseconds the database sent with it; undefined for one that is none. */
export function readDateTimeOf(date: Date): string | undefined {
  return Number.isNaN(date.getTime()) ? undefined : inRange(writeDateTimeOf(date))
}

/** The day of a Date; undefined for one that is none. */
export function readDateOf(date: Date): string | undefined {
  return Number.isNaN(date.getTime()) ? undefined : readDate(writeDateOf(date))
}

/**
 * PostgreSQL's text of a timestamp, or ISO 8601, as the wire shows it: `2026-03-28T15:30:00.1234Z`. Years beyond 9999,
 * BC and infinities are written as PostgreSQL does in JSON, in UTC; a string that is no timestamp stays as it is.
 */
export function writeDateTime(text: string): string {
  const end = endOfUtc(text)
  if (end !== undefined) return `${text.slice(0, 10)}T${text.slice(11, end)}Z`
  if (WIRE.test(text)) return text
  const stamp = STAMP.exec(text)
  return stamp === null ? text : writeStamp(stamp)
}

/** A Date as it is shown: from the string the database sent with it, else by its milliseconds. */
export function writeDateTimeOf(date: Date): string {
  const text = databaseText(date) ?? date.toISOString()
  return text.length === 24 && text.endsWith('.000Z') ? writeDateTime(`${text.slice(0, 19)}Z`) : writeDateTime(text)
}

/** The day of a Date: that of the text the database sent with it, in UTC, else its day in local time, as pg reads a `date`. */
export function writeDateOf(date: Date): string {
  const text = databaseText(date)
  if (text !== undefined) return HOURS.test(text) ? writeDateTime(text).replace(HOURS, '') : text
  const year = date.getFullYear()
  return `${writeYear(year)}-${twoDigits(date.getMonth() + 1)}-${twoDigits(date.getDate())}${writeEra(year)}`
}

/** A time without the trailing zeros of its fraction. */
export function writeTime(text: string): string {
  if (text.charCodeAt(8) !== POINT || !text.endsWith('0')) return text
  return `${text.slice(0, 8)}${writeFraction(text.slice(9))}`
}

/** Infinities arrive from pg as numbers. */
export function writeOther(value: unknown): unknown {
  if (value === Number.POSITIVE_INFINITY) return 'infinity'
  return value === Number.NEGATIVE_INFINITY ? '-infinity' : value
}

/**
 * Where the zone begins in a string like `2026-03-28 15:30:00.1234+00`, or that without zone: the forms of nearly every
 * cell, which need no conversion. Undefined for all others, which are read with care.
 */
function endOfUtc(text: string): number | undefined {
  const hasForm = text.charCodeAt(4) === HYPHEN && text.charCodeAt(10) === SPACE && text.charCodeAt(16) === COLON
  if (!hasForm) return undefined
  const end = text.endsWith('+00') ? text.length - 3 : text.length
  if (end === 19) return end
  const isFraction = text.charCodeAt(19) === POINT && end > 20 && end <= 26 && text.charCodeAt(end - 1) !== ZERO
  if (!isFraction) return undefined
  for (let index = 20; index < end; index++) {
    const code = text.charCodeAt(index)
    if (code < ZERO || code > NINE) return undefined
  }
  return end
}

function writeStamp(stamp: RegExpExecArray): string {
  const [, writtenYear = '', month, day, hour, minute, second = '0', fraction = ''] = stamp
  const [zone, sign, offsetHours = '0', offsetMinutes = '0', offsetSeconds = '0', era] = stamp.slice(8)
  const offset = Number(offsetHours) * 3600 + Number(offsetMinutes) * 60 + Number(offsetSeconds)
  const stampYear = era === undefined ? Number(writtenYear) : 1 - Number(writtenYear)
  // A Date does not reach as far as PostgreSQL: the same day of another cycle stands in for it.
  const shift = Math.floor(stampYear / CYCLE) * CYCLE - 2000
  const utc = new Date(
    Date.UTC(
      stampYear - shift,
      Number(month) - 1,
      Number(day),
      Number(hour),
      Number(minute),
      Number(second) - (sign === '-' ? -offset : offset),
    ),
  )
  const year = utc.getUTCFullYear() + shift
  const rest = `${utc.toISOString().slice(4, 19)}${fraction === '' ? '' : writeFraction(fraction)}`
  if (year >= 1 && year <= 9999) return `${writeYear(year)}${rest}Z`
  return `${writeYear(year)}${rest}${zone === undefined ? '' : '+00:00'}${writeEra(year)}`
}

/** A year counted from 1 in either era. */
function writeYear(year: number): string {
  return String(year > 0 ? year : 1 - year).padStart(4, '0')
}

function writeEra(year: number): string {
  return year > 0 ? '' : ' BC'
}

function writeFraction(digits: string): string {
  const fraction = digits.slice(0, 6).replace(TRAILING_ZEROS, '')
  return fraction === '' ? '' : `.${fraction}`
}

function twoDigits(value: number): string {
  return value < 10 ? `0${value}` : String(value)
}

function inRange(text: string | undefined): string | undefined {
  return text !== undefined && WIRE.test(text) ? text : undefined
}

/** A minute of UTC so many minutes earlier, beyond the years 0000 to 9999 in a form of its own. */
function minuteBefore(minute: string, minutes: number): string {
  return new Date(Date.parse(`${minute}Z`) - minutes * 60_000).toISOString().replace(LATER_PARTS, '')
}

/** True when the day at the beginning of the text is one of its month. */
function isDay(text: string): boolean {
  const day = Number(text.slice(8, 10))
  return day <= 28 || day <= daysOfMonth(Number(text.slice(0, 4)), Number(text.slice(5, 7)))
}

/** The last day of the month before the next one's first; years below 100 stand for themselves 400 years later. */
function daysOfMonth(year: number, month: number): number {
  return new Date(Date.UTC(year + CYCLE, month, 0)).getUTCDate()
}
