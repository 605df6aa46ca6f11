/** Runs the `validators` of a field or a serializer, and reports all that they find. */
import { ConfigurationError, type ErrorMessages, ValidationError } from '../kernel/errors.js'
import { joined } from '../kernel/given-codes.js'
import { askSchema, isStandardSchema, type StandardSchema, toGivenErrors } from '../kernel/standard-schema.js'
import type { SerializerContext, Validator } from './field.js'

/**
 * Every validator sees the value, in order, as the schemas before it have made it. A schema that refuses it is the last one,
 * as those behind may count on what it makes. Returns what has become of the value.
 * @throws {ValidationError} what any of them has said, together
 */
export async function runValidators(
  validators: readonly Validator[],
  given: unknown,
  context: SerializerContext,
): Promise<unknown> {
  const found: ValidationError[] = []
  let value = given
  for (const validator of validators) {
    const isSchema = isStandardSchema(validator)
    try {
      if (isSchema) value = await parse(validator, value)
      else refuseFalse(await validator(value as never, context))
    } catch (error) {
      if (!(error instanceof ValidationError)) throw error
      found.push(error)
      if (isSchema) break
    }
  }
  const [first] = found
  if (first) throw found.length === 1 ? first : new ValidationError(found.map(({ errors }) => errors).reduce(merge))
  return value
}

/** @throws {ConfigurationError} a validator says no in a way that nobody hears */
function refuseFalse(said: unknown): void {
  if (said === false)
    throw new ConfigurationError('a validator returned false, which refuses nothing; throw a ValidationError')
}

async function parse(schema: StandardSchema, value: unknown): Promise<unknown> {
  const result = await askSchema(schema, value)
  if (result.issues) throw new ValidationError(toGivenErrors(result.issues))
  return result.value
}

function merge(one: ErrorMessages, other: ErrorMessages): ErrorMessages {
  const merged = new Map(Object.entries(one))
  for (const [field, messages] of Object.entries(other)) {
    const known = merged.get(field)
    if (known === undefined) merged.set(field, messages)
    else if (Array.isArray(known) && Array.isArray(messages)) merged.set(field, joined(known, messages))
    else merged.set(field, merge(asMap(known), asMap(messages)))
  }
  return Object.fromEntries(merged)
}

function asMap(messages: string[] | ErrorMessages): ErrorMessages {
  return Array.isArray(messages) ? { non_field_errors: messages } : messages
}
