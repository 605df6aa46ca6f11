/** Code of the application that looks at objects while they are written through a serializer, or that shows them then. */

import { uploadField } from '../fields/file-upload-field.js'
import { reasonOf } from '../kernel/reasons.js'
import type { SerializerClass } from '../serializers/contract.js'
import { overrideOf, SAVING } from '../serializers/model-serializer.js'
import { serializerPlan } from '../serializers/plan.js'
import { writesByPlan } from '../serializers/serializer.js'
import { decideRows } from './row-plan.js'

/** Methods that an application may put in the place of ours. */
const METHODS = {
  insert: ['isValid', 'validate', ...SAVING.insert],
  update: ['isValid', 'validate', ...SAVING.update],
} as const

/** All of it, and what is written besides the row, for `explain()`; null where there is nothing. */
export function ownCode(serializer: SerializerClass, writes: keyof typeof METHODS): string | null {
  const writing = writingCode(serializer, writes)
  const { plan, because } = decideRows(serializer)
  if (!plan) return writing ?? because
  const { name } = serializer
  const nesting = serializerPlan(serializer).nesting.map((nested) => {
    const takes = nested.input === 'objects' ? 'it takes nested objects' : 'it takes a list of keys'
    return `${name}.${nested.name}: ${takes}`
  })
  const shows = plan.runsFields ? 'what it shows is written by code of fields' : null
  return reasonOf([writing, shows, ...nesting])
}

/** What looks at what is related to an object before it is written: what only shows the object afterwards does not. */
export function lookingCode(serializer: SerializerClass, writes: keyof typeof METHODS): string | null {
  const writing = writingCode(serializer, writes)
  if (writing !== null || writesByPlan(serializer.prototype)) return writing
  return `${serializer.name} writes objects in its own way: what is sent is compared with that`
}

/** What runs between what is sent and what is stored. */
export function writingCode(serializer: SerializerClass, writes: keyof typeof METHODS): string | null {
  return reasonOf(codeBetween(serializer, writes))
}

function* codeBetween(serializer: SerializerClass, writes: keyof typeof METHODS): Generator<string | null> {
  const { name } = serializer
  yield overrideOf(serializer, METHODS[writes])
  const { model, writable, validators } = serializerPlan(serializer)
  if (validators.length > 0) yield `${name} has validators of whole objects`
  if (!model) yield `${name} has no model`
  for (const bound of writable) {
    const { hook, field } = bound
    if (hook !== undefined) yield `${name}.${bound.name}: it is checked by ${hook}()`
    if (uploadField(field)) yield `${name}.${bound.name}: it takes a file`
  }
}
