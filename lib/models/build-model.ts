/** Makes model instances for writing from validated values, through the model's own validation. */
import type { Model } from 'objection'
import { typesOf } from '../json-schema.js'
import { type Column, describeModel } from './describe-model.js'
import type { ModelClass } from './objection.js'

const JSON_TYPES = new Set(['json', 'jsonb'])

/**
 * An instance to insert, or with `patch` to update with. `values` are by property and already checked field by field;
 * the model's `jsonSchema`, `$parseJson` and `$beforeValidate` run as they do for `fromJson`.
 * @throws Objection's ValidationError when the model's own schema refuses a value
 */
export function buildModel(
  model: ModelClass,
  values: Readonly<Record<string, unknown>>,
  options: { patch?: boolean } = {},
): Model {
  const { columns } = describeModel(model)
  const json: Record<string, unknown> = {}
  for (const [property, value] of Object.entries(values)) {
    if (value !== undefined) json[property] = forSchema(columns.get(property), value)
  }
  const instance = model.fromJson(json, options) as Model & Record<string, unknown>
  for (const property of Object.keys(json)) {
    const column = columns.get(property)
    if (instance[property] === json[property] && json[property] !== values[property]) {
      instance[property] = values[property]
    }
    if (column && JSON_TYPES.has(column.type) && !isJsonAttribute(model, column)) {
      const value = instance[property]
      if (value !== null && value !== undefined) instance[property] = JSON.stringify(value)
    }
  }
  return instance
}

/** The value in the type that the model's schema asks for: decimals are texts to us, and numbers to many schemas. */
function forSchema(column: Column | undefined, value: unknown): unknown {
  const types = typesOf(column?.schema)
  if (typeof value === 'string' && types.length > 0 && !types.includes('string')) {
    if ((types.includes('number') || types.includes('integer')) && value !== '') {
      const number = Number(value)
      return Number.isNaN(number) ? value : number
    }
  }
  if (
    typeof value === 'number' &&
    types.includes('string') &&
    !types.includes('number') &&
    !types.includes('integer')
  ) {
    return String(value)
  }
  return value
}

/** True when Objection itself turns the property into JSON text: named in `jsonAttributes`, or object or array by schema. */
export function isJsonAttribute(model: ModelClass, column: Column): boolean {
  const named = model.jsonAttributes as string[] | undefined
  if (Array.isArray(named)) return named.includes(column.property)
  const types = typesOf(column.schema)
  return types.includes('object') || types.includes('array')
}
