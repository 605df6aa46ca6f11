/** Views over a model and a serializer (spec section 4.6). */
import type { Knex } from 'knex'
import type { Model, QueryBuilder } from 'objection'
import { type ConstraintSubject, toApiError } from '../database-errors.js'
import { ConfigurationError, NotFound } from '../errors.js'
import type { SerializerContext } from '../fields/field.js'
import { parseLookup } from '../fields/parse-lookup.js'
import type { BaseFilter } from '../filters/filter.js'
import { type Column, describeModel, type ModelDescription } from '../models/describe-model.js'
import type { AnyQueryBuilder, ModelClass } from '../models/objection.js'
import type { BasePagination } from '../pagination/pagination.js'
import { type Policies, type Policy, resolvePolicies, resolvePolicy } from '../policy.js'
import { readExactly } from '../queryset/read-exactly.js'
import { orderTotally, parseOrderTerm } from '../queryset/total-order.js'
import type {
  SerializerClass as AnySerializerClass,
  RelationGraph,
  SerializerOptions,
} from '../serializers/contract.js'
import { serializerPlan } from '../serializers/plan.js'
import type { Serializer } from '../serializers/serializer.js'
import { APIView } from './api-view.js'

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
    return this.#settled.filters.reduce((filtered, backend) => backend.filterQueryset(this.ctx, filtered, this), query)
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

  /** One page of a list, or all of it, in a total order and with the relations that the output shows. */
  async getPage(): Promise<{ items: readonly M[]; envelope(results: unknown): unknown }> {
    const filtered = this.filterQueryset(this.getQueryset() as unknown as AnyQueryBuilder)
    const query = this.loadRelated(orderTotally(filtered, this.#class.ordering.map(parseOrderTerm)))
    const { paginator } = this.#settled
    if (!paginator) return { items: (await query) as M[], envelope: (results) => results }
    const { ctx } = this
    const page = await paginator.paginate(query, { url: ctx.originalUrl, query: ctx.query })
    return page as { items: readonly M[]; envelope(results: unknown): unknown }
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
