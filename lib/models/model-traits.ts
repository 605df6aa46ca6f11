/**
 * What a model class adds to Objection's own, asked once: where it adds nothing, a row is exactly what the table holds, and a
 * statement of ours does what Objection's own would.
 */
import { isJsonAttribute } from './build-model.js'
import { describeModel, oncePerCatalogue } from './describe-model.js'
import { type AnyQueryBuilder, type ModelClass, modelName } from './objection.js'

/** What a model class may override, of which we compare the functions only. */
interface Overridable {
  readonly knex: unknown
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

/** Each is true where no code of the application takes part, so that there is nothing to go round. */
class Traits {
  readonly #model: ModelClass
  readonly #own: Overridable
  readonly #base: Overridable
  #plainQueries: boolean | undefined
  #rowObstacle: string | null | undefined
  #plainInput: boolean | undefined
  #plainInserts: boolean | undefined
  #plainUpdates: boolean | undefined
  #plainChanges: boolean | undefined
  #plainBulkDeletes: boolean | undefined
  #plainDeletes: boolean | undefined
  #namedRows: boolean | undefined

  constructor(model: ModelClass) {
    this.#model = model
    this.#own = model as ModelClass & Overridable
    this.#base = baseModel(model)
  }

  /** The model's queries are the same at every request: `query()` and the builder are Objection's. */
  get plainQueries(): boolean {
    this.#plainQueries ??= this.#keeps('query', 'QueryBuilder')
    return this.#plainQueries
  }

  /** The model's database is what it was bound to: `knex()` is Objection's. */
  get plainDatabase(): boolean {
    return this.#keeps('knex')
  }

  /** Finding rows runs no hooks of the class, which could leave out some. */
  get plainFinds(): boolean {
    return this.#keeps('beforeFind', 'afterFind')
  }

  /** Reading rows runs no find hooks, no accessors and no parsing of the model's own. */
  get plainRows(): boolean {
    return this.rowObstacle === undefined
  }

  /** Why the model's rows need instances, as the end of a sentence; undefined where they do not. */
  get rowObstacle(): string | undefined {
    if (this.#rowObstacle === undefined) this.#rowObstacle = this.#findRowObstacle() ?? null
    return this.#rowObstacle ?? undefined
  }

  #findRowObstacle(): string | undefined {
    const name = modelName(this.#model)
    const overridden =
      this.#firstChanged('fromDatabaseJson', 'beforeFind', 'afterFind') ??
      this.#firstOverridden('$afterFind', '$parseDatabaseJson', '$setDatabaseJson')
    if (overridden !== undefined) return `${name} overrides ${overridden}()`
    const accessor = accessorOf(this.#model, this.#base)
    if (accessor !== undefined) return `${name} has an accessor for its column "${accessor}"`
    if (hasJsonTexts(this.#model)) return `${name} reads JSON out of a column of another type`
    return describeModel(this.#model).prepared ? undefined : `the catalogue of ${name} was not read`
  }

  /** An instance made from values holds just these: no schema, no parsing, no values of the class's own. */
  get plainInput(): boolean {
    this.#plainInput ??= this.#takesPlainly()
    return this.#plainInput
  }

  /** Inserting a row runs no hooks and no formatting of the model's own. */
  get plainInserts(): boolean {
    this.#plainInserts ??=
      this.plainQueries &&
      this.#keeps('beforeInsert', 'afterInsert') &&
      this.#inherits('$afterInsert', ...FORMATTING) &&
      ownHook(this.#own.prototype.$beforeInsert) === this.#base.prototype.$beforeInsert
    return this.#plainInserts
  }

  /** Updating a row runs nothing of the model's own that could add to the values. */
  get plainUpdates(): boolean {
    this.#plainUpdates ??=
      this.plainQueries && this.#keeps('beforeUpdate') && this.#inherits('$beforeUpdate', ...FORMATTING)
    return this.#plainUpdates
  }

  /** Rows can be updated together: nothing of the model's own runs for each but its `$beforeUpdate`. */
  get plainChanges(): boolean {
    this.#plainChanges ??=
      this.plainQueries &&
      this.#keeps('beforeUpdate', 'afterUpdate', 'fromDatabaseJson') &&
      this.#inherits('$afterUpdate', ...FORMATTING)
    return this.#plainChanges
  }

  /** Nothing of the model's own runs once a row was inserted. */
  get quietInserts(): boolean {
    return this.#keeps('afterInsert') && this.#inherits('$afterInsert')
  }

  /** Nothing of the model's own runs once a row was updated. */
  get quietUpdates(): boolean {
    return this.#keeps('afterUpdate') && this.#inherits('$afterUpdate')
  }

  /** Nothing of the model's own runs around the writes of a row. */
  get quietWrites(): boolean {
    return this.plainInserts && this.quietUpdates && this.#keeps('beforeUpdate') && this.#inherits('$beforeUpdate')
  }

  /** Rows can be deleted together: nothing of the model's own runs for each. */
  get plainBulkDeletes(): boolean {
    this.#plainBulkDeletes ??= this.#inherits('$beforeDelete', '$afterDelete')
    return this.#plainBulkDeletes
  }

  /** Deleting a row runs no hook. */
  get plainDeletes(): boolean {
    this.#plainDeletes ??= this.plainQueries && this.plainBulkDeletes && this.#keeps('beforeDelete', 'afterDelete')
    return this.#plainDeletes
  }

  /** A statement of ours can name each row by its primary key, and each column. */
  get namedRows(): boolean {
    const { columns, primaryKey, prepared } = describeModel(this.#model)
    this.#namedRows ??=
      prepared &&
      primaryKey.length > 0 &&
      primaryKey.every((property) => columns.has(property)) &&
      // knex takes a question mark for the place of a value, in names too
      [...columns.values()].every(({ column }) => !column.includes('?'))
    return this.#namedRows
  }

  /** The first of these statics that is not that of Objection. */
  #firstChanged(...names: readonly (keyof Overridable)[]): string | undefined {
    return names.find((name) => this.#own[name] !== this.#base[name])
  }

  /** The first of these methods of instances that is not that of Objection. */
  #firstOverridden(...names: readonly (keyof Overridable['prototype'])[]): string | undefined {
    return names.find((name) => this.#own.prototype[name] !== this.#base.prototype[name])
  }

  #keeps(...names: readonly (keyof Overridable)[]): boolean {
    return this.#firstChanged(...names) === undefined
  }

  #inherits(...names: readonly (keyof Overridable['prototype'])[]): boolean {
    return this.#firstOverridden(...names) === undefined
  }

  #takesPlainly(): boolean {
    const { columns, relations } = describeModel(this.#model)
    return (
      this.#keeps('fromJson', 'getJsonSchema', 'getValidator', 'createValidator') &&
      this.#inherits('$setJson', '$parseJson', '$validate', '$beforeValidate', '$afterValidate', '$set', '$setFast') &&
      (this.#own.jsonSchema === undefined || this.#own.jsonSchema === null) &&
      // Objection keeps names with a dollar to itself, and makes instances of what stands under a relation's name
      [...columns.keys()].every((name) => !name.startsWith('$') && !relations.has(name)) &&
      accessorOf(this.#model, this.#base) === undefined &&
      Object.keys(new this.#model()).length === 0
    )
  }
}

const FORMATTING = ['$formatDatabaseJson', '$toDatabaseJson'] as const

/** What a model class adds to Objection's own. */
export type ModelTraits = Traits

/** The traits of a model, asked once until the catalogue is read again. */
export const traitsOf: (model: ModelClass) => ModelTraits = oncePerCatalogue((model) => new Traits(model))

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

const EXECUTING = ['execute', 'then', 'toKnexQuery'] as const

/** True when running a query is sending its SQL: its builder executes in no way of its own. */
export function hasPlainExecution(query: AnyQueryBuilder): boolean {
  const own = query as unknown as Record<string, unknown>
  const { QueryBuilder } = baseModel(query.modelClass() as ModelClass) as {
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

/** The Model class that the application's copy of Objection exports: one below the root, which has no builder class yet. */
export function baseModel(model: ModelClass): Overridable {
  let base: object = model
  for (let parent = parentOf(base); parentOf(parent) !== Function.prototype; parent = parentOf(base)) base = parent
  return base as Overridable
}

function parentOf(value: object): object {
  return Object.getPrototypeOf(value) as object
}
