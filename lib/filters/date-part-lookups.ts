/** Lookups for the year, month and day of dates and of points in time, in UTC. */

import { IntegerField } from '../fields/integer-field.js'
import type { Lookup, Operand } from './lookups.js'

const TYPES: ReadonlySet<string> = new Set(['date', 'timestamp', 'timestamptz'])

const YEAR = new IntegerField({ minValue: 1, maxValue: 9_999 })
const MONTH = new IntegerField({ minValue: 1, maxValue: 12 })
const DAY = new IntegerField({ minValue: 1, maxValue: 31 })

/** As two bounds, which an index on the column serves. PostgreSQL's points in time have microseconds, no more. */
const year: Lookup = {
  description: 'is in this year (UTC)',
  values(text, { column }) {
    const digits = String(read(YEAR, text)).padStart(4, '0')
    const ends = [`${digits}-01-01`, `${digits}-12-31`]
    return column.type === 'date' ? ends : [`${ends[0]}T00:00:00Z`, `${ends[1]}T23:59:59.999999Z`]
  },
  sql: () => '?? between ? and ?',
  parameter: () => ({ schema: YEAR.schema() }),
}

function part(name: 'month' | 'day', field: typeof MONTH | typeof DAY): Lookup {
  return {
    description: `is on this ${name} (UTC)`,
    values: (text) => [read(field, text)],
    sql: ({ column }) => `extract(${name} from ??${column.type === 'timestamptz' ? " at time zone 'UTC'" : ''}) = ?`,
    parameter: () => ({ schema: field.schema() }),
  }
}

const PARTS: readonly (readonly [string, Lookup])[] = [
  ['year', year],
  ['month', { ...part('month', MONTH), description: 'is in this month, from 1 to 12 (UTC)' }],
  ['day', part('day', DAY)],
]

/** The lookups of parts that the column has. */
export function datePartsOf({ column }: Operand): typeof PARTS {
  return TYPES.has(column.type) ? PARTS : []
}

function read(field: typeof YEAR | typeof MONTH | typeof DAY, text: string): number {
  return field.toInternalValue(field.fromText(text))
}
