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
