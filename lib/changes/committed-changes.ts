/** Notifications of commits within this process, for those who wait for changes of a database. */

import { oncePer } from '../kernel/once-per.js'
import { configOf } from '../models/describe-model.js'
import type { Queryable } from '../postgres/pg-types.js'

/** By the configuration of the database. */
const hearers = oncePer((_config: object) => new Set<() => void>())

/** From now on, changes that this process commits are told. @returns ends it */
export function hearOfChanges(knex: Queryable, tell: () => void): () => void {
  const own = hearers(configOf(knex)).add(tell)
  return () => own.delete(tell)
}

/** Callback for committed changes; undefined where nobody waits for them. */
export function hearerOf(knex: Queryable): (() => void) | undefined {
  const own = hearers(configOf(knex))
  if (own.size === 0) return undefined
  return () => {
    for (const tell of own) tell()
  }
}
