/** What a generic view class needs to answer requests, decided once: a request only reads it. */

import { type ObjectKey, objectKey } from '../fields/object-key.js'
import { BaseFilter, type FilterView, isDescribed } from '../filters/filter.js'
import { externalIds } from '../ids/external-ids.js'
import { ConfigurationError } from '../kernel/errors.js'
import { oncePer } from '../kernel/once-per.js'
import { resolvePolicies, resolvePolicy } from '../kernel/policy.js'
import { describeModel } from '../models/describe-model.js'
import type { ModelDescription } from '../models/model-description.js'
import { traitsOf } from '../models/model-traits.js'
import { modelName } from '../models/objection.js'
import { oncePerCatalogue } from '../models/once-per-catalogue.js'
import { type BasePagination, DEFAULT_ORDERING } from '../pagination/pagination.js'
import { permissionName } from '../permissions/operators.js'
import type { BasePermission } from '../permissions/permission.js'
import { type OrderTerm, parseOrderTerm, totalOrder } from '../queryset/total-order.js'
import { insertObstacle } from '../rows/inserter.js'
import type { SerializerClass } from '../serializers/contract.js'
import { actionNamed } from './actions.js'
import { type AnswerPlan, answerPlan } from './answer-plan.js'
import type { GenericViewClass } from './generic-view-class.js'
import { Overrides } from './overrides.js'
import { policiesOf } from './policies.js'

/** The policies of a class's lists; one set for as long as the process runs, as a paginator may hold connections. */
interface ListPolicies {
  readonly paginator: BasePagination | undefined
  readonly filters: readonly BaseFilter[]
}

const NO_TERMS: readonly OrderTerm[] = []

const SHOWING = ['getSerializer', 'loadRelated'] as const
const INPUT = ['getInputSerializer', 'getSerializerClass'] as const

/** What is answered with rows, and the methods that have a say in it. A stream is a list that is written row by row. */
const ROW_METHODS = {
  list: ['list', ...SHOWING, 'getList'],
  stream: ['list', ...SHOWING],
  retrieve: ['retrieve', ...SHOWING, 'getDetail'],
  create: ['create', ...SHOWING],
  bulkCreate: ['bulkCreate', ...SHOWING],
} as const

export type RowAnswer = keyof typeof ROW_METHODS
export type InsertAction = 'create' | 'bulkCreate'

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
  #answers: AnswerPlan | undefined
  #instance: object | undefined
  #overrides: Overrides | undefined
  #isWholeTable: boolean | undefined
  #guardsObjects: boolean | undefined
  #objectObstacle: string | null | undefined
  #namesPerUser: boolean | undefined
  readonly #rowObstacles = new Map<RowAnswer, string | null>()
  readonly #insertObstacles = new Map<InsertAction, string | null>()
  /** The total order of terms that a filter backend gives out again and again. */
  readonly totalOf = oncePer((terms: readonly OrderTerm[]) => totalOrder(this.model, terms))

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

  /** The key that objects are looked up by. @throws {ConfigurationError} the model has no column of that name */
  get lookup(): ObjectKey {
    this.#lookup ??= findLookup(this.#view)
    return this.#lookup
  }

  /** The columns that distinguish versions of a row: its key, then those the view names; none without `concurrency`. */
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

  /** What is decided of the answers of a serializer class: the view's own most often. */
  answers(serializer: SerializerClass): AnswerPlan {
    if (this.#answers?.serializer !== serializer) this.#answers = answerPlan(serializer)
    return this.#answers
  }

  /** What the application does in its own way. */
  get overrides(): Overrides {
    this.#overrides ??= new Overrides(this.#sample)
    return this.#overrides
  }

  /** The view's queryset is all rows of its model, or those of the object that it is nested in. */
  get isWholeTable(): boolean {
    this.#isWholeTable ??=
      !this.overrides.queryset && this.#view.queryset === null && traitsOf(this.#view.modelClass()).plainQueries
    return this.#isWholeTable
  }

  /** The model and the filter backends say all there is to know of a list's SQL. */
  get describesLists(): boolean {
    this.#describesLists ??=
      this.isWholeTable && !this.overrides.filtering && this.filterView.backends.every(isDescribed)
    return this.#describesLists
  }

  /** Code of the application's looks at each object before it is shown or changed. */
  get guardsObjects(): boolean {
    this.#guardsObjects ??= this.overrides.objectPermissions || this.#guard !== undefined
    return this.#guardsObjects
  }

  /** Why an object that the path names needs an instance, whatever is shown of it, as a sentence; null where it needs none. */
  get objectObstacle(): string | null {
    if (this.#objectObstacle === undefined) {
      const guard = this.#guard
      this.#objectObstacle =
        this.#overridden(['getObject', 'checkObjectPermissions']) ??
        (guard ? `${permissionName(guard)} is asked about each object` : null)
    }
    return this.#objectObstacle
  }

  /** The first permission that is asked about each object. */
  get #guard(): BasePermission | undefined {
    return policiesOf(this.#view).permissions.find((permission) => permission.guardsObjects())
  }

  /** Objects have external ids that are others for each user. */
  get namesPerUser(): boolean {
    this.#namesPerUser ??=
      (this.#view.model !== null || this.#view.queryset !== null) &&
      externalIds(this.#view.modelClass())?.perUser === true
    return this.#namesPerUser
  }

  /**
   * Why an answer cannot be made of rows, as far as the class says, as a sentence; null where nothing of the
   * class stands in the way.
   */
  rowObstacle(answer: RowAnswer): string | null {
    let obstacle = this.#rowObstacles.get(answer)
    if (obstacle === undefined) {
      obstacle = this.#overridden(ROW_METHODS[answer])
      this.#rowObstacles.set(answer, obstacle)
    }
    return obstacle
  }

  /** Why no single statement inserts what an action creates, as far as the class says, as a sentence; null where one may. */
  insertObstacle(action: InsertAction): string | null {
    let obstacle = this.#insertObstacles.get(action)
    if (obstacle === undefined) {
      obstacle = this.#findInsertObstacle(action)
      this.#insertObstacles.set(action, obstacle)
    }
    return obstacle
  }

  /** An instance as every request gets one, with the fields that the application gives it. */
  get #sample(): object {
    this.#instance ??= new this.#view()
    return this.#instance
  }

  #findInsertObstacle(action: InsertAction): string | null {
    const { name, concurrency, serializerClass } = this.#view
    if (concurrency !== null && action === 'create') return `${name} tells versions of rows apart (concurrency)`
    const hooks = actionNamed(action)?.hooks.filter((hook) => hook in this.#sample) ?? []
    const overridden = this.#overridden([action, ...hooks, ...INPUT])
    if (overridden !== null) return overridden
    return serializerClass ? insertObstacle(serializerClass) : `${name} has no serializerClass`
  }

  #overridden(methods: readonly string[]): string | null {
    const method = this.overrides.first(methods)
    return method === undefined ? null : `${this.#view.name} overrides ${method}()`
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

const listPoliciesOf = oncePer(
  (view: GenericViewClass): ListPolicies => ({
    paginator: view.paginationClass
      ? resolvePolicy(`${view.name}.paginationClass`, view.paginationClass, 'paginate')
      : undefined,
    filters: resolvePolicies(`${view.name}.filterBackends`, view.filterBackends, 'filterQueryset'),
  }),
)

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
