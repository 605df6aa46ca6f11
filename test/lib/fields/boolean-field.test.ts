import { expect, test } from 'vitest'
import { BooleanField } from '../../../lib/fields/boolean-field.js'
import { refusal, shown, textRefusal } from './refusal.js'

const field = new BooleanField()

test('takes and shows true and false', () => {
  expect([true, false].map((value) => field.toInternalValue(value))).toEqual([true, false])
  expect([true, false].map((value) => shown(field, value))).toEqual([true, false])
})

test.each([0, 1, 'true', 'banana', ''])('refuses %j', async (value) => {
  expect(await refusal(field, value)).toEqual(['Must be a valid boolean.'])
})

test('reads the texts true and false, and no other', async () => {
  expect(['true', 'false'].map((text) => field.fromText(text))).toEqual([true, false])
  for (const text of ['', 'True', 'on', 'yes', '1', 't', ' true']) {
    expect(await textRefusal(field, text)).toEqual(['Must be a valid boolean.'])
  }
})
