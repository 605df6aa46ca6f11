/** The models whose tables a view touches; their catalogue must be read before the first request. */

import { RelatedField } from '../../fields/related-field.js'
import { modelsOnPaths } from '../../filters/resolve-paths.js'
import { withoutPrefix } from '../../filters/search-filter.js'
import { ServiceUnavailable } from '../../kernel/errors.js'
import { oncePerUntilFailed } from '../../kernel/once-per.js'
import { describeModel, prepareModels } from '../../models/describe-model.js'
import { relateModels } from '../../models/foreign-key-models.js'
import { isModelClass, type ModelClass } from '../../models/objection.js'
import { parseOrderTerm } from '../../queryset/total-order.js'
import type { RuleSet } from '../../rules/rule-set.js'
import type { SerializerClass } from '../../serializers/contract.js'
import { declaredFieldsOf } from '../../serializers/declared-fields.js'
import type { ModelSerializer } from '../../serializers/model-serializer.js'
import { expandedBy } from '../../serializers/select-fields.js'
import { serializerIn } from '../../serializers/shown-by.js'
import { type ActionClass, actionsOf } from '../action-options.js'
import { aggregatedNames } from '../aggregates.js'
import type { GenericViewClass } from '../generic-view-class.js'
import { reachedViewSets } from '../related-view-set.js'

/** The models of the view, of its serializers and its actions', and those related to them. */
export function modelsOf(view: GenericViewClass): ModelClass[] {
  const models = new Set<ModelClass>()
  if (view.model || view.queryset) {
    models.add(view.modelClass())
    for (const model of modelsOnPaths(view.modelClass(), pathsOf(view))) models.add(model)
  }
  const own = [view.serializerClass, view.inputSerializerClass, ...Object.values(view.expandable).map(expandedBy)]
  for (const model of modelsOfSerializers([...own, ...serializersOfActions(view)])) models.add(model)
  for (const related of reachedViewSets(view)) {
    models.add(related.modelClass())
    for (const model of modelsOnPaths(related.modelClass(), related.filtersetFields)) models.add(model)
  }
  for (const model of [...models]) {
    for (const related of relatedModels(model)) models.add(related)
    // lists of keys write rows of join tables
    for (const { through } of describeModel(model).relations.values()) if (through) models.add(through.model)
  }
  return [...models]
}

/** The paths over relations that filters, orders and groups may name. */
export function pathsOf(view: GenericViewClass): readonly string[] {
  const orders = [...view.orderingFields, ...view.ordering].map((term) => parseOrderTerm(term).property)
  return [...view.filtersetFields, ...view.searchFields.map(withoutPrefix), ...orders, ...aggregatedNames(view)]
}

/** The models of serializers, and of what is nested in them. */
export function modelsOfSerializers(
  serializers: readonly (SerializerClass | null | undefined)[],
): ReadonlySet<ModelClass> {
  const models = new Set<ModelClass>()
  const seen = new Set<SerializerClass>()
  for (const serializer of serializers) if (serializer) collectModels(serializer, models, seen)
  return models
}

/** The serializers that actions name. */
export function serializersOfActions(view: ActionClass): readonly SerializerClass[] {
  return [...actionsOf(view).values()].flatMap(({ statics, inputSerializer, querySerializer, outputSerializer }) => {
    const named = [statics['serializerClass'], inputSerializer, querySerializer, outputSerializer]
    return named.filter((one): one is SerializerClass => one !== undefined && one !== null)
  })
}

/**
 * Reads the catalogue of the view's models, unless that was done. What failed is tried again at the next call.
 * @throws {ServiceUnavailable} it cannot be read
 */
export const prepareModelsOf = oncePerUntilFailed((view: GenericViewClass) => readModels(() => modelsOf(view)))

/** Reads the catalogue of the models that conditions of rules may be about, as `prepareModelsOf()` does. @throws {ServiceUnavailable} it cannot be read */
export const prepareRules = oncePerUntilFailed((rules: RuleSet) => readModels(() => rules.reached))

async function readModels(modelsNow: () => readonly ModelClass[]): Promise<void> {
  try {
    let models = modelsNow()
    if (await relateModels(models)) models = modelsNow()
    if (!models.every((model) => describeModel(model).prepared)) await prepareModels(models)
  } catch (error) {
    throw new ServiceUnavailable(5, { cause: error })
  }
}

function collectModels(serializer: SerializerClass, models: Set<ModelClass>, seen: Set<SerializerClass>): void {
  if (seen.has(serializer)) return
  seen.add(serializer)
  const { model, depth } = serializer as Partial<typeof ModelSerializer>
  if (isModelClass(model)) {
    models.add(model)
    let level = [model]
    for (let remaining = depth ?? 0; remaining > 0; remaining--) {
      level = level.flatMap((owner) => relatedModels(owner))
      for (const related of level) models.add(related)
    }
  }
  for (const field of declaredFieldsOf(serializer).values()) {
    const nested = serializerIn(field)
    if (nested) collectModels(nested, models, seen)
    const related = field instanceof RelatedField ? field.relatedModel() : undefined
    if (related) models.add(related)
  }
}

function relatedModels(model: ModelClass): ModelClass[] {
  return Object.values(model.getRelations()).map((relation) => relation.relatedModelClass)
}
