/** Tells serializers whose `create` is one insert, with nothing of the application between the input and the row. */
import { RelatedField } from '../fields/related-field.js'
import { traitsOf } from '../models/model-traits.js'
import { oncePerCatalogue } from '../models/once-per-catalogue.js'
import type { SerializerClass } from '../serializers/contract.js'
import { ModelSerializer } from '../serializers/model-serializer.js'
import { NestedSerializer } from '../serializers/nested-serializer.js'
import { serializerPlan } from '../serializers/plan.js'
import { uploadField } from '../serializers/store-uploads.js'
import { rowPlan } from './row-plan.js'

/** Methods that an application may put in the place of ours. */
const METHODS = ['isValid', 'validate', 'save', 'create', 'createMany'] as const

/** True when an object is created by one statement that also returns it in its written form. */
export const insertsRows = oncePerCatalogue(decide)

function decide(serializer: SerializerClass): boolean {
  const prototype = serializer.prototype as Record<string, unknown>
  const own = ModelSerializer.prototype as unknown as Record<string, unknown>
  if (!METHODS.every((method) => prototype[method] === own[method])) return false
  const { model, writable } = serializerPlan(serializer)
  const isPlain = writable.every(
    ({ field, hook }) =>
      hook === undefined &&
      !(field instanceof NestedSerializer) &&
      !(field instanceof RelatedField && field.many) &&
      uploadField(field) === undefined,
  )
  return (
    isPlain && model !== undefined && traitsOf(model.model).plainInserts && rowPlan(serializer)?.runsFields === false
  )
}
