/** Tells rows of a model by their primary keys. */
import { keyText } from '../fields/object-key.js'
import { exactValue } from '../models/database-text.js'
import { describeModel } from '../models/describe-model.js'
import type { ModelClass } from '../models/objection.js'

/** The text that the primary key of a row has, whatever the spelling of its values. */
export function rowKey(model: ModelClass, row: object): string {
  return keyOf(model, describeModel(model).primaryKey, row)
}

/** The values of some properties of a row as one string, whatever their spelling. */
export function keyOf(model: ModelClass, properties: readonly string[], row: object): string {
  const { columns } = describeModel(model)
  const texts = properties.map((property) => {
    const value = exactValue((row as Readonly<Record<string, unknown>>)[property])
    const column = columns.get(property)
    return column && value != null ? keyText(column, value) : String(value)
  })
  return texts.length === 1 ? (texts[0] as string) : JSON.stringify(texts)
}
