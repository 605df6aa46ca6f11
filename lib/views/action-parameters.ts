/** The query parameters that an action reads of lists: those of filters, of pages, and of what is computed. */
import { facetParameters, figureParameters, ORDERING } from '../aggregates/read-asked.js'
import type { ParameterDescription } from '../filters/filter.js'
import { showsFigures } from './actions.js'
import { aggregatesOf, isAggregating } from './aggregates.js'
import type { GenericViewClass } from './generic-view-class.js'
import { deletedParameters } from './request/ask-deleted.js'
import { resourceOf } from './resource.js'

/** Those of a generic view with a model; none of an action that reads no list. */
export function listParameters(view: GenericViewClass, action: string): readonly ParameterDescription[] {
  const isList = action === 'list'
  const deleted = deletedParameters(view, action)
  if (!(isList || showsFigures(action))) return deleted
  const { filterView } = resourceOf(view)
  const filtering = filterView.backends.flatMap((backend) => backend.parameters(filterView))
  const paging = pagingParameters(view, action)
  return isList
    ? [...filtering, ...paging, ...deleted]
    : [...filtering.filter(isNoOrder), ...ownParameters(view, action), ...paging, ...deleted]
}

/** Those of the pages of what an action lists. */
export function pagingParameters(view: GenericViewClass, action: string): readonly ParameterDescription[] {
  if (action !== 'aggregate') return action === 'list' ? (resourceOf(view).paginator?.parameters() ?? []) : []
  if (!isAggregating(view)) return []
  const { plan, paginator } = aggregatesOf(view)
  return plan.groups.size > 0 ? (paginator?.parameters() ?? []) : []
}

/** What aggregates or facets read besides filters and pages; none of another action. */
export function ownParameters(view: GenericViewClass, action: string): readonly ParameterDescription[] {
  if (!(showsFigures(action) && isAggregating(view))) return []
  const { plan } = aggregatesOf(view)
  return action === 'facets' ? facetParameters(plan) : figureParameters(plan)
}

/** What objects are ordered by says nothing of groups. */
export function isNoOrder({ name }: ParameterDescription): boolean {
  return name !== ORDERING
}
