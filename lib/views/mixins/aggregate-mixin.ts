/** The actions `aggregate` and `facets`. */
import type { Aggregate } from '../../aggregates/aggregate.js'
import { described, exclusiveTo } from '../../kernel/declarations.js'
import { markBuiltIn } from '../built-in.js'
import { readAggregates, readFacetCounts } from '../steps/read-aggregates.js'
import type { ViewConstructor } from './mixin.js'

const KINDS = {
  aggregates: 'record',
  groupBy: 'names',
  facets: 'names',
  aggregateTimeout: 'size',
  maxFacetValues: 'size',
} as const
exclusiveTo('AggregateMixin', 'view', KINDS)

/**
 * Adds `aggregate` and `facets`: what is computed of all objects that a list would have, under the same queryset, filters and
 * policies. The routes `/<prefix>/aggregate` and `/<prefix>/facets` exist where the class declares something for them; see
 * docs/reference/aggregates.md. `ModelViewSet` and its kin have the mixin already.
 *
 * Statics:
 * - `aggregates`: what is computed, by the name that the answer has it under. @default {}
 * - `groupBy`: columns and paths to one object that a client may group by; `created_at__month` (`__year`, `__day`) is the
 *   first day of the month, in UTC. @default []
 * - `facets`: the same, that objects are counted by. @default []
 * - `aggregateTimeout`: milliseconds that a statement may take; one that takes longer is 503. @default 5000
 * - `maxFacetValues`: the most values of a facet. @default 100
 * @example
 * class OrderViewSet extends ModelViewSet<Order> {
 *   static override aggregates = { total: sum('amount'), average: avg('price'), orders: count() }
 *   static override groupBy = ['country_id', 'created_at__month']
 *   static override facets = ['status']
 * }
 */
export function AggregateMixin<Base extends ViewConstructor>(base: Base) {
  const mixed = class extends base {
    static aggregates: Readonly<Record<string, Aggregate>> = {}
    static groupBy: readonly string[] = []
    static facets: readonly string[] = []
    static aggregateTimeout = 5_000
    static maxFacetValues = 100

    aggregate(): Promise<unknown> {
      return readAggregates(this)
    }

    facets(): Promise<unknown> {
      return readFacetCounts(this)
    }
  }
  markBuiltIn(mixed.prototype)
  return described(mixed, KINDS)
}
