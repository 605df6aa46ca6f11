/** Runs what a view reads with bounds on its statements. */
import { errorWithin, runBounded, type StatementLimits } from '../../postgres/guarded.js'
import type { GenericView } from '../generic-view.js'

/** The view's statements are bounded until the work is done. @throws ApiError as a filter says of its timeout */
export async function readGuarded<T>(view: GenericView, bounds: StatementLimits, work: () => Promise<T>): Promise<T> {
  const place = view.trx ? 'trx' : 'knex'
  const own = view[place]
  if (!own) return work()
  return runBounded(own, bounds, async (bounded) => {
    Object.assign(view, { [place]: bounded })
    try {
      return await work()
    } catch (error) {
      throw errorWithin(bounds, error)
    } finally {
      Object.assign(view, { [place]: own })
    }
  })
}
