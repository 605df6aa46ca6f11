import { expect, test } from 'vitest'
import { exactForm } from '../../../lib/fields/stored-exactly.js'
import type { Column } from '../../../lib/models/model-description.js'

const COLUMN = { column: 'at', sqlType: 'timestamptz[]' }

function formOf(column: Partial<Column>): (value: unknown) => unknown {
  return exactForm({ ...COLUMN, ...column } as Column) as (value: unknown) => unknown
}

const times = formOf({ type: 'array', element: 'timestamptz', schema: { type: 'array', items: {} } })

test('a list gets its exact form as a list of its own, whoever else holds the given one', () => {
  const given = Object.freeze(['2026-01-01', Object.freeze(['2026-01-02T10:00'])])
  expect(times(given)).toEqual(['2026-01-01T00:00:00Z', ['2026-01-02T10:00Z']])
  expect(given).toEqual(['2026-01-01', ['2026-01-02T10:00']])
})

test('a list whose items are exact is that list', () => {
  const given = ['2026-01-01T00:00:00Z', null, 7]
  expect(times(given)).toBe(given)
})
