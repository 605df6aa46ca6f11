/** Reads declared orders: columns of the model, and of the one object that relations lead to (`-author__name`). */

import { ConfigurationError } from '../kernel/errors.js'
import { describeModel } from '../models/describe-model.js'
import type { ModelDescription } from '../models/model-description.js'
import { modelName } from '../models/objection.js'
import { type OrderTerm, parseOrderTerm, type RelatedTerm } from '../queryset/total-order.js'
import { type FieldPath, PathStart } from './field-path.js'
import { resolvePaths, SEPARATOR } from './resolve-paths.js'

/**
 * A declared name as a term. A name of neither a column nor a path is a term of a column that there is not.
 * @param where the class and attribute that declare it, for the message
 * @throws {ConfigurationError} a path leads nowhere, or to more than one object
 */
export function declaredTerm(where: string, model: ModelDescription, text: string): OrderTerm {
  const term = parseOrderTerm(text)
  const { property } = term
  if (model.columns.has(property) || !property.includes(SEPARATOR)) return term
  const [path] = resolvePaths(where, model, [property])
  return { ...term, related: relatedTerm(where, model, path as FieldPath) }
}

function relatedTerm(where: string, model: ModelDescription, path: FieldPath): RelatedTerm {
  refuseMany(where, model, path)
  const column = { ...path.column, property: path.name, holdsNull: true, unique: false }
  return {
    column,
    narrowed: path.narrowed,
    value: (query) => path.value(new PathStart(query), (reference) => ({ sql: '??', bindings: [reference] })),
  }
}

/** Of several objects none says where the row stands. @throws {ConfigurationError} */
function refuseMany(where: string, model: ModelDescription, { name, properties }: FieldPath): void {
  let owner = model
  for (const step of properties.slice(0, -1)) {
    const relation = owner.relations.get(step)
    if (!relation) return
    const related = describeModel(relation.model)
    const isOne = relation.single && relation.through === undefined && isUnique(related, relation.relatedProperties)
    if (!isOne) {
      throw new ConfigurationError(
        `${where} names "${name}": "${step}" of ${modelName(owner.model)} may lead to several objects, as no primary key and no unique constraint of ${modelName(related.model)} says otherwise; order by columns of one`,
      )
    }
    owner = related
  }
}

function isUnique({ primaryKey, uniqueKeys }: ModelDescription, properties: readonly string[]): boolean {
  return [primaryKey, ...uniqueKeys].some((key) => key.length > 0 && key.every((one) => properties.includes(one)))
}
