/** What of a generic view's class is settled before any request. */

import { type ObjectKey, objectKey } from '../fields/object-key.js'
import { BaseFilter, type FilterView } from '../filters/filter.js'
import { ConfigurationError } from '../kernel/errors.js'
import { resolvePolicies, resolvePolicy } from '../kernel/policy.js'
import { type Column, describeModel } from '../models/describe-model.js'
import { modelName } from '../models/objection.js'
import { oncePerCatalogue } from '../models/once-per-catalogue.js'
import { type BasePagination, DEFAULT_ORDERING } from '../pagination/pagination.js'
import { type OrderTerm, parseOrderTerm } from '../queryset/total-order.js'
import type { GenericViewClass } from './generic-view.js'

/** The policies of a generic view, as instances. */
export interface Settled {
  readonly paginator: BasePagination | undefined
  /** The paginator keeps connections between requests. */
  readonly keepsConnections: boolean
  readonly filters: readonly BaseFilter[]
}

const settled = new WeakMap<GenericViewClass, Settled>()

/** What filter backends know of a view class; one object for as long as the catalogue is the same. */
export const filterViewOf = oncePerCatalogue(
  (view: GenericViewClass): FilterView => ({
    name: view.name,
    model: describeModel(view.modelClass()),
    filtersetFields: view.filtersetFields,
    searchFields: view.searchFields,
    orderingFields: view.orderingFields,
    searchConfig: view.searchConfig,
    searchType: view.searchType,
    searchParam: view.searchParam,
    backends: settleGeneric(view).filters,
  }),
)

const parameterNames = new WeakMap<FilterView, ReadonlySet<string>>()

/** The names of the parameters that a view's filter backends read. */
export function parametersOf(view: FilterView): ReadonlySet<string> {
  let names = parameterNames.get(view)
  if (!names) {
    names = new Set(view.backends.flatMap((backend) => backend.parameters(view).map(({ name }) => name)))
    parameterNames.set(view, names)
  }
  return names
}

/**
 * The order of a list that no request has asked for: the view's where a filter backend orders by it or the paginator names
 * none of its own, else the paginator's.
 */
export function defaultOrder(view: GenericViewClass, paginator: BasePagination | undefined): readonly OrderTerm[] {
  const { backends, model } = filterViewOf(view)
  const isOwn = paginator?.ordering !== undefined && paginator.ordering !== DEFAULT_ORDERING
  const declared =
    view.ordering.length > 0 && (backends.some(orders) || !isOwn)
      ? view.ordering
      : (paginator?.ordering ?? view.ordering)
  return [declared].flat().flatMap((text) => {
    const term = parseOrderTerm(text)
    // `id` is the primary key, whatever its name
    const isKey = term.property === 'id' && !model.columns.has('id')
    return isKey ? model.primaryKey.map((property) => ({ ...term, property })) : [term]
  })
}

/** True for a backend that decides on an order. */
export function orders(backend: BaseFilter): boolean {
  return backend.ordering !== BaseFilter.prototype.ordering
}

/** The key a view looks objects up by. @throws {ConfigurationError} the model has no column of that name */
export const lookupKey = oncePerCatalogue(findLookupKey)

function findLookupKey(view: GenericViewClass): ObjectKey {
  const model = describeModel(view.modelClass())
  // `id` is the default for any single primary key, whatever its name
  const [key] = model.primaryKey
  const property = view.lookupField === 'id' && !model.columns.has('id') && key !== undefined ? key : view.lookupField
  const found = objectKey(model.model, property)
  if (!found) {
    throw new ConfigurationError(
      `${view.name}: lookupField "${view.lookupField}" is no column of ${modelName(model.model)}`,
    )
  }
  return found
}

/** The column that holds that key. */
export function lookupColumn(view: GenericViewClass): Column {
  return lookupKey(view).column
}

/** The paginator and filters of a view class; made once. @throws {ConfigurationError} */
export function settleGeneric(view: GenericViewClass): Settled {
  let made = settled.get(view)
  if (!made) {
    const paginator = view.paginationClass
      ? resolvePolicy(`${view.name}.paginationClass`, view.paginationClass, 'paginate')
      : undefined
    made = {
      paginator,
      keepsConnections: paginator?.keepsConnections === true,
      filters: resolvePolicies(`${view.name}.filterBackends`, view.filterBackends, 'filterQueryset'),
    }
    settled.set(view, made)
  }
  return made
}
