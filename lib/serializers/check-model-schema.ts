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

/** @throws {ConfigurationError} the model's validator cannot read its schema, so that no object is valid */
export function checkValidator(where: string, model: ModelClass): void {
  const schema = fixedSchema(model)
  if (!schema) return
  try {
    const validating = model as unknown as Validating
    validating.getValidator?.().getValidator?.(model, schema, false)
  } catch (error) {
    throw new ConfigurationError(
      `${where}: Ajv cannot read the jsonSchema of ${modelName(model)}, and refuses all writes: ${String(error)}; correct it, ` +
        'or give the model a createValidator() that takes it, as by strict: false',
      { cause: error },
    )
  }
}

/** @throws {ConfigurationError} the schema lets no object keep the value of a field */
export function checkKept(
  serializer: SerializerClass,
  { model }: ModelDescription,
  writable: readonly BoundField[],
): void {
  const schema = fixedSchema(model)
  const rule = schema && leavesOut(model, schema)
  if (!rule) return
  const { properties } = readModelSchema(schema)
  const lost = writable.find(({ column }) => column && !properties.has(column.property))
  if (!lost) return
  throw new ConfigurationError(
    `${serializer.name}: field "${lost.name}" cannot be written: the jsonSchema of ${modelName(model)} has no property ` +
      `"${lost.column?.property}", and ${rule}; add it there, or set readOnly: true`,
  )
}

/** The schema of a model; undefined where a hook may ask for another one each time. */
function fixedSchema(model: ModelClass): object | undefined {
  const schema: unknown = model.jsonSchema
  return typeof schema === 'object' && schema !== null && !overrides(model, '$beforeValidate') ? schema : undefined
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
