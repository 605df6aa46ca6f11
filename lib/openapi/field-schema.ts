/** Fields as JSON Schema 2020-12 (wire format, section 13); of files only a form of several parts brings one, so that JSON has other types in its place. */
import type { FieldSchema, SerializerField } from '../fields/field.js'
import { orNull } from '../fields/or-null.js'
import type { BoundField, SerializerClass } from '../serializers/contract.js'
import { inner, inputValue } from '../serializers/input-schema.js'
import { NestedSerializer } from '../serializers/nested-serializer.js'
import { ownSchema, showsNull } from '../serializers/output-schema.js'
import { serializerPlan } from '../serializers/plan.js'
import type { Schema } from './types.js'

/** What limits input. What is stored may be older than the limit, so it says nothing of output. */
const LIMITS = new Set([
  ...['minLength', 'maxLength', 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  ...['pattern', 'minItems', 'maxItems'],
])

/** The schema of a value that a client reads. */
export function outputValue(bound: BoundField): Schema {
  const schema = { ...withoutLimits(ownSchema(bound)), ...bound.field.options.schema }
  return mayBeNull(bound) ? orNull(schema) : schema
}

/** The schema of what a field shows, wherever its value comes from. */
export function shownValue(field: SerializerField): Schema {
  return { ...withoutLimits(field.schema()), ...field.options.schema }
}

/** The words for people that a field brings. */
export function wordsOf({ options }: SerializerField): { title?: string; description?: string } {
  const { label, helpText } = options
  return { ...(label !== undefined && { title: label }), ...(helpText !== undefined && { description: helpText }) }
}

/** What is shown is null where the table holds NULL, or where a path or a relation leads nowhere. */
export function mayBeNull(bound: BoundField): boolean {
  const { field, column, source, mayLeadNowhere } = bound
  if (source.length > 1) return true
  const { many } = field.options as { readonly many?: boolean }
  if (many === true) return false
  return mayLeadNowhere || showsNull(bound) || field.allowNull || column?.holdsNull === true
}

function withoutLimits(schema: FieldSchema): Schema {
  const kept = Object.entries(schema).filter(([keyword]) => !LIMITS.has(keyword))
  return {
    ...Object.fromEntries(kept),
    ...inner(schema, withoutLimits),
  }
}

/** What a serializer's schema is for: what it shows, what POST and PUT take, what PATCH takes; each of bodies without files. */
export type SchemaSide = 'Output' | 'Input' | 'Patch' | 'JsonInput' | 'JsonUpdate' | 'JsonPatch'

const OF_FORMS = { JsonInput: 'Input', JsonUpdate: 'Input', JsonPatch: 'Patch' } as const

/** The side that a serializer is described by: one without files takes the same from a form and from JSON. */
export function sideOf(serializer: SerializerClass, side: SchemaSide): SchemaSide {
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
export function withoutFile({ field }: BoundField, side: SchemaSide): Schema | undefined {
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
