/** Which lookups a column has. */

import { elementOf } from '../fields/field-for-column.js'
import { IntegerField } from '../fields/integer-fields.js'
import { ValidationError } from '../kernel/errors.js'
import type { Column } from '../models/model-description.js'
import { escaped } from '../models/table-reference.js'
import { LOOKUPS, type Lookup, MOST_VALUES, Operand, RANGES, readCommaList } from './lookups.js'

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
function datePartsOf({ column }: Operand): typeof PARTS {
  return TYPES.has(column.type) ? PARTS : []
}

function read(field: typeof YEAR | typeof MONTH | typeof DAY, text: string): number {
  return field.toInternalValue(field.fromText(text))
}

type Named = readonly (readonly [suffix: string, lookup: Lookup])[]

/** The lookups of a column of a list or of ranges; none for others. */
function containmentOf(operand: Operand): Named {
  const { column } = operand
  if (RANGES.has(column.type)) return ofRanges(column)
  if (column.type !== 'array') return []
  const element = new Operand(elementOf(column))
  // what has no equality is in no list
  return element.comparable && element.ordered ? ofLists(column, element) : []
}

function ofLists(column: Column, element: Operand): Named {
  const compare = (operator: string, description: string): Lookup => ({
    description,
    elements: element,
    values: (text) => [readCommaList(text, (item) => element.read(item))],
    sql: () => `?? operator(pg_catalog.${operator}) ?${castTo(column)}`,
    parameter: () => ({
      schema: { type: 'array', items: element.schema(), maxItems: MOST_VALUES },
      explode: false,
    }),
  })
  return [
    ['contains', compare('@>', 'contains all of these values')],
    ['overlap', compare('&&', 'contains one of these values')],
    ['contained_by', compare('<@', 'contains none but these values')],
  ]
}

function ofRanges(column: Column): Named {
  const compare = (operator: string, description: string): Lookup => ({
    description: `${description}: a range, or a single value`,
    values: (text, operand) => [operand.read(asRange(text, column.type))],
    sql: () => `?? operator(pg_catalog.${operator}) ?${castTo(column)}`,
    parameter: () => ({ schema: { type: 'string' } }),
  })
  return [
    ['contains', compare('@>', 'contains this')],
    ['overlap', compare('&&', 'has a part of this')],
    ['contained_by', compare('<@', 'lies within this')],
  ]
}

/** The greatest value of a type whose ranges end before the next one: it alone is what begins there. */
const GREATEST: Readonly<Record<string, string>> = { int4: '2147483647', int8: '9223372036854775807' }

/** A value by itself is the range of it alone. */
function asRange(text: string, type: string): string {
  if (text === '') throw new ValidationError('Give a range, or a single value.')
  const isSet = type.endsWith('multirange')
  const end = text === GREATEST[type.slice(0, 4)] ? ')' : `${text}]`
  const range = /^(?:[[({]|empty$)/.test(text) ? text : `[${text},${end}`
  return isSet && !range.startsWith('{') ? `{${range}}` : range
}

function castTo({ sqlType }: Column): string {
  return sqlType === undefined ? '' : `::${escaped(sqlType)}`
}

/** All lookups of a column but `isnull`, by the name that follows a field. */
export function lookupsOf(operand: Operand): readonly (readonly [suffix: string, lookup: Lookup])[] {
  const own = [...LOOKUPS].filter(([, lookup]) => operand.takes(lookup))
  if (operand.ids || operand.isKey) return own
  // a range contains values, not pieces of its text
  return [...new Map([...own, ...datePartsOf(operand), ...containmentOf(operand)])]
}
