import { describe, expect, test } from 'vitest'
import { DecimalField, type DecimalFieldOptions } from '../../../lib/fields/decimal-field.js'
import { ConfigurationError } from '../../../lib/kernel/errors.js'
import { refusal, shown } from './refusal.js'

const price = new DecimalField({ maxDigits: 6, decimalPlaces: 2 })

describe('DecimalField', () => {
  test.each([
    ['12.50', '12.50'],
    ['0', '0'],
    ['-0', '0'],
    ['-0.00', '0.00'],
    ['007.50', '7.50'],
    ['-9999.99', '-9999.99'],
    [12.5, '12.5'],
    [1e2, '100'],
    [0.01, '0.01'],
  ])('numeric(6,2) takes %j and stores %j', (value, stored) => {
    expect(price.toInternalValue(value)).toBe(stored)
  })

  test.each([
    [1e21, '1000000000000000000000'],
    [1.5e300, `15${'0'.repeat(299)}`],
    [1e-7, '0.0000001'],
    [-1.25e-10, '-0.000000000125'],
    ['12345678901234567890.123456789', '12345678901234567890.123456789'],
    [123456789012345, '123456789012345'],
  ])('writes %j out in full', (value, stored) => {
    expect(new DecimalField().toInternalValue(value)).toBe(stored)
  })

  test.each([
    [123456.78, 'Ensure that there are no more than 6 digits in total.'],
    ['1000000', 'Ensure that there are no more than 6 digits in total.'],
    [1.239, 'Ensure that there are no more than 2 decimal places.'],
    ['1.230', 'Ensure that there are no more than 2 decimal places.'],
    ['12345', 'Ensure that there are no more than 4 digits before the decimal point.'],
    ['nan', 'A valid number is required.'],
    ['Infinity', 'A valid number is required.'],
    ['-Infinity', 'A valid number is required.'],
    [Number.NaN, 'A valid number is required.'],
    [JSON.parse('1e400'), 'A valid number is required.'],
    ['1e400', 'A valid number is required.'],
    ['1e2', 'A valid number is required.'],
    ['', 'A valid number is required.'],
    ['.5', 'A valid number is required.'],
    ['5.', 'A valid number is required.'],
    ['+5', 'A valid number is required.'],
    [' 5', 'A valid number is required.'],
    ['5\n', 'A valid number is required.'],
    ['１', 'A valid number is required.'],
    ['1,5', 'A valid number is required.'],
    ['0x1', 'A valid number is required.'],
    [5n, 'A valid number is required.'],
  ])('[B5] numeric(6,2) refuses %s', async (value, message) => {
    expect(await refusal(price, value)).toEqual([message])
  })

  test('[B5] refuses a JSON number that may have lost digits, and takes the same as text', async () => {
    const field = new DecimalField()
    expect(await refusal(field, JSON.parse('0.12345678901234567'))).toEqual([
      'Send a number of more than 15 digits as a string.',
    ])
    expect(field.toInternalValue('0.12345678901234567')).toBe('0.12345678901234567')
  })

  test('[B5] stays within what numeric holds', async () => {
    const field = new DecimalField()
    expect(field.toInternalValue('9'.repeat(131_072))).toHaveLength(131_072)
    expect(field.toInternalValue(`0.${'1'.repeat(16_383)}`)).toHaveLength(16_385)
    expect(await refusal(field, '9'.repeat(131_073))).toEqual([
      'Ensure that there are no more than 131072 digits before the decimal point.',
    ])
    expect(await refusal(field, `0.${'1'.repeat(16_384)}`)).toEqual([
      'Ensure that there are no more than 16383 decimal places.',
    ])
  })

  test('has no digit before the point where the column has none', async () => {
    const field = new DecimalField({ maxDigits: 3, decimalPlaces: 3 })
    expect(field.toInternalValue('0.999')).toBe('0.999')
    expect(await refusal(field, '1')).toEqual(['Ensure that there are no more than 0 digits before the decimal point.'])
  })

  test.each([
    ['0.3', true],
    ['0.30', true],
    ['0.3000000000000000000001', false],
    ['0.2999999999999999999999', true],
    ['-0.1', true],
    ['-0.10', true],
    ['-0.11', false],
    ['-1', false],
    ['0', true],
    ['-0', true],
    ['10', false],
  ])('compares %s exactly with -0.1 and 0.3: %s', (value, accepted) => {
    const field = new DecimalField({ minValue: '-0.1', maxValue: 0.3 })
    const check = () => field.toInternalValue(value)
    if (accepted) expect(check).not.toThrow()
    else expect(check).toThrow('Validation failed')
  })

  test('names the bound as it was given', async () => {
    const field = new DecimalField({ minValue: 0, maxValue: '9.90' })
    expect(await refusal(field, -1)).toEqual(['Ensure this value is at least 0.'])
    expect(await refusal(field, '9.901')).toEqual(['Ensure this value is at most 9.90.'])
    // JSON Schema has no bounds of texts
    expect(field.schema()).toEqual({ type: 'string', format: 'decimal' })
  })

  test.each([
    ['12.50', '12.50'],
    ['NaN', 'NaN'],
    [12.5, '12.50'],
    [3, '3.00'],
    [0.1 + 0.2, '0.30'],
    [1e21, '1000000000000000000000.00'],
    [7n, '7'],
  ])('shows %s as %j', (value, output) => {
    expect(shown(price, value)).toBe(output)
  })

  test('shows a number from code in shortest plain notation where the decimal places are not known', () => {
    expect([0.1, 1e-7, 1e21, -2.5].map((value) => shown(new DecimalField(), value))).toEqual([
      '0.1',
      '0.0000001',
      '1000000000000000000000',
      '-2.5',
    ])
  })

  test.each([
    [{ maxDigits: 2, decimalPlaces: 3 }, 'DecimalField: decimalPlaces 3 is greater than maxDigits 2'],
    [{ maxDigits: 0 }, 'DecimalField: maxDigits is 0; give a whole number of at least 1'],
    [{ decimalPlaces: -1 }, 'DecimalField: decimalPlaces is -1; give a whole number of at least 0'],
    [{ minValue: 'x' }, 'DecimalField: minValue is x; give a decimal number'],
    [{ maxValue: Number.POSITIVE_INFINITY }, 'DecimalField: maxValue is Infinity; give a decimal number'],
    [{ minValue: '2', maxValue: 1 }, 'DecimalField: minValue 2 is greater than maxValue 1'],
  ])('refuses the options %j', (options: DecimalFieldOptions, message) => {
    expect(() => new DecimalField(options)).toThrow(new ConfigurationError(message))
  })
})
