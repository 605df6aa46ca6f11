/** What can be wrong with a view set before any request, and what must be known of it (promise I23). */
import { ConfigurationError } from '../errors.js'
import { RelatedField } from '../fields/related-field.js'
import { describeModel } from '../models/describe-model.js'
import { isModelClass, type ModelClass } from '../models/objection.js'
import { parseOrderTerm } from '../queryset/total-order.js'
import type { SerializerClass } from '../serializers/contract.js'
import type { ModelSerializer } from '../serializers/model-serializer.js'
import { NestedSerializer } from '../serializers/nested-serializer.js'
import { declaredFieldsOf, serializerPlan } from '../serializers/plan.js'
import { APIView } from '../views/api-view.js'
import { GenericAPIView, lookupColumn, settleGeneric } from '../views/generic-api-view.js'

/** Checks what needs no database. @throws {ConfigurationError} naming class, attribute and fix */
export function checkView(prefix: string, view: unknown): asserts view is typeof APIView {
  if (typeof view !== 'function' || !(view.prototype instanceof APIView)) {
    throw new ConfigurationError(
      `APIRouter: register("${prefix}", …) takes a view set class; extend ViewSet or ModelViewSet`,
    )
  }
  const viewClass = view as typeof APIView
  if (!(viewClass.prototype instanceof GenericAPIView)) return
  const generic = viewClass as typeof GenericAPIView
  if (!isModelClass(generic.model) && generic.queryset === null && !overrides(generic, 'getQueryset')) {
    throw new ConfigurationError(
      `${generic.name}: set static model to an Objection model, or static queryset to a function`,
    )
  }
  if (!generic.serializerClass && !overrides(generic, 'getSerializerClass')) {
    throw new ConfigurationError(`${generic.name}: set static serializerClass, or override getSerializerClass()`)
  }
  if (generic.serializerClass) checkSerializer(generic.serializerClass)
  settleGeneric(generic)
}

/** Checks what the catalogue tells: the serializer's fields, the lookup and the ordering. @throws {ConfigurationError} */
export function prepareView(view: typeof APIView): void {
  if (!(view.prototype instanceof GenericAPIView)) return
  const generic = view as typeof GenericAPIView
  if (generic.serializerClass) prepareSerializer(generic.serializerClass, new Set())
  if (!generic.model && !generic.queryset) return
  const { columns, model, primaryKey } = describeModel(generic.modelClass())
  lookupColumn(generic)
  if (primaryKey.length > 1 && generic.lookupField === 'id' && 'retrieve' in view.prototype) {
    throw new ConfigurationError(
      `${view.name}: ${model.name} has a primary key of several columns, which no detail route can name; ` +
        'set static lookupField to a unique column, or use only list and create',
    )
  }
  for (const term of generic.ordering) {
    const { property } = parseOrderTerm(term)
    if (!columns.has(property)) {
      throw new ConfigurationError(`${view.name}: ordering names "${term}", which is no column of ${model.name}`)
    }
  }
}

/** The models whose tables a view set touches. */
export function modelsOf(view: typeof APIView): ModelClass[] {
  if (!(view.prototype instanceof GenericAPIView)) return []
  const generic = view as typeof GenericAPIView
  const models = new Set<ModelClass>()
  if (generic.model || generic.queryset) models.add(generic.modelClass())
  if (generic.serializerClass) collectModels(generic.serializerClass, models, new Set())
  for (const model of [...models]) for (const related of relatedModels(model)) models.add(related)
  return [...models]
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
    if (field instanceof NestedSerializer) collectModels(field.serializerClass, models, seen)
    const related = field instanceof RelatedField ? field.relatedModel() : undefined
    if (related) models.add(related)
  }
}

function relatedModels(model: ModelClass): ModelClass[] {
  return Object.values(model.getRelations()).map((relation) => relation.relatedModelClass)
}

/** `fields` is checked early where that needs no catalogue: it must name something. */
function checkSerializer(serializer: SerializerClass): void {
  if (typeof serializer !== 'function' || typeof serializer.describeFields !== 'function') {
    throw new ConfigurationError('serializerClass must be a serializer class; extend Serializer or ModelSerializer')
  }
  const { fields } = serializer as unknown as Partial<typeof ModelSerializer>
  if (fields === undefined) return
  ;(serializer as unknown as typeof ModelSerializer).modelClass()
  ;(serializer as unknown as typeof ModelSerializer).checkFields()
}

function prepareSerializer(serializer: SerializerClass, seen: Set<SerializerClass>): void {
  if (seen.has(serializer)) return
  seen.add(serializer)
  for (const { field } of serializerPlan(serializer).fields) {
    if (field instanceof NestedSerializer) prepareSerializer(field.serializerClass, seen)
  }
}

function overrides(view: typeof GenericAPIView, method: 'getQueryset' | 'getSerializerClass'): boolean {
  return view.prototype[method] !== GenericAPIView.prototype[method]
}
