/** Views over a model and a serializer. */

import type { Knex } from 'knex'
import type { Model, QueryBuilder } from 'objection'
import { addETag, ROW_VERSION } from '../caching/cache-response.js'
import type { SerializerContext } from '../fields/field.js'
import type { Where } from '../filters/field-path.js'
import { every } from '../filters/filter.js'
import { isDescribing, isSafeMethod, type QueryParameters, queryOf } from '../http/context.js'
import { roleRefusal } from '../http/database-role.js'
import { described } from '../kernel/declarations.js'
import { ConfigurationError } from '../kernel/errors.js'
import { didYouMean } from '../kernel/near-miss.js'
import { describeModel } from '../models/describe-model.js'
import { type AnyQueryBuilder, type ModelClass, modelName } from '../models/objection.js'
import { areOfOneTable } from '../models/one-table.js'
import type { AskedForm } from '../parsers/parser.js'
import type { Queryable } from '../postgres/pg-types.js'
import { groupConditions } from '../queryset/group-conditions.js'
import { loadRelations } from '../queryset/load-relations.js'
import { readExactly } from '../queryset/read-exactly.js'
import type { VisibleFields } from '../queryset/visible-fields.js'
import { leaveOutDeleted, leaveOutUnseen, seenBy, type VisibleRows } from '../queryset/visible-rows.js'
import type { SerializerClass, SerializerOptions, SerializerPlan } from '../serializers/contract.js'
import { findReadable } from '../serializers/limited-fields.js'
import { serializerPlan } from '../serializers/plan.js'
import { merge } from '../serializers/relation-graph.js'
import { seenClass } from '../serializers/seen-class.js'
import type { Serializer } from '../serializers/serializer.js'
import type { GenericPlan } from './action-plan.js'
import { showsObject, withQuery } from './actions.js'
import { isBuiltIn, markBuiltIn } from './built-in.js'
import { prepareModelsOf } from './checks/models-of.js'
import { checkUnregistered, prepareUnregistered } from './checks/unregistered.js'
import { GenericViewStatics } from './generic-statics.js'
import { serializerClassOf, serializerContextOf } from './generic-view.js'
import { hasModel } from './generic-view-class.js'
import { askedInput, declaredInput, inputClassOf, knownInputClass } from './input-class.js'
import { forcedValues, parentScope } from './request/parents.js'
import { requestRows, ruledRows } from './request/request-rows.js'
import { modelClassOf, type Resource, resourceOf } from './resource.js'
import type { DeletedRows } from './soft-delete.js'
import { notApplied } from './steps/apply-body.js'
import { inputSerializerOf } from './steps/input-serializer.js'
import { findObject, getObjectToWrite } from './steps/object-to-write.js'
import { readList } from './steps/read-list.js'
import { readDetail } from './steps/read-object.js'
import { refusedWrite } from './steps/refused-write.js'
import { addConditions, filteredQuery, maskedProperties, querysetOf } from './steps/visible-query.js'
import type { ActionMap, RegisteredRoute } from './view.js'
import { methodsOf, preparedHandler, type ViewHandler } from './view-handler.js'
import { writesUnseen } from './writing-plan.js'

/**
 * A view over a model: queryset, lookup, serializer, filters and pagination.
 * @example
 * class BookList extends GenericAPIView<Book> {
 *   static override model = Book
 *   static override serializerClass = BookSerializer
 *   async get() { return this.getSerializer({ obj: await this.getQueryset(), many: true }).data }
 * }
 */
export class GenericAPIView<M extends Model = Model> extends GenericViewStatics {
  /** @internal Which rows the request is about, where the view marks them as deleted. */
  declare deletedRows: DeletedRows
  /** @internal */
  declare holds: boolean

  /** @internal What its action does. */
  declare plan: GenericPlan

  /** @internal What is decided of the class. */
  get resource(): Resource {
    // one that an application has made itself answers no request
    return (this.plan as GenericPlan | undefined)?.resource ?? resourceOf(this.viewClass)
  }

  /** @internal The class, for the steps that work on any generic view. */
  get viewClass(): typeof GenericAPIView {
    return this.constructor as typeof GenericAPIView
  }

  /** The model of a view class, from `model` or `queryset`. @throws {ConfigurationError} it has neither */
  static modelClass(): ModelClass {
    return modelClassOf(this)
  }

  /**
   * @see APIView.asView. What a router checks of its views is checked of others, too: here what needs no database, the rest
   * at the first request, which reads the database catalogue and answers 500 where something is wrong.
   * @throws {ConfigurationError} also: no model, no serializer for an action that needs one, or a wrong option
   */
  static override asView(actions: ActionMap = methodsOf(this), route: RegisteredRoute = {}): ViewHandler {
    const isRegistered = route.basename !== undefined
    if (!isRegistered) checkUnregistered(this, actions)
    const handler = super.asView(this.queryMethod ? withQuery(actions) : actions, route)
    // a router of ours is prepared before it calls one
    if (route.routes) return handler
    const { rules } = route
    return preparedHandler(handler, () =>
      isRegistered ? prepareModelsOf(this) : prepareUnregistered(this, actions, rules),
    )
  }

  /** @internal */
  static override askedForm(): AskedForm {
    const asked = super.askedForm()
    const isKnown = isBuiltIn(this.prototype, 'getSerializerClass', 'getSerializer', 'getInputSerializer')
    return isKnown ? asked : { ...asked, objects: 'all', files: 'all' }
  }

  /** @internal */
  static override takingSerializers(): SerializerClass[] {
    const taking = declaredInput(this)
    const own = taking ? [taking] : []
    return [...own, ...super.takingSerializers()]
  }

  override getKnex(): Knex | undefined | Promise<Knex | undefined> {
    const { viewClass } = this
    const { queryset, model } = viewClass
    return (queryset ? queryset() : (model ?? viewClass.modelClass())).knex() as Knex | undefined
  }

  /**
   * The objects this view works on: a fresh query, inside the request's transaction if there is one.
   * Override it to narrow what the caller may see. It is synchronous: a query is a promise, so awaiting it would run it.
   * Writes are answered with what it selects, masks or loads besides the rows, so a create asks for it, too.
   */
  getQueryset(): QueryBuilder<M> {
    const { queryset, model, name } = this.viewClass
    const knex = this.trx ?? this.knex
    if (!(queryset || model)) throw new ConfigurationError(`${name}: set static model, or override getQueryset()`)
    // the function may give one query to all requests
    let query = (queryset ? queryset().clone() : model?.query(knex)) as AnyQueryBuilder
    if (queryset && knex) query = query.transacting(knex as Knex.Transaction)
    const { deletedScope, plan, visibleRows } = this
    const ruled = plan?.rules && ruledRows(this)
    addConditions(this, query, deletedScope, ruled)
    seenBy(query, visibleRows)
    // what code of the application's reads by it has its microseconds, too; the package's own steps see to that themselves
    return (this.resource.overrides.has(this.action) ? readExactly(query) : query) as unknown as QueryBuilder<M>
  }

  /**
   * The objects that a relation of the model may lead to, for code of your own that looks one up: a fresh query, inside the
   * request's transaction, of those that are not marked as deleted, and that the caller sees by rules of the API and by the
   * view set in `related`.
   * @throws {ConfigurationError} the model has no such relation
   * @example const genre = await this.getRelatedQueryset('genres').findById(this.ctx.params.genre)
   */
  getRelatedQueryset(name: string): AnyQueryBuilder {
    const { viewClass, visibleRows } = this
    const owner = viewClass.modelClass()
    const { relations } = describeModel(owner)
    const relation = relations.get(name)
    if (!relation) {
      throw new ConfigurationError(
        `${viewClass.name}.getRelatedQueryset(): "${name}" is no relation of ${modelName(owner)}${didYouMean(name, relations.keys())}`,
      )
    }
    const { model } = relation
    const query = seenBy(groupConditions(model.query(this.trx ?? this.knex)), visibleRows)
    leaveOutUnseen(query, visibleRows?.related({ owner, relation: name, model }))
    leaveOutDeleted(query, relation)
    return groupConditions(query)
  }

  /** @internal The condition that objects belong to the one before them on the path. */
  parentScope(): Where | undefined {
    return this.plan.parents.length > 0 ? parentScope(this) : undefined
  }

  /** @internal The conditions on all objects of the request: that they are not deleted, what rules say, and whom they belong to. */
  scope(): Where | undefined {
    const { plan } = this
    if (!plan.hasScope) return undefined
    const { deletedScope } = this
    const parents = this.parentScope()
    const ruled = plan.rules && ruledRows(this)
    const conditions = [deletedScope, ruled, parents].filter((one): one is Where => one !== undefined)
    if (conditions.length < 2) return conditions[0]
    return (start) => every(conditions.map((condition) => condition(start)))
  }

  /** @internal What the caller sees and may write of all models; undefined where only querysets say so. */
  get visibleRows(): VisibleRows | undefined {
    const plan = this.plan as GenericPlan | undefined
    return plan?.limitsRows ? requestRows(this) : undefined
  }

  /** @internal What the caller may do with fields of models; undefined where no rule says so, or where that is all. */
  get visibleFields(): VisibleFields | undefined {
    const { rules, limitsFields } = (this.plan as GenericPlan | undefined) ?? {}
    if (!rules || !limitsFields) return undefined
    return isDescribing(this.ctx) ? rules.fields.most : rules.of(this.ctx).fields
  }

  /** @internal What the caller may ask of lists. */
  get asked(): Resource {
    const { plan, resource } = this
    const visible = (plan as GenericPlan | undefined)?.limitsFields ? this.visibleFields : undefined
    return visible ? resource.seenBy(visible) : resource
  }

  /** @internal The properties of a model that this view's queryset computes: what is read of them is no value to write. */
  maskedOf(model: ModelClass): readonly string[] {
    const isOwn = hasModel(this.viewClass) && areOfOneTable(this.viewClass.modelClass(), model)
    return isOwn && (this.plan as GenericPlan | undefined) ? maskedProperties(this) : []
  }

  /** @internal A serializer class as the caller sees it. */
  seenClass(serializer: SerializerClass): SerializerClass {
    return (this.plan as GenericPlan | undefined)?.limitsFields ? seenClass(serializer, this.visibleFields) : serializer
  }

  /** @internal Which rows the request is about, of a view set that only marks them as deleted. */
  get deletedScope(): Where | undefined {
    return this.resource.deletion?.scopes[this.deletedRows]
  }

  /** The parameters of the request: those of its URL, and of a QUERY those of its body, too. Of repeated ones the last counts. */
  get queryParams(): QueryParameters {
    return queryOf(this.ctx)
  }

  /** The query with the conditions of all filter backends, in order. */
  filterQueryset(query: AnyQueryBuilder): AnyQueryBuilder {
    return filteredQuery(this.asked.filterSettings, this.ctx, query)
  }

  /**
   * The object that the path names, with the relations that the output shows, unless only the package looks at it.
   * @throws NotFound there is none, or not for this caller
   * @throws PermissionDenied, AuthenticationFailed an object permission refuses
   */
  async getObject(): Promise<M> {
    const object = (await findObject(this)) as M
    if (!(this.holds && writesUnseen(this))) await this.loadRelated([object])
    await this.checkObjectPermissions(object)
    return object
  }

  /**
   * The object that the path names, for an action that is about to change it: its row is held (`FOR NO KEY UPDATE`, or
   * `FOR UPDATE` in a DELETE), so that what is checked here is what is written, and the conditions that the request came
   * with hold (`If-Match`, `If-None-Match`). A row that has left the queryset while it was waited for is a 404.
   * @throws NotFound, PermissionDenied, AuthenticationFailed as `getObject()` does
   * @throws ApiError 412 a condition fails, 428 `If-Match` is required and missing
   * @throws {ConfigurationError} the request is one that only reads, or there is no transaction to hold the row in
   */
  getObjectToWrite(): Promise<M> {
    return getObjectToWrite(this)
  }

  /** The body of a list answer: filtered, in a total order, one page of it if a pagination class is set. */
  getList(): Promise<unknown> {
    return readList(this)
  }

  /** The body of a detail answer: the object that the path names. */
  getDetail(): Promise<unknown> {
    return readDetail(this)
  }

  /**
   * @internal A write that is one statement needs no transaction around it; versions of rows always do. In a transaction
   * of the application's it is a savepoint: a refusal must not end what is not ours.
   */
  override get atomic(): boolean {
    const { plan } = this
    const isAlone = plan.inserting.way === 'statement' || plan.writing.way === 'statement'
    const isOne = isAlone && !(this.knex as Queryable | undefined)?.isTransaction
    return (super.atomic || plan.recordsChanges || plan.viewClass.concurrency !== null) && !isOne
  }

  /**
   * Loads what the serializer shows of related objects: one query for each relation, however many objects. What a graph of
   * `getQueryset()` has loaded with them stays as it is. Where rules say of each row what may be read of it, it asks that, too.
   */
  async loadRelated(objects: readonly object[], knex: Queryable | undefined = this.trx ?? this.knex): Promise<void> {
    const shown = this.seenClass(serializerClassOf(this))
    const taken = isSafeMethod(this.ctx.method) ? shown : this.seenClass(inputClassOf(this))
    const own = serializerPlan(shown).relations
    // what nested objects of a body change, too
    const relations = taken === shown ? own : merge(own, serializerPlan(taken).relations)
    if (Object.keys(relations).length > 0)
      await loadRelations(this.viewClass.modelClass(), objects, { relations, knex, parent: querysetOf(this) })
    if (this.visibleFields) await findReadable(shown, objects, { context: serializerContextOf(this) })
  }

  /**
   * The serializer class for this request; override it to choose by `this.action` or by the caller. An action whose
   * `outputSerializer` is of the view's model has that one.
   */
  getSerializerClass(): SerializerClass {
    const plan = this.plan as GenericPlan | undefined
    const { viewClass } = plan ?? this
    const serializerClass = plan?.outputSerializer ?? viewClass.serializerClass
    if (!serializerClass) {
      throw new ConfigurationError(`${viewClass.name}: set static serializerClass, or override getSerializerClass()`)
    }
    return serializerClass
  }

  /** @internal The action's own serializer, or the view's. */
  override describeInput(): SerializerPlan | undefined {
    const taking = knownInputClass(this)
    return super.describeInput() ?? (taking && askedInput(serializerPlan(this.seenClass(taking)), forcedValues(this)))
  }

  /** A serializer that knows this request. */
  getSerializer(options: SerializerOptions<M> = {}): Serializer<M> {
    const serializerClass = serializerClassOf(this)
    const forced = this.plan.parents.length > 0 ? forcedValues(this) : undefined
    return new serializerClass({ context: serializerContextOf(this), forced, ...options }) as Serializer<M>
  }

  /**
   * A serializer for the request's body: that of the action's `inputSerializer`, of `inputSerializerClass`, or else of
   * `serializerClass`. What it has saved is shown by `getSerializer({ obj })`.
   */
  getInputSerializer(options: SerializerOptions<M> = {}): Serializer<M> {
    const { data: inputData, textual, patch } = this.body
    if (patch !== undefined) throw notApplied(this)
    return inputSerializerOf(this, { inputData, textual, ...options }) as Serializer<M>
  }

  /**
   * What serializers know of the request: asked once for each that is made. A write by one statement has no transaction, and so
   * no `this.trx` (`explain()` says which); where it turns out to need one, it is asked again, with it.
   */
  getSerializerContext(): SerializerContext {
    return { ctx: this.ctx, view: this, user: this.ctx.state['user'], knex: this.trx ?? this.knex }
  }

  override finalizeResponse(): void {
    const rowVersion = ROW_VERSION.get(this.ctx)
    if (rowVersion !== undefined && showsObject(this.plan.action)) addETag(this.ctx, rowVersion)
    super.finalizeResponse()
  }

  override toError(error: unknown): unknown {
    return (this.plan.database && roleRefusal(this.ctx, error)) ?? refusedWrite(this, error) ?? error
  }
}

described(GenericAPIView)

Object.assign(GenericAPIView.prototype, { deletedRows: 'live', holds: false })

markBuiltIn(GenericAPIView.prototype)

/** True for the class of a generic view. */
export function isGeneric(view: unknown): view is typeof GenericAPIView {
  return typeof view === 'function' && view.prototype instanceof GenericAPIView
}
