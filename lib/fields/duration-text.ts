/** Durations as the wire has them, ISO 8601 as PostgreSQL prints it (wire format, section 6). */

import { type IntervalParts, readInterval } from '../models/interval-text.js'

/** What a client may send, for a JSON Schema. Thirteen digits are more than any part can have. */
export const DURATION_PATTERN =
  '^P(?!$)(?:(-?\\d{1,13})Y)?(?:(-?\\d{1,13})M)?(?:(-?\\d{1,13})W)?(?:(-?\\d{1,13})D)?' +
  '(?:T(?!$)(?:(-?\\d{1,13})H)?(?:(-?\\d{1,13})M)?(?:(-?)(\\d{1,13})(?:\\.(\\d{1,6}))?S)?)?$'

const ISO = new RegExp(DURATION_PATTERN)
const TRAILING_ZEROS = /0+$/
const MICROSECONDS = 1_000_000

/**
 * An ISO 8601 duration in the form PostgreSQL prints (weeks as days, 90 minutes as `PT1H30M`).
 * Undefined when it is none, or beyond what an interval holds: 32 bits of months and of days, 64 bits of microseconds.
 */
export function readDuration(text: string): string | undefined {
  const match = ISO.exec(text)
  if (match === null) return undefined
  const [, years, months, weeks, days, hours, minutes, sign, seconds = '0', fraction = ''] = match
  const allMonths = whole(years) * 12n + whole(months)
  const allDays = whole(weeks) * 7n + whole(days)
  const microseconds = BigInt(`${sign ?? ''}${seconds}${fraction.padEnd(6, '0')}`)
  const time = (whole(hours) * 3600n + whole(minutes) * 60n) * BigInt(MICROSECONDS) + microseconds
  if (!fits(allMonths, 32) || !fits(allDays, 32) || !fits(time, 64)) return undefined
  const allSeconds = time / BigInt(MICROSECONDS)
  return writeDuration({
    years: Number(allMonths / 12n),
    months: Number(allMonths % 12n),
    days: Number(allDays),
    hours: Number(allSeconds / 3600n),
    minutes: Number((allSeconds / 60n) % 60n),
    seconds: Number(allSeconds % 60n),
    milliseconds: Number(time % BigInt(MICROSECONDS)) / 1000,
  })
}

/** The parts of an interval as text; those that are zero are left out. */
export function writeDuration(parts: IntervalParts): string {
  const date = `${part(parts.years, 'Y')}${part(parts.months, 'M')}${part(parts.days, 'D')}`
  const microseconds = Math.round((parts.seconds ?? 0) * MICROSECONDS + (parts.milliseconds ?? 0) * 1000)
  const time = `${part(parts.hours, 'H')}${part(parts.minutes, 'M')}${writeSeconds(microseconds)}`
  if (time !== '') return `P${date}T${time}`
  return date === '' ? 'PT0S' : `P${date}`
}

/** PostgreSQL's text of an interval, in any of its styles; any other string stays as it is. */
export function writeDurationText(text: string): string {
  const parts = readInterval(text)
  return parts ? writeDuration(parts) : text
}

function writeSeconds(microseconds: number): string {
  if (microseconds === 0) return ''
  const size = Math.abs(microseconds)
  const fraction = String(size % MICROSECONDS)
    .padStart(6, '0')
    .replace(TRAILING_ZEROS, '')
  const seconds = `${microseconds < 0 ? '-' : ''}${Math.trunc(size / MICROSECONDS)}`
  return fraction === '' ? `${seconds}S` : `${seconds}.${fraction}S`
}

function part(value: number | undefined, unit: string): string {
  return value === undefined || value === 0 ? '' : `${value}${unit}`
}

function whole(digits: string | undefined): bigint {
  return digits === undefined ? 0n : BigInt(digits)
}

function fits(value: bigint, bits: number): boolean {
  return BigInt.asIntN(bits, value) === value
}
