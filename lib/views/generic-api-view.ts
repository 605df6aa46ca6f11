/** Views over a model and a serializer (spec section 4.6). */
import type { Knex } from 'knex'
import type { Model, QueryBuilder } from 'objection'
import { type ConstraintSubject, toApiError } from '../database-errors.js'
import { ConfigurationError, NotFound } from '../errors.js'
import type { SerializerContext } from '../fields/field.js'
import { parseLookup } from '../fields/parse-lookup.js'
import { BaseFilter, type FilterView } from '../filters/filter.js'
import { type Column, catalogueRevision, describeModel, type ModelDescription } from '../models/describe-model.js'
import type { AnyQueryBuilder, ModelClass } from '../models/objection.js'
import type { BasePagination, ListSource } from '../pagination/pagination.js'
import { type Policies, type Policy, resolvePolicies, resolvePolicy } from '../policy.js'
import { readExactly } from '../queryset/read-exactly.js'
import { type OrderTerm, parseOrderTerm, totalOrder } from '../queryset/total-order.js'
import type {
  SerializerClass as AnySerializerClass,
  RelationGraph,
  SerializerOptions,
} from '../serializers/contract.js'
import { serializerPlan } from '../serializers/plan.js'
import type { Serializer } from '../serializers/serializer.js'
import { APIView } from './api-view.js'
import { InstanceList } from './list-source.js'

/** How lists are cut into pages, or null. Annotate with this type to leave subclasses free. */
export type Pagination = Policy<BasePagination> | null
/** A list of filter backends. */
export type Filters = Policies<BaseFilter>
/** The serializer of a view, or null. */
export type ViewSerializer = AnySerializerClass | null
/** A function that makes the view's query, or null. */
// biome-ignore lint/suspicious/noExplicitAny: a query of any model and result
export type Queryset = (() => QueryBuilder<any, any>) | null

/** What of a generic view is settled before any request. */
interface Settled {
  readonly paginator: BasePagination | undefined
  readonly filters: readonly BaseFilter[]
}

const filterViews = new WeakMap<typeof GenericAPIView, { revision: number; view: FilterView }>()

const settled = new WeakMap<typeof GenericAPIView, Settled>()

/**
 * A view over a model: queryset, lookup, serializer, filters and pagination.
 * @example
 * class BookList extends GenericAPIView<Book> {
 *   static override model = Book
 *   static override serializerClass = BookSerializer
 *   async get() { return this.getSerializer({ obj: await this.getQueryset(), many: true }).data }
 * }
 */
export class GenericAPIView<M extends Model = Model> extends APIView {
  /** The model; its `query()` makes the queryset. */
  static model: ModelClass | null = null
  /** Makes the queryset, in place of `model`; called for each request. */
  static queryset: Queryset = null
  static serializerClass: ViewSerializer = null
  /** The property that the path names an object by. @default 'id' */
  static lookupField = 'id'
  /** The name of the path parameter. @default lookupField */
  static lookupUrlKwarg: string | null = null
  static paginationClass: Pagination = null
  static filterBackends: Filters = []
  /** Fields a client may filter by. */
  static filtersetFields: readonly string[] = []
  /** Fields that are searched. */
  static searchFields: readonly string[] = []
  /** Fields a client may order by. */
  static orderingFields: readonly string[] = []
  /** PostgreSQL's text search configuration for full-text search. @default 'english' */
  static searchConfig = 'english'
  /** How a full-text query is read: `plain`, `phrase`, `raw` or `websearch`. @default 'websearch' */
  static searchType = 'websearch'
  /** The query parameter of full-text search. @default 'search' */
  static searchParam = 'search'
  /** Answer 400 for query parameters that nothing reads, in place of ignoring them. @default false */
  static strictParams = false
  /** The default order, such as `['-created_at']`. The primary key is appended, so that the order is total. */
  static ordering: readonly string[] = []

  get #class(): typeof GenericAPIView {
    return this.constructor as typeof GenericAPIView
  }

  /** The model of a view class, from `model` or `queryset`. @throws {ConfigurationError} it has neither */
  static modelClass(): ModelClass {
    if (this.model) return this.model
    if (this.queryset) return this.queryset().modelClass() as ModelClass
    throw new ConfigurationError(
      `${this.name}: set static model, or static queryset to a function that returns a query`,
    )
  }

  override getKnex(): Knex | undefined | Promise<Knex | undefined> {
    return this.#class.modelClass().knex() as Knex | undefined
  }

  /**
   * The objects this view works on: a fresh query, inside the request's transaction if there is one.
   * Override it to narrow what the caller may see. It is synchronous: a query is a promise, so awaiting it would run it.
   */
  getQueryset(): QueryBuilder<M> {
    const { queryset, model, name } = this.#class
    const knex = this.trx ?? this.knex
    if (queryset) {
      const query = queryset()
      return (knex ? query.transacting(knex as Knex.Transaction) : query) as QueryBuilder<M>
    }
    if (!model) throw new ConfigurationError(`${name}: set static model, or override getQueryset()`)
    return model.query(knex) as unknown as QueryBuilder<M>
  }

  /** The query with the conditions of all filter backends, in order. */
  filterQueryset(query: AnyQueryBuilder): AnyQueryBuilder {
    const view = filterViewOf(this.#class)
    return view.backends.reduce((filtered, backend) => backend.filterQueryset(filtered, this.ctx, view), query)
  }

  /**
   * The object that the path names, with the relations that the output shows.
   * @throws NotFound there is none, or not for this caller
   * @throws PermissionDenied, AuthenticationFailed an object permission refuses
   */
  async getObject(): Promise<M> {
    const { lookupField, lookupUrlKwarg } = this.#class
    const kwarg = lookupUrlKwarg ?? lookupField
    const text = (this.ctx['params'] as Record<string, string> | undefined)?.[kwarg]
    if (text === undefined) {
      throw new ConfigurationError(
        `${this.#class.name}: the path has no parameter "${kwarg}"; set static lookupUrlKwarg`,
      )
    }
    const column = lookupColumn(this.#class)
    const value = parseLookup(column, text)
    if (value === undefined) throw new NotFound()
    const query = this.getQueryset() as unknown as AnyQueryBuilder
    void query.where(`${query.tableRefFor(query.modelClass())}.${column.column}`, value as string)
    if (!column.unique) void query.limit(1)
    const [object] = (await this.loadRelated(query)) as M[]
    if (!object) throw new NotFound()
    await this.checkObjectPermissions(object)
    return object
  }

  /** The body of a list answer: filtered, in a total order, one page of it if a pagination class is set. */
  async getList(): Promise<unknown> {
    const { paginator } = this.#settled
    const source = this.#source(paginator)
    if (!paginator) {
      const rows = await source.read({ limit: Number.POSITIVE_INFINITY })
      return rows.results(0, rows.length)
    }
    const { ctx } = this
    const params = (ctx['params'] ?? {}) as Record<string, string>
    return paginator.paginate(source, { ctx, url: ctx.originalUrl, query: ctx.query, params })
  }

  #source(paginator: BasePagination | undefined): ListSource {
    const view = filterViewOf(this.#class)
    const query = this.filterQueryset(this.getQueryset() as unknown as AnyQueryBuilder)
    return new InstanceList({
      name: this.basename ?? this.#class.name,
      query,
      order: this.#order(view, query, paginator),
      parameters: parametersOf(view),
      shown: new Set(serializerPlan(this.getSerializerClass()).readable.map((field) => field.name)),
      load: (list) => this.loadRelated(list),
      represent: (items) => this.getSerializer({ obj: items as readonly M[], many: true }).data,
    })
  }

  /** The order of a list: what a filter backend was asked for, the paginator's own, the query's own, or the view's. */
  #order(view: FilterView, query: AnyQueryBuilder, paginator: BasePagination | undefined): readonly OrderTerm[] {
    if (query.has('distinct') || query.has('distinctOn') || query.has('groupBy')) return []
    for (const backend of view.backends) {
      const asked = backend.ordering(this.ctx.query, view)
      if (asked) return totalOrder(view.model, asked)
    }
    if (paginator?.ordering !== undefined && !view.backends.some(orders)) {
      query.clearOrder()
      return totalOrder(view.model, [paginator.ordering].flat().map(parseOrderTerm))
    }
    if (query.has('orderBy')) return totalOrder(view.model, [])
    return totalOrder(view.model, this.#class.ordering.map(parseOrderTerm))
  }

  /** Adds to a query what the serializer shows of related objects, so that a list costs a fixed number of queries. */
  loadRelated(query: AnyQueryBuilder): AnyQueryBuilder {
    const relations = this.#relations()
    readExactly(query)
    return Object.keys(relations).length > 0 ? query.withGraphFetched(relations) : query
  }

  #relations(): RelationGraph {
    return serializerPlan(this.getSerializerClass()).relations
  }

  /** The serializer class for this request; override it to choose by `this.action` or by the caller. */
  getSerializerClass(): AnySerializerClass {
    const { serializerClass, name } = this.#class
    if (!serializerClass) {
      throw new ConfigurationError(`${name}: set static serializerClass, or override getSerializerClass()`)
    }
    return serializerClass
  }

  /** A serializer that knows this request. */
  getSerializer(options: SerializerOptions<M> = {}): Serializer<M> {
    const serializerClass = this.getSerializerClass()
    return new serializerClass({ context: this.getSerializerContext(), ...options }) as Serializer<M>
  }

  /** A serializer for the request's body. */
  getInputSerializer(options: SerializerOptions<M> = {}): Serializer<M> {
    return this.getSerializer({ inputData: this.body.data, textual: this.body.textual, ...options })
  }

  /** What serializers know of the request. */
  getSerializerContext(): SerializerContext {
    const { ctx } = this
    return { ctx, view: this, user: ctx.state['user'], knex: this.trx ?? this.knex }
  }

  override toError(error: unknown): unknown {
    return toApiError(error, this.#subject()) ?? error
  }

  get #settled(): Settled {
    return settleGeneric(this.#class)
  }

  /** Names a constraint's columns by the client's fields. */
  #subject(): ConstraintSubject {
    const { method } = this.ctx
    const { data } = this.body
    let model: ModelDescription | undefined
    let fields: ReadonlyMap<string, string> = new Map()
    try {
      const plan = serializerPlan(this.getSerializerClass())
      model = plan.model
      fields = new Map(plan.fields.flatMap((field) => (field.column ? [[field.column.column, field.name]] : [])))
    } catch {
      // a view without a serializer names no fields
    }
    const isOwn = (table: string) => model?.model.tableName.split('.').at(-1) === table
    const columnOf = (property: string) => model?.columns.get(property)?.column ?? property
    return {
      operation: method === 'DELETE' ? 'delete' : method === 'GET' || method === 'HEAD' ? 'read' : 'write',
      columnsOf: (table, constraint) => (isOwn(table) ? model?.constraints.get(constraint)?.map(columnOf) : undefined),
      fieldOf: (table, column) => (isOwn(table) ? fields.get(column) : undefined),
      valueOf: (field) => (data as Record<string, unknown> | null)?.[field],
    }
  }
}

/** What filter backends know of a view class; one object for as long as the catalogue is the same. */
export function filterViewOf(view: typeof GenericAPIView): FilterView {
  const known = filterViews.get(view)
  if (known?.revision === catalogueRevision()) return known.view
  const made: FilterView = {
    name: view.name,
    model: describeModel(view.modelClass()),
    filtersetFields: view.filtersetFields,
    searchFields: view.searchFields,
    orderingFields: view.orderingFields,
    searchConfig: view.searchConfig,
    searchType: view.searchType,
    searchParam: view.searchParam,
    backends: settleGeneric(view).filters,
  }
  filterViews.set(view, { revision: catalogueRevision(), view: made })
  return made
}

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

/** True for a backend that decides on an order. */
function orders(backend: BaseFilter): boolean {
  return backend.ordering !== BaseFilter.prototype.ordering
}

/** The column a view looks objects up by. @throws {ConfigurationError} the model has none of that name */
export function lookupColumn(view: typeof GenericAPIView): Column {
  const model = describeModel(view.modelClass())
  // `id` is the default for any single primary key, whatever its name
  const [key] = model.primaryKey
  const property = view.lookupField === 'id' && !model.columns.has('id') && key !== undefined ? key : view.lookupField
  const column = model.columns.get(property)
  if (!column) {
    throw new ConfigurationError(`${view.name}: lookupField "${view.lookupField}" is no column of ${model.model.name}`)
  }
  return column
}

/** The paginator and filters of a view class; made once. @throws {ConfigurationError} */
export function settleGeneric(view: typeof GenericAPIView): Settled {
  let made = settled.get(view)
  if (!made) {
    made = {
      paginator: view.paginationClass ? resolvePolicy(view.paginationClass) : undefined,
      filters: resolvePolicies(`${view.name}.filterBackends`, view.filterBackends, 'filterQueryset'),
    }
    settled.set(view, made)
  }
  return made
}
