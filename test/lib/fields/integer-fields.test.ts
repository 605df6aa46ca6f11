import { describe, expect, test } from 'vitest'
import { BigIntegerField, IntegerField } from '../../../lib/fields/integer-fields.js'
import { ConfigurationError } from '../../../lib/kernel/errors.js'
import { refusal, shown, textRefusal } from './refusal.js'

describe('IntegerField', () => {
  test.each([
    [{}, -2147483648, 2147483647],
    [{ bits: 32 } as const, -2147483648, 2147483647],
    [{ bits: 16 } as const, -32768, 32767],
    [{ minValue: 0, maxValue: 5 }, 0, 5],
    [{ bits: 16, minValue: -1e9, maxValue: 1e9 } as const, -32768, 32767],
  ])('[B1] with %j takes %d to %d', async (options, least, greatest) => {
    const field = new IntegerField(options)
    expect(field.toInternalValue(least)).toBe(least)
    expect(field.toInternalValue(greatest)).toBe(greatest)
    expect(await refusal(field, least - 1)).toEqual([`Ensure this value is at least ${least}.`])
    expect(await refusal(field, greatest + 1)).toEqual([`Ensure this value is at most ${greatest}.`])
  })

  test.each([1.5, Number.NaN, Number.POSITIVE_INFINITY, '1', 1n])('refuses %s', async (value) => {
    expect(await refusal(new IntegerField(), value)).toEqual(['A valid integer is required.'])
  })

  test('reads plain ASCII digits from text', () => {
    expect(new IntegerField().fromText('-12')).toBe(-12)
    expect(new IntegerField().fromText('007')).toBe(7)
  })

  test.each(['', ' 1', '1 ', '+1', '0x1', '1e0', '1.0', '１', '-', '--1', '1_000', '1\n'])(
    '[B2] refuses the text %j',
    async (text) => {
      expect(await textRefusal(new IntegerField(), text)).toEqual(['A valid integer is required.'])
    },
  )

  test('[B1] refuses a text out of range', async () => {
    expect(await textRefusal(new IntegerField(), '99999999999')).toEqual(['Ensure this value is at most 2147483647.'])
  })

  test('shows a number, whatever the driver gave', () => {
    expect([5, '5', 5n].map((value) => shown(new IntegerField(), value))).toEqual([5, 5, 5])
  })

  test('describes itself', () => {
    expect(new IntegerField().schema()).toEqual({ type: 'integer', format: 'int32' })
    expect(new IntegerField({ bits: 16, minValue: 0, maxValue: 9 }).schema()).toEqual({
      type: 'integer',
      format: 'int16',
      minimum: 0,
      maximum: 9,
    })
    // bounds that it never comes to
    expect(new IntegerField({ minValue: -3e9, maxValue: 3e9 }).schema()).toEqual({
      type: 'integer',
      format: 'int32',
      minimum: -2147483648,
      maximum: 2147483647,
    })
  })

  test('refuses wrong options', () => {
    expect(() => new IntegerField({ minValue: 2, maxValue: 1 })).toThrow(
      new ConfigurationError('IntegerField: minValue 2 is greater than maxValue 1'),
    )
    expect(() => new IntegerField({ minValue: Number.NaN })).toThrow(ConfigurationError)
    expect(() => new IntegerField({ bits: 64 as 32 })).toThrow(ConfigurationError)
  })
})

describe('BigIntegerField', () => {
  test.each([
    [5, 5],
    ['5', 5],
    ['-0', 0],
    ['0005', 5],
    [9007199254740991, 9007199254740991],
    ['9007199254740991', 9007199254740991],
    ['9007199254740992', '9007199254740992'],
    ['9007199254740993', '9007199254740993'],
    ['-9007199254740993', '-9007199254740993'],
    ['9223372036854775807', '9223372036854775807'],
    ['-9223372036854775808', '-9223372036854775808'],
    [`${'0'.repeat(50)}9223372036854775807`, '9223372036854775807'],
  ])('[B3] takes %j and stores %j', (value, stored) => {
    expect(new BigIntegerField().toInternalValue(value)).toBe(stored)
  })

  test.each(['9007199254740993', '-9007199254740992', '1e300'])(
    '[B3] refuses the unsafe JSON number %s',
    async (json) => {
      expect(await refusal(new BigIntegerField(), JSON.parse(json))).toEqual([
        'Send an integer beyond 9007199254740991 as a string.',
      ])
    },
  )

  test.each([
    ['9223372036854775808', 'Ensure this value is at most 9223372036854775807.'],
    ['-9223372036854775809', 'Ensure this value is at least -9223372036854775808.'],
    ['9'.repeat(100_000), 'Ensure this value is at most 9223372036854775807.'],
    [`-${'9'.repeat(100_000)}`, 'Ensure this value is at least -9223372036854775808.'],
    ['1.0', 'A valid integer is required.'],
    ['1e3', 'A valid integer is required.'],
    ['+1', 'A valid integer is required.'],
    ['１', 'A valid integer is required.'],
    ['', 'A valid integer is required.'],
    [1.5, 'A valid integer is required.'],
    [Number.POSITIVE_INFINITY, 'A valid integer is required.'],
  ])('refuses %j', async (value, message) => {
    expect(await refusal(new BigIntegerField(), value)).toEqual([message])
  })

  test('compares exactly with bounds beyond 2^53', async () => {
    const field = new BigIntegerField({ minValue: -5, maxValue: '9007199254740993' })
    expect(field.toInternalValue('9007199254740993')).toBe('9007199254740993')
    expect(await refusal(field, '9007199254740994')).toEqual(['Ensure this value is at most 9007199254740993.'])
    expect(await refusal(field, -6)).toEqual(['Ensure this value is at least -5.'])
    expect(field.schema()).toEqual({
      anyOf: [
        { type: 'integer', format: 'int64', minimum: -5 },
        { type: 'string', pattern: '^-?[0-9]+$' },
      ],
    })
  })

  test.each([
    ['7', 7],
    [7, 7],
    [7n, 7],
    ['9007199254740991', 9007199254740991],
    ['9007199254740992', '9007199254740992'],
    [2 ** 60, '1152921504606846976'],
    [-(2n ** 63n), '-9223372036854775808'],
  ])('[B3] shows %s as %j', (value, output) => {
    expect(shown(new BigIntegerField(), value)).toBe(output)
  })

  test('refuses wrong options', () => {
    expect(() => new BigIntegerField({ minValue: 2 ** 53 })).toThrow(ConfigurationError)
    expect(() => new BigIntegerField({ maxValue: '9223372036854775808' })).toThrow(ConfigurationError)
    expect(() => new BigIntegerField({ maxValue: 'x' })).toThrow(ConfigurationError)
    expect(() => new BigIntegerField({ minValue: 2, maxValue: '1' })).toThrow(
      new ConfigurationError('BigIntegerField: minValue 2 is greater than maxValue 1'),
    )
  })
})
