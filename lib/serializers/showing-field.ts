/** Which field writes a value that another one shows as it is: that of the column, so that one value has one form. */

import { type SerializerContext, SerializerField } from '../fields/field.js'
import { fieldForColumn } from '../fields/field-for-column.js'
import { ReadOnlyField } from '../fields/own-value-fields.js'
import { StringField } from '../fields/string-field.js'
import { ownerAt } from '../models/describe-model.js'
import type { Column, ModelDescription } from '../models/model-description.js'
import { traitsOf } from '../models/model-traits.js'

/** Types of which pg makes numbers. */
const NUMBERS = new Set(['int2', 'int4', 'oid', 'float4', 'float8'])
const POINTS_IN_TIME = new Set(['date', 'timestamp', 'timestamptz'])
/** Types of which pg makes no texts, or those that are shown. */
const OTHER_THAN_TEXTS = new Set([
  ...NUMBERS,
  ...POINTS_IN_TIME,
  'bool',
  'interval',
  'bytea',
  'point',
  'circle',
  'uuid',
])

/**
 * The field that writes what a field shows: itself, or that of the column, where it says nothing of the column's values, or no
 * more than that they are texts.
 */
export function showingFieldOf(
  field: SerializerField,
  model: ModelDescription | undefined,
  path: readonly string[],
): SerializerField {
  const owner = isSilent(field) && model ? ownerAt(model, path) : undefined
  const column = owner?.columns.get(path.at(-1) as string)
  if (!owner || !column) return field
  const own = ownField(field, column)
  if (own === field) return field
  return traitsOf(owner.model).plainRows ? own : new ShownByCode(field, own, column)
}

/** The field of a column; one that shows texts where these are asked for. */
function ownField(field: SerializerField, column: Column): SerializerField {
  if (field.constructor !== StringField) return fieldForColumn(column, {})
  const own = fieldForColumn({ ...column, schema: {} }, {})
  return own.schema().type === 'string' && own.constructor !== StringField ? own : field
}

/** Of a model whose code reads rows: what that has made of a value is shown as it is. */
class ShownByCode extends SerializerField {
  readonly #field: SerializerField
  readonly #own: SerializerField
  readonly #column: Column

  constructor(field: SerializerField, own: SerializerField, column: Column) {
    super()
    this.#field = field
    this.#own = own
    this.#column = column
  }

  override toRepresentation(value: unknown, context: SerializerContext): unknown {
    const shown = isAsRead(value, this.#column) ? this.#own : this.#field
    return shown.toRepresentation(value, context)
  }
}

/** False for a value of a kind that pg makes of no value of the column. */
function isAsRead(value: unknown, { type }: Column): boolean {
  if (typeof value === 'boolean') return type === 'bool'
  if (typeof value === 'string') return !OTHER_THAN_TEXTS.has(type)
  if (typeof value !== 'number') return true
  return NUMBERS.has(type) || (POINTS_IN_TIME.has(type) && !Number.isFinite(value))
}

/** True for a field that says nothing of a column's values but, maybe, that they are texts. */
function isSilent(field: SerializerField): boolean {
  const { prototype } = SerializerField
  if (field.constructor === ReadOnlyField || field.constructor === StringField) return true
  return field.schema === prototype.schema && field.toRepresentation === prototype.toRepresentation
}
