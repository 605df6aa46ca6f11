/** Fields as JSON Schema 2020-12 of what clients send, in bodies and in queries. */
import type { FieldSchema } from '../fields/field.js'
import { narrowedSchema } from '../fields/narrowed-schema.js'
import { orNull } from '../fields/or-null.js'
import { RelatedField } from '../fields/related-field.js'
import type { BoundField } from './contract.js'

/** The schema of a value that a client writes. */
export function inputValue(bound: BoundField, side: string): FieldSchema {
  const told = side.endsWith('Patch') ? undefined : toldDefault(bound)
  const schema = { ...takenSchema(bound), ...(told !== undefined && { default: told }) }
  return bound.field.allowNull ? orNull(schema) : schema
}

/** The same of a value that is there. */
export function takenSchema(bound: BoundField): FieldSchema {
  const { field } = bound
  const { schema, validators } = field.options
  return { ...narrowedSchema(keysOrShown(bound) ?? field.inputSchema(), validators), ...schema }
}

/** A default that is a value, and of related objects a key by which clients know them: one that is only stored stays inside. */
function toldDefault({ field, relation }: BoundField): unknown {
  const { default: given } = field.options
  if (!['string', 'number', 'boolean'].includes(typeof given)) return undefined
  if (!(field instanceof RelatedField)) return given
  const model = relation?.model ?? field.relatedModel()
  const isShown = model && !field.idsOf(model) && field.shownProperty(model) === field.storedProperty(model)
  return isShown ? given : undefined
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

/** The keys of related objects, of whatever model the relation leads to: the field itself may know only at a request. */
export function relatedSchema({ field, relation }: BoundField): FieldSchema | undefined {
  if (!(field instanceof RelatedField) || !relation) return undefined
  const key: FieldSchema = field.compositeOf(relation.model)
    ? { type: 'string', minLength: 1 }
    : field.keyFieldOf(relation.model).schema()
  return field.schemaOf(key)
}

/** What is said of items and alternatives, through the same change. */
export function inner({ items, anyOf }: FieldSchema, change: (schema: FieldSchema) => FieldSchema): FieldSchema {
  return {
    ...(items && { items: change(items) }),
    ...(Array.isArray(anyOf) && { anyOf: anyOf.map((one: FieldSchema) => change(one)) }),
  }
}
