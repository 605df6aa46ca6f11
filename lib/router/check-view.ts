/** What can be wrong with a view set before any request, and what must be known of it (promise I23). */
import { ConfigurationError } from '../errors.js'
import { readerOf } from '../filters/full-text.js'
import { externalIds } from '../ids/external-ids.js'
import { refuseInstanceFields } from '../instance-fields.js'
import { closeMetering } from '../metering/meter-request.js'
import { checkMetering, isMetered, meteringOf } from '../metering/metering-engine.js'
import { describeModel, type ModelDescription } from '../models/describe-model.js'
import { isModelClass, type Queryable } from '../models/objection.js'
import { canBeTotal, hasOrder, type OrderTerm, parseOrderTerm, totalOrder } from '../queryset/total-order.js'
import type { SerializerClass } from '../serializers/contract.js'
import type { ModelSerializer } from '../serializers/model-serializer.js'
import { NestedSerializer } from '../serializers/nested-serializer.js'
import { serializerPlan } from '../serializers/plan.js'
import { actionsOf } from '../views/action-options.js'
import { APIView, settlePolicies } from '../views/api-view.js'
import { GenericAPIView } from '../views/generic-api-view.js'
import { type Cacheable, isCacheable, policyOf } from '../views/mixins/cacheable-mixin.js'
import { checkStreams, closeStreams } from '../views/mixins/stream-mixin.js'
import { modelsOf, serializersOfActions } from '../views/models-of.js'
import { type NestedViewClass, parentKeyOf } from '../views/parent-key.js'
import { checkExpandable } from '../views/selection.js'
import { defaultOrder, filterViewOf, lookupKey, orders, settleGeneric } from '../views/settle-generic.js'
import { isStandard } from '../views/standard.js'
import { checkConcurrency } from './check-concurrency.js'
import { checkParameters } from './check-parameters.js'
import { routesOf } from './routes.js'

/** Checks what needs no database. @throws {ConfigurationError} naming class, attribute and fix */
export function checkView(prefix: string, view: unknown, nested: boolean): asserts view is typeof APIView {
  if (typeof view !== 'function' || !(view.prototype instanceof APIView)) {
    throw new ConfigurationError(
      `APIRouter: register("${prefix}", …) takes a view set class; extend ViewSet or ModelViewSet`,
    )
  }
  const viewClass = view as typeof APIView
  refuseInstanceFields(viewClass)
  checkActions(viewClass)
  if (!(viewClass.prototype instanceof GenericAPIView)) return
  const generic = viewClass as typeof GenericAPIView
  checkModel(generic)
  externalIds(generic.modelClass())
  const { maxBulkSize = 1 } = generic as { maxBulkSize?: number }
  if (!Number.isSafeInteger(maxBulkSize) || maxBulkSize < 1) {
    throw new ConfigurationError(`${generic.name}: maxBulkSize is ${maxBulkSize}; give a whole number of at least 1`)
  }
  if (nested) checkNested(generic)
  if (
    !generic.serializerClass &&
    generic.prototype.getSerializerClass === GenericAPIView.prototype.getSerializerClass
  ) {
    throw new ConfigurationError(`${generic.name}: set static serializerClass, or override getSerializerClass()`)
  }
  if (generic.serializerClass) checkSerializer(generic, generic.serializerClass)
  settleGeneric(generic)
  if (isCacheable(generic)) checkCaching(generic)
  if (generic.requireIfMatch && generic.concurrency === null) {
    throw new ConfigurationError(`${generic.name}: requireIfMatch needs static concurrency, the columns to match`)
  }
  if (generic.requireIfMatch && ['bulkUpdate', 'bulkDestroy'].some((action) => action in generic.prototype)) {
    throw new ConfigurationError(
      `${generic.name}: requireIfMatch cannot hold for bulk routes, which name no versions; leave out BulkUpdateMixin and BulkDestroyMixin`,
    )
  }
  readerOf(generic.name, generic.searchType)
  checkStreams(generic, settlePolicies(generic).renderers)
}

/** A nested view set without a foreign key must narrow its list itself. */
function checkNested(view: typeof GenericAPIView): void {
  const { parentLookupField } = view as NestedViewClass
  if (parentLookupField !== undefined && parentLookupField !== '') return
  if (parentLookupField === undefined && !isStandard(view.prototype, 'getQueryset')) return
  throw new ConfigurationError(
    `${view.name}: is nested, and nothing tells whose its objects are; extend NestedViewSetMixin(…) and set static parentLookupField to the foreign key, or override getQueryset()`,
  )
}

/** Checks what the catalogue tells of a nested view set: its foreign key. @throws {ConfigurationError} */
export function prepareNested(view: typeof APIView, parent: typeof APIView): void {
  const nested = view as unknown as NestedViewClass
  const above = parent as typeof GenericAPIView
  const looksUp = parent.prototype instanceof GenericAPIView && isStandard(parent.prototype, 'getObject')
  const problem = looksUp && (above.model || above.queryset) ? lookupKey(above).problem : undefined
  if (problem !== undefined) throw new ConfigurationError(problem)
  if (nested.parentLookupField !== undefined) parentKeyOf(nested, above.modelClass())
}

/** Checks what the catalogue tells: the serializer's fields, the lookup and the ordering. @throws {ConfigurationError} */
export async function prepareView(view: typeof APIView, knex: Queryable | undefined): Promise<void> {
  if (isMetered(view)) checkMetering(view)
  for (const serializer of serializersOfActions(view)) prepareSerializer(serializer, new Set())
  if (!(view.prototype instanceof GenericAPIView)) return
  const generic = view as typeof GenericAPIView
  for (const model of modelsOf(generic)) externalIds(model)?.check()
  if (generic.serializerClass) prepareSerializer(generic.serializerClass, new Set())
  if (!generic.model && !generic.queryset) return
  const { columns, model, primaryKey } = describeModel(generic.modelClass())
  const { problem } = lookupKey(generic)
  const inBulk = ['bulkUpdate', 'bulkDestroy'].some((action) => action in generic.prototype)
  const namesObjects = inBulk || routesOf(view).some(({ detail }) => detail)
  if (problem !== undefined && namesObjects) throw new ConfigurationError(problem)
  checkExpandable(generic)
  if (primaryKey.length > 1 && generic.lookupField === 'id' && routesOf(view).some(({ detail }) => detail)) {
    throw new ConfigurationError(
      `${view.name}: ${model.name} has a primary key of several columns, which no detail route can name; ` +
        'set static lookupField to a unique column, or use only list and create',
    )
  }
  for (const term of generic.ordering) {
    const column = columns.get(parseOrderTerm(term).property)
    if (!column) {
      throw new ConfigurationError(`${view.name}: ordering names "${term}", which is no column of ${model.name}`)
    }
    if (!hasOrder(column)) {
      throw new ConfigurationError(
        `${view.name}: ordering names "${term}" of type ${column.sqlType}, whose values have no order; name another column`,
      )
    }
  }
  const database = knex ?? (model.knex() as Queryable | undefined)
  await checkConcurrency(generic, database)
  await checkFloats(generic, checkPaginator(generic), database)
  const filterView = filterViewOf(generic)
  for (const backend of filterView.backends) await backend.check(filterView, database)
  checkParameters(generic)
}

/** Gives back what a view set holds between requests. */
export async function closeView(view: typeof APIView): Promise<void> {
  for (const scheme of settlePolicies(view).authentication) await scheme.close?.()
  if (view.prototype instanceof GenericAPIView) await settleGeneric(view as typeof GenericAPIView).paginator?.close()
  await closeStreams(view)
  const metering = isMetered(view) ? meteringOf(view) : undefined
  if (metering) await closeMetering(metering.engine)
}

/** @throws {ConfigurationError} */
function checkCaching(view: typeof GenericAPIView & Cacheable): void {
  policyOf(view)
  if (view.cachePrivate || view.authenticationClasses.length === 0) return
  process.emitWarning(
    `${view.name}: its answers are public (cachePrivate = false) though it knows callers by authenticationClasses; ` +
      'shared caches may give one caller what another has asked for',
    { code: 'KOA_VIEWSETS_PUBLIC' },
  )
}

/** Checks the paginator against every order the list can have. */
function checkPaginator(view: typeof GenericAPIView): readonly OrderTerm[] {
  const { paginator, filters } = settleGeneric(view)
  if (!paginator) return []
  const model = describeModel(view.modelClass())
  const asked = filters.some(orders) ? view.orderingFields.map(parseOrderTerm) : []
  const order = [...totalOrder(model, defaultOrder(view, paginator)), ...asked]
  const ordersByExpression = filters.some((filter) => filter.ordersByExpression)
  paginator.check({ name: view.name, model, order, ordersByExpression })
  // only a paginator with an order of its own reads positions
  if (paginator.ordering === undefined) return []
  checkTotal(view, model, [defaultOrder(view, paginator), ...asked.map((term) => [term])])
  return order
}

/** Where rows that are alike in an order cannot be told apart, a cursor would lose those behind a page's end. */
function checkTotal(view: typeof GenericAPIView, model: ModelDescription, orders: readonly (readonly OrderTerm[])[]) {
  if (!model.prepared || orders.every((terms) => canBeTotal(model, terms))) return
  throw new ConfigurationError(
    `${view.name}: nothing tells rows of ${model.model.name} apart that are alike in an order of the list, as there is no ` +
      `column "${model.primaryKey.join()}"; set static idColumn of the model to what does, or order by a unique column`,
  )
}

/** A position in a list ordered by floats is exact only where PostgreSQL writes all their digits (its default). */
async function checkFloats(
  view: typeof GenericAPIView,
  order: readonly OrderTerm[],
  knex: Queryable | undefined,
): Promise<void> {
  const { columns } = describeModel(view.modelClass())
  const floats = order.filter(({ property }) => columns.get(property)?.type.startsWith('float'))
  if (floats.length === 0 || !knex) return
  const { rows } = (await knex.raw(`select current_setting('extra_float_digits')::int as digits`)) as {
    rows: { digits: number }[]
  }
  if ((rows[0]?.digits ?? 0) >= 1) return
  throw new ConfigurationError(
    `${view.name}: ordering by "${floats[0]?.property}" needs the database's extra_float_digits at 1 or more, its default`,
  )
}

/** Transactions, lookups and the catalogue need to know the model; `getQueryset()` alone cannot tell it early. */
function checkModel({ name, model, queryset }: typeof GenericAPIView): void {
  if (queryset !== null && typeof queryset !== 'function') {
    throw new ConfigurationError(`${name}: static queryset is no function; write static queryset = () => Model.query()`)
  }
  if (model !== null && !isModelClass(model)) {
    throw new ConfigurationError(`${name}: static model is no Objection model; set it to a class that extends Model`)
  }
  if (model === null && queryset === null) {
    throw new ConfigurationError(
      `${name}: set static model to an Objection model, or static queryset to a function that returns a query`,
    )
  }
}

/** `fields` is checked early where that needs no catalogue: it must name something. */
function checkSerializer(view: typeof GenericAPIView, serializer: SerializerClass): void {
  if (typeof serializer !== 'function' || typeof serializer.describeFields !== 'function') {
    throw new ConfigurationError(
      `${view.name}: static serializerClass is no serializer class; extend Serializer or ModelSerializer`,
    )
  }
  const { fields } = serializer as unknown as Partial<typeof ModelSerializer>
  if (fields === undefined) return
  ;(serializer as unknown as typeof ModelSerializer).modelClass()
  ;(serializer as unknown as typeof ModelSerializer).checkFields()
}

/** An action's own serializers. */
function checkActions(view: typeof APIView): void {
  for (const { action, inputSerializer, outputSerializer } of actionsOf(view).values()) {
    for (const serializer of [inputSerializer, outputSerializer]) {
      if (serializer !== undefined && typeof serializer?.describeFields !== 'function') {
        throw new ConfigurationError(
          `${view.name}.${action}: inputSerializer and outputSerializer are serializer classes; extend Serializer or ModelSerializer`,
        )
      }
    }
  }
}

function prepareSerializer(serializer: SerializerClass, seen: Set<SerializerClass>): void {
  if (seen.has(serializer)) return
  seen.add(serializer)
  for (const { field } of serializerPlan(serializer).fields) {
    if (field instanceof NestedSerializer) prepareSerializer(field.serializerClass, seen)
  }
}
