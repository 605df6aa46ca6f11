/** What a field says to values: the messages of its refusal, and its output. */

import type { SerializerField } from '../../../lib/fields/field.js'
import { type ErrorMessages, ValidationError } from '../../../lib/kernel/errors.js'

/** The messages a field refuses a value with; fails when the value is accepted. */
export async function refusal(field: SerializerField, value: unknown): Promise<string[] | ErrorMessages> {
  return messagesOf(() => field.toInternalValue(value, {}))
}

/** The same for a text from a form or a query string. */
export async function textRefusal(field: SerializerField, text: string): Promise<string[] | ErrorMessages> {
  return messagesOf(() => field.toInternalValue(field.fromText(text), {}))
}

/** The output of a stored value. */
export function shown(field: SerializerField, value: unknown): unknown {
  return field.toRepresentation(value, {})
}

/** The messages that a check refuses with; fails when it does not. */
export async function messagesOf(check: () => unknown): Promise<string[] | ErrorMessages> {
  let accepted: unknown
  try {
    accepted = await check()
  } catch (error) {
    if (error instanceof ValidationError) return error.messages
    throw error
  }
  throw new Error(`accepted as ${JSON.stringify(accepted)}`)
}
