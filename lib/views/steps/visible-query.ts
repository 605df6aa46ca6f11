/** The query of the objects of a view that a caller sees, to which conditions may be added. */

import { read } from '../../kernel/properties.js'
import { traitsOf } from '../../models/model-traits.js'
import type { AnyQueryBuilder } from '../../models/objection.js'
import { groupConditions } from '../../queryset/group-conditions.js'
import type { GenericView } from '../generic-view.js'
import { isStandard } from '../standard.js'
import { checkQueryset } from './read-rows.js'

/** True when the view's queryset is all rows of its model, or those of the object that it is nested in. */
export function isPlainQueryset(view: GenericView): boolean {
  const viewClass = read(view, 'viewClass')
  return (
    isStandard(view, 'getQueryset') &&
    !read(viewClass, 'queryset') &&
    traitsOf(read(viewClass, 'modelClass').call(viewClass)).plainQueries
  )
}

/**
 * The view's queryset, with the condition that its objects belong to the one before them on the path.
 * @throws {ConfigurationError} it is one that lookups cannot narrow
 */
export function visibleQuery(view: GenericView): AnyQueryBuilder {
  const query = view.getQueryset() as AnyQueryBuilder
  const visible = isPlainQueryset(view) ? query : groupConditions(query)
  checkQueryset(view, visible)
  // an application's own queryset may have lost it
  if (!isStandard(view, 'getQueryset')) view.parentScope()?.apply(visible)
  return visible
}
