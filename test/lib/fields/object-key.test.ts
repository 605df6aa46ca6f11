/** The text that all spellings of a key have in common. */
import { expect, it } from 'vitest'
import { keyText } from '../../../lib/fields/object-key.js'
import type { Column } from '../../../lib/models/model-description.js'

it.each([
  ['interval', 'P1DT2H', '1 day 02:00:00'],
  ['interval', 'P1DT2H', { days: 1, hours: 2 }],
  ['interval', null, 'null'],
  ['numeric', '1.50', 1.5],
  ['bpchar', 'ab', 'ab   '],
  ['timestamptz', '2026-01-01T00:00:00Z', new Date('2026-01-01T00:00:00Z')],
  ['int4', 7, '7'],
])('of %s: %j and %j', (type, one, other) => {
  const column = { type } as Column
  expect(keyText(column, one)).toBe(keyText(column, other))
})
