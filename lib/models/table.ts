/** Models without a class of one's own: `table('books')`. */
import { Model, type RelationJoin, type RelationMapping, type RelationMappings } from 'objection'
import { ConfigurationError } from '../kernel/errors.js'
import type { Kind } from '../kernel/kinds.js'
import { pascalCase, singularize } from '../kernel/naming.js'
import { checkKinds } from '../kernel/option-kinds.js'
import { isModelClass, type ModelClass, modelName } from './objection.js'

/** A model class that relations lead to; a function, so that two tables can lead to each other. */
type RelatedTable = () => { readonly tableName: string }

/** How a table relates to another one. */
export type TableRelation =
  /** One object, by a foreign key of this table. */
  | { readonly belongsTo: RelatedTable; readonly key: string }
  /** One object, by a foreign key of the other table. */
  | { readonly hasOne: RelatedTable; readonly key: string }
  /** Several objects, by a foreign key of the other table. */
  | { readonly hasMany: RelatedTable; readonly key: string }
  /** Several objects, by a table between: `from` is its key to this table, `to` the one to the other. */
  | { readonly manyToMany: RelatedTable; readonly through: string; readonly from: string; readonly to: string }

/** Options of `table()`. */
export interface TableOptions {
  /** The column, or columns, of the primary key. @default 'id' */
  readonly idColumn?: string | readonly string[]
  /**
   * Relations to other tables, by name, beside those of `base`; or `'foreign keys'`: those that the foreign keys of the
   * database say, in both directions, once `prepare()` has read them. `explain()` shows their names. @default those of `base`
   */
  readonly relations?: Readonly<Record<string, TableRelation>> | 'foreign keys'
  /** The class that the model extends, such as one of yours with mappers or hooks. @default Objection's `Model` */
  readonly base?: new () => Model
}

const FOREIGN_KEYS = 'foreign keys'

const OPTIONS = {
  idColumn: 'name or names',
  relations: 'any',
  base: 'function',
} as const satisfies Record<keyof TableOptions, Kind>

const KINDS = {
  belongsTo: 'BelongsToOneRelation',
  hasOne: 'HasOneRelation',
  hasMany: 'HasManyRelation',
  manyToMany: 'ManyToManyRelation',
} as const

/** The relation to an object, or to a list of them. */
type RelationTo<T> =
  NonNullable<T> extends readonly unknown[]
    ? Extract<TableRelation, { readonly hasMany: unknown } | { readonly manyToMany: unknown }>
    : Extract<TableRelation, { readonly belongsTo: unknown } | { readonly hasOne: unknown }>

/** Related rows as they are read: each an instance of its model. */
type RelatedRows<Related> = {
  [Name in keyof Related]?: NonNullable<Related[Name]> extends readonly (infer Row)[]
    ? InstanceOf<Row>[]
    : InstanceOf<NonNullable<Related[Name]>> | null
}

type InstanceOf<Row> = Row extends Model ? Row : Model & Row

/** The model class of a table; an Objection model like any other. */
export interface TableModel<Row extends object = object, Related extends object = object>
  extends Omit<ModelClass, 'prototype'> {
  new (): Model & Row & RelatedRows<Related>
  /** Instances: an Objection model with the columns of a row, and with related ones where they are loaded. */
  readonly prototype: Model & Row & RelatedRows<Related>
}

/**
 * A model of a table, for a view set without a class of one's own. Its rows are typed where a row type is given, such as
 * `npx koa-viewsets types` writes, and its relations where a type of the rows that they lead to is given besides.
 * Of two tables that lead to each other the compiler needs the type of one: `const authors: TableModel<AuthorRow> = table(…)`.
 * With `relations: 'foreign keys'` a relation leads to the model that the API has of the other table, else to one that is made.
 * @param tableName as the database has it, with its schema where it is in none of the search path
 * @throws {ConfigurationError} an option is wrong
 * @example
 * interface BookRow { id: number; title: string; author_id: number }
 * const authors = table<AuthorRow>('authors')
 * const books = table<BookRow, { author: AuthorRow }>('books', {
 *   relations: { author: { belongsTo: () => authors, key: 'author_id' } },
 * })
 * class BookViewSet extends modelViewSet(books, { expandable: { author: AuthorSerializer }, … }) {}
 */
export function table<Row extends object = object>(tableName: string, options?: TableOptions): TableModel<Row>
export function table<Row extends object, Related extends object>(
  tableName: string,
  options: TableOptions & {
    readonly relations: { readonly [Name in keyof Related]: RelationTo<Related[Name]> } | 'foreign keys'
  },
): TableModel<Row, Related>
export function table(tableName: string, options: TableOptions = {}): TableModel {
  if (typeof tableName !== 'string' || tableName === '') {
    throw new ConfigurationError("table(): the first argument is a table's name")
  }
  const where = `table('${tableName}')`
  checkKinds(where, options, { kinds: OPTIONS })
  const { idColumn = 'id', relations = {}, base = Model } = options
  if (!isModelClass(base)) throw new ConfigurationError(`${where}: base is no Objection model class`)
  const reflects = relations === FOREIGN_KEYS
  if (!reflects) checkRelations(where, relations)
  const made: typeof Model = class extends base {
    static override tableName = tableName
    static override idColumn = idColumn as string | string[]
    static override relationMappings = reflects
      ? () => reflection.mappings
      : () => ({ ...inherited(made), ...mappingsOf(made, relations) })
  }
  const reflection: Reflection = { made, base, mappings: {}, isKnown: false }
  if (reflects) reflect(reflection)
  Object.defineProperty(made, 'name', { value: pascalCase(singularize(tableName)) })
  return made
}

/** The relations of a table by its foreign keys, once the database has been read. */
export interface Reflection {
  /** The class that `table()` made: an application may have made others below it. */
  readonly made: ModelClass
  readonly base: ModelClass
  /** Filled once the database was read; Objection keeps the object. */
  readonly mappings: RelationMappings
  isKnown: boolean
}

/** Reflections by the function that returns a class's mappings: a class with mappings of its own has none. */
const reflections = new WeakMap<object, Reflection>()

/** @internal What is known of the foreign keys that make a model's relations; undefined for one that says them itself. */
export function reflectionOf(model: ModelClass): Reflection | undefined {
  const { relationMappings } = model
  return typeof relationMappings === 'function' ? reflections.get(relationMappings) : undefined
}

interface NamingClass {
  readonly getRelationNames: (this: ModelClass) => string[]
}

function reflect(reflection: Reflection): void {
  const { made, base } = reflection
  reflections.set(made.relationMappings, reflection)
  const { getRelationNames } = base as unknown as NamingClass
  // Objection keeps the names that it finds first, though it may be asked (by an insert) before they are known
  const known = function (this: ModelClass): string[] {
    return reflection.isKnown ? getRelationNames.call(this) : []
  }
  Object.assign(made, { getRelationNames: known })
}

function checkRelations(where: string, relations: unknown): void {
  if (typeof relations !== 'object' || relations === null) {
    throw new ConfigurationError(`${where}: relations is neither an object of relations nor '${FOREIGN_KEYS}'`)
  }
  for (const [name, relation] of Object.entries(relations)) checkRelation(`${where}: relations.${name}`, relation)
}

function checkRelation(where: string, relation: TableRelation): void {
  const [kind, ...others] = Object.keys(KINDS).filter((name) => Object.hasOwn(relation ?? {}, name))
  if (kind === undefined || others.length > 0) {
    throw new ConfigurationError(
      `${where}: say one of ${Object.keys(KINDS).join(', ')}: a function that returns a table`,
    )
  }
  const names = kind === 'manyToMany' ? { through: 'name', from: 'name', to: 'name' } : { key: 'name' }
  checkKinds(where, relation, { kinds: { [kind]: 'function', ...names } as Readonly<Record<string, Kind>> })
  for (const name of Object.keys(names)) {
    if (!Object.hasOwn(relation, name)) throw new ConfigurationError(`${where}: ${name} is missing`)
  }
}

/** The relations of the class above. */
function inherited(owner: typeof Model): RelationMappings {
  const { relationMappings } = Object.getPrototypeOf(owner) as typeof Model
  return typeof relationMappings === 'function' ? relationMappings.call(owner) : relationMappings
}

function mappingsOf(owner: typeof Model, relations: Readonly<Record<string, TableRelation>>): RelationMappings {
  return Object.fromEntries(Object.entries(relations).map(([name, relation]) => [name, mappingOf(owner, relation)]))
}

function mappingOf(owner: typeof Model, relation: TableRelation): RelationMapping<Model> {
  const [kind, related] = Object.entries(relation).find(([name]) => Object.hasOwn(KINDS, name)) as [
    keyof typeof KINDS,
    RelatedTable,
  ]
  // a class is a function, too
  const model: unknown = isModelClass(related) ? undefined : related()
  if (!isModelClass(model)) {
    throw new ConfigurationError(`${modelName(owner)}: a relation leads to no Objection model class`)
  }
  const join = 'through' in relation ? throughOf(owner, model, relation) : joinOf(owner, model, relation)
  return { relation: owner[KINDS[kind]], modelClass: model, join }
}

function joinOf(owner: ModelClass, related: ModelClass, relation: { readonly key: string }): RelationJoin {
  return 'belongsTo' in relation
    ? { from: `${owner.tableName}.${relation.key}`, to: keyOf(related) }
    : { from: keyOf(owner), to: `${related.tableName}.${relation.key}` }
}

function throughOf(
  owner: ModelClass,
  related: ModelClass,
  { through, from, to }: { readonly through: string; readonly from: string; readonly to: string },
): RelationJoin {
  return {
    from: keyOf(owner),
    through: { from: `${through}.${from}`, to: `${through}.${to}` },
    to: keyOf(related),
  }
}

/**
 * The column of a model's primary key, with its table.
 * @throws {ConfigurationError} the key has several columns
 */
function keyOf(model: ModelClass): string {
  const columns = [model.idColumn as string | readonly string[]].flat()
  if (columns.length > 1) {
    throw new ConfigurationError(
      `${modelName(model)} has a key of several columns (${columns.join(', ')}), and relations of table() join by one: ` +
        "use `relations: 'foreign keys'`, or a base class with relationMappings",
    )
  }
  return `${model.tableName}.${columns[0]}`
}
