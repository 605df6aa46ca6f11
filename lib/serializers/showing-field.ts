/** Which field writes a value that another one shows as it is: that of the column, so that one value has one form. */

import { SerializerField } from '../fields/field.js'
import { fieldForColumn } from '../fields/field-for-column.js'
import { ReadOnlyField } from '../fields/own-value-fields.js'
import { ownerAt } from '../models/describe-model.js'
import type { ModelDescription } from '../models/model-description.js'
import { traitsOf } from '../models/model-traits.js'

/**
 * The field that writes what a field shows: itself, or that of the column, where it says nothing of the column's values and no
 * code of the model has made others of them.
 */
export function showingFieldOf(
  field: SerializerField,
  model: ModelDescription | undefined,
  path: readonly string[],
): SerializerField {
  const owner = isSilent(field) && model ? ownerAt(model, path) : undefined
  const column = owner?.columns.get(path.at(-1) as string)
  return owner && column && traitsOf(owner.model).plainRows ? fieldForColumn(column, {}) : field
}

function isSilent(field: SerializerField): boolean {
  const { prototype } = SerializerField
  if (field.constructor === ReadOnlyField) return true
  return field.schema === prototype.schema && field.toRepresentation === prototype.toRepresentation
}
