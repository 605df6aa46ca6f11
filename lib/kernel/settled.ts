/** Values of functions that nobody waits for. */

import { ConfigurationError } from './errors.js'
import { ignoreRejection, isPromise } from './realms.js'

/**
 * The value, unless it is a promise: that would be shown as `{}`, pass for true, and end the process where it rejects.
 * @param problem what the error says
 * @throws {ConfigurationError} it is a promise
 */
export function settled<Value>(value: Value, problem: string): Value {
  if (isPromise(value)) throw promiseError(value, problem)
  return value
}

/** The error for a promise that nobody waits for, whose rejection then ends no process. */
export function promiseError(promise: unknown, problem: string): ConfigurationError {
  ignoreRejection(promise)
  return new ConfigurationError(problem)
}
