import { expect, test } from 'vitest'
import { BinaryField } from '../../../lib/fields/binary-field.js'
import { refusal, shown } from './refusal.js'

const field = new BinaryField()

test.each([
  ['\\x', []],
  ['\\x00ff', [0, 255]],
  ['\\xDEad', [0xde, 0xad]],
])('takes %s', (text, bytes) => {
  expect(field.toInternalValue(text)).toEqual(Buffer.from(bytes))
})

test.each(['', 'x00', '00', '\\x0', '\\x0g', '\\x00 ', '\\X00', '\\x00\n'])('refuses %j', async (text) => {
  expect(await refusal(field, text)).toEqual(['Use the format \\x followed by two hexadecimal digits for each byte.'])
})

test('shows bytes as hexadecimal text', () => {
  expect(shown(field, Buffer.from([0, 255]))).toBe('\\x00ff')
  expect(shown(field, new Uint8Array([1, 2, 3, 4]).subarray(1, 3))).toBe('\\x0203')
  expect(shown(field, '\\x00ff')).toBe('\\x00ff')
})
