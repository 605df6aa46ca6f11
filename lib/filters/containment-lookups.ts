/** Lookups for what columns of lists and of ranges contain. */

import { elementOf } from '../fields/field-for-column.js'
import { ValidationError } from '../kernel/errors.js'
import type { Column } from '../models/model-description.js'
import { type Lookup, MOST_VALUES, Operand, RANGES, readList } from './lookups.js'

type Named = readonly (readonly [suffix: string, lookup: Lookup])[]

/** The lookups of a column of a list or of ranges; none for others. */
export function containmentOf(operand: Operand): Named {
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
    values: (text) => [readList(text, (item) => element.read(item))],
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
  return sqlType === undefined ? '' : `::${sqlType.replaceAll('?', '\\?')}`
}
