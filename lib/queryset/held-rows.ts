/** Locked rows by the transaction that holds them until it ends, and the lists of related rows that were read since. */

import type { Queryable } from '../postgres/pg-types.js'

const holders = new WeakMap<object, Queryable>()

/** Notes what the transaction holds: whoever writes there need not lock or read it again. */
export function noteHeld(held: Iterable<object>, knex: Queryable): void {
  if (knex.isTransaction) for (const one of held) holders.set(one, knex)
}

/** True for the object of a locked row, and for a list that was read below one; false for what a savepoint may let go of. */
export function isHeld(one: object, knex: Queryable | undefined): boolean {
  return knex !== undefined && holders.get(one) === knex
}
