/** Prefixes validation errors with the path of the nested object that they are about. */

import { type ErrorMessages, ValidationError } from '../kernel/errors.js'
import { toApiError } from '../postgres/database-errors.js'
import { requestSubject } from '../postgres/failed-statement.js'

/** Names of fields and positions in lists, from the outside in. */
export type Path = readonly (string | number)[]

/**
 * Does the work of a nested object: its validation errors stand under the path from the surrounding object.
 * What the database refuses there, and no serializer has reported in its own terms, belongs to no field of it.
 */
export async function prefixErrors<Result>(path: Path, work: () => Result | Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    throw prefixed(path, error)
  }
}

/** The answer for an error of what stands at the path; what is no answer of ours is returned as it is. */
export function prefixed(path: Path, error: unknown): unknown {
  const answer = toApiError(error, UNNAMED)
  if (!(answer instanceof ValidationError)) return answer ?? error
  const errors = path.reduceRight<ErrorMessages>((inner, step) => ({ [step]: inner }), answer.errors)
  return new ValidationError(errors, { cause: answer.cause })
}

const UNNAMED = requestSubject('POST')
