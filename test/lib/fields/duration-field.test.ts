import { createRequire } from 'node:module'
import { expect, test } from 'vitest'
import { DurationField } from '../../../lib/fields/date-time-fields.js'
import { refusal, shown } from './refusal.js'

const field = new DurationField()

/** What pg makes of an interval. */
const { getTypeParser } = (
  createRequire(import.meta.url)('pg') as { types: { getTypeParser(oid: number): (text: string) => unknown } }
).types
const fromPostgres = getTypeParser(1186)

test.each([
  ['P1DT2H', 'P1DT2H'],
  ['PT0S', 'PT0S'],
  ['P0D', 'PT0S'],
  ['P2W', 'P14D'],
  ['PT90M', 'PT1H30M'],
  ['P14M', 'P1Y2M'],
  ['P1Y-14M', 'P-2M'],
  ['P1DT-2H', 'P1DT-2H'],
  ['PT-0.5S', 'PT-0.5S'],
  ['PT1M-70S', 'PT-10S'],
  ['PT1.250000S', 'PT1.25S'],
  ['P1Y2M-3DT-4H-5M-6.789S', 'P1Y2M-3DT-4H-5M-6.789S'],
  ['P178956970Y7M', 'P178956970Y7M'],
  ['PT2562047788H54.775807S', 'PT2562047788H54.775807S'],
])('takes %s and stores %s', (value, stored) => {
  expect(field.toInternalValue(value)).toBe(stored)
  expect(field.toInternalValue(stored)).toBe(stored)
})

test.each([
  '',
  'P',
  'PT',
  'P1DT',
  '-P1D',
  'P+1D',
  'P1.5D',
  'PT1.S',
  'PT0.1234567S',
  'P1H',
  'p1d',
  '1 day',
  'P1D ',
  'Infinity',
  'P178956970Y8M',
  'P2147483648D',
  'PT2562047788H54.775808S',
  'P99999999999999D',
])('refuses %j', async (value) => {
  expect(await refusal(field, value)).toEqual(['Use the format PnYnMnDTnHnMnS.'])
})

// The left column is what PostgreSQL prints in its style postgres, the right one in its style iso_8601.
test.each([
  ['1 day 02:00:00', 'P1DT2H'],
  ['00:00:00', 'PT0S'],
  ['1 year 2 mons -3 days -04:05:06.789', 'P1Y2M-3DT-4H-5M-6.789S'],
  ['14 days', 'P14D'],
  ['-00:00:00.5', 'PT-0.5S'],
  ['-1 days +02:00:00', 'P-1DT2H'],
  ['1 day -02:00:00.000001', 'P1DT-2H-0.000001S'],
  ['-10 mons', 'P-10M'],
  ['100:00:00', 'PT100H'],
  ['-1 mons +1 day -00:00:01', 'P-1M1DT-1S'],
  ['-1 years', 'P-1Y'],
])('shows %s as %s', (text, output) => {
  expect(shown(field, text)).toBe(output)
  expect(shown(field, fromPostgres(text))).toBe(output)
  expect(shown(field, output)).toBe(output)
})

test('leaves infinities as PostgreSQL prints them', () => {
  expect(shown(field, '-infinity')).toBe('-infinity')
})
