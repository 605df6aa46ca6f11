/** Tells serializers whose `create` is one insert, with nothing of the application between the input and the row. */
import { RelatedField } from '../fields/related-field.js'
import { traitsOf } from '../models/model-traits.js'
import { modelName } from '../models/objection.js'
import { oncePerCatalogue } from '../models/once-per-catalogue.js'
import type { BoundField, SerializerClass } from '../serializers/contract.js'
import { ModelSerializer } from '../serializers/model-serializer.js'
import { NestedSerializer } from '../serializers/nested-serializer.js'
import { serializerPlan } from '../serializers/plan.js'
import { uploadField } from '../serializers/store-uploads.js'
import { decideRows } from './row-plan.js'

/** Methods that an application may put in the place of ours. */
const METHODS = ['isValid', 'validate', 'save', 'create', 'createMany'] as const

/**
 * Why objects are created through instances of the model, as a sentence for `explain()`; null where one statement inserts an
 * object and returns it in its written form.
 */
export const insertObstacle: (serializer: SerializerClass) => string | null = oncePerCatalogue((serializer) => {
  const { name, prototype } = serializer
  const own = prototype as unknown as Record<string, unknown>
  const ours = ModelSerializer.prototype as unknown as Record<string, unknown>
  const overridden = METHODS.find((method) => own[method] !== ours[method])
  if (overridden !== undefined) return `${name} overrides ${overridden}()`
  const { model, writable } = serializerPlan(serializer)
  if (!model) return `${name} has no model`
  for (const bound of writable) {
    const obstacle = fieldObstacle(bound)
    if (obstacle !== undefined) return `${name}.${bound.name}: ${obstacle}`
  }
  if (!traitsOf(model.model).plainInserts) return `${modelName(model.model)} has hooks or formatting for its inserts`
  const { plan, because } = decideRows(serializer)
  if (!plan) return because
  return plan.runsFields ? `${name} has fields that write their values in their own way` : null
})

function fieldObstacle({ field, hook }: BoundField): string | undefined {
  if (hook !== undefined) return `it is checked by ${hook}()`
  if (field instanceof NestedSerializer) return 'it takes nested objects'
  if (field instanceof RelatedField && field.many) return 'it takes a list of keys'
  return uploadField(field) === undefined ? undefined : 'it takes a file'
}
