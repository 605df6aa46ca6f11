import { describe, expect, test } from 'vitest'
import { FloatField } from '../../../lib/fields/float-field.js'
import { ConfigurationError } from '../../../lib/kernel/errors.js'
import { refusal, shown, textRefusal } from './refusal.js'

describe('FloatField', () => {
  test.each([0, -1.5, 5e-324, Number.MAX_VALUE])('takes %d', (value) => {
    expect(new FloatField().toInternalValue(value)).toBe(value)
  })

  test.each([Number.NaN, Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY, '1', 'nan'])(
    '[B5] refuses %s',
    async (value) => {
      expect(await refusal(new FloatField(), value)).toEqual(['A valid number is required.'])
    },
  )

  test('refuses what single precision cannot hold, where the column is real', async () => {
    const field = new FloatField({ single: true })
    for (const value of [0, 0.1, 1e-45, 3.4028235e38, -3.4028235e38]) expect(field.toInternalValue(value)).toBe(value)
    for (const value of [3.4028236e38, -1e39, 1e-46]) {
      expect(await refusal(field, value)).toEqual(['A valid number is required.'])
    }
  })

  test('keeps to its bounds', async () => {
    const field = new FloatField({ minValue: -0.5, maxValue: 0.5 })
    expect(field.toInternalValue(0.5)).toBe(0.5)
    expect(await refusal(field, -0.6)).toEqual(['Ensure this value is at least -0.5.'])
    expect(await refusal(field, 0.6)).toEqual(['Ensure this value is at most 0.5.'])
  })

  test('reads text strictly', async () => {
    expect(['1', '-1.5', '1e3', '2.5E-3', '-0.0'].map((text) => new FloatField().fromText(text))).toEqual([
      1, -1.5, 1000, 0.0025, -0,
    ])
    for (const text of ['', ' 1', '.5', '5.', '+1', 'NaN', 'Infinity', '0x1', '1e', '1e400']) {
      expect(await textRefusal(new FloatField(), text)).toEqual(['A valid number is required.'])
    }
  })

  test.each([
    [0.1, 0.1],
    ['0.1', 0.1],
    [Number.NaN, 'NaN'],
    ['NaN', 'NaN'],
    [Number.POSITIVE_INFINITY, 'Infinity'],
    ['-Infinity', '-Infinity'],
  ])('shows %s as %j', (value, output) => {
    expect(shown(new FloatField(), value)).toBe(output)
  })

  test('describes itself', () => {
    expect(new FloatField({ minValue: 0 }).schema()).toEqual({ type: 'number', format: 'double', minimum: 0 })
    expect(new FloatField({ minValue: 0, maxValue: Number.POSITIVE_INFINITY }).schema()).not.toHaveProperty('maximum')
    expect(new FloatField({ single: true }).schema()).toEqual({ type: 'number', format: 'float' })
  })

  test('refuses bounds out of order', () => {
    expect(() => new FloatField({ minValue: 1, maxValue: 0 })).toThrow(ConfigurationError)
  })
})
