import { describe, expect, test } from 'vitest'
import { RangeField } from '../../../lib/fields/range-field.js'
import { refusal, shown } from './refusal.js'

describe('of points in time', () => {
  const field = new RangeField({ ends: 'date-time' })

  test.each([
    ['[2026-03-28T15:30:00Z,2026-03-29T15:30Z)', '[2026-03-28T15:30:00Z,2026-03-29T15:30:00Z)'],
    ['("2026-03-28T15:30:00+02:00",]', '(2026-03-28T13:30:00Z,]'],
    ['(,)', '(,)'],
    ['empty', 'empty'],
  ])('[B6] takes %s and stores %s', (value, stored) => {
    expect(field.toInternalValue(value)).toBe(stored)
    expect(field.toInternalValue(stored)).toBe(stored)
    expect(new RegExp(field.schema().pattern ?? 'none', 'u').test(value)).toBe(true)
  })

  test.each(['[now,infinity)', '[,', '', 'Empty', '[,) ', '["",)', '[2026-03-28,)', '{[,)}', 5, ['[,)']])(
    '[B6] refuses %j',
    async (value) => {
      expect(await refusal(field, value)).toEqual([
        'Use the format [from,to), each end as YYYY-MM-DDTHH:MM:SS[.ffffff][Z|±HH:MM].',
      ])
    },
  )

  test.each([
    ['["2026-03-28 15:30:00+00","2026-03-28 22:30:00.1+05:30")', '[2026-03-28T15:30:00Z,2026-03-28T17:00:00.1Z)'],
    ['["2026-03-28 15:30:00+00",infinity)', '[2026-03-28T15:30:00Z,infinity)'],
    ['["0044-03-15 00:00:00+00 BC",)', '[0044-03-15T00:00:00+00:00 BC,)'],
    ['empty', 'empty'],
  ])('[B15] shows %s as %s', (value, output) => {
    expect(shown(field, value)).toBe(output)
  })

  test('leaves what an application has parsed itself as it is', () => {
    const parsed = { lower: new Date(0) }
    expect(shown(field, parsed)).toBe(parsed)
  })
})

describe('of numbers', () => {
  test.each([
    ['integer', '[01,"5"]', '[1,5]'],
    ['integer', '[-2147483648,2147483647)', '[-2147483648,2147483647)'],
    ['integer', '(,)', '(,)'],
    ['integer', 'empty', 'empty'],
    ['big-integer', '[-9223372036854775808,9223372036854775807)', '[-9223372036854775808,9223372036854775807)'],
    ['big-integer', '(9007199254740993,]', '(9007199254740993,]'],
    ['decimal', '[0.50,1000000000000000000000.000001)', '[0.50,1000000000000000000000.000001)'],
    ['decimal', '[-Infinity,NaN]', '[-Infinity,NaN]'],
  ] as const)('with the ends %s takes %s and stores %s, which it shows', (ends, value, stored) => {
    const field = new RangeField({ ends })
    expect(field.toInternalValue(value)).toBe(stored)
    expect(field.toInternalValue(stored)).toBe(stored)
    expect(shown(field, stored)).toBe(stored)
    expect(new RegExp(field.schema().pattern ?? 'none', 'u').test(value)).toBe(true)
  })

  test.each([
    ['integer', '[1,2147483648)', 'Ensure this value is at most 2147483647.'],
    ['integer', '[-2147483649,1)', 'Ensure this value is at least -2147483648.'],
    ['integer', '[1,2147483647]', 'Ensure this value is at most 2147483646.'],
    ['integer', '(2147483647,)', 'Ensure this value is at most 2147483646.'],
    ['integer', '[1.0,2)', 'A valid integer is required.'],
    ['integer', '[infinity,)', 'A valid integer is required.'],
    ['integer', '1', 'Use the format [from,to), each end as a whole number of 32 bits.'],
    ['integer', '[1', 'Use the format [from,to), each end as a whole number of 32 bits.'],
    ['big-integer', '[1,9223372036854775808)', 'Ensure this value is at most 9223372036854775807.'],
    ['big-integer', '[1,9223372036854775807]', 'Ensure this value is at most 9223372036854775806.'],
    ['big-integer', `[${'9'.repeat(100_000)},)`, 'Ensure this value is at most 9223372036854775807.'],
    ['decimal', '[1e5,)', 'A valid number is required.'],
    ['decimal', '[.5,)', 'A valid number is required.'],
    ['decimal', '1,2', 'Use the format [from,to), each end as a number.'],
  ] as const)('with the ends %s refuses %s', async (ends, value, message) => {
    expect(await refusal(new RangeField({ ends }), value)).toEqual([message])
  })

  test('compares with no end that is beyond all numbers', async () => {
    for (const text of ['[1,Infinity)', '[NaN,)']) {
      expect(() => new RangeField({ ends: 'decimal' }).fromText(text)).toThrow('Validation failed')
    }
  })
})

test('sets of days are several ranges in braces', async () => {
  const field = new RangeField({ ends: 'date', multiple: true })
  for (const value of ['{}', '{empty}', '{[2026-03-28,2026-04-01),[2026-05-01,)}']) {
    expect(field.toInternalValue(value)).toBe(value)
    expect(shown(field, value)).toBe(value)
  }
  for (const value of ['{[today,)}', '{[,),}', '[,)', '{(,)(,)}', '{now}']) {
    expect(await refusal(field, value)).toEqual(['Use the format {[from,to),…}, each end as YYYY-MM-DD.'])
  }
})

test('a set has at most 1,000 ranges, unless its options say otherwise', async () => {
  const set = (ranges: number) => `{${Array.from({ length: ranges }).fill('[2026-03-28,2026-04-01)').join()}}`
  const field = new RangeField({ ends: 'date', multiple: true })
  expect(field.toInternalValue(set(1000))).toBe(set(1000))
  expect(await refusal(field, set(1001))).toEqual(['Ensure this field has no more than 1000 ranges.'])
  const wider = new RangeField({ ends: 'date', multiple: true, maxLength: 1001 })
  expect(wider.toInternalValue(set(1001))).toBe(set(1001))
  expect(() => new RangeField({ ends: 'date', multiple: true, maxLength: -1 })).toThrow('maxLength is -1')
})

describe('of which one end is before the other', () => {
  test.each([
    ['integer', '[-9,-10)'],
    ['big-integer', '(9007199254740993,9007199254740992)'],
    ['decimal', '[1.01,1.001]'],
    ['decimal', '[NaN,Infinity]'],
    ['decimal', '[0,-Infinity]'],
    ['date', '[2026-02-01,2026-01-31)'],
    ['date', '[infinity,2026-01-31)'],
    ['date-time', '[2026-01-01T00:00:00Z,2026-01-01T00:00:00+00:01)'],
    ['date-time', '[2026-01-01T00:00:00.1Z,2026-01-01T00:00:00Z)'],
    ['date-time', '[2026-01-01T00:00:00Z,-infinity)'],
  ] as const)('with the ends %s refuses %s, and takes it the other way round', async (ends, value) => {
    const several = new RangeField({ ends, multiple: true })
    for (const [field, text] of [
      [new RangeField({ ends }), value],
      [several, `{${value}}`],
    ] as const) {
      expect(await refusal(field, text)).toEqual(['The start of the range must not exceed the end of the range.'])
    }
    const [, from, to] = /^.(.*),(.*).$/.exec(value) as unknown as [string, string, string]
    const field = new RangeField({ ends })
    for (const text of [`[${to},${from}]`, `[${from},${from}]`, `[${from},)`, `(,${to}]`]) field.toInternalValue(text)
  })
})
