import { expect, test } from 'vitest'
import { JSONField } from '../../../lib/fields/json-field.js'
import { refusal, shown, textRefusal } from './refusal.js'

const field = new JSONField()
const nested = (depth: number): unknown => JSON.parse('['.repeat(depth) + ']'.repeat(depth))

const VALUES: unknown[] = [1, 'x', true, [], {}, [null, { a: [1] }], { constructor: 'x' }, { toJSON: 1 }]

test.each(VALUES.map((value) => [value]))('takes and shows %j', (value) => {
  expect(field.toInternalValue(value)).toBe(value)
  expect(shown(field, value)).toBe(value)
})

test.each([
  ['[B7]', ['a\0b'], 'Null characters are not allowed.'],
  ['[B7]', { a: { b: ['\0'] } }, 'Null characters are not allowed.'],
  ['[B7]', { 'a\0': 1 }, 'Null characters are not allowed.'],
  ['[B7]', 'a\0', 'Null characters are not allowed.'],
  ['[B8]', { a: 'x\ud800y' }, 'Invalid Unicode.'],
  ['[B8]', [{ '\udc00': 1 }], 'Invalid Unicode.'],
  ['[B5]', { a: JSON.parse('1e400') }, 'A valid number is required.'],
  ['[A4]', JSON.parse('{"a":[{"__proto__":{"is_admin":true}}]}'), 'Must be valid JSON.'],
  ['[A4]', JSON.parse('{"constructor":{"prototype":{}}}'), 'Must be valid JSON.'],
  ['', { a: 1n }, 'Must be valid JSON.'],
  ['[B13]', new File(['x'], 'a.png'), 'Must be valid JSON.'],
  ['[B13]', { a: [new Date(0)] }, 'Must be valid JSON.'],
  ['[B13]', new Map(), 'Must be valid JSON.'],
])('%s refuses %o', async (_promise, value, message) => {
  expect(await refusal(field, value)).toEqual([message])
})

test('[B11] takes 64 levels and no more, without recursion', async () => {
  expect(field.toInternalValue(nested(64))).toHaveLength(1)
  const message = ['Nested too deeply: at most 64 levels.']
  expect(await refusal(field, nested(65))).toEqual(message)
  expect(await textRefusal(field, '['.repeat(100_000) + ']'.repeat(100_000))).toEqual(message)
  const circle: unknown[] = []
  circle.push(circle)
  expect(await refusal(field, circle)).toEqual(message)
})

test('reads JSON from text', async () => {
  expect(field.fromText('{"a":[1,"x"]}')).toEqual({ a: [1, 'x'] })
  for (const text of ['', '{', "{'a':1}", 'undefined', 'NaN', '[1,]']) {
    expect(await textRefusal(field, text)).toEqual(['Must be valid JSON.'])
  }
})
