/** Members of the body of a QUERY (RFC 10008), by the parameters of the GET that they stand for: docs/reference/query-method.md. */

import { FieldFilter } from '../filters/field-filter.js'
import type { ParameterDescription } from '../filters/filter.js'
import { getOrInsert } from '../kernel/maps.js'
import { oncePerCatalogue } from '../models/describe-model.js'
import { isNoOrder, ownParameters, pagingParameters } from './action-parameters.js'
import { showsFigures } from './actions.js'
import { hasModel } from './generic-view-class.js'
import { deletedParameters } from './request/ask-deleted.js'
import type { Resource } from './resource.js'

/** The member that names an order. */
const ORDER = 'order'

/** The members that a body may have. */
export interface QueryMembers {
  /** Parameters of `FieldFilter`, by name: they stand in `filter`. */
  readonly filters: ReadonlyMap<string, ParameterDescription>
  /** The parameter that takes groups of conditions; undefined where there is none. */
  readonly group: string | undefined
  /** Other parameters, by the name that a body gives them, but for those that select what is shown. */
  readonly others: ReadonlyMap<string, ParameterDescription>
  /** The parameters of pages. */
  readonly paging: ReadonlySet<string>
}

/** The members that the body of an action may have, of a view class as a caller may ask it; found once for each catalogue. */
export function queryMembers(resource: Resource, action: string): QueryMembers {
  return getOrInsert(membersOf(resource), action, () => findMembers(resource, action))
}

const membersOf: (resource: Resource) => Map<string, QueryMembers> = oncePerCatalogue(() => new Map())

function findMembers(resource: Resource, action: string): QueryMembers {
  const { view } = resource
  const figures = showsFigures(action)
  const own = new Map<string, ParameterDescription>()
  const others = new Map<string, ParameterDescription>()
  let group: string | undefined
  for (const backend of hasModel(view) ? resource.filters : []) {
    const isFields = backend instanceof FieldFilter
    for (const parameter of backend.parameters(resource.filterSettings)) {
      if (figures && !isNoOrder(parameter)) continue
      if (!isFields) others.set(memberOf(parameter), parameter)
      else if (parameter.name === backend.groupParam) group ??= parameter.name
      else own.set(parameter.name, parameter)
    }
  }
  const paging = pagingParameters(resource, action)
  const besides = [...deletedParameters(view, action), ...view.queryParameters]
  for (const parameter of [...ownParameters(resource, action), ...paging, ...besides]) {
    if (!own.has(parameter.name)) others.set(memberOf(parameter), parameter)
  }
  return { filters: own, group, others, paging: new Set(paging.map(({ name }) => name)) }
}

function memberOf(parameter: ParameterDescription): string {
  return isNoOrder(parameter) ? parameter.name : ORDER
}
