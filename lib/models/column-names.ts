/** Names of columns that PostgreSQL allows, and that knex, pg or Objection take for something else. */

import { Model } from 'objection'
import type { Column } from './model-description.js'

/** What a name must not be, and why. */
const UNFIT: readonly (readonly [RegExp, string])[] = [
  // the place of a value
  [/\?/, 'knex can carry no name with a question mark'],
  // an alias
  [/\sas(?:\s|$)/i, 'knex takes what follows " as " for another name'],
  // it is trimmed
  [/^\s|\s$|[\u2028\u2029]/, 'knex can carry no name with white space at its ends, nor with U+2028 or U+2029'],
  // all columns
  [/^\*$/, 'knex takes "*" for all columns'],
  // a reference of Objection
  [/^\[/, 'Objection can carry no name that begins with a bracket'],
  // it sets the prototype of an object
  [/^__proto__$/, 'pg and Objection lose the values of this name'],
]

/** Why no column of this name can be read or written; undefined for one that can. */
export function nameProblem(column: string): string | undefined {
  return UNFIT.find(([pattern]) => pattern.test(column))?.[1]
}

/** Why a column of a model can be neither read nor written, after its field; undefined for one that can. */
export function columnProblem({ column, nativeName, writtenName }: Column): string | undefined {
  const problem = nameProblem(column)
  if (problem !== undefined) return `is the column "${column}", and ${problem}`
  if (writtenName === nativeName) return undefined
  return (
    `is the column "${nativeName}", which the mappers of knex write to as "${writtenName}"; correct them ` +
    '(knexSnakeCaseMappers has the option underscoreBeforeDigits)'
  )
}

const LOST: ReadonlySet<string> = new Set(['constructor', 'prototype'])

/** True for a column that knex leaves out of its updates, without a word. */
export function isLostOnUpdate(column: string): boolean {
  return LOST.has(column)
}

/** Why no property of a model can have the name of the column; undefined where one can. */
export function propertyProblem(column: string): string | undefined {
  const problem = nameProblem(column)
  if (problem !== undefined) return problem
  if (column === 'constructor') return 'instances of Objection cannot hold it'
  if (column.includes('.')) return 'what stands before a dot is taken for a table or a relation'
  if (column.startsWith('$') || column.includes(':')) {
    return 'Objection does not write properties that begin with "$" or have a colon'
  }
  return column in Model.prototype || column === 'QueryBuilderType'
    ? 'all models of Objection have a member of this name'
    : undefined
}
