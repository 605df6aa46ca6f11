/** Values of other realms and libraries: errors and promises of Node itself, where Jest runs the code, and promises of Bluebird. */
import { types } from 'node:util'

/** True for what `await` waits for: a promise, or a query. */
export function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function'
}

/** True for a promise, whoever has made it. A query of Objection's or knex's is none, but a part of statements. */
export function isPromise(value: unknown): value is PromiseLike<unknown> {
  return isThenable(value) && (value instanceof Promise || !('toKnexQuery' in value || 'toSQL' in value))
}

/** Lets a promise that is refused reject: nobody waits for it, and the process would end. A query is not sent for that. */
export function ignoreRejection(value: unknown): void {
  if (isPromise(value)) value.then(undefined, () => undefined)
}

/** True for an error, whoever has made it. */
export function isError(value: unknown): value is Error {
  return value instanceof Error || types.isNativeError(value) || value instanceof DOMException
}
