/** Lists in a query: several values of a parameter that is described as a list, or of its name with `[]`, are one list. Dialects of lists. */

import { isListOrNull } from '../../fields/or-null.js'
import type { ParameterDescription, QueryParameters } from '../../filters/filter.js'
import { queryOf, setQuery } from '../../http/context.js'
import type { LimitOffsetPagination } from '../../pagination/limit-offset-pagination.js'
import { declaredParameters, listParameters } from '../action-parameters.js'
import { actionNamed } from '../actions.js'
import type { GenericView } from '../generic-view.js'
import { hasModel } from '../generic-view-class.js'
import { readDialect } from '../query-dialects.js'
import type { View } from '../view.js'
import { askedSelection } from './selection.js'

const BRACKETS = '[]'

/** The parameters that the view's action reads. */
export function readParameters(view: GenericView): readonly ParameterDescription[] {
  const { viewClass, policies, action } = view.plan
  // an action of the application's may show a list
  const isOurs = actionNamed(action) !== undefined
  const listing = listParameters(view.asked, isOurs ? action : 'list')
  return [
    ...listing,
    ...(policies.versioning?.parameters() ?? []),
    ...declaredParameters(viewClass, action),
    ...askedSelection(view),
  ]
}

/** True for a parameter whose values are a list. */
export function isList({ schema }: ParameterDescription): boolean {
  return isListOrNull(schema)
}

/** The query of a list in the view set's own parameters, where that is asked for in a dialect. @throws ValidationError */
function dialectRead(view: GenericView): QueryParameters | undefined {
  const { ctx, asked } = view
  const { viewClass, action } = view.plan
  const { queryDialect, searchParam } = viewClass
  if (!queryDialect || action !== 'list' || ctx.req.method === 'QUERY') return undefined
  const paginator = asked.paginator as LimitOffsetPagination
  const names = { filters: asked.parameterNames, search: searchParam, paginator }
  const query = readDialect(queryDialect, queryOf(ctx), names)
  setQuery(ctx, query)
  return query
}

/** Puts the values of each list together, for all who read the request's parameters from here on. */
export function readQueryLists(view: View): void {
  const { ctx, plan } = view
  if (!ctx.req.url?.includes('?') || !plan.resource || !hasModel(plan.resource.view)) return
  const query = dialectRead(view as GenericView) ?? queryOf(ctx)
  if (!Object.keys(query).some((name) => typeof query[name] !== 'string' || name.endsWith(BRACKETS))) return
  const read: Record<string, string | readonly string[] | undefined> = Object.assign(Object.create(null), query)
  for (const { name, explode } of readParameters(view as GenericView).filter(isList)) {
    const values = [query[name] ?? [], query[name + BRACKETS] ?? []].flat()
    if (values.length === 0) continue
    delete read[name + BRACKETS]
    read[name] = explode === false ? values.join(',') : values
  }
  setQuery(ctx, read)
}
