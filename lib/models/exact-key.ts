/** Finds rows by keys that a Date cannot hold: those of PostgreSQL have microseconds (promise B15). */
import type { Model } from 'objection'
import { exactValue } from './database-text.js'

/** The object's primary key as the database has sent it. */
export function exactKey(object: Model): unknown {
  const key: unknown = object.$id()
  return Array.isArray(key) ? key.map(exactValue) : exactValue(key)
}

/** Runs a query of the object's own row (`$query()`), which Objection finds by what `$id()` says at that time. */
export async function byExactKey<Result>(object: Model, query: () => PromiseLike<Result>): Promise<Result> {
  const dates = [object.$id() as unknown].flat().some((value) => exactValue(value) !== value)
  if (!dates) return query()
  const key = exactKey(object)
  Object.defineProperty(object, '$id', { value: () => key, configurable: true })
  try {
    return await query()
  } finally {
    delete (object as { $id?: unknown }).$id
  }
}
