/** Fields as JSON Schema 2020-12 of what they show. */
import type { FieldSchema } from '../fields/field.js'
import { fieldForColumn } from '../fields/field-for-column.js'
import { JSONField } from '../fields/json-field.js'
import { orNull } from '../fields/or-null.js'
import { RelatedField } from '../fields/related-field.js'
import { describeModel, ownerAt } from '../models/describe-model.js'
import type { Column } from '../models/model-description.js'
import type { BoundField } from './contract.js'
import { relatedSchema } from './input-schema.js'

/** What the field says; where it shows a value of the model as it is, what the column says. */
export function ownSchema(described: BoundField): FieldSchema {
  const { field, source, column, method, ...bound } = described
  const isOwn = field.schema !== RelatedField.prototype.schema
  const schema = withNullKeys(described, (isOwn ? undefined : relatedSchema(described)) ?? field.schema())
  // any JSON value, even where the column holds it as text
  if (Object.keys(schema).length > 0 || method !== undefined || field instanceof JSONField) return schema
  const shown = source.length > 1 ? columnAt(source, bound.relation?.model) : column
  return shown ? fieldForColumn(shown, {}).schema() : schema
}

/** A list shows null for an object whose slug is null. */
function withNullKeys(described: BoundField, schema: FieldSchema): FieldSchema {
  const { items } = schema
  return items && showsNull(described) ? { ...schema, items: orNull(items) } : schema
}

/** True of a field that names objects by a column that may be null. */
export function showsNull({ field, relation }: BoundField): boolean {
  if (!(field instanceof RelatedField) || !relation) return false
  return describeModel(relation.model).columns.get(field.shownProperty(relation.model))?.holdsNull === true
}

/** The column at the end of a dotted source. */
function columnAt(
  source: readonly string[],
  first: Parameters<typeof describeModel>[0] | undefined,
): Column | undefined {
  return first && ownerAt(describeModel(first), source.slice(1))?.columns.get(source.at(-1) as string)
}
