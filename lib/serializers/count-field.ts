/** A number of related objects in place of the objects: what `count('reviews')` of a view's `expandable` adds to a serializer. */

import { IntegerField } from '../fields/integer-fields.js'
import { ConfigurationError } from '../kernel/errors.js'
import { didYouMean } from '../kernel/near-miss.js'
import type { ModelDescription, RelationDescription } from '../models/model-description.js'
import { modelName } from '../models/objection.js'
import { checkWhole } from '../queryset/reads-whole-rows.js'

/** What `count('reviews')` says. */
export interface RelatedCount {
  readonly function: 'count'
  /** The relation whose objects are counted. */
  readonly path: string
}

/** True for a count of related objects; one of all objects of a list has no path. */
export function isRelatedCount(value: unknown): value is RelatedCount {
  if (typeof value !== 'object' || value === null) return false
  const { function: called, path } = value as Partial<RelatedCount>
  return called === 'count' && typeof path === 'string'
}

/** Shows how many objects a relation leads to. */
export class CountField extends IntegerField {
  readonly relation: string

  constructor({ path }: RelatedCount) {
    super({ readOnly: true, schema: { format: 'int64', minimum: 0 } })
    this.relation = path
  }
}

/**
 * The relation whose objects a field counts; undefined for any other field.
 * @throws {ConfigurationError} the model has no such relation, or it leads to one object
 */
export function countedRelation(
  where: string,
  field: object,
  model: ModelDescription | undefined,
): RelationDescription | undefined {
  if (!(field instanceof CountField)) return undefined
  const relation = model?.relations.get(field.relation)
  const owner = model ? modelName(model.model) : 'a serializer without a model'
  if (!relation) {
    throw new ConfigurationError(
      `${where} counts "${field.relation}", which is no relation of ${owner}${didYouMean(field.relation, model?.relations.keys() ?? []) || '; correct the name'}`,
    )
  }
  if (relation.single) {
    throw new ConfigurationError(
      `${where} counts "${field.relation}", which leads to one object of ${owner}; count a relation to many`,
    )
  }
  if (model && relation.narrowed) checkWhole(model.model, relation.name)
  return relation
}
