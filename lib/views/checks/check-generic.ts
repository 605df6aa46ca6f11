/** What can be wrong with a generic view before any request (promise I23). */

import { readerOf } from '../../filters/full-text.js'
import { declaredTerm } from '../../filters/resolve-paths.js'
import { externalIds } from '../../ids/external-ids.js'
import { ConfigurationError } from '../../kernel/errors.js'
import { didYouMean } from '../../kernel/near-miss.js'
import { firstTime } from '../../kernel/once-per.js'
import { quote } from '../../kernel/quote.js'
import { describeModel } from '../../models/describe-model.js'
import { isModelClass, modelName } from '../../models/objection.js'
import type { Queryable } from '../../postgres/pg-types.js'
import { checkColumnNames, otherModel } from '../../serializers/check-nested.js'
import { checkField, checkSerializer, isSerializer } from '../../serializers/check-serializer.js'
import type { SerializerClass } from '../../serializers/contract.js'
import { isRelatedCount } from '../../serializers/count-field.js'
import { NestedSerializer } from '../../serializers/nested-serializer.js'
import { serializerPlan } from '../../serializers/plan.js'
import { expandedBy } from '../../serializers/select-fields.js'
import { actionsOf } from '../action-options.js'
import { ACTIONS, actionNamed, answers, changesMany } from '../actions.js'
import type { APIView } from '../api-view.js'
import { isBuiltIn } from '../built-in.js'
import type { GenericViewClass } from '../generic-view-class.js'
import { type Cacheable, isCacheable, policyOf } from '../mixins/cacheable-mixin.js'
import { policiesOf } from '../policies.js'
import { checkRecordingClass } from '../request/log-writes.js'
import { resourceOf } from '../resource.js'
import { checkExpandable } from '../steps/selection.js'
import { checkConcurrency } from './check-concurrency.js'
import { checkDatabases } from './check-databases.js'
import { checkIdempotency } from './check-idempotency.js'
import { checkAggregates, checkDialect, checkPaginator, checkParameters, poolSizeOf } from './check-lists.js'
import { checkChosenSerializer, checkOwnQueryset } from './check-queryset.js'
import { checkRelations } from './check-relations.js'
import { checkOwners, checkSoftDelete, declareSoftDelete } from './check-rows.js'
import { checkStreamPool, checkStreams } from './check-streams.js'
import { modelsOf } from './models-of.js'
import { prepareSerializers } from './prepare-serializers.js'
import { warnOfListRules, warnOfUnreadNames } from './warn-of-lists.js'

/** A generic view's class, with its policies. */
export type CheckedClass = typeof APIView & GenericViewClass

/**
 * Checks what needs no database.
 * @param options.needsSerializer its actions answer by a serializer
 * @throws {ConfigurationError} naming class, attribute and fix
 */
export function checkGeneric(view: CheckedClass, { needsSerializer }: { needsSerializer: boolean }): void {
  checkModel(view)
  declareSoftDelete(view)
  if (needsSerializer && !view.serializerClass && isBuiltIn(view.prototype, 'getSerializerClass')) {
    throw new ConfigurationError(`${view.name}: set static serializerClass, or override getSerializerClass()`)
  }
  const unknown = view.withoutActions.find((name) => actionNamed(name) === undefined)
  if (unknown !== undefined) {
    const known = ACTIONS.map(({ name }) => name)
    const fix = didYouMean(unknown, known) || `; name actions that come with the package: ${known.join(', ')}`
    throw new ConfigurationError(`${view.name}: withoutActions names "${unknown}"${fix}`)
  }
  if (![true, false, 'writable'].includes(view.strictBody)) {
    throw new ConfigurationError(
      `${view.name}: strictBody is ${quote(view.strictBody)}; give true, false or 'writable'`,
    )
  }
  checkSerializers(view)
  // a queryset that only a request can make is asked by prepare()
  if (view.model) checkModels(view)
  void resourceOf(view).envelope
  checkStatuses(view)
  if (isCacheable(view)) checkCaching(view)
  if (view.requireIfMatch && view.concurrency === null) {
    throw new ConfigurationError(`${view.name}: requireIfMatch needs static concurrency, the columns to match`)
  }
  if (view.requireIfMatch && ACTIONS.some(({ name }) => changesMany(name) && answers(view, name))) {
    throw new ConfigurationError(
      `${view.name}: requireIfMatch cannot hold for bulk routes, which name no versions; leave out BulkUpdateMixin and BulkDestroyMixin`,
    )
  }
  readerOf(view.name, view.searchType)
  checkStreams(view, policiesOf(view).renderers)
}

/** Checks what the catalogue says: the serializer's fields, filters, order and pages. @throws {ConfigurationError} */
export async function prepareGeneric(view: CheckedClass, knex: Queryable | undefined): Promise<void> {
  for (const model of modelsOf(view)) externalIds(model)?.check()
  checkModels(view)
  prepareSerializers(view)
  await checkDatabases(view)
  for (const [where, serializer] of serializersOf(view))
    checkColumnNames(where, serializerPlan(serializer), view.modelClass())
  const description = describeModel(view.modelClass())
  const { columns, model } = description
  checkExpandable(view)
  checkDialect(view)
  checkSoftDelete(view)
  for (const term of view.ordering) {
    const { property, related } = declaredTerm(`${view.name}: ordering`, description, term)
    const column = related?.column ?? columns.get(property)
    if (!column) {
      throw new ConfigurationError(
        `${view.name}: ordering names "${term}", which is no column of ${modelName(model)}${didYouMean(property, columns.keys())}`,
      )
    }
    if (!column.isOrdered) {
      throw new ConfigurationError(
        `${view.name}: ordering names "${term}" of type ${column.sqlType}, whose values have no order; name another column`,
      )
    }
  }
  const database = knex ?? (model.knex() as Queryable | undefined)
  await checkConcurrency(view, database)
  checkStreamPool(view, poolSizeOf(view))
  checkOwnQueryset(view)
  checkChosenSerializer(view)
  warnOfUnreadNames(view)
  warnOfListRules(view)
  checkOwners(view)
  await checkPaginator(view)
  const filterSettings = resourceOf(view).filterSettings
  checkRelations(view)
  for (const backend of filterSettings.backends) await backend.check(filterSettings, database)
  checkParameters(view, policiesOf(view).versioning)
  checkAggregates(view, policiesOf(view).versioning)
  await checkRecordingClass(view, database)
  await checkIdempotency(view, database)
}

/** The ways in which clients name the view's objects. */
export interface NamedObjects {
  /** In paths: `retrieve` and its kin. */
  readonly inPaths: boolean
  /** In bodies: bulk updates and deletes. */
  readonly inBodies: boolean
}

/** Checks what the catalogue says of the key that objects are looked up by. @throws {ConfigurationError} */
export function checkLookup(view: GenericViewClass, { inPaths, inBodies }: NamedObjects): void {
  if (!(inPaths || inBodies)) return
  const { problem } = resourceOf(view).lookup
  if (problem !== undefined) {
    throw new ConfigurationError(`${view.name}: lookupField "${view.lookupField}" does not do: ${problem}`)
  }
}

const isFirst = firstTime()

/** @throws {ConfigurationError} */
function checkCaching(view: CheckedClass & Cacheable): void {
  policyOf(view)
  if (view.cachePrivate || view.authenticationClasses.length === 0 || !isFirst(view)) return
  process.emitWarning(
    `${view.name}: its answers are public (cachePrivate = false) though it knows callers by authenticationClasses; ` +
      'shared caches may give one caller what another has asked for',
    { code: 'KOA_VIEWSETS_PUBLIC' },
  )
}

/** Transactions, lookups and the catalogue need to know the model; `getQueryset()` alone cannot name it early. */
function checkModel({ name, model, queryset }: GenericViewClass): void {
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

/** @throws {ConfigurationError} one of the serializers that the class names is none, or declares what cannot be */
function checkSerializers(view: CheckedClass): void {
  const seen = new Set<SerializerClass>()
  const check = (where: string, serializer: unknown) => {
    if (!isSerializer(serializer)) {
      throw new ConfigurationError(
        `${view.name}: ${where} is no serializer class; extend Serializer or ModelSerializer`,
      )
    }
    checkSerializer(serializer, seen)
  }
  for (const name of ['serializerClass', 'inputSerializerClass'] as const)
    if (view[name]) check(`static ${name}`, view[name])
  for (const [path, expansion] of Object.entries(view.expandable)) {
    const where = `static expandable["${path}"]`
    if (expansion instanceof NestedSerializer) checkField(`${view.name}: ${where}`, expansion)
    if (!isRelatedCount(expansion)) check(where, expandedBy(expansion))
  }
}

/** What another model's serializer writes is rows of another table. @throws {ConfigurationError} the view set has one */
function checkModels(view: CheckedClass): void {
  const model = view.modelClass()
  for (const [where, serializer] of serializersOf(view)) {
    const other = otherModel(serializer, model)
    if (!other) continue
    throw new ConfigurationError(
      `${where} is ${serializer.name}, of ${modelName(other)}, and the view set is of ${modelName(model)}; name a serializer of ${modelName(model)}`,
    )
  }
}

/** The serializers of the class and of its actions, by where they are named. */
function serializersOf(view: CheckedClass): (readonly [string, SerializerClass])[] {
  const named = [
    [`${view.name}: static serializerClass`, view.serializerClass] as const,
    ...[...actionsOf(view).values()].map(
      ({ action, statics }) => [`${view.name}.${action}: serializerClass`, statics['serializerClass']] as const,
    ),
  ]
  return named.flatMap(([where, serializer]) => (isSerializer(serializer) ? [[where, serializer] as const] : []))
}

const STATUSES: Readonly<Record<string, readonly number[]>> = { create: [200, 201], destroy: [200, 204] }

/** @throws {ConfigurationError} an action has no choice, or not that one */
function checkStatuses({ name, statuses }: CheckedClass): void {
  for (const [action, status] of Object.entries(statuses)) {
    const known = STATUSES[action]
    if (!known) {
      const names = Object.keys(STATUSES)
      const fix = didYouMean(action, names) || `; take ${names.join(' or ')}`
      throw new ConfigurationError(`${name}: statuses has no action "${action}"${fix}`)
    }
    if (!known.includes(status as number)) {
      throw new ConfigurationError(`${name}: statuses.${action} is ${String(status)}; give ${known.join(' or ')}`)
    }
  }
}
