/** Tells which item of a list the database has refused, when all were written by one statement (promise I4). */
import { subjectOf, toApiError } from '../database-errors.js'
import { ValidationError } from '../errors.js'
import type { Queryable } from '../models/objection.js'
import { under } from './write-relations.js'

/**
 * The error of a list, under the position of the item it is about where that can be told: the items are written again one
 * by one, and all of it is undone. An error that is not about input is returned as it is.
 * @param knex where to write; a transaction must be one that has not failed
 */
export async function placeError<T>(
  error: unknown,
  items: readonly T[],
  knex: Queryable,
  write: (item: T, trx: Queryable, position: number) => Promise<unknown>,
): Promise<unknown> {
  if (!(toApiError(error, WRITING) instanceof ValidationError)) return error
  try {
    await knex.transaction(async (trx) => {
      for (const [position, item] of items.entries()) await under([position], () => write(item, trx, position))
      throw new Undone()
    })
  } catch (placed) {
    return placed instanceof ValidationError ? placed : error
  }
  return error
}

const WRITING = subjectOf('POST')

class Undone extends Error {}
