/** Keys with microseconds, which a Date cannot hold: how rows are found by them (promise B15). */
import type { Model } from 'objection'
import { exactAt } from './exact-types.js'
import { modelOf, primaryKeyOf } from './objection.js'

/** The object's primary key as the database has sent it. */
export function exactKey(object: Model): unknown {
  const key = primaryKeyOf(modelOf(object)).map((property) => exactAt(object, property))
  return key.length === 1 ? key[0] : key
}

/** Runs a query of the object's own row (`$query()`), which Objection finds by what `$id()` says at that time. */
export async function byExactKey<Result>(object: Model, query: () => PromiseLike<Result>): Promise<Result> {
  const [key, own] = [exactKey(object), object.$id() as unknown]
  const isExact = [key].flat().every((value, index) => value === [own].flat()[index])
  if (isExact) return query()
  Object.defineProperty(object, '$id', { value: () => key, configurable: true })
  try {
    return await query()
  } finally {
    delete (object as { $id?: unknown }).$id
  }
}
