/** What the `jsonSchema` of a model does with whatever is written, found before there is a request. */
import { ConfigurationError } from '../kernel/errors.js'
import { readModelSchema } from '../kernel/json-schema.js'
import type { ModelDescription } from '../models/model-description.js'
import { baseModel } from '../models/model-traits.js'
import { type ModelClass, modelName } from '../models/objection.js'
import type { BoundField, SerializerClass } from './contract.js'

/** What Objection has, and does not declare; a validator of the application's own compiles nothing. */
interface Validating {
  getValidator?(): { getValidator?(model: ModelClass, schema: object, isPatch: boolean): unknown }
}

/** @throws {ConfigurationError} no object is valid by it, or none keeps the value of a field */
export function checkModelSchema(
  serializer: SerializerClass,
  { model }: ModelDescription,
  writable: readonly BoundField[],
): void {
  const schema: unknown = model.jsonSchema
  // a hook may ask for another one each time
  if (typeof schema !== 'object' || schema === null || overrides(model, '$beforeValidate')) return
  const said = `the jsonSchema of ${modelName(model)}`
  try {
    const validating = model as unknown as Validating
    validating.getValidator?.().getValidator?.(model, schema, false)
  } catch (error) {
    throw new ConfigurationError(
      `${serializer.name}: Ajv cannot read ${said}, and refuses all writes: ${String(error)}`,
      {
        cause: error,
      },
    )
  }
  const rule = leavesOut(model, schema)
  const { properties } = readModelSchema(schema)
  const lost = rule && writable.find(({ column }) => column && !properties.has(column.property))
  if (!lost) return
  throw new ConfigurationError(
    `${serializer.name}: field "${lost.name}" cannot be written: ${said} has no property "${lost.column?.property}", and ${rule}; ` +
      'add it there, or set readOnly: true',
  )
}

/** What becomes of a property that the schema does not name; undefined where it is kept. */
function leavesOut(model: ModelClass, schema: object): string | undefined {
  if (overrides(model, '$parseJson')) return undefined
  if (model.pickJsonSchemaProperties) return 'pickJsonSchemaProperties leaves out what it has not'
  const isClosed = 'additionalProperties' in schema && schema.additionalProperties === false
  return isClosed && !('patternProperties' in schema)
    ? 'its additionalProperties: false refuses what it has not'
    : undefined
}

type Hook = '$beforeValidate' | '$parseJson'

function overrides(model: ModelClass, hook: Hook): boolean {
  return model.prototype[hook] !== (baseModel(model).prototype as Readonly<Record<Hook, unknown>>)[hook]
}
