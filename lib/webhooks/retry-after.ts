/** `Retry-After` of a receiver: how long it asks to be left alone. */

/** The longest wait that a receiver may ask for, in seconds. */
const MOST_SECONDS = 24 * 60 * 60

/** The three formats of a date in HTTP (RFC 9110 section 5.6.7), of which the last names no time zone. */
const HTTP_DATE =
  /^(?:[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} [\d:]{8} GMT|[A-Z][a-z]+day, \d\d-[A-Z][a-z]{2}-\d\d [\d:]{8} GMT|[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d [\d:]{8} \d{4})$/

/**
 * The seconds of a `Retry-After` header, which has a number of them or a date (RFC 9110 section 10.2.3): 0 for a date that is
 * past, a day at most, undefined for anything else.
 * @param now in Unix milliseconds
 */
export function readRetryAfter(value: string | undefined, now = Date.now()): number | undefined {
  if (value === undefined) return undefined
  const seconds = /^\d+$/.test(value) ? Number(value) : Math.ceil((timeOf(value) - now) / 1000)
  return Number.isNaN(seconds) ? undefined : Math.min(Math.max(0, seconds), MOST_SECONDS)
}

/** In Unix milliseconds; NaN where it is no date of HTTP. */
function timeOf(value: string): number {
  if (!HTTP_DATE.test(value)) return Number.NaN
  return Date.parse(value.endsWith('GMT') ? value : `${value} GMT`)
}
