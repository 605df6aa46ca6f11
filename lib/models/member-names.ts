/** Names of columns that are none of properties, as all Objection models have something of these names. */
import { Model } from 'objection'
import { nameProblem } from './column-names.js'

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
