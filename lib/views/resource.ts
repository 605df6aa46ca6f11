/** What a generic view class needs to answer requests, decided once: a request only reads it. */

import { CompositeKey, compositeKey } from '../fields/composite-key.js'
import { type ObjectKey, objectKey } from '../fields/object-key.js'
import { BaseFilter, type FilterSettings, isDescribed } from '../filters/filter.js'
import { CODELESS_FILTERS, OUR_FILTERS } from '../filters/our-filters.js'
import { declaredTerm, resolvePaths, SEPARATOR } from '../filters/resolve-paths.js'
import { withoutPrefix } from '../filters/search-filter.js'
import { type ExternalIds, externalIds, externalKey } from '../ids/external-ids.js'
import { ConfigurationError } from '../kernel/errors.js'
import { didYouMean } from '../kernel/near-miss.js'
import { decided, oncePer } from '../kernel/once-per.js'
import { describeModel, oncePerCatalogue } from '../models/describe-model.js'
import type { ModelDescription } from '../models/model-description.js'
import { traitsOf } from '../models/model-traits.js'
import { type AnyQueryBuilder, type ModelClass, modelName } from '../models/objection.js'
import { type BasePagination, DEFAULT_ORDERING } from '../pagination/pagination.js'
import { permissionName } from '../permissions/operators.js'
import type { BasePermission } from '../permissions/permission.js'
import { type OrderTerm, parseOrderTerm, totalOrder } from '../queryset/total-order.js'
import { mayAsk, type VisibleFields } from '../queryset/visible-fields.js'
import type { SerializerClass } from '../serializers/contract.js'
import { serializerPlan } from '../serializers/plan.js'
import { type StoredRows, storedRows } from '../serializers/stored-rows.js'
import { actionNamed, insertsRows, sampleOf, takesMany } from './actions.js'
import { type EnvelopeNames, envelopeNames } from './envelope-names.js'
import { type GenericViewClass, hasModel } from './generic-view-class.js'
import { CHOOSING, Overrides, type WritingAction } from './overrides.js'
import { listPoliciesOf, policiesOf } from './policies.js'
import { RelatedViewSet } from './related-view-set.js'
import { type Deletion, deletionFor } from './soft-delete.js'

/**
 * A generic view class as requests need it. What the catalogue has a say in is made when it is first asked for, and then
 * kept: registration needs no database.
 * @internal
 */
export class Resource {
  readonly view: GenericViewClass
  /** The fields that the caller may read and write; undefined in the resource of all callers. */
  readonly fields: VisibleFields | undefined
  /** Cuts lists into pages; undefined where they are answered whole. */
  readonly paginator: BasePagination | undefined
  /** The filter backends, in the order in which they narrow a list. */
  readonly filters: readonly BaseFilter[]
  /** The paginator keeps connections between requests. */
  readonly keepsConnections: boolean
  readonly #stored = new Map<WritingAction, (serializer: SerializerClass) => StoredRows>()
  /** The total order of terms that a filter backend gives out again and again. */
  readonly totalOf = oncePer((terms: readonly OrderTerm[]) =>
    totalOrder(this.model, terms, { positions: this.paginator?.ordering !== undefined }),
  )

  /** The resource for callers who may not read all fields: filters, orders and searches of the others are left out. */
  readonly seenBy = oncePer((fields: VisibleFields) => new Resource(this.view, fields))

  /** @throws {ConfigurationError} a paginator or filter backend is none */
  constructor(view: GenericViewClass, fields?: VisibleFields) {
    const { paginator, filters } = listPoliciesOf(view)
    this.view = view
    this.fields = fields
    this.paginator = paginator
    this.filters = filters
    this.keepsConnections = paginator?.keepsConnections === true
  }

  get model(): ModelDescription {
    return decided(this, 'model', describeModel(this.view.modelClass()))
  }

  /** What filter backends know of the class. */
  get filterSettings(): FilterSettings {
    const { view, model, filters: backends } = this
    const { name, searchConfig, searchType, searchParam } = view
    const mayAsk = (attribute: string) => (named: string) => this.mayAsk(attribute, named)
    const settingsOf = (related: GenericViewClass) => {
      const resource = resourceOf(related)
      return (this.fields ? resource.seenBy(this.fields) : resource).filterSettings
    }
    const relations = Object.entries(view.filterRelations).filter(([named]) => this.mayAsk('filterRelations', named))
    return decided(this, 'filterSettings', {
      name,
      model,
      filtersetFields: view.filtersetFields.filter(mayAsk('filtersetFields')),
      searchFields: view.searchFields.filter((named) => this.mayAsk('searchFields', withoutPrefix(named))),
      orderingFields: view.orderingFields.filter(mayAsk('orderingFields')),
      searchConfig,
      searchType,
      searchParam,
      backends,
      relations: new Map(relations.map(([named, shown]) => [named, new RelatedViewSet(shown, settingsOf)])),
    })
  }

  /** Filters may ask about related objects. */
  get asksRelations(): boolean {
    return decided(this, 'asksRelations', Object.keys(this.view.filterRelations).length > 0)
  }

  /** The names of the query parameters that the filter backends read. */
  get parameterNames(): ReadonlySet<string> {
    const view = this.filterSettings
    const names = view.backends.flatMap((backend) => backend.parameters(view).map(({ name }) => name))
    return decided(this, 'parameterNames', new Set(names))
  }

  /** All filter backends are ours: they do nothing without a parameter of theirs. */
  get isQuiet(): boolean {
    const isQuiet = this.filters.every((backend) => OUR_FILTERS.has(backend.constructor))
    return decided(this, 'isQuiet', isQuiet)
  }

  /** The parameters of the paginator that none of our filter backends looks at. */
  get pagingNames(): ReadonlySet<string> {
    const names = (this.paginator?.parameters() ?? []).map(({ name }) => name)
    const filtered = (name: string) =>
      this.parameterNames.has(name) ||
      this.view.filtersetFields.some((field) => name === field || name.startsWith(field + SEPARATOR))
    return decided(this, 'pagingNames', new Set(names.filter((name) => !filtered(name))))
  }

  /** The total order of a list that no request has asked for. */
  get defaultOrder(): readonly OrderTerm[] {
    return decided(this, 'defaultOrder', this.totalOf(this.declaredOrder()))
  }

  /**
   * The order that is declared for lists: the view's where a filter backend orders by it or the paginator names none of its
   * own, else the paginator's.
   */
  declaredOrder(): readonly OrderTerm[] {
    const { ordering } = this.view
    const { paginator, model, filters } = this
    const isOwn = paginator?.ordering !== undefined && paginator.ordering !== DEFAULT_ORDERING
    const declared =
      ordering.length > 0 && (filters.some(orders) || !isOwn) ? ordering : (paginator?.ordering ?? ordering)
    const names = [declared].flat().filter((text) => this.mayAsk('ordering', parseOrderTerm(text).property))
    return names.flatMap((text) => {
      const term = declaredTerm(`${this.view.name}: ordering`, model, text)
      // `id` is the primary key, whatever its name
      const isKey = term.property === 'id' && !model.columns.has('id')
      return isKey ? model.primaryKey.map((property) => ({ ...term, property })) : [term]
    })
  }

  /**
   * True for a name whose values the caller may read of all objects.
   * @param attribute the static that declares it, for messages
   */
  mayAsk(attribute: string, name: string): boolean {
    const { fields, model } = this
    const path = fields && this.#pathOf(attribute, name)
    if (!path) return true
    // an order is that of the keys, all else tells of the ids which stand for them
    const ids = attribute.startsWith('order') ? undefined : externalKey(model, path)
    return mayAsk(fields, model, path) && (!ids || mayAsk(fields, model, ids.path))
  }

  #pathOf(attribute: string, name: string): readonly string[] | undefined {
    const { model, view } = this
    if (model.columns.has(name) || model.relations.has(name)) return [name]
    if (!name.includes(SEPARATOR)) return undefined
    const where = `${view.name}: ${attribute}`
    return resolvePaths(where, model, [name], { keys: attribute === 'filtersetFields' })[0]?.properties
  }

  /** Paths and bodies may name its objects by their key: not by values that the caller cannot read. */
  get namesObjects(): boolean {
    return decided(this, 'namesObjects', this.mayName(this.lookup))
  }

  /** A key of its objects is nothing that the caller cannot read. */
  mayName({ columns, parts }: ObjectKey): boolean {
    return columns.every(({ property }, index) => parts[index]?.ids?.conceal || this.mayAsk('lookupField', property))
  }

  /** Positions in its lists hold keys that the caller is not to read. */
  get hidesKeys(): boolean {
    const { ids, model } = this
    const parts = compositeKey(model.model)?.parts ?? []
    const isHidden = parts.some((part) => part.ids?.hidesKeys)
    const hides =
      ids?.hidesKeys === true || isHidden || !model.primaryKey.every((name) => this.mayAsk('ordering', name))
    return decided(this, 'hidesKeys', hides)
  }

  /** Versions of rows are made of values that the caller cannot read. */
  get hidesVersion(): boolean {
    const hides = this.versionTerms.some(({ property }) => !this.mayAsk('concurrency', property))
    return decided(this, 'hidesVersion', hides)
  }

  /** How it marks objects as deleted; undefined where their rows go. */
  get deletion(): Deletion | undefined {
    const { name, softDelete } = this.view
    return decided(this, 'deletion', softDelete === null ? undefined : deletionFor(name, softDelete, this.model))
  }

  /** What stands around objects and lists. */
  get envelope(): EnvelopeNames | undefined {
    return decided(this, 'envelope', envelopeNames(this.view))
  }

  /** Requests ask for more than what their action does: for related or deleted objects, or for an envelope around its answer. */
  get asks(): boolean {
    const { permissions, purgePermissions } = this.deletion ?? {}
    const asksDeleted = (permissions ?? purgePermissions) !== undefined
    return decided(this, 'asks', this.asksRelations || asksDeleted || this.envelope !== undefined)
  }

  /** The key that objects are looked up by. @throws {ConfigurationError} the model has no column of that name */
  get lookup(): ObjectKey {
    return decided(this, 'lookup', findLookup(this.view, this.model))
  }

  /** The columns that distinguish versions of a row: its key, then those the view names; none without `concurrency`. */
  get versionTerms(): readonly OrderTerm[] {
    const names = this.view.concurrency === null ? [] : [...this.versionKey, ...concurrencyOf(this.view)]
    const terms = names.map((property) => ({ property, descending: false }))
    return decided(this, 'versionTerms', terms)
  }

  /** The columns that name the row in a version: its primary key, or `public_id` where that stands for it. */
  get versionKey(): readonly string[] {
    return this.ids?.stored ? [this.ids.property] : this.model.primaryKey
  }

  /** The external ids of its objects; undefined where they have none. */
  get ids(): ExternalIds | undefined {
    return decided(this, 'ids', externalIds(this.model.model))
  }

  /** Only a known user may be shown what these serializer classes write, or the keys in it. */
  needsUser(own: SerializerClass, shown: SerializerClass): boolean {
    return this.namesPerUser || serializerPlan(own).needsUser || (shown !== own && serializerPlan(shown).needsUser)
  }

  /** What the application does in its own way. */
  get overrides(): Overrides {
    return decided(this, 'overrides', new Overrides(this.view.name, this.#sample))
  }

  /**
   * Refuses a view that has got a method of its own since it was made: nobody would ask it, and it may be there to hide rows.
   * @throws {ConfigurationError} code of the request has written `this.getQueryset = …` or the like
   */
  refuseAssigned(view: object): void {
    for (const name of CHOOSING) {
      if (!Object.hasOwn(view, name) || this.overrides.has(name)) continue
      throw new ConfigurationError(
        `${this.view.name}: ${name}() was set on a view while it answers, where nobody asks it; override it in the class`,
      )
    }
  }

  /** The view's queryset is all rows of its model, or those of the object that it is nested in. */
  get isWholeTable(): boolean {
    return decided(this, 'isWholeTable', this.queryObstacle === null)
  }

  /** Why it is not, as a sentence; null where it is. */
  get queryObstacle(): string | null {
    const { name, queryset } = this.view
    const own = queryset === null ? null : `${name} has a queryset of its own`
    const model = this.view.modelClass()
    const isPlain = traitsOf(model).plainQueries
    const obstacle =
      this.overrides.why(['getQueryset']) ?? own ?? (isPlain ? null : `${modelName(model)} has queries of its own`)
    return decided(this, 'queryObstacle', obstacle)
  }

  /** Code of the application's is given the query of a list, and may lose what narrows it. */
  get filtersByCode(): boolean {
    const isOwn =
      this.overrides.has('filterQueryset') || !this.filters.every((one) => CODELESS_FILTERS.has(one.constructor))
    return decided(this, 'filtersByCode', isOwn)
  }

  /** The model and the filter backends say all there is to know of a list's SQL. */
  get describesLists(): boolean {
    const describes = this.isWholeTable && !this.overrides.has('filterQueryset') && this.filters.every(isDescribed)
    return decided(this, 'describesLists', describes)
  }

  /** Code of the application's looks at each object before it is shown or changed. */
  get guardsObjects(): boolean {
    return this.overrides.has('checkObjectPermissions') || this.#guard !== undefined
  }

  /** Code of the application's looks at an object that the path names. */
  get needsObject(): boolean {
    return this.overrides.has('getObject') || this.guardsObjects
  }

  /** Why an object that the path names needs an instance, whatever is shown of it, as a sentence; null where it needs none. */
  get objectObstacle(): string | null {
    const guard = this.#guard
    const obstacle =
      this.overrides.why(['getObject', 'checkObjectPermissions']) ??
      (guard ? `${permissionName(guard)} is asked about each object` : null)
    return decided(this, 'objectObstacle', obstacle)
  }

  /** The first permission that is asked about each object. */
  get #guard(): BasePermission | undefined {
    return policiesOf(this.view).permissions.find((permission) => permission.guardsObjects())
  }

  /** Objects have external ids that are others for each user. */
  get namesPerUser(): boolean {
    const isPerUser = hasModel(this.view) && externalIds(this.view.modelClass())?.perUser === true
    return decided(this, 'namesPerUser', isPerUser)
  }

  /** Each request may work on a database of its own: the view or its model chooses one. */
  get choosesDatabase(): boolean {
    const chooses = hasModel(this.view) && (this.overrides.has('getKnex') || !traitsOf(this.model.model).plainDatabase)
    return decided(this, 'choosesDatabase', chooses)
  }

  /** The hook by which the application writes in its own way, as a sentence; null where it has none for the action. */
  ownHook(action: string): string | null {
    const { hooks = [] } = actionNamed(action) ?? {}
    return this.overrides.why(hooks.filter((hook) => hook in this.#sample))
  }

  /**
   * What is decided of the answers to what an action writes through a serializer: whether RETURNING shows what is stored.
   * @param action one of those that come with the package
   */
  stored(action: WritingAction, serializer: SerializerClass): StoredRows {
    let known = this.#stored.get(action)
    if (!known) {
      const writes = insertsRows(action) ? 'insert' : 'update'
      const own = this.ownHook(action)
      known = oncePer((one) => {
        const stored = storedRows(one, { writes, isList: takesMany(action) })
        return own === null ? stored : { ...stored, because: own }
      })
      this.#stored.set(action, known)
    }
    return known(serializer)
  }

  get #sample(): object {
    return sampleOf(this.view)
  }
}

/** The key that objects are looked up by. @throws {ConfigurationError} the model has no column of that name */
function findLookup(view: GenericViewClass, model: ModelDescription): ObjectKey {
  const { columns, primaryKey, prepared } = model
  // `id` is the primary key, whatever its columns are called, unless a column of that name tells objects apart
  const own = columns.get('id')
  const isOther = own !== undefined && (own.unique || (!prepared && primaryKey.length < 2))
  const properties = view.lookupField === 'id' && !isOther && primaryKey.length > 0 ? primaryKey : [view.lookupField]
  const parts = properties.map((property) => {
    const part = objectKey(model.model, property)
    if (part) return part
    const near = didYouMean(property, columns.keys())
    throw new ConfigurationError(
      properties === primaryKey
        ? `${view.name}: idColumn of ${modelName(model.model)} is "${property}", which is no column of "${model.model.tableName}"${near || '; name its primary key there, or set lookupField'}`
        : `${view.name}: lookupField "${property}" is no column of ${modelName(model.model)}${near}`,
    )
  })
  return parts.length === 1 ? (parts[0] as ObjectKey) : new CompositeKey(parts)
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

/** The model of a view class, from `model` or `queryset`. @throws {ConfigurationError} it has neither, or a model of no table */
export function modelClassOf({
  name,
  model,
  queryset,
}: Pick<GenericViewClass, 'name' | 'model' | 'queryset'>): ModelClass {
  const found = model ?? ((queryset?.() as AnyQueryBuilder | undefined)?.modelClass() as ModelClass | undefined)
  if (!found)
    throw new ConfigurationError(`${name}: set static model, or static queryset to a function that returns a query`)
  if (typeof found.tableName === 'string') return found
  throw new ConfigurationError(`${name}: its model ${found.name} is of no table; set static tableName of the model`)
}
