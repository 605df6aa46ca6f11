/** Fields as JSON Schema 2020-12 (wire format, section 13). */
import type { FieldSchema, SerializerField } from '../fields/field.js'
import { fieldForColumn } from '../fields/field-for-column.js'
import { JSONField } from '../fields/json-field.js'
import { narrowed } from '../fields/narrowed-schema.js'
import { orNull } from '../fields/or-null.js'
import { RelatedField } from '../fields/related-field.js'
import { describeModel } from '../models/describe-model.js'
import type { Column } from '../models/model-description.js'
import type { BoundField } from '../serializers/contract.js'
import type { Schema } from './types.js'

/** What limits input. What is stored may be older than the limit, so it says nothing of output. */
const LIMITS = new Set([
  ...['minLength', 'maxLength', 'minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  ...['pattern', 'minItems', 'maxItems'],
])
const OF_NUMBERS = new Set(['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'])

/** The schema of a value that a client reads. */
export function outputValue(bound: BoundField): Schema {
  const schema = { ...withoutLimits(ownSchema(bound)), ...bound.field.options.schema }
  return mayBeNull(bound) ? orNull(schema) : schema
}

/** The schema of what a field shows, wherever its value comes from. */
export function shownValue(field: SerializerField): Schema {
  return { ...withoutLimits(field.schema()), ...field.options.schema }
}

/** The schema of a value that a client writes. */
export function inputValue(bound: BoundField, side: string): Schema {
  const { field } = bound
  const { options } = field
  const takesDefault = !side.endsWith('Patch') && ['string', 'number', 'boolean'].includes(typeof options.default)
  const schema = {
    ...onlyNumbers(narrowed(keysOrShown(bound) ?? field.inputSchema(), options.validators)),
    ...options.schema,
    ...(takesDefault && { default: options.default }),
  }
  return field.allowNull ? orNull(schema) : schema
}

/** Keys, or the shown objects that count as them. */
function keysOrShown(bound: BoundField): FieldSchema | undefined {
  const schema = relatedSchema(bound)
  const { shownKey } = bound
  if (!schema || shownKey === undefined) return schema
  const or = (key: FieldSchema): FieldSchema => ({
    anyOf: [key, { type: 'object', properties: { [shownKey]: key }, required: [shownKey] }],
  })
  return schema.items ? { ...schema, items: or(schema.items) } : or(schema)
}

/** The words for people that a field brings. */
export function wordsOf({ options }: SerializerField): { title?: string; description?: string } {
  const { label, helpText } = options
  return { ...(label !== undefined && { title: label }), ...(helpText !== undefined && { description: helpText }) }
}

/** What the field says; where it shows a value of the model as it is, what the column says. */
function ownSchema(described: BoundField): FieldSchema {
  const { field, source, column, method, ...bound } = described
  const isOwn = field.schema !== RelatedField.prototype.schema
  const schema = withNullKeys(described, (isOwn ? undefined : relatedSchema(described)) ?? field.schema())
  // any JSON value, even where the column holds it as text
  if (Object.keys(schema).length > 0 || method !== undefined || field instanceof JSONField) return schema
  const shown = source.length > 1 ? columnAt(source, bound.relation?.model) : column
  return shown ? fieldForColumn(shown, {}).schema() : schema
}

/** The keys of related objects, of whatever model the relation leads to: the field itself may know only at a request. */
function relatedSchema({ field, relation }: BoundField): FieldSchema | undefined {
  if (!(field instanceof RelatedField) || !relation) return undefined
  const key: FieldSchema = field.compositeOf(relation.model)
    ? { type: 'string', minLength: 1 }
    : field.keyFieldOf(relation.model).schema()
  return field.schemaOf(key)
}

/** A list shows null for an object whose slug is null. */
function withNullKeys(described: BoundField, schema: FieldSchema): FieldSchema {
  const { items } = schema
  return items && showsNull(described) ? { ...schema, items: orNull(items) } : schema
}

/** True of a field that names objects by a column that may be null. */
function showsNull({ field, relation }: BoundField): boolean {
  if (!(field instanceof RelatedField) || !relation) return false
  return describeModel(relation.model).columns.get(field.shownProperty(relation.model))?.holdsNull === true
}

/** The column at the end of a dotted source. */
function columnAt(
  source: readonly string[],
  first: Parameters<typeof describeModel>[0] | undefined,
): Column | undefined {
  let model = first
  for (const step of source.slice(1, -1)) {
    if (!model) return undefined
    model = describeModel(model).relations.get(step)?.model
  }
  return model && describeModel(model).columns.get(source.at(-1) as string)
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

/** What is said of items and alternatives, through the same change. */
function inner({ items, anyOf }: FieldSchema, change: (schema: FieldSchema) => Schema): Schema {
  return {
    ...(items && { items: change(items) }),
    ...(Array.isArray(anyOf) && { anyOf: anyOf.map((one: FieldSchema) => change(one)) }),
  }
}

/** Limits of decimals and of large integers are strings, which JSON Schema does not know. */
function onlyNumbers(schema: FieldSchema): Schema {
  const isText = [schema.type].flat().includes('string')
  const kept = Object.entries(schema).filter(
    ([keyword, value]) => !OF_NUMBERS.has(keyword) || (typeof value === 'number' && !isText),
  )
  return {
    ...Object.fromEntries(kept),
    ...inner(schema, onlyNumbers),
  }
}
