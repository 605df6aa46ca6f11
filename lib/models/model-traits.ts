/**
 * Overrides and hooks of a model class, found once: where it adds nothing, a row is exactly what the table holds, and a
 * statement of ours does what Objection's own would.
 */
import type { Model } from 'objection'
import { FORMATTING, isJsonAttribute } from './build-model.js'
import { describeModel, oncePerCatalogue } from './describe-model.js'
import type { ModelDescription } from './model-description.js'
import { type AnyQueryBuilder, type ModelClass, modelName } from './objection.js'

type OwnStatic = keyof ModelClass | 'getJsonSchema' | 'getValidator'
type OwnMethod = keyof Model | '$setDatabaseJson' | '$toDatabaseJson' | '$setFast'

/** What a model class may override, of which we compare the functions only. */
interface Overridable extends Readonly<Record<Exclude<OwnStatic, 'prototype'>, unknown>> {
  readonly prototype: Readonly<Record<OwnMethod, unknown>>
}

/** What a model class adds to Objection's own. Each is true where no code of the application takes part, so that there is nothing to go round. */
export interface ModelTraits {
  /** The model's queries are the same at every request: `query()` and the builder are Objection's. */
  readonly plainQueries: boolean
  /** The model's database is what it was bound to: `knex()` is Objection's. */
  readonly plainDatabase: boolean
  /** Finding rows runs no hooks of the class, which could leave out some. */
  readonly plainFinds: boolean
  /** What runs on rows that are found, and not on those that a write returns; null for nothing. */
  readonly findHook: string | null
  /** Reading rows runs no find hooks, no accessors and no parsing of the model's own. */
  readonly plainRows: boolean
  /** Why the model's rows need instances, as the end of a sentence; undefined where they do not. */
  readonly rowObstacle: string | undefined
  /** An instance made from values holds just these: no schema, no parsing, no values of the class's own. */
  readonly plainInput: boolean
  /** Inserting a row runs no hooks and no formatting of the model's own. */
  readonly plainInserts: boolean
  /** Updating a row runs nothing of the model's own that could add to the values. */
  readonly plainUpdates: boolean
  /** Rows can be updated together: nothing of the model's own runs for each but its `$beforeUpdate`. */
  readonly plainChanges: boolean
  /** Nothing of the model's own runs once a row was inserted. */
  readonly quietInserts: boolean
  /** Nothing of the model's own runs once a row was updated. */
  readonly quietUpdates: boolean
  /** Nothing of the model's own runs around the writes of a row. */
  readonly quietWrites: boolean
  /** Deleting a row runs no hook. */
  readonly plainDeletes: boolean
  /** Static hooks of the model may cancel such a statement (`cancelQuery()`). */
  readonly cancels: { readonly update: boolean; readonly delete: boolean }
  /** A statement of ours can name each row by its primary key, and each column. */
  readonly namedRows: boolean
  /** Why no statement of ours reads and locks a row as the model's queries do, as a sentence; null where one does. */
  readonly holdObstacle: string | null
  /** Why none changes a row as the model's `$query().patch()` does. */
  readonly updateObstacle: string | null
  /** Why none deletes a row as the model's `$query().delete()` does. */
  readonly deleteObstacle: string | null
  /** Why rows are deleted one by one, where a request deletes several. */
  readonly bulkDeleteObstacle: string | null
}

/** The traits of a model, until the catalogue is read again. */
export const traitsOf: (model: ModelClass) => ModelTraits = oncePerCatalogue((model): ModelTraits => {
  const own = model as unknown as Overridable
  const base = baseModel(model)
  const { columns, relations, primaryKey, prepared } = describeModel(model)
  /** The first of these statics that is not that of Objection. */
  const changed = (...names: readonly OwnStatic[]) => names.find((name) => own[name] !== base[name])
  /** The first of these methods of instances that is not that of Objection. */
  const overridden = (...names: readonly OwnMethod[]) =>
    names.find((name) => own.prototype[name] !== base.prototype[name])
  const keeps = (...names: readonly OwnStatic[]) => changed(...names) === undefined
  const inherits = (...names: readonly OwnMethod[]) => overridden(...names) === undefined

  const name = modelName(model)
  const accessor = accessorOf(model, base)
  const findHook = changed('fromDatabaseJson', 'beforeFind', 'afterFind') ?? overridden('$afterFind')
  const findRowObstacle = () => {
    const method = findHook ?? overridden('$parseDatabaseJson', '$setDatabaseJson')
    if (method !== undefined) return `${name} overrides ${method}()`
    if (accessor !== undefined) return `${name} has an accessor for its column "${accessor}"`
    if (hasJsonTexts(model)) return `${name} reads JSON out of a column of another type`
    return prepared ? undefined : `the catalogue of ${name} was not read`
  }
  const rowObstacle = findRowObstacle()
  const plainQueries = keeps('query') && isUnchanged(own.QueryBuilder as Builder, base.QueryBuilder as Builder)
  const plainInserts =
    plainQueries &&
    keeps('beforeInsert', 'afterInsert') &&
    inherits('$afterInsert', ...FORMATTING) &&
    ownHook(own.prototype.$beforeInsert) === base.prototype.$beforeInsert
  const quietUpdates = keeps('afterUpdate') && inherits('$afterUpdate')
  const ownDeletes = overridden('$beforeDelete', '$afterDelete')
  const ownUpdates = changed('beforeUpdate') ?? overridden('$beforeUpdate', ...FORMATTING)
  const ownChanges =
    changed('beforeUpdate', 'afterUpdate', 'fromDatabaseJson') ?? overridden('$afterUpdate', ...FORMATTING)
  const deletion = ownDeletes ?? changed('beforeDelete', 'afterDelete')
  const isKeyed = primaryKey.length > 0 && primaryKey.every((property) => columns.has(property))
  const namedRows =
    prepared &&
    isKeyed &&
    // knex takes a question mark for the place of a value, in names too
    [...columns.values()].every(({ column }) => !column.includes('?'))
  const methodObstacle = (method: string | undefined, isNamed: boolean) => {
    if (method !== undefined) return `${name} overrides ${method}()`
    return isNamed ? null : `the rows of ${name} cannot be named by a primary key`
  }
  const statementObstacle = (method: string | undefined) =>
    plainQueries ? methodObstacle(method, namedRows) : `${name} has queries of its own`
  return {
    plainQueries,
    plainDatabase: keeps('knex'),
    plainFinds: keeps('beforeFind', 'afterFind'),
    findHook: findHook ?? null,
    plainRows: rowObstacle === undefined,
    rowObstacle,
    plainInput:
      keeps('fromJson', 'getJsonSchema', 'getValidator', 'createValidator') &&
      inherits('$setJson', '$parseJson', '$validate', '$beforeValidate', '$afterValidate', '$set', '$setFast') &&
      (own.jsonSchema === undefined || own.jsonSchema === null) &&
      // Objection keeps names with a dollar to itself, and makes instances of what stands under a relation's name
      [...columns.keys()].every((name) => !name.startsWith('$') && !relations.has(name)) &&
      accessor === undefined &&
      Object.keys(new model()).length === 0,
    plainInserts,
    plainUpdates: plainQueries && ownUpdates === undefined,
    plainChanges: plainQueries && ownChanges === undefined,
    quietInserts: keeps('afterInsert') && inherits('$afterInsert'),
    quietUpdates,
    quietWrites: plainInserts && quietUpdates && keeps('beforeUpdate') && inherits('$beforeUpdate'),
    plainDeletes: plainQueries && deletion === undefined,
    cancels: { update: !keeps('beforeUpdate'), delete: !keeps('beforeDelete') },
    namedRows,
    holdObstacle: rowObstacle ?? statementObstacle(undefined),
    updateObstacle: statementObstacle(ownUpdates ?? ownChanges),
    deleteObstacle: statementObstacle(deletion),
    bulkDeleteObstacle: methodObstacle(ownDeletes, isKeyed),
  }
})

/** True where a statement may leave a row as it is: a trigger or a rule of the database, or a hook, stands before it. */
export function mayKeep(
  { model, isIndirect, hasHeirs, triggers }: Pick<ModelDescription, 'model' | 'isIndirect' | 'hasHeirs' | 'triggers'>,
  event: 'update' | 'delete',
): boolean {
  return isIndirect || hasHeirs || triggers.before[event] || traitsOf(model).cancels[event]
}

/** The first column that is read or written through a `get` or `set` of the application's class. */
function accessorOf(model: ModelClass, base: Overridable): string | undefined {
  const { columns } = describeModel(model)
  for (let prototype: object = model.prototype; prototype !== base.prototype; prototype = parentOf(prototype)) {
    const own = Object.entries(Object.getOwnPropertyDescriptors(prototype))
    const found = own.find(([name, { value }]) => value === undefined && columns.has(name))
    if (found) return found[0]
  }
  return undefined
}

/** True when Objection reads JSON out of a column of another type. */
function hasJsonTexts(model: ModelClass): boolean {
  const columns = [...describeModel(model).columns.values()]
  return columns.some((column) => column.type !== 'json' && column.type !== 'jsonb' && isJsonAttribute(model, column))
}

interface Builder {
  readonly prototype: object
  readonly forClass: unknown
}

/** True for Objection's own builder, which its join tables have, and for the one above it that it exports, as long as no application has changed that. */
function isUnchanged(builder: Builder, own: Builder): boolean {
  if (builder === own) return true
  const added = Object.getOwnPropertyNames(builder.prototype)
  const changed = added.some((name) => name !== 'constructor' && name in own.prototype)
  return parentOf(builder) === own && builder.forClass === own.forClass && !changed
}

const EXECUTING = ['execute', 'then', 'toKnexQuery'] as const

/** True when running a query is sending its SQL: its builder executes in no way of its own. */
export function hasPlainExecution(query: AnyQueryBuilder): boolean {
  const own = query as unknown as Record<string, unknown>
  const { prototype } = baseModel(query.modelClass() as ModelClass).QueryBuilder as Builder
  const base = prototype as Record<string, unknown>
  return EXECUTING.every((name) => own[name] === base[name])
}

/** The prototypes whose `$beforeInsert` is called by one of ours, which plain inserts do without; by that hook of ours. */
const passed = new WeakMap<object, Hooked>()

interface Hooked {
  readonly $beforeInsert: unknown
}

/** Registers the `$beforeInsert` of a prototype of ours: traits look at that of `base`, which it calls, in its place. */
export function passHook(own: Hooked, base: Hooked): void {
  passed.set(own.$beforeInsert as object, base)
}

/** The hook itself, or the one that a registered hook of ours calls. */
function ownHook(hook: unknown): unknown {
  const base = passed.get(hook as object)
  return base ? ownHook(base.$beforeInsert) : hook
}

/** Objection's own Model: the one above it, which the application's copy exports, is the application's to change. */
export function baseModel(model: ModelClass): Overridable {
  let base: object = model
  for (let parent = parentOf(base); parent !== Function.prototype; parent = parentOf(base)) base = parent
  return base as Overridable
}

function parentOf(value: object): object {
  return Object.getPrototypeOf(value) as object
}
