/** PostgreSQL's text of an interval in any of its styles (its documentation, section 8.5.5): no style can be taken for another. */

/** The parts of an interval. Months, days and time stay apart: no month has a fixed number of days. */
export interface IntervalParts {
  /** Whole years. */
  readonly years?: number
  /** Whole months. */
  readonly months?: number
  /** Whole days. */
  readonly days?: number
  /** Whole hours. */
  readonly hours?: number
  /** Whole minutes. */
  readonly minutes?: number
  /** Whole seconds. */
  readonly seconds?: number
  /** Milliseconds, with microseconds as a fraction. */
  readonly milliseconds?: number
}

/** `1 year 2 mons -3 days -04:05:06.789`. */
const POSTGRES =
  /^(?:([+-]?\d+) years? ?)?(?:([+-]?\d+) mons? ?)?(?:([+-]?\d+) days? ?)?(?:([+-])?(\d+):(\d\d):(\d\d)(?:\.(\d{1,6}))?)?$/
/** `@ 1 year 2 mons -3 days 4 hours 5 mins 6.789 secs ago`. */
const VERBOSE =
  /^@(?!$)(?: (-?\d+) years?)?(?: (-?\d+) mons?)?(?: (-?\d+) days?)?(?: (-?\d+) hours?)?(?: (-?\d+) mins?)?(?: (-?)(\d+)(?:\.(\d{1,6}))? secs?)?(?: 0)?( ago)?$/
/** `1-2`; the sign is that of both. */
const YEAR_MONTH = /^(-?)(\d+)-(\d+)$/
/** `3 4:05:06.789`; the sign is that of all. */
const DAY_TIME = /^(-?)(\d+) (\d+):(\d\d):(\d\d)(?:\.(\d{1,6}))?$/
/** `-1-2 +3 -4:05:06.789`. */
const MIXED = /^([+-])(\d+)-(\d+) ([+-])(\d+) ([+-])(\d+):(\d\d):(\d\d)(?:\.(\d{1,6}))?$/
/** `P1Y2M-3DT4H5M-6.789S`. */
const ISO =
  /^P(?!$)(?:(-?\d+)Y)?(?:(-?\d+)M)?(?:(-?\d+)D)?(?:T(?:(-?\d+)H)?(?:(-?\d+)M)?(?:(-?)(\d+)(?:\.(\d{1,6}))?S)?)?$/

/** The parts of an interval; undefined for infinities, and for what is none. */
export function readInterval(text: string): IntervalParts | undefined {
  if (text === '') return undefined
  if (text === '0') return {}
  return readPostgres(text) ?? readParts(text) ?? readStandard(text)
}

/** The text that the style `postgres` has for an interval, which is all that pg's own parser can read. */
export function inPostgresStyle(text: string): string {
  if (POSTGRES.test(text)) return text
  const parts = readInterval(text)
  if (!parts) return text
  const { years = 0, months = 0, days = 0, hours = 0, minutes = 0, seconds = 0, milliseconds = 0 } = parts
  const microseconds = Math.round(milliseconds * 1000)
  const negative = [hours, minutes, seconds, microseconds].some((value) => value < 0)
  const [hour, minute, second] = [hours, minutes, seconds].map((value) => String(Math.abs(value)).padStart(2, '0'))
  const fraction = String(Math.abs(microseconds)).padStart(6, '0')
  return `${years} years ${months} mons ${days} days ${negative ? '-' : ''}${hour}:${minute}:${second}.${fraction}`
}

function readPostgres(text: string): IntervalParts | undefined {
  const match = POSTGRES.exec(text)
  if (!match) return undefined
  const [, years, months, days, sign, hours, minutes, seconds, fraction] = match
  return { ...dateParts(years, months, days), ...timeParts(sign, [hours, minutes, seconds, fraction]) }
}

/** The styles that have a sign for each part; only the verbose one may say `ago`. */
function readParts(text: string): IntervalParts | undefined {
  const match = ISO.exec(text) ?? VERBOSE.exec(text)
  if (!match) return undefined
  const [, years, months, days, hours, minutes, sign, seconds, fraction, ago] = match
  const parts = {
    ...dateParts(years, months, days),
    ...timeParts(sign, [undefined, undefined, seconds, fraction]),
    hours: Number(hours ?? 0),
    minutes: Number(minutes ?? 0),
  }
  return ago === undefined ? parts : negated(parts)
}

/** The style `sql_standard`; a time alone is the same in `postgres`. */
function readStandard(text: string): IntervalParts | undefined {
  const [, sign, years, months] = YEAR_MONTH.exec(text) ?? []
  if (years !== undefined) return signed(sign, dateParts(years, months, undefined))
  const [, negative, days, ...time] = DAY_TIME.exec(text) ?? []
  if (days !== undefined) return signed(negative, { ...dateParts(undefined, undefined, days), ...timeParts('', time) })
  const mixed = MIXED.exec(text)
  if (!mixed) return undefined
  const [, ofMonths, ownYears, ownMonths, ofDays, ownDays, ofTime, ...ownTime] = mixed
  return {
    ...signed(ofMonths, dateParts(ownYears, ownMonths, undefined)),
    days: Number(`${ofDays}${ownDays}`),
    ...timeParts(ofTime, ownTime),
  }
}

function dateParts(years: string | undefined, months: string | undefined, days: string | undefined): IntervalParts {
  return { years: Number(years ?? 0), months: Number(months ?? 0), days: Number(days ?? 0) }
}

function timeParts(
  sign: string | undefined,
  [hours, minutes, seconds, fraction]: readonly (string | undefined)[],
): IntervalParts {
  return signed(sign, {
    hours: Number(hours ?? 0),
    minutes: Number(minutes ?? 0),
    seconds: Number(seconds ?? 0),
    milliseconds: Number((fraction ?? '').padEnd(6, '0')) / 1000,
  })
}

function signed(sign: string | undefined, parts: IntervalParts): IntervalParts {
  return sign === '-' ? negated(parts) : parts
}

function negated(parts: IntervalParts): IntervalParts {
  return Object.fromEntries(
    Object.entries(parts).map(([name, value]: [string, number]) => [name, value === 0 ? 0 : -value]),
  )
}
