/** Objection's own errors as answers for the client. */

import { type ApiError, type ErrorMessages, NotFound, ValidationError } from '../kernel/errors.js'
import { INVALID, NOT_UNIQUE } from './constraint-errors.js'
import type { ConstraintSubject } from './failed-statement.js'

/** Objection's own errors. `modelClass` distinguishes its NotFoundError from that of http-errors, which has the same name. */
export function answerObjection(
  error: Error & { type?: unknown; data?: unknown },
  subject: ConstraintSubject,
): ApiError | null {
  if (!('modelClass' in error)) return null
  if (error.name === 'NotFoundError') return new NotFound(undefined, { cause: error })
  if (error.name !== 'ValidationError' || error.type !== 'ModelValidation') return null
  const failures = typeof error.data === 'object' && error.data !== null ? Object.entries(error.data) : []
  if (failures.length === 0) return new ValidationError(INVALID, { cause: error })
  const errors: ErrorMessages = {}
  for (const [path, failure] of failures) {
    errors[fieldOfPath(path, subject) ?? 'non_field_errors'] = [modelMessage(failure)]
  }
  return new ValidationError(errors, { cause: error })
}

/** A failure deep inside a JSON value has a path: `meta.tags.0`. */
function fieldOfPath(path: string, subject: ConstraintSubject): string | undefined {
  const [property] = path.split('.', 1)
  return subject.fieldOfProperty ? subject.fieldOfProperty(property as string) : path
}

/** `failure` is a list of `{ keyword, message }`; the validator's own text names things a client does not know. */
function modelMessage(failure: unknown): string {
  const first: unknown = Array.isArray(failure) ? failure[0] : failure
  const keyword = typeof first === 'object' && first !== null && 'keyword' in first ? first.keyword : undefined
  return MESSAGES.get(keyword) ?? INVALID
}

/** By the keyword of the failure. JSON Schema has no `unique`: objection-unique says so of a value that another row has. */
const MESSAGES: ReadonlyMap<unknown, string> = new Map([
  ['required', 'This field is required.'],
  ['unique', NOT_UNIQUE],
])
