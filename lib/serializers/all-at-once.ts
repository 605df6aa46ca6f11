/** Writes many rows by one statement, and finds the row that it was refused for (promise I4). */

import { ValidationError } from '../kernel/errors.js'
import { toApiError } from '../postgres/database-errors.js'
import { requestSubject } from '../postgres/failed-statement.js'
import type { Queryable } from '../postgres/pg-types.js'
import { type Path, prefixed } from './prefix-errors.js'

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
  const { items, knex, write } = together
  try {
    // what stands at one place needs no search
    return await (areAt(commonPath(items), items) ? write(items, knex) : knex.transaction((trx) => write(items, trx)))
  } catch (error) {
    throw await placedRefusal(together, error)
  }
}

/** The error of a list, under the path of the item that it is about; one that is not about input as it is. */
export async function placedRefusal<Item extends Placed, Result>(
  together: Together<Item, Result>,
  error: unknown,
): Promise<unknown> {
  const { items, view } = together
  const refusal = (one: unknown) => toApiError(one, requestSubject('POST', view)) ?? one
  const { tell = refusal } = together
  const [first] = items
  const path = commonPath(items)
  if (!first) return error
  const own = tell(error, first)
  if (areAt(path, items)) return prefixed(path, own)
  if (!(own instanceof ValidationError)) return error
  const found = await firstRefused({ ...together, tell }, error)
  return found ? prefixed(found.item.path, tell(found.error, found.item)) : prefixed(path, refusal(error))
}

/** The last item of the shortest list, from the first item on, that is refused. */
async function firstRefused<Item extends Placed, Result>(
  { items, knex, write, tell }: Together<Item, Result> & Required<Pick<Together<Item, Result>, 'tell'>>,
  first: unknown,
): Promise<{ item: Item; error: unknown } | undefined> {
  const failureAt = (count: number, checks: 'early' | 'late') =>
    failureOf(knex, async (trx) => {
      await write(items.slice(0, count), trx)
      if (checks === 'early') await trx.raw('set constraints all immediate')
    })
  // refused at COMMIT, by a deferred constraint: checked before, it may also refuse what a later item puts right
  const isDeferred = !knex.isTransaction && (await failureAt(items.length, 'late')) === undefined
  const isSame = (failure: unknown) => !isDeferred || detailOf(failure) === detailOf(first)
  if (isDeferred && !isSame(await failureAt(items.length, 'early'))) return undefined
  let error = first
  let accepted = 0
  let refused = items.length
  while (refused - accepted > 1) {
    const middle = Math.floor((accepted + refused) / 2)
    const failure = await failureAt(middle, isDeferred ? 'early' : 'late')
    if (failure === undefined || !isSame(failure)) {
      accepted = middle
      continue
    }
    // a timeout or a lost connection: it cannot be found
    if (!(tell(failure, items[0] as Item) instanceof ValidationError)) return undefined
    refused = middle
    error = failure
  }
  const item = items[refused - 1]
  return item && { item, error }
}

/** Which key PostgreSQL has refused. */
function detailOf(error: unknown): unknown {
  const { cause } = (toApiError(error) ?? {}) as { cause?: { detail?: unknown } }
  return cause?.detail
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

function areAt(path: Path, items: readonly Placed[]): boolean {
  return items.every((item) => item.path.length === path.length)
}

/** What all paths begin with. */
function commonPath([first, ...others]: readonly Placed[]): Path {
  const path = first?.path ?? []
  const length = path.findIndex((step, index) => others.some((other) => other.path[index] !== step))
  return length === -1 ? path : path.slice(0, length)
}
