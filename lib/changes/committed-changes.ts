/** Tells those of this process who wait for changes of a database that some were committed. */

import { configOf } from '../models/describe-model.js'
import type { Queryable } from '../postgres/pg-types.js'

const hearers = new WeakMap<object, () => void>()

/** From now on, changes that this process commits are told. */
export function hearOfChanges(knex: Queryable, tell: () => void): void {
  hearers.set(configOf(knex), tell)
}

/** What is to be called once changes are committed; undefined where nobody waits for them. */
export function hearerOf(knex: Queryable): (() => void) | undefined {
  return hearers.get(configOf(knex))
}
