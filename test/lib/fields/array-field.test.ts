import { expect, test } from 'vitest'
import { ArrayField } from '../../../lib/fields/array-field.js'
import { MultipleChoiceField } from '../../../lib/fields/choice-fields.js'
import { DateTimeField } from '../../../lib/fields/date-time-fields.js'
import { BigIntegerField, IntegerField } from '../../../lib/fields/integer-fields.js'
import { StringField } from '../../../lib/fields/string-field.js'
import { ConfigurationError, ValidationError } from '../../../lib/kernel/errors.js'
import { countSteps } from '../../support/turns.js'
import { refusal, shown, textRefusal } from './refusal.js'

const numbers = new ArrayField({ child: new IntegerField({ minValue: 0 }) })

test('checks each item with its field', async () => {
  expect(await numbers.toInternalValue([1, 2], {})).toEqual([1, 2])
  expect(await numbers.toInternalValue([], {})).toEqual([])
  expect(await new ArrayField({ child: new BigIntegerField() }).toInternalValue(['1', '9007199254740993'], {})).toEqual(
    [1, '9007199254740993'],
  )
})

test('keys errors by position', async () => {
  expect(await refusal(numbers, [1, 'x', 2, -1, null])).toEqual({
    1: ['A valid integer is required.'],
    3: ['Ensure this value is at least 0.'],
    4: ['This field may not be null.'],
  })
  expect(await refusal(new ArrayField({ child: numbers }), [[1], ['x']])).toEqual({
    1: { 0: ['A valid integer is required.'] },
  })
})

test('[R10] tells of a hundred wrong items, however many there are', async () => {
  let checked = 0
  class Counted extends IntegerField {
    override toInternalValue(value: unknown): number {
      checked++
      return super.toInternalValue(value)
    }
  }
  const field = new ArrayField({ child: new Counted(), maxLength: 200_000 })
  const messages = await refusal(field, Array.from({ length: 200_000 }).fill('x'))
  expect(Object.keys(messages)).toEqual(Array.from({ length: 100 }, (_, position) => String(position)))
  expect(checked).toBe(100)
  const inner = Array.from({ length: 60 }).fill('x')
  const nested = await refusal(new ArrayField({ child: field }), Array.from({ length: 1000 }).fill(inner))
  expect(Object.values(nested).map((each) => Object.keys(each).length)).toEqual([60, 60])
})

test('has at most 1,000 items, unless its options say otherwise', async () => {
  const list = (length: number) => Array.from({ length }).fill(1)
  const child = new IntegerField()
  expect(await new ArrayField({ child }).toInternalValue(list(1000), {})).toHaveLength(1000)
  expect(await refusal(new ArrayField({ child }), list(1001))).toEqual([
    'Ensure this field has no more than 1000 items.',
  ])
  expect(await new ArrayField({ child, maxLength: 1001 }).toInternalValue(list(1001), {})).toHaveLength(1001)
  expect(await new ArrayField({ child, minLength: 1001 }).toInternalValue(list(1001), {})).toHaveLength(1001)
  const nested = new ArrayField({ child, nested: true })
  expect(await refusal(nested, [list(1001)])).toEqual({ 0: ['Ensure this field has no more than 1000 items.'] })
  // what is stored may be longer
  expect(new ArrayField({ child }).schema()).not.toHaveProperty('maxItems')
  expect(new ArrayField({ child }).inputSchema()).toMatchObject({ maxItems: 1000 })
})

test('gives way to other work while it checks a long list', async () => {
  const steps = countSteps()
  await numbers.toInternalValue(Array.from({ length: 1_000 }).fill(1), {})
  expect(steps().steps).toBeGreaterThan(15)
  expect(steps().mostOfATurn).toBeLessThan(6)
})

test('[B7 B8] checks text items', async () => {
  expect(await refusal(new ArrayField({ child: new StringField() }), ['a', '\0', '\ud800'])).toEqual({
    1: ['Null characters are not allowed.'],
    2: ['Invalid Unicode.'],
  })
})

test('takes null items where the child does', async () => {
  const field = new ArrayField({ child: new IntegerField({ allowNull: true }) })
  expect(await field.toInternalValue([1, null], {})).toEqual([1, null])
  expect(shown(field, [1, null])).toEqual([1, null])
})

test('runs the validators of its child', async () => {
  const even = (value: number) => {
    if (value % 2 === 1) throw new ValidationError('Not even.')
  }
  const field = new ArrayField({ child: new IntegerField({ validators: [even] }) })
  expect(await refusal(field, [2, 3])).toEqual({ 1: ['Not even.'] })
})

test('keeps to its lengths', async () => {
  const field = new ArrayField({ child: new StringField(), minLength: 1, maxLength: 2 })
  expect(await field.toInternalValue(['a', 'b'], {})).toEqual(['a', 'b'])
  expect(await refusal(field, [])).toEqual(['Ensure this field has at least 1 item.'])
  expect(await refusal(field, ['a', 'b', 'c'])).toEqual(['Ensure this field has no more than 2 items.'])
})

test('reads a JSON array from text', async () => {
  expect(numbers.fromText('[1,2]')).toEqual([1, 2])
  expect(await textRefusal(numbers, '1,2')).toEqual(['Must be valid JSON.'])
  expect(await textRefusal(numbers, '{}')).toEqual(['Expected a list of items.'])
})

test('leaves a list of a form to an item that is a list itself', () => {
  const grid = new ArrayField({ child: numbers })
  const chosen = new ArrayField({ child: new MultipleChoiceField({ choices: [1, 2] }) })
  // `grid[0][0]=1&grid[0][1]=2&grid[1][0]=3`
  for (const field of [grid, chosen]) expect(field.fromTexts([[['1', '2'], ['2']]])).toEqual([[1, 2], [2]])
  expect(new ArrayField({ child: grid }).fromTexts([[[['1'], ['2', '3']], [['4']]]])).toEqual([[[1], [2, 3]], [[4]]])
  expect(grid.fromTexts([['[1,2]', '']])).toEqual([[1, 2], []])
  expect(grid.fromTexts(['1', '2'])).toEqual([[1], [2]])
})

test('shows each item in the form of its field', () => {
  expect(shown(new ArrayField({ child: new DateTimeField() }), ['2026-03-28 15:30:00.5+00'])).toEqual([
    '2026-03-28T15:30:00.5Z',
  ])
  expect(shown(new ArrayField({ child: numbers }), [['1'], null])).toEqual([[1], null])
})

test('shows items of any length in a text that no parser has read', () => {
  const long = 'a'.repeat(16_000_000)
  const [quoted, bare, last] = shown(
    new ArrayField({ child: new StringField() }),
    `{"${long}",${long},"b\\"c"}`,
  ) as string[]
  expect([quoted?.length, bare?.length, last]).toEqual([long.length, long.length, 'b"c'])
})

test('describes itself', () => {
  expect(new ArrayField({ child: new IntegerField({ allowNull: true }), minLength: 1, maxLength: 9 }).schema()).toEqual(
    {
      type: 'array',
      items: { type: ['integer', 'null'], format: 'int32' },
      minItems: 1,
      maxItems: 9,
    },
  )
})

test('refuses lengths out of order', () => {
  expect(() => new ArrayField({ child: new StringField(), minLength: 2, maxLength: 1 })).toThrow(ConfigurationError)
})
