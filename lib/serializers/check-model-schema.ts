/** What the `jsonSchema` of a model does with whatever is written, found before there is a request. */
import { ConfigurationError } from '../kernel/errors.js'
import { readModelSchema } from '../kernel/json-schema.js'
import { warnOnce } from '../kernel/warn-once.js'
import type { ModelDescription } from '../models/model-description.js'
import { baseModel } from '../models/model-traits.js'
import { type ModelClass, modelName } from '../models/objection.js'
import type { BoundField, SerializerClass } from './contract.js'

/** What Objection has, and does not declare. */
interface Validating {
  getJsonSchema(): unknown
  getValidator(): {
    readonly validate: unknown
    getValidator(model: ModelClass, schema: object, isPatch: boolean): unknown
  }
}

/** @throws {ConfigurationError} the model's validator cannot read its schema, so that no object is valid */
export function checkValidator(where: string, model: ModelClass): void {
  const schema = fixedSchema(model)
  if (!schema) return
  try {
    validating(model).getValidator().getValidator(model, schema, false)
  } catch (error) {
    throw new ConfigurationError(
      `${where}: Ajv cannot read the jsonSchema of ${modelName(model)}, and refuses all writes: ${String(error)}; correct it, ` +
        'or give the model a createValidator() that takes it, as by strict: false',
      { cause: error },
    )
  }
}

/**
 * Warns of a field whose value the schema lets no object keep.
 * @param isNested the fields of a key may name objects that are there
 * @throws {ConfigurationError} each new object needs it
 */
export function checkKept(
  serializer: SerializerClass,
  { model }: ModelDescription,
  writable: readonly BoundField[],
  isNested: boolean,
): void {
  const schema = fixedSchema(model)
  const rule = schema && leavesOut(model, schema)
  if (!rule) return
  const { properties } = readModelSchema(schema)
  const lost = writable.filter(({ column }) => column && !properties.has(column.property))
  const tell = ({ name, column }: BoundField) =>
    `${serializer.name}: field "${name}" cannot be written: the jsonSchema of ${modelName(model)} has no property ` +
    `"${column?.property}", and ${rule}; add it there, or set readOnly: true`
  const needed = lost.find(({ required, column }) => required && !(isNested && column?.primary))
  if (needed) throw new ConfigurationError(tell(needed))
  for (const field of lost) warnOnce('KOA_VIEWSETS_LOST_VALUE', tell(field))
}

/** The schema by which Objection validates objects; undefined where code of the application has a say in it. */
function fixedSchema(model: ModelClass): object | undefined {
  if (overrides(model, '$beforeValidate') || overrides(model, '$validate')) return undefined
  // of what a getter makes, Objection keeps the first: Ajv takes an $id once
  const schema = validating(model).getJsonSchema()
  if (typeof schema !== 'object' || schema === null) return undefined
  return validates(model) === validates(baseModel(model)) ? schema : undefined
}

function validates(model: object): unknown {
  return validating(model).getValidator().validate
}

function validating(model: object): Validating {
  return model as Validating
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

type Hook = '$beforeValidate' | '$validate' | '$parseJson'

function overrides(model: ModelClass, hook: Hook): boolean {
  return model.prototype[hook] !== (baseModel(model).prototype as Readonly<Record<Hook, unknown>>)[hook]
}
