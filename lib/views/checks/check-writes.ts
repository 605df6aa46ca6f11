/** What the catalogue says of a view's table that its writing actions cannot do, and of keys that several rows have (promise I23). */

import { ConfigurationError } from '../../kernel/errors.js'
import { didYouMean } from '../../kernel/near-miss.js'
import { hidesMember } from '../../models/build-model.js'
import { describeModel } from '../../models/describe-model.js'
import { type Column, type ModelDescription, tellsApart } from '../../models/model-description.js'
import { modelName } from '../../models/objection.js'
import { checkValidator } from '../../serializers/check-model-schema.js'
import type { SerializerClass } from '../../serializers/contract.js'
import { overrideOf } from '../../serializers/model-serializer.js'
import { NestedSerializer } from '../../serializers/nested-serializer.js'
import { checkWrittenFields, serializerPlan } from '../../serializers/plan.js'
import { type Action, actionNamed } from '../actions.js'
import { isBuiltIn } from '../built-in.js'
import type { GenericViewClass } from '../generic-view-class.js'
import { declaredInput } from '../input-class.js'
import { resourceOf } from '../resource.js'
import { marksDeleted } from '../writing-plan.js'

/**
 * Checks the writing actions as they come with the package; what an application writes by itself is its own affair.
 * @param actions the names of the methods that requests come to
 * @throws {ConfigurationError} the table or view takes no such statement, or nothing distinguishes its rows
 */
export function checkWrites(view: GenericViewClass, actions: readonly string[]): void {
  const model = describeModel(view.modelClass())
  if (!model.prepared) return
  const { columns } = model
  let isKeyed = false
  for (const action of actions) {
    const writing = actionNamed(action)
    if (!writing?.writes || !isBuiltIn(view.prototype, action) || writesItself(view, writing)) continue
    const hostile = [...columns.values()].find(
      ({ column, property }) => column === '__proto__' || hidesMember(property, model.model),
    )
    if (hostile && (hostile.column === '__proto__' || writing.writes !== 'insert'))
      throw cannotHold(view, model, action, hostile)
    const marks = marksDeleted(view, action)
    if (!model.takes[marks ? 'update' : writing.writes]) throw takesNone(view, model, action)
    if (writing.writes !== 'delete') checkValidator(view.name, model.model)
    if (writing.writes !== 'insert') checkKey(view, model, action)
    isKeyed ||= writing.writes !== 'insert'
    if (writing.writes === 'delete' && !marks) checkDelete(view, model, action)
    const taking = writing.serializerMethod && declaredInput(view)
    if (taking && writesAsDeclared(taking, [])) checkTaken(taking)
  }
  if (isKeyed && isCounted(model, model.primaryKey)) warnOfHeirs(view, model)
  warnOfSharedKey(view, model, actions)
}

/** Checks what a serializer writes, and those that are nested in it. @throws {ConfigurationError} */
function checkTaken(serializer: SerializerClass, seen = new Set<SerializerClass>()): void {
  checkWrittenFields(serializer, seen.size > 0)
  seen.add(serializer)
  for (const { name, field } of serializerPlan(serializer).writable) {
    if (!(field instanceof NestedSerializer)) continue
    const nested = field.serializerClass
    const { model } = serializerPlan(nested)
    if (!model || seen.has(nested) || !writesAsDeclared(nested, ['create', 'update'])) continue
    checkValidator(`${serializer.name}: field "${name}"`, model.model)
    checkTaken(nested, seen)
  }
}

/** False where an application's own code may say what is written. */
function writesAsDeclared(serializer: SerializerClass, writing: readonly string[]): boolean {
  return serializer.validators.length === 0 && overrideOf(serializer, ['save', 'validate', ...writing]) === null
}

/** Writes by a key that several rows have are refused; a read shows one of them. */
function warnOfSharedKey(view: GenericViewClass, model: ModelDescription, actions: readonly string[]): void {
  if (!actions.includes('retrieve') || !isBuiltIn(view.prototype, 'retrieve', 'getObject') || model.isView) return
  if (isLookedUpAlone(view, model)) return
  const properties = resourceOf(view).lookup.columns.map(({ property }) => property)
  process.emitWarning(
    `${view.name}: retrieve() finds its object by "${properties.join()}", which is not unique: of several rows with one key it shows any; ` +
      'add a unique constraint, or set another lookupField',
    { code: 'KOA_VIEWSETS_SHARED_KEYS' },
  )
}

/** What objection-soft-delete adds to a model, and what its `delete()` calls. */
interface SoftlyDeleted {
  readonly isSoftDelete?: unknown
  readonly QueryBuilder: { readonly prototype: { readonly mergeContext?: unknown } }
}

/** objection-soft-delete calls a method that Objection 3 has not: each DELETE would be a TypeError. */
function checkDelete(view: GenericViewClass, { model }: ModelDescription, action: string): void {
  const { isSoftDelete, QueryBuilder } = model as unknown as SoftlyDeleted
  if (isSoftDelete !== true || typeof QueryBuilder.prototype.mergeContext === 'function') return
  throw new ConfigurationError(
    `${view.name}: ${action}() asks objection-soft-delete, whose delete() calls mergeContext(), which Objection 3 has not; ` +
      `give the QueryBuilder that ${modelName(model)} extends a mergeContext(), or set static softDelete in place of the plugin`,
  )
}

/** What a client has read and sends back would be set back, too. @throws {ConfigurationError} clients may write the column */
export function refuseWritable(view: GenericViewClass, names: string, property: string): void {
  const taking = declaredInput(view)
  const field = taking && serializerPlan(taking).writable.find(({ column }) => column?.property === property)
  if (!field) return
  throw new ConfigurationError(
    `${view.name}: ${names} names "${property}", which clients may write as "${field.name}"; ` +
      `add it to ${taking.name}.readOnlyFields`,
  )
}

/** True where an application's own code does the writing. */
function writesItself(view: GenericViewClass, { hooks, serializerMethod }: Action): boolean {
  const { prototype } = view
  // that of a list calls that of an object where an application has overridden it
  if (!isBuiltIn(prototype, ...hooks.filter((name) => name in prototype))) return true
  if (serializerMethod === undefined) return false
  if (!isBuiltIn(prototype, 'getSerializerClass')) return true
  const taking = declaredInput(view)
  return !taking || overrideOf(taking, [serializerMethod]) !== null
}

/** The error of a column that instances cannot hold, whatever the fields are: they are made of the whole row. */
function cannotHold(view: GenericViewClass, { model }: ModelDescription, action: string, { column }: Column) {
  const fix =
    column === '__proto__'
      ? 'rename the column'
      : `give the column another property by columnNameMappers of ${modelName(model)}`
  return new ConfigurationError(
    `${view.name}: ${action}() makes instances of rows, and those cannot hold the column "${column}"; ${fix}, or extend ReadOnlyModelViewSet`,
  )
}

function takesNone(view: GenericViewClass, model: ModelDescription, action: string): ConfigurationError {
  const { writes, hooks } = actionNamed(action) as Action
  const [problem, fix] = model.isView
    ? ['is a view or takes no such statement', 'add an INSTEAD OF trigger']
    : ['has a rule that does something else and returns no row', 'add RETURNING to the rule']
  return new ConfigurationError(
    `${view.name}: ${action}() cannot ${writes} in "${model.model.tableName}", which ${problem}; ` +
      `extend ReadOnlyModelViewSet, or the mixins of what it takes, ${fix}, or override ${hooks[0]}()`,
  )
}

/** A write by what several rows share would change them all. */
function checkKey(view: GenericViewClass, model: ModelDescription, action: string): void {
  const { primaryKey, columns } = model
  const missing = primaryKey.find((property) => !columns.has(property))
  const isKnown = model.isView || tellsApart(model, primaryKey) || isCounted(model, primaryKey)
  if (missing !== undefined || !isKnown) {
    const heirs = model.hasHeirs ? ', as tables inherit from it whose rows are its own, too' : ''
    const problem =
      missing === undefined
        ? `is not unique${heirs}`
        : `is no column of "${model.model.tableName}"${didYouMean(missing, columns.keys())}`
    throw new ConfigurationError(
      `${view.name}: ${action}() writes by the key "${primaryKey.join()}" of ${modelName(model.model)}, which ${problem}; ` +
        'add a primary key to the table, set static idColumn of the model to what is unique, or extend ReadOnlyModelViewSet',
    )
  }
  const looksUp = isBuiltIn(view.prototype, 'getObject', 'getObjectToWrite')
  if (!looksUp || model.isView || isLookedUpAlone(view, model)) return
  throw new ConfigurationError(
    `${view.name}: ${action}() finds its object by lookupField "${view.lookupField}", which is not unique, so that it could write another; ` +
      'add a unique constraint, or set another lookupField',
  )
}

/** True for a key of a table with heirs that one sequence fills in for all of them. */
function isCounted({ hasHeirs, columns }: ModelDescription, properties: readonly string[]): boolean {
  return hasHeirs && properties.some((property) => columns.get(property)?.isCounted === true)
}

/** One sequence gives them keys; what gives a key by itself may give one twice. */
function warnOfHeirs(view: GenericViewClass, { model, primaryKey }: ModelDescription): void {
  process.emitWarning(
    `${view.name}: tables inherit from "${model.tableName}", so that nothing but one sequence keeps "${primaryKey.join()}" unique among its rows: ` +
      'a row whose key was given may be written with another one',
    { code: 'KOA_VIEWSETS_SHARED_KEYS' },
  )
}

/** True for what is unique among the rows that are not deleted: no request sees two of them at once. */
function tellsLiveApart(view: GenericViewClass, model: ModelDescription, properties: readonly string[]): boolean {
  const { deletion } = resourceOf(view)
  if (!deletion || deletion.permissions || deletion.purgePermissions) return false
  const isLive = (condition: string) => condition.replaceAll('"', '') === `(${deletion.column.nativeName} IS NULL)`
  return model.partialKeys.some(
    ({ properties: key, condition }) => isLive(condition) && key.every((property) => properties.includes(property)),
  )
}

/** True where a lookup finds one object: its columns are unique among what a request can see, beside the parent's key, or by the queryset. */
function isLookedUpAlone(view: GenericViewClass, model: ModelDescription): boolean {
  const { columns, ids } = resourceOf(view).lookup
  if (ids) return true
  const properties = columns.map(({ property }) => property)
  const named = [...properties, ...parentProperties(view, model)]
  if (tellsApart(model, named) || isCounted(model, named) || tellsLiveApart(view, model, named)) return true
  const narrows = view.queryset !== null || !isBuiltIn(view.prototype, 'getQueryset')
  return narrows && model.uniqueKeys.some((key) => properties.every((property) => key.includes(property)))
}

function parentProperties(view: GenericViewClass, model: ModelDescription): readonly string[] {
  const { parentLookupField = '' } = view
  return (
    model.relations.get(parentLookupField)?.ownerProperties ?? (parentLookupField === '' ? [] : [parentLookupField])
  )
}
