/** Finds the item of a list that the database has refused, when all were written by one statement (promise I4). */

import { ValidationError } from '../kernel/errors.js'
import { toApiError } from '../postgres/database-errors.js'
import { subjectOf } from '../postgres/failed-statement.js'
import type { Queryable } from '../postgres/pg-types.js'
import { under } from './under.js'

interface RefusedList<T> {
  readonly items: readonly T[]
  /** Where to write; a transaction must be one that has not failed. */
  readonly knex: Queryable
  readonly view: unknown
  readonly write: (item: T, trx: Queryable, position: number) => Promise<unknown>
}

/**
 * The error of a list, under the position of the item it is about where that can be found: the items are written again one
 * by one, and all of it is undone. An error that is not about input is returned as it is.
 */
export async function placeError<T>(error: unknown, { items, knex, view, write }: RefusedList<T>): Promise<unknown> {
  const refusal = toApiError(error, subjectOf('POST', view))
  if (!(refusal instanceof ValidationError)) return error
  const writeAll = async (trx: Queryable) => {
    for (const [position, item] of items.entries()) await under([position], () => write(item, trx, position))
  }
  const placed = await refusalOf(knex, writeAll)
  if (placed) return placed
  // found behind all items, by a deferred constraint: checked behind each, it may also refuse what a later item puts right
  const early = await refusalOf(knex, async (trx) => {
    await trx.raw('set constraints all immediate')
    await writeAll(trx)
  })
  return early && detailOf(early) !== undefined && detailOf(early) === detailOf(refusal) ? early : error
}

/** What the work is refused for; all of it is undone. */
async function refusalOf(
  knex: Queryable,
  work: (trx: Queryable) => Promise<void>,
): Promise<ValidationError | undefined> {
  try {
    await knex.transaction(async (trx) => {
      await work(trx)
      throw new Undone()
    })
  } catch (refusal) {
    if (refusal instanceof ValidationError) return refusal
  }
  return undefined
}

/** Which key PostgreSQL has refused. */
function detailOf({ cause }: ValidationError): unknown {
  return (cause as { detail?: unknown } | undefined)?.detail
}

class Undone extends Error {}
