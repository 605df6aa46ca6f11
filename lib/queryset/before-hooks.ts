import type { AnyQueryBuilder } from '../models/objection.js'

/** What Objection runs of a query that was read; it is not in its types. */
interface Internals {
  internalContext(): { readonly runAfter: ((result: unknown, builder: unknown) => unknown)[] }
}

/**
 * Has something look at what a query has found, once its rows are instances and before hooks of its model and `runAfter()`, which
 * may change the list in its place.
 * @param builder the one that runs, as `onBuildKnex()` gives it
 */
export function beforeHooks(builder: AnyQueryBuilder, look: (result: unknown) => void): void {
  const { runAfter } = (builder as unknown as Internals).internalContext()
  // queries that it makes for what is related run the same
  runAfter.unshift((result, running) => {
    if (running === builder) look(result)
    return result
  })
}
