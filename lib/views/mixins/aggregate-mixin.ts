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
 * @example
 * class OrderViewSet extends ModelViewSet<Order> {
 *   static override aggregates = { total: sum('amount'), average: avg('price'), orders: count() }
 *   static override groupBy = ['country_id', 'created_at__month']
 *   static override facets = ['status']
 * }
 */
export function AggregateMixin<Base extends ViewConstructor>(base: Base) {
  const mixed = class extends base {
    /** What is computed, by the name that the answer has it under. @default {} */
    static aggregates: Readonly<Record<string, Aggregate>> = {}
    /**
     * Columns and paths to one object that a client may group by; `created_at__month` (`__year`, `__day`) is the first
     * day of the month, in UTC. @default []
     */
    static groupBy: readonly string[] = []
    /** Columns, paths and periods, as in `groupBy`, that objects are counted by. @default [] */
    static facets: readonly string[] = []
    /** Milliseconds that a statement of aggregates or facets may take; one that takes longer is 503. @default 5000 */
    static aggregateTimeout = 5_000
    /** The most values of a facet; `has_more` says that there are others. @default 100 */
    static maxFacetValues = 100

    /** Answers `GET /<prefix>/aggregate`: the figures of all objects of the list, by group where `?group_by=` names any. */
    aggregate(): Promise<unknown> {
      return readAggregates(this)
    }

    /** Answers `GET /<prefix>/facets`: how many objects of the list have each value. */
    facets(): Promise<unknown> {
      return readFacetCounts(this)
    }
  }
  markBuiltIn(mixed.prototype)
  return described(mixed, KINDS)
}
