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
  return {
    names: new Set(serializers.flatMap((one) => namesOf(one))),
    largest: sizes.length === 0 ? undefined : Math.max(...sizes),
  }
}

/** The names of writable fields in a form: `cover`, `author[photo]`. */
function namesOf(serializer: SerializerClass, around = ''): string[] {
  const readOnly = new Set(serializer.readOnlyFieldNames())
  return [...declaredFieldsOf(serializer)].flatMap(([name, field]: [string, SerializerField]) => {
    if (field.readOnly || readOnly.has(name)) return []
    const inForm = around === '' ? name : `${around}[${name}]`
    if (field instanceof NestedSerializer) return namesOf(field.serializerClass, inForm)
    return field.takesFiles ? [inForm] : []
  })
}

function sizesOf(serializer: SerializerClass): number[] {
  return [...declaredFieldsOf(serializer).values()].flatMap((field) =>
    field instanceof NestedSerializer ? sizesOf(field.serializerClass) : (uploadField(field)?.maxSize ?? []),
  )
}
