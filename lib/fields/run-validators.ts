/** Runs the `validators` of a field, and tells all that they find. */
import { type ErrorMessages, ValidationError } from '../kernel/errors.js'
import type { SerializerContext, Validator } from './field.js'

/** Every validator sees the value, in order. @throws {ValidationError} what any of them has said, together */
export async function runValidators(
  validators: readonly Validator[],
  value: unknown,
  context: SerializerContext,
): Promise<void> {
  const found: ValidationError[] = []
  for (const validator of validators) {
    try {
      await validator(value as never, context)
    } catch (error) {
      if (!(error instanceof ValidationError)) throw error
      found.push(error)
    }
  }
  const [first] = found
  if (first) throw found.length === 1 ? first : new ValidationError(found.map(({ errors }) => errors).reduce(merge))
}

function merge(one: ErrorMessages, other: ErrorMessages): ErrorMessages {
  const merged = new Map(Object.entries(one))
  for (const [field, messages] of Object.entries(other)) {
    const known = merged.get(field)
    if (known === undefined) merged.set(field, messages)
    else if (Array.isArray(known) && Array.isArray(messages)) merged.set(field, [...known, ...messages])
    else if (!Array.isArray(known) && !Array.isArray(messages)) merged.set(field, merge(known, messages))
  }
  return Object.fromEntries(merged)
}
