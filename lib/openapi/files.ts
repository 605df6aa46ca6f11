/** File uploads in bodies: only a form of several parts brings one, so that JSON has other types in its place. */
import type { FieldSchema } from '../fields/field.js'
import { orNull } from '../fields/or-null.js'
import type { BoundField, SerializerClass } from '../serializers/contract.js'
import { inputValue } from '../serializers/input-schema.js'
import { NestedSerializer } from '../serializers/nested-serializer.js'
import { serializerPlan } from '../serializers/plan.js'
import type { Schema } from './types.js'

/** What a serializer's schema is for: what it shows, what POST and PUT take, what PATCH takes; each of bodies without files. */
export type Side = 'Output' | 'Input' | 'Patch' | 'JsonInput' | 'JsonUpdate' | 'JsonPatch'

const OF_FORMS = { JsonInput: 'Input', JsonUpdate: 'Input', JsonPatch: 'Patch' } as const

/** The side that a serializer is described by: one without files takes the same from a form and from JSON. */
export function sideOf(serializer: SerializerClass, side: Side): Side {
  return side in OF_FORMS && !takesFiles(serializer) ? OF_FORMS[side as keyof typeof OF_FORMS] : side
}

/** True of the schema of a file, or of a list of files. */
export function isFile({ format, items }: FieldSchema): boolean {
  return format === 'binary' || items?.format === 'binary'
}

/** True where a new object cannot do without a file. */
export function needsFile(serializer: SerializerClass): boolean {
  return serializerPlan(serializer).writable.some((bound) => {
    const { field, required } = bound
    if (!(field instanceof NestedSerializer)) return required && isFileField(bound)
    return required && !field.many && needsFile(field.serializerClass)
  })
}

/** What JSON takes in the place of a file; undefined for nothing. An update takes the URL as it was shown, which keeps the file. */
export function withoutFile({ field }: BoundField, side: Side): Schema | undefined {
  const shown = field.schema()
  const isList = shown.type === 'array'
  if (side === 'JsonInput' && !isList) return field.allowNull ? { type: 'null' } : undefined
  const value = side === 'JsonInput' ? { type: 'array', maxItems: 0 } : shown
  return field.allowNull ? orNull(value) : value
}

function takesFiles(serializer: SerializerClass): boolean {
  return serializerPlan(serializer).writable.some((bound) => {
    const { field } = bound
    return field instanceof NestedSerializer ? takesFiles(field.serializerClass) : isFileField(bound)
  })
}

function isFileField(bound: BoundField): boolean {
  return bound.field.takesFiles && isFile(inputValue(bound, 'Input'))
}
