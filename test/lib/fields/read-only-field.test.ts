import { expect, test } from 'vitest'
import { ReadOnlyField } from '../../../lib/fields/own-value-fields.js'
import { keepText } from '../../../lib/models/database-text.js'
import { shown } from './refusal.js'

test('is always read-only and never required', () => {
  for (const field of [new ReadOnlyField(), new ReadOnlyField({ readOnly: false, required: true })]) {
    expect(field).toMatchObject({ readOnly: true, required: false, writeOnly: false })
  }
  expect(new ReadOnlyField({ source: 'author.name', label: 'Author' }).options).toMatchObject({ source: 'author.name' })
})

test('shows what is stored', () => {
  const field = new ReadOnlyField()
  for (const value of ['x', 1, true, [1], { a: 1 }]) expect(shown(field, value)).toBe(value)
  expect(shown(field, 2n ** 60n)).toBe('1152921504606846976')
})

test('[B15] shows a Date with its microseconds', () => {
  const date = keepText(new Date('2026-03-28T15:30:00.123Z'), '2026-03-28 15:30:00.123456+00')
  expect(shown(new ReadOnlyField(), date)).toBe('2026-03-28T15:30:00.123456Z')
})
