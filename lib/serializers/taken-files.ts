/** Which files the serializers of a view ask for: others are not kept. Needs no catalogue. */
import type { SerializerField } from '../fields/field.js'
import type { TakenFiles } from '../parsers/parser.js'
import type { SerializerClass } from './contract.js'
import { declaredFieldsOf } from './declared-fields.js'
import { NestedSerializer } from './nested-serializer.js'
import { uploadField } from './store-uploads.js'

/** The files that fields of these serializers take. */
export function takenFiles(serializers: readonly SerializerClass[]): TakenFiles {
  const sizes = serializers.flatMap(sizesOf)
  return { names: new Set(serializers.flatMap(namesOf)), largest: sizes.length === 0 ? undefined : Math.max(...sizes) }
}

/** The writable fields. A form is flat, so that none of a nested serializer is among them. */
function namesOf(serializer: SerializerClass): string[] {
  const readOnly = new Set(serializer.readOnlyFieldNames())
  const takes = ([name, field]: [string, SerializerField]) =>
    field.takesFiles && !field.readOnly && !readOnly.has(name) && !(field instanceof NestedSerializer)
  return [...declaredFieldsOf(serializer)].filter(takes).map(([name]) => name)
}

/** What an application's own parser has read may hold those of nested serializers, too. */
function sizesOf(serializer: SerializerClass): number[] {
  return [...declaredFieldsOf(serializer).values()].flatMap((field) =>
    field instanceof NestedSerializer ? sizesOf(field.serializerClass) : (uploadField(field)?.maxSize ?? []),
  )
}
