import fc from 'fast-check'
import { Temporal } from 'temporal-polyfill'
import { expect, test } from 'vitest'
import { readDateTime } from '../../../lib/fields/date-time-text.js'

const digits = (length: number, max: number) => fc.integer({ min: 0, max }).map((n) => String(n).padStart(length, '0'))
const zone = fc.oneof(
  fc.constantFrom('', 'Z', '+00:00', '-00', '-0000', '+23:59', '-23:59'),
  fc
    .tuple(fc.constantFrom('+', '-'), digits(2, 24), fc.constantFrom('', ':', 'none'), digits(2, 60))
    .map(([sign, hours, colon, minutes]) => `${sign}${hours}${colon === 'none' ? '' : `${colon}${minutes}`}`),
)
const fraction = fc.option(
  fc.integer({ min: 1, max: 6 }).chain((length) => digits(length, 10 ** length - 1)),
  { nil: undefined },
)
const text = fc
  .tuple(
    fc.oneof(digits(4, 9999), fc.constantFrom('0000', '0001', '0099', '0100', '9999')),
    digits(2, 13),
    digits(2, 32),
    digits(2, 24),
    digits(2, 60),
    fc.option(digits(2, 60), { nil: undefined }),
    fraction,
    zone,
  )
  .map(
    ([year, month, day, hour, minute, second, rest, offset]) =>
      `${year}-${month}-${day}T${hour}:${minute}${second === undefined ? '' : `:${second}`}${rest === undefined ? '' : `.${rest}`}${offset}`,
  )

/** The same by TC39's Temporal, which takes more: leap seconds, and fractions of minutes are refused by both. */
function byTemporal(given: string): string | undefined {
  if (/:60(?:\.|$|[Z+-])/.test(given.slice(16))) return undefined
  try {
    const shown = Temporal.Instant.from(
      /(?:Z|[+-]\d\d(?::?\d\d)?)$/.test(given.slice(16)) ? given : `${given}Z`,
    ).toString()
    return /^(?!0000)\d{4}-/.test(shown) ? shown : undefined
  } catch {
    return undefined
  }
}

test('[B6 B15] a date and time is read as Temporal reads it, whatever its day, zone and digits', () => {
  fc.assert(
    fc.property(text, (given) => {
      expect(readDateTime(given)).toBe(byTemporal(given))
    }),
    { numRuns: 5_000 },
  )
})
