/** Runs what a view reads with bounds on its statements. */
import type { FilterCondition } from '../../filters/filter.js'
import { isTimeout, runBounded, type StatementLimits } from '../../postgres/guarded.js'
import type { GenericView } from '../generic-view.js'

export interface Guard extends StatementLimits {
  /** What the filters ask; one of them may have an answer of its own to a statement that takes longer. */
  readonly conditions: readonly FilterCondition[]
}

/** The view's statements are bounded until the work is done. @throws ApiError as a filter says of its timeout */
export async function readGuarded<T>(
  view: GenericView,
  { conditions, ...bounds }: Guard,
  work: () => Promise<T>,
): Promise<T> {
  const place = view.trx ? 'trx' : 'knex'
  const own = view[place]
  if (!own) return work()
  return runBounded(own, bounds, async (bounded) => {
    Object.assign(view, { [place]: bounded })
    try {
      return await work()
    } catch (error) {
      throw (isTimeout(error) ? conditions.find(({ exceeded }) => exceeded)?.exceeded?.() : undefined) ?? error
    } finally {
      Object.assign(view, { [place]: own })
    }
  })
}
