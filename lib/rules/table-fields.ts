/** Fields of rules, of a table whatever its models call them: a rule names what its own model has. */

import { describeModel } from '../models/describe-model.js'
import type { ModelDescription } from '../models/model-description.js'
import { columnName, type ModelClass } from '../models/objection.js'
import {
  accessOfAll,
  alongRelation,
  type FieldAccess,
  type Property,
  type VisibleFields,
} from '../queryset/visible-fields.js'

/** Fields of one rule, by the names of its model. */
export interface RuledFields {
  readonly model: ModelClass
  readonly fields: ReadonlyMap<string, FieldAccess>
}

/** What a caller may do with fields, by tables. */
export class TableFields implements VisibleFields {
  readonly #tables: ReadonlyMap<string, RuledFields>

  constructor(tables: readonly RuledFields[]) {
    this.#tables = new Map(tables.map((one) => [one.model.tableName, one]))
  }

  of(model: ModelClass, property: string): FieldAccess | undefined {
    const table = this.#tables.get(model.tableName)
    if (!table) return undefined
    return accessOfAll(namesIn(table.model, { model, property }).flatMap((name) => table.fields.get(name) ?? []))
  }
}

/** What a rule's model calls a property of a model of the same table, and what says the same there. */
export function namesIn(ruled: ModelClass, { model, property }: Property): readonly string[] {
  if (model === ruled) return [property]
  const own = describeModel(ruled)
  const place = placeOf(describeModel(model), property)
  const names = [...own.columns.keys(), ...own.relations.keys()].filter((name) => placeOf(own, name) === place)
  if (place === undefined || names.length === 0) return [property]
  // that model may not have the relation of its foreign key
  return [...new Set(names.flatMap((name) => alongRelation(own, name)).map((one) => one.property))]
}

/** The column, or the columns by which a relation joins its table. */
function placeOf(model: ModelDescription, property: string): string | undefined {
  const relation = model.relations.get(property)
  if (!relation) return model.columns.get(property)?.column
  const { model: related, through, ownerProperties, relatedProperties } = relation
  return JSON.stringify([
    columnsOf(model.model, ownerProperties),
    related.tableName,
    columnsOf(related, relatedProperties),
    through && [
      through.model.tableName,
      columnsOf(through.model, through.ownerProperties),
      columnsOf(through.model, through.relatedProperties),
    ],
  ])
}

function columnsOf(model: ModelClass, properties: readonly string[]): readonly string[] {
  return properties.map((property) => columnName(model, property))
}
