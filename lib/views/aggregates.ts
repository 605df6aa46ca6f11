/** What a view class with `AggregateMixin` declares, and what is decided of it. */
import { type AggregateDeclarations, AggregatePlan } from '../aggregates/aggregate-plan.js'
import { periodOf } from '../aggregates/group-figure.js'
import { oncePerCatalogue } from '../models/describe-model.js'
import { CursorPagination } from '../pagination/cursor-pagination.js'
import { LimitOffsetPagination } from '../pagination/limit-offset-pagination.js'
import type { BasePagination } from '../pagination/pagination.js'
import { ServerCursorPagination } from '../pagination/server-cursor-pagination.js'
import { serializerPlan } from '../serializers/plan.js'
import type { GenericViewClass } from './generic-view-class.js'
import type { Resource } from './resource.js'

/** What the mixin adds to a class. */
export interface AggregatingClass extends AggregateDeclarations {
  readonly aggregateTimeout: number
  readonly maxFacetValues: number
}

/** True for a view class with the mixin. */
export function isAggregating<View extends object>(view: View): view is View & AggregatingClass {
  return 'aggregates' in view && 'groupBy' in view && 'facets' in view
}

/** What is decided of the aggregates and facets of a class. */
export interface AggregateResource {
  readonly plan: AggregatePlan
  /** Cuts groups into pages; undefined where they are answered whole. */
  readonly paginator: BasePagination | undefined
}

/** The same for as long as the catalogue is. @throws {ConfigurationError} every mistake, one a line */
export const aggregatesOf: (resource: Resource) => AggregateResource = oncePerCatalogue((resource) => {
  const view = resource.view as GenericViewClass & AggregatingClass
  const { serializerClass } = view
  const isKnown = serializerClass && !resource.overrides.has('getSerializerClass')
  return {
    plan: new AggregatePlan(
      resource.filterSettings,
      askedFigures(resource, view),
      isKnown ? serializerPlan(serializerClass) : undefined,
    ),
    paginator: pagesOf(resource.paginator),
  }
})

/** What a class declares, as far as the caller may read the values. */
function askedFigures(resource: Resource, view: AggregatingClass): AggregateDeclarations {
  if (!resource.fields) return view
  const aggregates = Object.entries(view.aggregates).filter(([name, one]) => {
    const { path } = one as { readonly path: string | null }
    return path === null || resource.mayAsk(`aggregates.${name}`, path)
  })
  return {
    aggregates: Object.fromEntries(aggregates),
    // of groups something is computed
    groupBy: aggregates.length === 0 ? [] : view.groupBy.filter((name) => mayGroup(resource, 'groupBy', name)),
    facets: view.facets.filter((name) => mayGroup(resource, 'facets', name)),
  }
}

function mayGroup(resource: Resource, attribute: 'groupBy' | 'facets', name: string): boolean {
  const { column } = periodOf({ where: `${resource.view.name}: ${attribute}`, model: resource.model }, name)
  return resource.mayAsk(attribute, column)
}

/** Groups have no positions: a view whose lists go by them has groups by limit and offset, of as many on a page. */
function pagesOf(paginator: BasePagination | undefined): BasePagination | undefined {
  if (paginator instanceof CursorPagination) {
    return new LimitOffsetPagination({ defaultLimit: paginator.pageSize, maxLimit: paginator.maxPageSize })
  }
  if (paginator instanceof ServerCursorPagination)
    return new LimitOffsetPagination({ defaultLimit: paginator.pageSize })
  return paginator
}

/** True for a class that declares some of them. */
export function declaresAggregates({ aggregates, groupBy, facets }: AggregatingClass): boolean {
  return Object.keys(aggregates).length + groupBy.length + facets.length > 0
}

/** The names of columns and paths that a class declares, as far as they may lead over relations. */
export function aggregatedNames(view: object): readonly string[] {
  if (!isAggregating(view)) return []
  const paths = Object.values(view.aggregates).map((one) => (one as { readonly path?: unknown } | null)?.path)
  return [...view.groupBy, ...view.facets, ...paths.filter((path) => typeof path === 'string')]
}
