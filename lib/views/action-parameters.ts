/** The query parameters that an action reads of lists: those of filters, of pages, and of what is computed. */
import { facetParameters, figureParameters, ORDERING } from '../aggregates/read-asked.js'
import { isListOrNull } from '../fields/or-null.js'
import type { ParameterDescription } from '../filters/filter.js'
import type { BasePagination } from '../pagination/pagination.js'
import type { BoundField } from '../serializers/contract.js'
import { inputValue } from '../serializers/input-schema.js'
import { serializerPlan } from '../serializers/plan.js'
import { type ActionClass, actionsOf } from './action-options.js'
import { showsFigures } from './actions.js'
import { aggregatesOf, isAggregating } from './aggregates.js'
import { DIALECTS } from './query-dialects.js'
import { deletedParameters } from './request/ask-deleted.js'
import type { Resource } from './resource.js'

/** The query parameters of a list, or of figures of it, for a view with a model; none for an action that reads no list. */
export function listParameters(resource: Resource, action: string): readonly ParameterDescription[] {
  const { view, filterSettings } = resource
  const isList = action === 'list'
  const deleted = deletedParameters(view, action)
  if (!(isList || showsFigures(action))) return deleted
  const filtering = filterSettings.backends.flatMap((backend) => backend.parameters(filterSettings))
  const paging = pagingParameters(resource, action)
  const dialect = view.queryDialect ? DIALECTS[view.queryDialect].parameters : []
  return isList
    ? [...filtering, ...paging, ...dialect, ...deleted]
    : [...filtering.filter(isNoOrder), ...ownParameters(resource, action), ...paging, ...deleted]
}

/** The query parameters that an action declares, checked ones by their fields; without any, those of the class. */
export function declaredParameters(
  view: ActionClass & { readonly queryParameters: readonly ParameterDescription[] },
  action: string,
): readonly ParameterDescription[] {
  const { querySerializer } = actionsOf(view).get(action) ?? {}
  return querySerializer ? serializerPlan(querySerializer).writable.map(describeField) : view.queryParameters
}

function describeField(bound: BoundField): ParameterDescription {
  const { name, field, required } = bound
  const schema = inputValue(bound, 'Input')
  const { helpText, label } = field.options
  return {
    name,
    description: helpText ?? label ?? '',
    schema,
    ...(required && { required }),
    // as tools and forms of other clients write lists; a name that is repeated does, too
    ...(isListOrNull(schema) && { explode: false }),
  }
}

/** What cuts the answer of an action into pages; undefined where there are none. */
export function paginatorOf(resource: Resource, action: string): BasePagination | undefined {
  if (action !== 'aggregate') return action === 'list' ? resource.paginator : undefined
  if (!isAggregating(resource.view)) return undefined
  const { plan, paginator } = aggregatesOf(resource)
  return plan.groups.size > 0 ? paginator : undefined
}

/** The parameters of the paginator, for an action that answers in pages. */
export function pagingParameters(resource: Resource, action: string): readonly ParameterDescription[] {
  return paginatorOf(resource, action)?.parameters() ?? []
}

/** The parameters of `aggregate` or `facets` besides filters and pages; none for other actions. */
export function ownParameters(resource: Resource, action: string): readonly ParameterDescription[] {
  if (!(showsFigures(action) && isAggregating(resource.view))) return []
  const { plan } = aggregatesOf(resource)
  return action === 'facets' ? facetParameters(plan) : figureParameters(plan)
}

/** True for any parameter but the order of objects, which means nothing for groups. */
export function isNoOrder({ name }: ParameterDescription): boolean {
  return name !== ORDERING
}
