/** Keys that no row has without the row that they lead to. */

import type { ForeignKeyReference, ModelDescription } from './model-description.js'

/** Properties of a model, and those of another that they are the values of, in the same order. */
export interface LeadingKey {
  readonly properties: readonly string[]
  readonly target: ModelDescription
  readonly related: readonly string[]
}

/** True where a foreign key of the database says so of all rows, those of tables that inherit from it included. */
export function isKeptKey(model: ModelDescription, key: LeadingKey): boolean {
  return !model.hasHeirs && model.references.some((reference) => joins(reference, key))
}

function joins(reference: ForeignKeyReference, { properties, target, related }: LeadingKey): boolean {
  const { validated, table, columns } = reference
  if (!validated || table !== target.table || reference.properties.length !== properties.length) return false
  return properties.every((property, index) => {
    const place = reference.properties.indexOf(property)
    return place !== -1 && columns[place] === target.columns.get(related[index] ?? '')?.column
  })
}
