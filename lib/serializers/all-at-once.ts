/** Writes many rows by one statement, and finds the row that it was refused for (promise I4). */

import { ValidationError } from '../kernel/errors.js'
import { toApiError } from '../postgres/database-errors.js'
import { subjectOf } from '../postgres/failed-statement.js'
import type { Queryable } from '../postgres/pg-types.js'
import { type Path, placed } from './under.js'

interface Placed {
  /** Where it stands in the input. */
  readonly path: Path
}

interface Together<Item extends Placed, Result> {
  readonly items: readonly Item[]
  /** Where to write: a transaction, where they are several. */
  readonly knex: Queryable
  /** Writes some of the items, in their order. It may be asked again for those before the one that is refused. */
  readonly write: (items: readonly Item[], knex: Queryable) => Promise<Result>
  /** Tells an error in terms of the item that it is about. */
  readonly tell?: (error: unknown, item: Item) => unknown
  /** Says whether messages of triggers are shown. */
  readonly view: unknown
}

/**
 * Writes all items, and throws what the first of them is refused for, under its path: the one that would be refused if they
 * were written one by one. It takes one statement, and a savepoint where they are several; a refusal takes some ten more to
 * place among a thousand.
 */
export async function allAtOnce<Item extends Placed, Result>(together: Together<Item, Result>): Promise<Result> {
  const { items, knex, write, view } = together
  const refusal = (error: unknown) => toApiError(error, subjectOf('POST', view))
  const { tell = (error: unknown) => refusal(error) ?? error } = together
  const [first] = items
  // what stands at one place needs no search
  if (first && commonPath(items).length === Math.max(...items.map(({ path }) => path.length))) {
    try {
      return await write(items, knex)
    } catch (error) {
      throw placed(first.path, tell(error, first))
    }
  }
  try {
    return await knex.transaction((trx) => write(items, trx))
  } catch (error) {
    const general = refusal(error)
    if (!(general instanceof ValidationError)) throw error
    const found = await firstRefused(together, error)
    throw found ? placed(found.item.path, tell(found.error, found.item)) : placed(commonPath(items), general)
  }
}

/** The last item of the shortest list, from the first item on, that is refused. */
async function firstRefused<Item extends Placed, Result>(
  { items, knex, write, view }: Together<Item, Result>,
  first: unknown,
): Promise<{ item: Item; error: unknown } | undefined> {
  let error = first
  let accepted = 0
  let refused = items.length
  while (refused - accepted > 1) {
    const middle = Math.floor((accepted + refused) / 2)
    const failure = await failureOf(knex, (trx) => write(items.slice(0, middle), trx))
    if (failure === undefined) {
      accepted = middle
      continue
    }
    // a timeout or a lost connection: it cannot be found
    if (!(toApiError(failure, subjectOf('POST', view)) instanceof ValidationError)) return undefined
    refused = middle
    error = failure
  }
  const item = items[refused - 1]
  return item && { item, error }
}

/** What the work fails with; all of it is undone. */
async function failureOf(knex: Queryable, work: (trx: Queryable) => Promise<unknown>): Promise<unknown> {
  try {
    await knex.transaction(async (trx) => {
      await work(trx)
      throw new Undone()
    })
  } catch (failure) {
    if (!(failure instanceof Undone)) return failure
  }
  return undefined
}

class Undone extends Error {}

/** What all paths begin with. */
function commonPath([first, ...others]: readonly Placed[]): Path {
  const path = first?.path ?? []
  const length = path.findIndex((step, index) => others.some((other) => other.path[index] !== step))
  return length === -1 ? path : path.slice(0, length)
}
