/** Tells models whose rows are exactly what the table holds from those that change rows or queries on the way. */
import { isJsonAttribute } from './build-model.js'
import { describeModel } from './describe-model.js'
import type { AnyQueryBuilder, ModelClass } from './objection.js'
import { oncePerCatalogue } from './once-per-catalogue.js'

/** What a model class may override, of which we compare the functions only. */
interface Overridable {
  readonly query: unknown
  readonly QueryBuilder: unknown
  readonly fromDatabaseJson: unknown
  readonly fromJson: unknown
  readonly jsonSchema?: unknown
  readonly getJsonSchema: unknown
  readonly getValidator: unknown
  readonly createValidator: unknown
  readonly beforeFind?: unknown
  readonly afterFind?: unknown
  readonly beforeInsert?: unknown
  readonly afterInsert?: unknown
  readonly beforeUpdate?: unknown
  readonly afterUpdate?: unknown
  readonly beforeDelete?: unknown
  readonly afterDelete?: unknown
  readonly prototype: {
    readonly $afterFind: unknown
    readonly $parseDatabaseJson: unknown
    readonly $setDatabaseJson: unknown
    readonly $beforeInsert: unknown
    readonly $afterInsert: unknown
    readonly $beforeUpdate: unknown
    readonly $afterUpdate: unknown
    readonly $beforeDelete: unknown
    readonly $afterDelete: unknown
    readonly $formatDatabaseJson: unknown
    readonly $toDatabaseJson: unknown
    readonly $setJson: unknown
    readonly $parseJson: unknown
    readonly $validate: unknown
    readonly $beforeValidate: unknown
    readonly $afterValidate: unknown
    readonly $set: unknown
    readonly $setFast: unknown
  }
}

/** True when reading rows runs no code of the application: no find hooks, no parsing of its own. */
export const hasPlainRows = oncePerCatalogue(readsPlainly)

function readsPlainly(model: ModelClass): boolean {
  const own = model as unknown as Overridable
  const base = baseModel(model)
  return (
    own.fromDatabaseJson === base.fromDatabaseJson &&
    own.beforeFind === base.beforeFind &&
    own.afterFind === base.afterFind &&
    own.prototype.$afterFind === base.prototype.$afterFind &&
    own.prototype.$parseDatabaseJson === base.prototype.$parseDatabaseJson &&
    own.prototype.$setDatabaseJson === base.prototype.$setDatabaseJson &&
    !hasAccessors(model, base) &&
    !hasJsonTexts(model) &&
    describeModel(model).prepared
  )
}

/** True when a column is read or written through a `get` or `set` of the application's class. */
function hasAccessors(model: ModelClass, base: Overridable): boolean {
  const { columns } = describeModel(model)
  for (let prototype: object = model.prototype; prototype !== base.prototype; prototype = parentOf(prototype)) {
    const own = Object.entries(Object.getOwnPropertyDescriptors(prototype))
    if (own.some(([name, { value }]) => value === undefined && columns.has(name))) return true
  }
  return false
}

/** True when Objection reads JSON out of a column of another type. */
function hasJsonTexts(model: ModelClass): boolean {
  const columns = [...describeModel(model).columns.values()]
  return columns.some((column) => column.type !== 'json' && column.type !== 'jsonb' && isJsonAttribute(model, column))
}

/** True when an instance made from values holds just these: no schema, no parsing, no values of the class's own. */
export const hasPlainInput = oncePerCatalogue(takesPlainly)

const TAKING = ['fromJson', 'getJsonSchema', 'getValidator', 'createValidator'] as const
const SETTING = [
  '$setJson',
  '$parseJson',
  '$validate',
  '$beforeValidate',
  '$afterValidate',
  '$set',
  '$setFast',
] as const

function takesPlainly(model: ModelClass): boolean {
  const own = model as unknown as Overridable
  const base = baseModel(model)
  const { columns, relations } = describeModel(model)
  return (
    TAKING.every((name) => own[name] === base[name]) &&
    SETTING.every((name) => own.prototype[name] === base.prototype[name]) &&
    (own.jsonSchema === undefined || own.jsonSchema === null) &&
    // Objection keeps names with a dollar to itself, and makes instances of what stands under a relation's name
    [...columns.keys()].every((name) => !name.startsWith('$') && !relations.has(name)) &&
    !hasAccessors(model, base) &&
    Object.keys(new model()).length === 0
  )
}

/** True when the model's queries are the same at every request: `query()` and the builder are Objection's own. */
export const hasPlainQueries = oncePerCatalogue(queriesPlainly)

function queriesPlainly(model: ModelClass): boolean {
  const own = model as unknown as Overridable
  const base = baseModel(model)
  return own.query === base.query && own.QueryBuilder === base.QueryBuilder
}

const EXECUTING = ['execute', 'then', 'toKnexQuery'] as const

/** True when running a query is sending its SQL: its builder executes in no way of its own. */
export function hasPlainExecution(query: AnyQueryBuilder): boolean {
  const own = query as unknown as Record<string, unknown>
  const { QueryBuilder } = baseModel(query.modelClass() as ModelClass) as unknown as {
    QueryBuilder: { prototype: object }
  }
  const base = QueryBuilder.prototype as Record<string, unknown>
  return EXECUTING.every((name) => own[name] === base[name])
}

/** Hooks of ours, whose work is done for plain inserts too, by the prototype whose hook they call. */
const passed = new WeakMap<object, Hooked>()

interface Hooked {
  readonly $beforeInsert: unknown
}

/** Names a prototype of ours whose `$beforeInsert` calls that of `base`, and is by itself none of the application's code. */
export function passHook(own: Hooked, base: Hooked): void {
  passed.set(own.$beforeInsert as object, base)
}

function ownHook(hook: unknown): unknown {
  const base = passed.get(hook as object)
  return base ? ownHook(base.$beforeInsert) : hook
}

/** True when inserting a row runs no code of the application: no insert hooks, no formatting of its own. */
export function hasPlainInserts(model: ModelClass): boolean {
  const own = model as unknown as Overridable
  const base = baseModel(model)
  return (
    hasPlainQueries(model) &&
    own.beforeInsert === base.beforeInsert &&
    own.afterInsert === base.afterInsert &&
    ownHook(own.prototype.$beforeInsert) === base.prototype.$beforeInsert &&
    own.prototype.$afterInsert === base.prototype.$afterInsert &&
    own.prototype.$formatDatabaseJson === base.prototype.$formatDatabaseJson &&
    own.prototype.$toDatabaseJson === base.prototype.$toDatabaseJson
  )
}

/** True when updating a row runs no code of the application that could add to the values: no hooks, no formatting. */
export function hasPlainUpdates(model: ModelClass): boolean {
  const own = model as unknown as Overridable
  const base = baseModel(model)
  return (
    hasPlainQueries(model) &&
    own.beforeUpdate === base.beforeUpdate &&
    own.prototype.$beforeUpdate === base.prototype.$beforeUpdate &&
    own.prototype.$formatDatabaseJson === base.prototype.$formatDatabaseJson &&
    own.prototype.$toDatabaseJson === base.prototype.$toDatabaseJson
  )
}

/** True when rows can be updated together: no code of the application runs for a row but its `$beforeUpdate`. */
export function hasPlainChanges(model: ModelClass): boolean {
  const own = model as unknown as Overridable
  const base = baseModel(model)
  return (
    hasPlainQueries(model) &&
    own.beforeUpdate === base.beforeUpdate &&
    own.afterUpdate === base.afterUpdate &&
    own.fromDatabaseJson === base.fromDatabaseJson &&
    own.prototype.$afterUpdate === base.prototype.$afterUpdate &&
    own.prototype.$formatDatabaseJson === base.prototype.$formatDatabaseJson &&
    own.prototype.$toDatabaseJson === base.prototype.$toDatabaseJson
  )
}

/** True when deleting a row runs no code of the application. */
export function hasPlainDeletes(model: ModelClass): boolean {
  const own = model as unknown as Overridable
  const base = baseModel(model)
  return (
    hasPlainQueries(model) &&
    own.beforeDelete === base.beforeDelete &&
    own.afterDelete === base.afterDelete &&
    deletesTogether(model)
  )
}

/** True when rows can be deleted together: no code of the application runs for each of them. */
export function deletesTogether(model: ModelClass): boolean {
  const { prototype } = model as unknown as Overridable
  const base = baseModel(model)
  return (
    prototype.$beforeDelete === base.prototype.$beforeDelete && prototype.$afterDelete === base.prototype.$afterDelete
  )
}

/** The Model class that the application's copy of Objection exports: one below the root, which has no builder class yet. */
export function baseModel(model: ModelClass): Overridable {
  let base: object = model
  for (let parent = parentOf(base); parentOf(parent) !== Function.prototype; parent = parentOf(base)) base = parent
  return base as Overridable
}

function parentOf(value: object): object {
  return Object.getPrototypeOf(value) as object
}
