import { describe, expect, test } from 'vitest'
import { StringField, type StringFieldOptions } from '../../../lib/fields/string-field.js'
import { ConfigurationError } from '../../../lib/kernel/errors.js'
import { keepText } from '../../../lib/models/database-text.js'
import { refusal, shown } from './refusal.js'

describe('StringField', () => {
  test.each(['', ' ', 'x', ' padded ', 'Zürich', '𝒳', 'a\nb\u2028'])('stores %j as it was sent', (text) => {
    expect(new StringField().toInternalValue(text)).toBe(text)
  })

  test('counts code points, as PostgreSQL does', async () => {
    const field = new StringField({ minLength: 2, maxLength: 3 })
    expect(field.toInternalValue('𝒳𝒳')).toBe('𝒳𝒳')
    expect(field.toInternalValue('𝒳𝒳𝒳')).toBe('𝒳𝒳𝒳')
    expect(await refusal(field, '𝒳')).toEqual(['Ensure this field has at least 2 characters.'])
    expect(await refusal(field, '')).toEqual(['Ensure this field has at least 2 characters.'])
    expect(await refusal(field, '𝒳𝒳𝒳𝒳')).toEqual(['Ensure this field has no more than 3 characters.'])
    expect(await refusal(new StringField({ maxLength: 1 }), 'ab')).toEqual([
      'Ensure this field has no more than 1 character.',
    ])
  })

  test.each(['', '   ', '\n\t\u00a0'])('refuses blank text %j only with allowBlank: false', async (text) => {
    expect(new StringField().toInternalValue(text)).toBe(text)
    expect(await refusal(new StringField({ allowBlank: false }), text)).toEqual(['This field may not be blank.'])
  })

  test('[B7] refuses NUL', async () => {
    expect(await refusal(new StringField(), 'a\0b')).toEqual(['Null characters are not allowed.'])
  })

  test.each(['x\ud800y', '\udc00', '\ud800', '\udc00\ud800'])('[B8] refuses lone surrogates (%j)', async (text) => {
    expect(await refusal(new StringField(), text)).toEqual(['Invalid Unicode.'])
  })

  test('shows text as it is, and numbers as text', () => {
    expect(shown(new StringField(), 'x')).toBe('x')
    expect(shown(new StringField(), 5)).toBe('5')
    expect(shown(new StringField(), 5n)).toBe('5')
    expect(shown(new StringField(), keepText(new Date(2026, 2, 28), '2026-03-28'))).toBe('2026-03-28')
  })

  test('describes itself', () => {
    expect(new StringField().schema()).toEqual({ type: 'string' })
    expect(new StringField({ minLength: 2, maxLength: 5, allowBlank: false }).schema()).toEqual({
      type: 'string',
      minLength: 2,
      maxLength: 5,
      pattern: '\\S',
    })
  })

  test.each([
    [{ minLength: 3, maxLength: 2 }, 'StringField: minLength 3 is greater than maxLength 2'],
    [{ minLength: -1 }, 'StringField: minLength is -1; give a whole number of at least 0'],
    [{ maxLength: 1.5 }, 'StringField: maxLength is 1.5; give a whole number of at least 0'],
    [{ maxLength: Number.POSITIVE_INFINITY }, 'StringField: maxLength is Infinity; give a whole number of at least 0'],
  ])('refuses the options %j', (options: StringFieldOptions, message) => {
    expect(() => new StringField(options)).toThrow(new ConfigurationError(message))
  })
})
