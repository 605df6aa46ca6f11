/** What a generic view class needs to answer requests, decided once: a request only reads it. */

import { type ObjectKey, objectKey } from '../fields/object-key.js'
import { BaseFilter, type FilterView, isDescribed } from '../filters/filter.js'
import { externalIds } from '../ids/external-ids.js'
import { ConfigurationError } from '../kernel/errors.js'
import { resolvePolicies, resolvePolicy } from '../kernel/policy.js'
import { describeModel, type ModelDescription } from '../models/describe-model.js'
import { traitsOf } from '../models/model-traits.js'
import { modelName } from '../models/objection.js'
import { oncePerCatalogue } from '../models/once-per-catalogue.js'
import { type BasePagination, DEFAULT_ORDERING } from '../pagination/pagination.js'
import { type OrderTerm, parseOrderTerm, totalOrder } from '../queryset/total-order.js'
import type { GenericViewClass } from './generic-view.js'

/** The policies of a class's lists; one set for as long as the process runs, as a paginator may hold connections. */
interface ListPolicies {
  readonly paginator: BasePagination | undefined
  readonly filters: readonly BaseFilter[]
}

const NO_TERMS: readonly OrderTerm[] = []

/**
 * A generic view class as requests need it. What the catalogue has a say in is made when it is first asked for, and then
 * kept: registration needs no database.
 */
export class Resource {
  readonly #view: GenericViewClass
  readonly #policies: ListPolicies
  #filterView: FilterView | undefined
  #parameterNames: ReadonlySet<string> | undefined
  #defaultOrder: readonly OrderTerm[] | undefined
  #lookup: ObjectKey | undefined
  #versionTerms: readonly OrderTerm[] | undefined
  #describesLists: boolean | undefined
  readonly #totals = new WeakMap<readonly OrderTerm[], readonly OrderTerm[]>()

  /** @throws {ConfigurationError} a paginator or filter backend is none */
  constructor(view: GenericViewClass) {
    this.#view = view
    this.#policies = listPoliciesOf(view)
  }

  /** Cuts lists into pages; undefined where they are answered whole. */
  get paginator(): BasePagination | undefined {
    return this.#policies.paginator
  }

  /** The filter backends, in the order in which they narrow a list. */
  get filters(): readonly BaseFilter[] {
    return this.#policies.filters
  }

  /** The paginator keeps connections between requests. */
  get keepsConnections(): boolean {
    return this.#policies.paginator?.keepsConnections === true
  }

  get model(): ModelDescription {
    return this.filterView.model
  }

  /** What filter backends know of the class. */
  get filterView(): FilterView {
    this.#filterView ??= filterViewOf(this.#view, this.#policies.filters)
    return this.#filterView
  }

  /** The names of the query parameters that the filter backends read. */
  get parameterNames(): ReadonlySet<string> {
    if (!this.#parameterNames) {
      const view = this.filterView
      this.#parameterNames = new Set(
        view.backends.flatMap((backend) => backend.parameters(view).map(({ name }) => name)),
      )
    }
    return this.#parameterNames
  }

  /** The total order of a list that no request has asked for. */
  get defaultOrder(): readonly OrderTerm[] {
    this.#defaultOrder ??= totalOrder(this.model, this.declaredOrder())
    return this.#defaultOrder
  }

  /**
   * The order that is declared for lists: the view's where a filter backend orders by it or the paginator names none of its
   * own, else the paginator's.
   */
  declaredOrder(): readonly OrderTerm[] {
    const { ordering } = this.#view
    const { backends, model } = this.filterView
    const { paginator } = this
    const isOwn = paginator?.ordering !== undefined && paginator.ordering !== DEFAULT_ORDERING
    const declared =
      ordering.length > 0 && (backends.some(orders) || !isOwn) ? ordering : (paginator?.ordering ?? ordering)
    return [declared].flat().flatMap((text) => {
      const term = parseOrderTerm(text)
      // `id` is the primary key, whatever its name
      const isKey = term.property === 'id' && !model.columns.has('id')
      return isKey ? model.primaryKey.map((property) => ({ ...term, property })) : [term]
    })
  }

  /** The total order of terms that a filter backend gives out again and again. */
  totalOf(terms: readonly OrderTerm[]): readonly OrderTerm[] {
    let order = this.#totals.get(terms)
    if (!order) {
      order = totalOrder(this.model, terms)
      this.#totals.set(terms, order)
    }
    return order
  }

  /** The key that objects are looked up by. @throws {ConfigurationError} the model has no column of that name */
  get lookup(): ObjectKey {
    this.#lookup ??= findLookup(this.#view)
    return this.#lookup
  }

  /** The columns that tell versions of a row apart: its key, then those the view names; none without `concurrency`. */
  get versionTerms(): readonly OrderTerm[] {
    if (this.#view.concurrency === null) return NO_TERMS
    this.#versionTerms ??= [...this.versionKey, ...concurrencyOf(this.#view)].map((property) => ({
      property,
      descending: false,
    }))
    return this.#versionTerms
  }

  /** The columns that name the row in a version: its primary key, or `public_id` where that stands for it. */
  get versionKey(): readonly string[] {
    const model = this.#view.modelClass()
    const ids = externalIds(model)
    return ids?.stored ? [ids.property] : describeModel(model).primaryKey
  }

  /** The model and the filter backends say all there is to know of a list's SQL. */
  get describesLists(): boolean {
    this.#describesLists ??=
      this.#view.queryset === null &&
      traitsOf(this.#view.modelClass()).plainQueries &&
      this.filterView.backends.every(isDescribed)
    return this.#describesLists
  }
}

/** The resource of a view class, the same for as long as the catalogue is. @throws {ConfigurationError} */
export const resourceOf: (view: GenericViewClass) => Resource = oncePerCatalogue((view) => new Resource(view))

/** The properties that `static concurrency` names. */
export function concurrencyOf({ concurrency }: GenericViewClass): readonly string[] {
  return concurrency === null ? [] : [concurrency].flat()
}

/** True for a backend that decides on an order. */
export function orders(backend: BaseFilter): boolean {
  return backend.ordering !== BaseFilter.prototype.ordering
}

const policies = new WeakMap<GenericViewClass, ListPolicies>()

function listPoliciesOf(view: GenericViewClass): ListPolicies {
  let made = policies.get(view)
  if (!made) {
    made = {
      paginator: view.paginationClass
        ? resolvePolicy(`${view.name}.paginationClass`, view.paginationClass, 'paginate')
        : undefined,
      filters: resolvePolicies(`${view.name}.filterBackends`, view.filterBackends, 'filterQueryset'),
    }
    policies.set(view, made)
  }
  return made
}

function filterViewOf(view: GenericViewClass, backends: readonly BaseFilter[]): FilterView {
  const { name, filtersetFields, searchFields, orderingFields, searchConfig, searchType, searchParam } = view
  return {
    name,
    model: describeModel(view.modelClass()),
    filtersetFields,
    searchFields,
    orderingFields,
    searchConfig,
    searchType,
    searchParam,
    backends,
  }
}

function findLookup(view: GenericViewClass): ObjectKey {
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
