/** What code of the application may read of an object besides the fields that are shown. */
import { RelatedField } from '../fields/related-field.js'
import { describeModel } from '../models/describe-model.js'
import type { ModelDescription } from '../models/model-description.js'
import { hasAttribute } from './check-source.js'
import type { BoundField, RelationGraph, SerializerClass } from './contract.js'
import { NestedSerializer } from './nested-serializer.js'
import { serializerPlan } from './plan.js'
import { writesByPlan } from './writes-by-plan.js'

/**
 * Picks the relations that some fields may need of those that a serializer loads for all its fields: methods and getters see the
 * whole object, and may read what other fields have it loaded for.
 */
export function neededRelations(serializer: SerializerClass, isShown: (name: string) => boolean): RelationGraph {
  const { readable, relations, model } = serializerPlan(serializer)
  const shown = readable.filter(({ name }) => isShown(name))
  if (!writesByPlan(serializer.prototype) || shown.some((bound) => runsCode(bound, model))) return relations
  const needed: RelationGraph = {}
  for (const { field, relation } of shown) {
    const graph = relation && relations[relation.name]
    if (graph && field instanceof NestedSerializer && holdsCode(field.serializerClass)) needed[relation.name] = graph
  }
  return needed
}

/** True where code of the application sees one of the objects that the serializer shows. */
function holdsCode(serializer: SerializerClass): boolean {
  if (!writesByPlan(serializer.prototype)) return true
  const { readable, model } = serializerPlan(serializer)
  return readable.some(
    (bound) =>
      runsCode(bound, model) || (bound.field instanceof NestedSerializer && holdsCode(bound.field.serializerClass)),
  )
}

/** True for a value that a method or a getter makes of an object, or a field of the application's of a related one. */
function runsCode({ method, source, field }: BoundField, root: ModelDescription | undefined): boolean {
  if (method !== undefined) return true
  let model = root
  for (const step of source) {
    if (!model || hasAttribute(model, step)) return true
    if (model.columns.has(step)) return false
    const relation = model.relations.get(step)
    model = relation && describeModel(relation.model)
  }
  return !(field instanceof NestedSerializer || field instanceof RelatedField)
}
