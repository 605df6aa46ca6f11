/** What the serializers of a view ask of forms: objects, and files, of which others are not kept. Needs no catalogue. */
import type { SerializerField } from '../fields/field.js'
import { uploadField } from '../fields/file-upload-field.js'
import type { AskedForm } from '../parsers/parser.js'
import type { SerializerClass } from './contract.js'
import { declaredFieldsOf } from './declared-fields.js'
import { NestedSerializer } from './nested-serializer.js'

/** The objects and files that fields of these serializers take. */
export function askedForm(serializers: readonly SerializerClass[]): AskedForm {
  const sizes = serializers.flatMap(sizesOf)
  return {
    objects: new Set(serializers.flatMap(objectsOf)),
    files: new Set(serializers.flatMap((one) => namesOf(one))),
    largest: sizes.length === 0 ? undefined : Math.max(...sizes),
  }
}

/** The names of writable fields in a form: `cover`, `author[photo]`. */
function namesOf(serializer: SerializerClass, around = ''): string[] {
  return writableFields(serializer).flatMap(([name, field]) => {
    const inForm = around === '' ? name : `${around}[${name}]`
    if (field instanceof NestedSerializer) return namesOf(field.serializerClass, inForm)
    return field.takesFiles ? [inForm] : []
  })
}

/** The names of writable fields that take objects, or lists of them: nested serializers, and objects of a schema of another library. */
function objectsOf(serializer: SerializerClass): string[] {
  return writableFields(serializer).flatMap(([name, field]) => {
    const isObject = field instanceof NestedSerializer || [field.options.schema?.type].flat().includes('object')
    return isObject ? [name] : []
  })
}

function writableFields(serializer: SerializerClass): readonly (readonly [string, SerializerField])[] {
  const readOnly = new Set(serializer.readOnlyFieldNames())
  return [...declaredFieldsOf(serializer)].filter(([name, field]) => !(field.readOnly || readOnly.has(name)))
}

function sizesOf(serializer: SerializerClass): number[] {
  return [...declaredFieldsOf(serializer).values()].flatMap((field) =>
    field instanceof NestedSerializer ? sizesOf(field.serializerClass) : (uploadField(field)?.maxSize ?? []),
  )
}
