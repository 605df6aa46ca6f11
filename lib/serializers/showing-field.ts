/** Which field writes a value that another one shows as it is: that of the column, so that one value has one form. */

import { type SerializerContext, SerializerField } from '../fields/field.js'
import { fieldForColumn } from '../fields/field-for-column.js'
import { ReadOnlyField } from '../fields/own-value-fields.js'
import { StringField } from '../fields/string-field.js'
import { ownerAt } from '../models/describe-model.js'
import type { Column, ModelDescription } from '../models/model-description.js'
import { traitsOf } from '../models/model-traits.js'
import { parsedType } from '../models/parsed-types.js'

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

/** False for a value of a kind that pg makes of no value of the column, or that is not shown as it. */
function isAsRead(value: unknown, { type }: Column): boolean {
  const parsed = parsedType(type)
  if (typeof value === 'boolean') return parsed === 'boolean'
  if (typeof value === 'string') return type !== 'uuid' && (parsed.includes('string') || type.startsWith('json'))
  if (typeof value !== 'number') return true
  return parsed === 'number' || (parsed === 'Date' && !Number.isFinite(value))
}

/** True for a field that says nothing of a column's values but, maybe, that they are texts. */
function isSilent(field: SerializerField): boolean {
  const { prototype } = SerializerField
  if (field.constructor === ReadOnlyField || field.constructor === StringField) return true
  return field.schema === prototype.schema && field.toRepresentation === prototype.toRepresentation
}
