/** Views over a model and a serializer (spec section 4.6). */
import type { Knex } from 'knex'
import type { Model, QueryBuilder } from 'objection'
import { answerError } from '../answer-error.js'
import { type ConstraintSubject, subjectOf, toApiError } from '../database-errors.js'
import { ConfigurationError, NotFound, ServiceUnavailable, ValidationError } from '../errors.js'
import type { SerializerContext } from '../fields/field.js'
import { parseLookup } from '../fields/parse-lookup.js'
import {
  BaseFilter,
  type FilterPart,
  type FilterView,
  guardOf,
  isDescribed,
  type ParameterDescription,
  type QueryParameters,
  readParts,
} from '../filters/filter.js'
import { buildModel, databaseValues } from '../models/build-model.js'
import { type Column, catalogueRevision, describeModel } from '../models/describe-model.js'
import type { AnyQueryBuilder, ModelClass } from '../models/objection.js'
import { hasPlainQueries } from '../models/plain-model.js'
import type { BasePagination, ListSource } from '../pagination/pagination.js'
import { BasePermission } from '../permissions/permission.js'
import { type Policies, type Policy, resolvePolicies, resolvePolicy } from '../policy.js'
import { runGuarded } from '../queryset/guarded.js'
import { readExactly } from '../queryset/read-exactly.js'
import { readsRawRows } from '../queryset/run-statement.js'
import { canOrderBy, type OrderTerm, parseOrderTerm, totalOrder } from '../queryset/total-order.js'
import type { JsonText } from '../renderers/json-text.js'
import { constraintSubject } from '../serializers/constraint-subject.js'
import type {
  SerializerClass as AnySerializerClass,
  RelationGraph,
  SerializerOptions,
  SerializerPlan,
} from '../serializers/contract.js'
import { insertsRows } from '../serializers/insert-plan.js'
import { serializerPlan } from '../serializers/plan.js'
import { rowPlan } from '../serializers/row-plan.js'
import type { Serializer } from '../serializers/serializer.js'
import { splitWrites } from '../serializers/write-relations.js'
import { APIView, type ViewHandler } from './api-view.js'
import { InstanceList } from './list-source.js'
import { isPrepared, prepareModelsOf } from './models-of.js'
import { writesJson } from './respond.js'
import { type Lookup, RowReader } from './row-reader.js'
import { isStandard, markStandard } from './standard.js'
import type { ActionMap } from './view.js'

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
  /** Let PostgreSQL write the JSON of lists and objects, where SQL can say all that they show. @default false */
  static useNativeJson = false
  /** Answer 400 for query parameters that nothing reads, in place of ignoring them. @default false */
  static strictParams = false
  /** Query parameters that the view's own code reads, besides those of its filter backends and its paginator. */
  static queryParameters: readonly ParameterDescription[] = []
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

  /** @see APIView.asView. A view that no router has registered reads the database catalogue at its first request. */
  static override asView(actions?: ActionMap, basename?: string): ViewHandler {
    const answer = super.asView(actions, basename)
    return async (ctx) => {
      try {
        if (!isPrepared(this)) await prepareModelsOf(this)
      } catch (error) {
        answerError(ctx, new ServiceUnavailable(5, { cause: error }))
        return
      }
      await answer(ctx)
    }
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
    const { query, column } = this.#lookup()
    const found = query()
    if (!column.unique) void found.limit(1)
    const [object] = (await this.loadRelated(found)) as M[]
    if (!object) throw new NotFound()
    await this.checkObjectPermissions(object)
    return object
  }

  /** What the path names: the column, the value, and a query for it. @throws NotFound when no row can have the value */
  #lookup(): Lookup {
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
    return {
      column,
      value,
      plain: isStandard(this, 'getQueryset') && !this.#class.queryset && hasPlainQueries(this.#class.modelClass()),
      query: () => {
        const query = this.getQueryset() as unknown as AnyQueryBuilder
        refuseLimit(this.#class.name, query)
        return query.where(`${query.tableRefFor(query.modelClass())}.${column.column}`, value as string)
      },
    }
  }

  /** The body of a list answer: filtered, in a total order, one page of it if a pagination class is set. */
  async getList(): Promise<unknown> {
    const { paginator } = this.#settled
    const view = filterViewOf(this.#class)
    if (this.#class.strictParams) refuseUnknown(this.ctx.query, this.#class)
    const parts = readParts(this.ctx.query, view)
    const timeout = paginator?.keepsConnections ? undefined : guardOf(parts)
    const { trx } = this
    const knex = trx ?? this.knex
    if (timeout === undefined || !knex) return this.#page(view, parts)
    return runGuarded(knex, timeout, async (guarded) => {
      this.trx = guarded
      try {
        return await this.#page(view, parts)
      } finally {
        this.trx = trx
      }
    })
  }

  async #page(view: FilterView, asked: readonly FilterPart[]): Promise<unknown> {
    const { paginator } = this.#settled
    const source = this.#source(view, asked)
    if (!paginator) {
      const rows = await source.read({ limit: Number.POSITIVE_INFINITY })
      return rows.results(0, rows.length)
    }
    const { ctx } = this
    const params = (ctx['params'] ?? {}) as Record<string, string>
    return paginator.paginate(source, { ctx, url: ctx.originalUrl, query: ctx.query, params })
  }

  /** The body of a detail answer: the object that the path names. */
  async getDetail(): Promise<unknown> {
    const rows = this.#rowReader('retrieve')
    if (!rows || !isStandard(this, 'getObject', 'checkObjectPermissions') || guardsObjects(this.policies.permissions)) {
      return this.getSerializer({ obj: await this.getObject() }).data
    }
    const text = await rows.readOne(this.#lookup())
    if (text === undefined) throw new NotFound()
    return text
  }

  #source(view: FilterView, asked: readonly FilterPart[]): ListSource {
    const { paginator } = this.#settled
    const base = {
      name: this.basename ?? this.#class.name,
      parameters: parametersOf(view),
      shown: shownColumns(serializerPlan(this.getSerializerClass())),
      statementMilliseconds: guardOf(asked),
    }
    const rows = this.#rowReader('list')
    const parts = rows && hasPlainQueries(rows.model) ? this.#parts(view, asked) : undefined
    if (rows && parts) {
      const order = this.#order(view, undefined, paginator)
      return rows.list({ ...base, order, shape: rows.shapeOf(view, parts), query: () => this.#apply(parts) })
    }
    const query = this.filterQueryset(this.getQueryset() as unknown as AnyQueryBuilder)
    if (paginator) refuseLimit(this.#class.name, query)
    const order = this.#order(view, query, paginator)
    if (rows?.canList(query)) {
      return rows.list({ ...base, order, shape: undefined, query: () => query.clone() as AnyQueryBuilder })
    }
    return new InstanceList({
      ...base,
      query,
      order,
      load: (list) => this.loadRelated(list),
      represent: (items) => this.getSerializer({ obj: items as readonly M[], many: true }).data,
    })
  }

  /** A create that is one statement needs no transaction around it. */
  override get atomic(): boolean {
    return super.atomic && !(this.action === 'create' && this.#insertsRow())
  }

  /** Creates the object by one statement, where nothing of the application stands in between; else undefined. */
  async insertRow(): Promise<{ object: object; text: JsonText } | undefined> {
    const rows = this.#insertsRow() ? this.#rowReader('create') : undefined
    if (!rows) return undefined
    const serializer = this.getInputSerializer()
    await serializer.isValid({ raiseException: true, trustKeys: true })
    const { columns } = splitWrites(serializer, serializer.validatedData)
    const values = databaseValues(rows.model, buildModel(rows.model, columns))
    const column = lookupColumn(this.#class)
    const { key, text } = await rows.insert(column, values)
    return { object: { [column.property]: key }, text }
  }

  #insertsRow(): boolean {
    const names = ['create', 'performCreate', 'getInputSerializer', 'getSerializerClass']
    if (!this.#class.serializerClass || !isStandard(this, ...names)) return false
    return insertsRows(this.#class.serializerClass) && this.#rowReader('create') !== undefined
  }

  /** Reads rows without making instances of them, where nothing of the application needs instances. */
  #rowReader(action: 'list' | 'retrieve' | 'create'): RowReader | undefined {
    if (!isStandard(this, action, 'getSerializer', 'loadRelated')) return undefined
    const plan = rowPlan(this.getSerializerClass())
    const knex = this.trx ?? this.knex
    if (!plan || !knex || !readsRawRows(knex) || !writesJson(this)) return undefined
    const model = this.#class.modelClass()
    return new RowReader({
      model,
      plan,
      knex,
      native: this.#class.useNativeJson,
      context: () => this.getSerializerContext(),
    })
  }

  /** What the filter backends are asked for, when that and the model say all there is to know of the list's SQL. */
  #parts(view: FilterView, asked: readonly FilterPart[]): readonly FilterPart[] | undefined {
    if (this.#class.queryset || !isStandard(this, 'getQueryset', 'filterQueryset')) return undefined
    if (!view.backends.every(isDescribed)) return undefined
    return asked.every(({ shape, guarded }) => shape !== null && guarded === undefined) ? asked : undefined
  }

  #apply(parts: readonly FilterPart[]): AnyQueryBuilder {
    const query = this.getQueryset() as unknown as AnyQueryBuilder
    for (const part of parts) part.apply(query)
    return query
  }

  /** The order of a list; none where the query cannot be ordered. */
  #order(
    view: FilterView,
    query: AnyQueryBuilder | undefined,
    paginator: BasePagination | undefined,
  ): readonly OrderTerm[] {
    const order = this.#wantedOrder(view, query, paginator)
    return query === undefined || canOrderBy(query, view.model, order) ? order : []
  }

  /** What a filter backend was asked for, the paginator's own, the query's own, or the view's. */
  #wantedOrder(
    view: FilterView,
    query: AnyQueryBuilder | undefined,
    paginator: BasePagination | undefined,
  ): readonly OrderTerm[] {
    // a paginator with an order of its own knows rows by their place in it
    if (paginator?.ordering !== undefined) query?.clearOrder()
    for (const backend of view.backends) {
      const asked = backend.ordering(this.ctx.query, view)
      if (asked) return totalOrder(view.model, asked)
    }
    if (query?.has(/^orderBy/)) return totalOrder(view.model, [])
    return totalOrder(view.model, defaultOrder(this.#class, paginator))
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

  /** Names what fails outside the serializer's own statements (in a hook, at COMMIT) by the client's fields. */
  #subject(): ConstraintSubject {
    const subject = subjectOf(this.ctx.method)
    try {
      return constraintSubject(serializerPlan(this.getSerializerClass()), subject.operation, this.body.data)
    } catch {
      // a view without a serializer names no fields
      return subject
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

/** @throws ValidationError the request has parameters that nothing of the view reads */
function refuseUnknown(query: QueryParameters, view: typeof GenericAPIView): void {
  const { paginator } = settleGeneric(view)
  const own = [...(paginator?.parameters() ?? []), ...view.queryParameters].map(({ name }) => name)
  const allowed = new Set([...parametersOf(filterViewOf(view)), ...own])
  const unknown = Object.keys(query).filter((name) => !allowed.has(name))
  if (unknown.length === 0) return
  // a name is repeated only where it is a plain word
  const keys = unknown.map((name) => (/^\w{1,64}$/.test(name) ? name : 'non_field_errors'))
  const message = `Unknown parameter. Use ${[...allowed].join(', ') || 'none'}.`
  throw new ValidationError(Object.fromEntries(keys.map((key) => [key, [message]])))
}

const shownNames = new WeakMap<SerializerPlan, ReadonlySet<string>>()

/** The columns that a serializer shows under their own names. */
function shownColumns(plan: SerializerPlan): ReadonlySet<string> {
  let names = shownNames.get(plan)
  if (!names) {
    names = new Set(plan.readable.filter(({ name, column }) => column?.property === name).map(({ name }) => name))
    shownNames.set(plan, names)
  }
  return names
}

/** The order of a list that no request has asked for: the view's, or the paginator's where no filter backend orders. */
export function defaultOrder(view: typeof GenericAPIView, paginator: BasePagination | undefined): readonly OrderTerm[] {
  const { backends, model } = filterViewOf(view)
  const declared =
    view.ordering.length > 0 && backends.some(orders) ? view.ordering : (paginator?.ordering ?? view.ordering)
  return [declared].flat().flatMap((text) => {
    const term = parseOrderTerm(text)
    // `id` is the primary key, whatever its name
    const isKey = term.property === 'id' && !model.columns.has('id')
    return isKey ? model.primaryKey.map((property) => ({ ...term, property })) : [term]
  })
}

markStandard(
  GenericAPIView.prototype,
  'getQueryset',
  'filterQueryset',
  'getObject',
  'getSerializer',
  'getInputSerializer',
  'getSerializerClass',
  'getSerializerContext',
  'loadRelated',
  'checkObjectPermissions',
)

/** True when a permission looks at objects. */
function guardsObjects(permissions: readonly BasePermission[]): boolean {
  return permissions.some(
    (permission) => permission.hasObjectPermission !== BasePermission.prototype.hasObjectPermission,
  )
}

/** A page or a lookup would take the place of a limit, and look beyond it. @throws {ConfigurationError} */
function refuseLimit(view: string, query: AnyQueryBuilder): void {
  if (!query.has(/^(limit|offset|first|range|page)$/)) return
  throw new ConfigurationError(
    `${view}: its queryset has a limit, which pages and lookups cannot keep; select by a condition, such as whereIn('id', subquery)`,
  )
}

/** True for a backend that decides on an order. */
export function orders(backend: BaseFilter): boolean {
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
      paginator: view.paginationClass
        ? resolvePolicy(`${view.name}.paginationClass`, view.paginationClass, 'paginate')
        : undefined,
      filters: resolvePolicies(`${view.name}.filterBackends`, view.filterBackends, 'filterQueryset'),
    }
    settled.set(view, made)
  }
  return made
}
