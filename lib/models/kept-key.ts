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
  const isFilled = (property: string) => model.columns.get(property)?.holdsNull === false
  return isKeptBy(model, key, (others) => others.every(isFilled))
}

/** True where a foreign key of these columns alone says so: what it refuses has no such row. */
export function isKeptAlone(model: ModelDescription, key: LeadingKey): boolean {
  return isKeptBy(model, key, (others) => others.length === 0)
}

/** @param mayHave the properties that the foreign key has besides */
function isKeptBy(model: ModelDescription, key: LeadingKey, mayHave: (others: readonly string[]) => boolean): boolean {
  if (model.hasHeirs) return false
  return model.references.some(
    (reference) =>
      joins(reference, key) && mayHave(reference.properties.filter((property) => !key.properties.includes(property))),
  )
}

function joins(reference: ForeignKeyReference, { properties, target, related }: LeadingKey): boolean {
  const { validated, period, table, columns } = reference
  if (!validated || period || table !== target.table) return false
  return properties.every((property, index) => {
    const place = reference.properties.indexOf(property)
    return place !== -1 && columns[place] === target.columns.get(related[index] ?? '')?.column
  })
}
