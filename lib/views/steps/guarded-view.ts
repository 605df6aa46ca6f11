/** Runs what a view reads in a transaction that bounds the time of its statements. */
import type { FilterCondition } from '../../filters/filter.js'
import { isTimeout, runGuarded } from '../../queryset/guarded.js'
import type { GenericView } from '../generic-view.js'

export interface Guard {
  /** The milliseconds that one statement may take. */
  readonly timeout: number
  /** What the filters ask; one of them may have an answer of its own to a statement that takes longer. */
  readonly conditions: readonly FilterCondition[]
}

/** The view's `trx` is that transaction until the work is done. @throws ApiError as a filter says of its timeout */
export async function readGuarded<T>(
  view: GenericView,
  { timeout, conditions }: Guard,
  work: () => Promise<T>,
): Promise<T> {
  const { trx } = view
  const knex = trx ?? view.knex
  if (!knex) return work()
  return runGuarded(knex, timeout, async (guarded) => {
    view.trx = guarded
    try {
      return await work()
    } catch (error) {
      throw (isTimeout(error) ? conditions.find(({ exceeded }) => exceeded)?.exceeded?.() : undefined) ?? error
    } finally {
      view.trx = trx
    }
  })
}
