/** The query of the objects of a view that a caller sees, to which conditions may be added. */

import type { Where } from '../../filters/field-path.js'
import { addWhere, type FilterView, isDescribed } from '../../filters/filter.js'
import type { Context } from '../../http/context.js'
import type { AnyQueryBuilder } from '../../models/objection.js'
import { groupConditions } from '../../queryset/group-conditions.js'
import { checkQueryset } from '../checks/check-queryset.js'
import type { GenericView } from '../generic-view.js'

/**
 * The view's queryset, with the conditions that its objects belong to the one before them on the path, and are not deleted.
 * @throws {ConfigurationError} it is one that lookups cannot narrow
 */
export function visibleQuery(view: GenericView): AnyQueryBuilder {
  const query = view.getQueryset() as AnyQueryBuilder
  const visible = view.resource.isWholeTable ? query : groupConditions(query)
  checkQueryset(view, visible)
  // an application's own queryset may have lost it
  const scope = view.resource.overrides.queryset ? view.scope() : undefined
  if (scope) addWhere(visible, scope)
  return visible
}

/** What of a list's conditions is known already. */
interface ListConditions {
  /** Filter backends may have a say in it. @default true */
  readonly asks?: boolean
  /** The condition of the object before them on the path. @default that of the view */
  readonly scope?: Where | undefined
}

/** The view's queryset with the conditions of a list: of the object before it on the path, and of all filter backends. */
export function listQuery(
  view: GenericView,
  { asks = true, scope = view.scope() }: ListConditions = {},
): AnyQueryBuilder {
  const { resource } = view
  const objects = view.getQueryset() as AnyQueryBuilder
  const narrowedBy = resource.isWholeTable ? objects : groupConditions(objects)
  const filtered = asks ? view.filterQueryset(narrowedBy) : narrowedBy
  const query = resource.overrides.filtering ? groupConditions(filtered) : filtered
  // an application's own queryset or filter may have lost it
  if (scope) addWhere(query, scope)
  checkQueryset(view, query)
  return query
}

/** The query with the conditions of all filter backends, in order. */
export function filteredQuery(view: FilterView, ctx: Context, query: AnyQueryBuilder): AnyQueryBuilder {
  return view.backends.reduce((narrowed, backend) => {
    // ours add conditions that are whole
    if (isDescribed(backend)) return backend.filterQueryset(narrowed, ctx, view)
    return groupConditions(backend.filterQueryset(groupConditions(narrowed), ctx, view))
  }, query)
}
