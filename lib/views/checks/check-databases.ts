/** Related models of other databases: relations are followed where the view set's own model is. */

import { RelatedField } from '../../fields/related-field.js'
import { modelsOnPaths } from '../../filters/resolve-paths.js'
import { ConfigurationError } from '../../kernel/errors.js'
import { areReadTogether, describeModel } from '../../models/describe-model.js'
import type { RelationDescription } from '../../models/model-description.js'
import { type ModelClass, modelName } from '../../models/objection.js'
import { isOneDatabase } from '../../postgres/one-database.js'
import type { Queryable } from '../../postgres/pg-types.js'
import type { BoundField, SerializerClass } from '../../serializers/contract.js'
import { isRelatedCount } from '../../serializers/count-field.js'
import { NestedSerializer } from '../../serializers/nested-serializer.js'
import { serializerPlan } from '../../serializers/plan.js'
import { needsObject } from '../../serializers/relation-graph.js'
import { expandedBy } from '../../serializers/select-fields.js'
import { shownBy } from '../../serializers/shown-by.js'
import type { GenericViewClass } from '../generic-view-class.js'
import { reachedViewSets } from '../related-view-set.js'
import { pathsOf } from './models-of.js'

/** @throws {ConfigurationError} the view set reads a model that is bound to another database, whose rows it would not find */
export async function checkDatabases(view: GenericViewClass): Promise<void> {
  for (const model of new Set(readBy(view))) await checkModelDatabase(view, model)
}

/** @throws {ConfigurationError} a model whose rows the view set reads is bound to another database */
export async function checkModelDatabase(view: GenericViewClass, model: ModelClass): Promise<void> {
  const own = view.modelClass()
  if (areReadTogether(own, model)) return
  const [knex, other] = [own, model].map((one) => one.knex() as Queryable | undefined)
  // two pools of one database find the same rows
  if (!knex || !other || (await isOneDatabase(knex, other))) return
  throw new ConfigurationError(
    `${view.name}: ${modelName(model)} is bound to another database than ${modelName(own)}, in which its rows would be read; relate a class that is bound to that one, or declare its key as a plain field, and let clients ask a view set of ${modelName(model)}`,
  )
}

/** The models whose rows a view set reads besides its own, as relations lead to them. */
function* readBy(view: GenericViewClass): Iterable<ModelClass> {
  const own = view.modelClass()
  const { relations } = describeModel(own)
  const led = (name: string) => [relations.get(name)?.model ?? []].flat()
  yield* modelsOnPaths(own, pathsOf(view))
  for (const name of Object.keys({ ...view.filterRelations, ...view.related })) yield* led(name)
  for (const related of reachedViewSets(view)) yield related.modelClass()
  for (const [name, expansion] of Object.entries(view.expandable)) {
    yield* led(isRelatedCount(expansion) ? expansion.path : name)
    const serializer = expandedBy(expansion)
    for (const model of serializer ? led(name) : []) yield* readBySerializer(serializer as SerializerClass, model)
  }
  for (const serializer of [view.serializerClass, view.inputSerializerClass]) {
    if (serializer) yield* readBySerializer(serializer, own)
  }
}

/** @param owner whose objects are shown: its relations count, of whichever class the serializer is */
function* readBySerializer(serializer: SerializerClass, owner: ModelClass): Iterable<ModelClass> {
  const { relations } = describeModel(owner)
  for (const bound of serializerPlan(serializer).fields) {
    const { field, source } = bound
    const said = bound.counted ?? bound.relation
    const relation = said && (relations.get(said.name) ?? said)
    if (relation === undefined) {
      const named = field instanceof RelatedField ? field.relatedModel() : undefined
      if (named) yield named
    } else if (!isKeyAlone(bound, relation)) {
      yield relation.model
      yield* modelsOnPaths(relation.model, [source.slice(1).join('__')])
      const nested = field instanceof NestedSerializer ? field.serializerClass : shownBy(field)
      if (nested) yield* readBySerializer(nested, relation.model)
    }
  }
}

/** A foreign key that is shown, and compared with nothing. */
function isKeyAlone({ field, writable }: BoundField, relation: RelationDescription): boolean {
  return !writable && field instanceof RelatedField && !shownBy(field) && !needsObject(field, relation)
}
