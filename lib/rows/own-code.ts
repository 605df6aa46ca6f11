/** Code of the application that looks at objects while they are written through a serializer, or that shows them then. */

import { uploadField } from '../fields/file-upload-field.js'
import type { SerializerClass } from '../serializers/contract.js'
import { overrideOf } from '../serializers/model-serializer.js'
import { serializerPlan } from '../serializers/plan.js'
import { writesByPlan } from '../serializers/serializer.js'
import { decideRows } from './row-plan.js'

/** Methods that an application may put in the place of ours. */
const METHODS = {
  insert: ['isValid', 'validate', 'save', 'create', 'createMany'],
  update: ['isValid', 'validate', 'save', 'update', 'updateMany'],
} as const

/** The first of it, or what is written besides the row, as a sentence for `explain()`; null where there is none. */
export function ownCode(serializer: SerializerClass, writes: keyof typeof METHODS): string | null {
  const writing = writingCode(serializer, writes)
  if (writing !== null) return writing
  const { plan, because } = decideRows(serializer)
  if (!plan) return because
  const { name } = serializer
  if (plan.runsFields) return `${name} has fields that write their values in their own way`
  const [nested] = serializerPlan(serializer).nesting
  const takes = nested?.input === 'objects' ? 'it takes nested objects' : 'it takes a list of keys'
  return nested ? `${name}.${nested.name}: ${takes}` : null
}

/** The first of what looks at what is related to an object before it is written: what only shows the object afterwards does not. */
export function lookingCode(serializer: SerializerClass, writes: keyof typeof METHODS): string | null {
  const writing = writingCode(serializer, writes)
  if (writing !== null || writesByPlan(serializer.prototype)) return writing
  return `${serializer.name} writes objects in its own way: what is sent is compared with that`
}

/** The first of what runs between what is sent and what is stored. */
export function writingCode(serializer: SerializerClass, writes: keyof typeof METHODS): string | null {
  const { name } = serializer
  const overridden = overrideOf(serializer, METHODS[writes])
  if (overridden !== null) return overridden
  const { model, writable, validators } = serializerPlan(serializer)
  if (validators.length > 0) return `${name} has validators of whole objects`
  if (!model) return `${name} has no model`
  for (const bound of writable) {
    const { hook, field } = bound
    if (hook !== undefined) return `${name}.${bound.name}: it is checked by ${hook}()`
    if (uploadField(field)) return `${name}.${bound.name}: it takes a file`
  }
  return null
}
