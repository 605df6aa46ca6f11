/** What code of the application may read of an object besides the fields that are shown. */
import { RelatedField } from '../fields/related-field.js'
import { describeModel } from '../models/describe-model.js'
import type { ModelDescription } from '../models/model-description.js'
import { hasAttribute } from './check-source.js'
import type { BoundField, RelationGraph, SerializerClass } from './contract.js'
import { NestedSerializer } from './nested-serializer.js'
import { serializerPlan } from './plan.js'
import { loadedAs } from './relation-graph.js'
import { writesByPlan } from './serializer.js'

/**
 * Picks the relations that some fields may need of those that a serializer loads for all its fields: methods and getters see the
 * whole object, and may read what other fields have it loaded for.
 */
export function neededRelations(serializer: SerializerClass, isShown: (name: string) => boolean): RelationGraph {
  const { readable, relations, model } = serializerPlan(serializer)
  const shown = readable.filter(({ name }) => isShown(name))
  if (!writesByPlan(serializer.prototype) || shown.some((bound) => runsCode(bound, model))) return relations
  const needed: RelationGraph = {}
  for (const bound of shown) {
    const { field } = bound
    const key = loadedAs(bound)
    const graph = key === undefined ? undefined : relations[key]
    if (key !== undefined && graph && field instanceof NestedSerializer && holdsCode(field.serializerClass)) {
      needed[key] = graph
    }
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
export function runsCode({ method, source, field, counted }: BoundField, root: ModelDescription | undefined): boolean {
  if (method !== undefined) return true
  if (counted) return false
  let model = root
  for (const step of source) {
    if (!model || hasAttribute(model, step)) return true
    if (model.columns.has(step)) return false
    const relation = model.relations.get(step)
    model = relation && describeModel(relation.model)
  }
  return !(field instanceof NestedSerializer || field instanceof RelatedField)
}
