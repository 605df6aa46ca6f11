/** The names that parameters of a path take, as its class declares them: for OPTIONS, which asks no database. */
import type { ActionMap } from './actions.js'

interface Declaring {
  readonly aggregates?: Readonly<Record<string, unknown>>
  readonly groupBy?: readonly string[]
  readonly facets?: readonly string[]
}

/** By parameter; undefined for a path of neither aggregates nor facets. */
export function declaredNames(
  view: object,
  { get }: ActionMap,
): Readonly<Record<string, readonly string[]>> | undefined {
  const { aggregates, groupBy = [], facets } = view as Declaring
  if (get === 'aggregate' && aggregates) return { group_by: groupBy, aggregate: Object.keys(aggregates) }
  return get === 'facets' && facets ? { facet: facets } : undefined
}
