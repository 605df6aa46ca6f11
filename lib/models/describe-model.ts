/** What a model declares: columns, keys and relations, from `jsonSchema`, `relationMappings` and the catalogue. */

import type { Relation } from 'objection'
import { ConfigurationError } from '../kernel/errors.js'
import { type PropertySchema, readModelSchema, typesOf } from '../kernel/json-schema.js'
import type { Queryable } from '../postgres/pg-types.js'
import { checkSession } from '../postgres/session-settings.js'
import { shareTurns } from '../postgres/share-turns.js'
import { type CatalogueColumn, type CatalogueTable, readCatalogue, type TakenWrites } from './catalogue.js'
import { type Checked, readCheck } from './check-constraint.js'
import { type ModelClass, modelName, primaryKeyOf, type RelationKind, relationKind } from './objection.js'

/** A column of a model, as a serializer sees it. */
export interface Column {
  /** The name in the model's instances. */
  readonly property: string
  /** The name that queries use. */
  readonly column: string
  /** The name in the database itself, which errors use; another one where knex has mappers of its own. */
  readonly nativeName: string
  /** PostgreSQL's type name (`int4`, `timestamptz` …), `enum`, `array`, or `unknown`. */
  readonly type: string
  /** The type as SQL writes it, for casts; undefined until the catalogue was read. */
  readonly sqlType: string | undefined
  /** The type's number, by which pg chooses a parser; undefined until the catalogue was read. */
  readonly oid: number | undefined
  readonly nullable: boolean
  /** The table may hold NULL, whatever the jsonSchema accepts. */
  readonly holdsNull: boolean
  /** A create must give it. */
  readonly required: boolean
  /** The database or the model fills it in when it is missing. */
  readonly hasDefault: boolean
  /** Filled by the database, never written by a client. */
  readonly auto: boolean
  /** Part of the primary key. */
  readonly primary: boolean
  /** Alone in a unique constraint. */
  readonly unique: boolean
  readonly maxLength: number | undefined
  /** All digits of a numeric; digits after the point of a time's or an interval's seconds. */
  readonly precision: number | undefined
  readonly scale: number | undefined
  /** The values of an enum, or of an array's enum. */
  readonly labels: readonly string[] | undefined
  /** Type of an array's elements. */
  readonly element: string | undefined
  /** What CHECK constraints of the database ask of its values. */
  readonly checked: readonly Checked[]
  /** What the model's `jsonSchema` says of it. */
  readonly schema: PropertySchema
}

/** A relation of a model. */
export interface RelationDescription {
  readonly name: string
  readonly kind: RelationKind
  readonly model: ModelClass
  /** The mapping narrows the related objects by a query of its own (`modify`, `filter`). */
  readonly narrowed: boolean
  /** True when the relation leads to at most one object. */
  readonly single: boolean
  /** Properties of this model that take part in the join. */
  readonly ownerProperties: readonly string[]
  /** Properties of the related model that take part in the join. */
  readonly relatedProperties: readonly string[]
  /** The join table; undefined where the tables themselves hold the keys. */
  readonly through: JoinTable | undefined
}

/** The table of a relation that neither of its models holds the key of. */
export interface JoinTable {
  readonly model: ModelClass
  /** Its properties that hold the key of the relation's own model, in the order of `ownerProperties`. */
  readonly ownerProperties: readonly string[]
  /** The same for the related model. */
  readonly relatedProperties: readonly string[]
  /** Rows are links and nothing else: the mapping neither narrows them nor adds to them. */
  readonly isPlain: boolean
  /** The application has no class for it, whose hooks would run. */
  readonly isBare: boolean
}

/** Where a foreign key of the database points. */
interface ForeignKey {
  /** The table's number. */
  readonly table: number
  readonly column: string
  /** The database refuses keys that lead nowhere. */
  readonly enforced: boolean
}

export interface ModelDescription {
  readonly model: ModelClass
  /** The table's name in the database, without its schema. */
  readonly nativeName: string
  /** The names of its partitions in the database. */
  readonly partitions: ReadonlySet<string>
  readonly columns: ReadonlyMap<string, Column>
  /** The columns that `__all__` stands for: those of the `jsonSchema` if it names any, else all. */
  readonly declared: readonly string[]
  readonly primaryKey: readonly string[]
  readonly relations: ReadonlyMap<string, RelationDescription>
  /** Properties of a named constraint or unique index, those of partitions included. */
  readonly constraints: ReadonlyMap<string, readonly string[]>
  /** Properties that alone are a foreign key of the database, and where it points. */
  readonly foreignKeys: ReadonlyMap<string, ForeignKey>
  /** Properties that foreign keys of the database point to. */
  readonly referenced: ReadonlySet<string>
  /** The table's number in the database; undefined until the catalogue was read. */
  readonly table: number | undefined
  /** Rows are hidden by row-level security. */
  readonly secured: boolean
  /** The table holds no rows of its own, but shows those of others. */
  readonly isView: boolean
  /** What statements may do to its rows; all before the catalogue was read. */
  readonly takes: TakenWrites
  /** Its rows lie in partitions, over which only a key that tells the partition can be unique. */
  readonly isPartitioned: boolean
  /** Properties that together are unique, one list for each constraint or index that says so. */
  readonly uniqueKeys: readonly (readonly string[])[]
  /** Its rows can be locked. */
  readonly lockable: boolean
  /** An insert may leave rows out: a trigger or a rule of the database stands before it. */
  readonly filtersInserts: boolean
  /** Triggers or rules of the database run when rows are inserted. */
  readonly hasInsertTriggers: boolean
  /** True once the catalogue was read. */
  readonly prepared: boolean
}

const catalogues = new WeakMap<ModelClass, CatalogueTable>()
const descriptions = new WeakMap<ModelClass, ModelDescription>()
let revision = 0

/** A number that grows when a catalogue was read; what was compiled from descriptions before is stale then. */
export function catalogueRevision(): number {
  return revision
}

/** The description of a model; made once, and again when its catalogue was read. */
export function describeModel(model: ModelClass): ModelDescription {
  let description = descriptions.get(model)
  if (!description) {
    description = describe(model, catalogues.get(model))
    descriptions.set(model, description)
  }
  return description
}

/**
 * Reads the database catalogue for these models, in two queries for each database they live in.
 * @param knex where to read; each model's own knex when missing
 * @throws {ConfigurationError} a model is bound to no knex, its table does not exist, or settings of the database make texts
 * that cannot be read
 */
export async function prepareModels(models: Iterable<ModelClass>, knex?: Queryable): Promise<void> {
  const byDatabase = new Map<Queryable, ModelClass[]>()
  for (const model of new Set(models)) {
    const database = knex ?? boundKnex(model)
    byDatabase.set(database, [...(byDatabase.get(database) ?? []), model])
  }
  for (const [database, members] of byDatabase) {
    const found = await readCatalogue(
      database,
      members.map((model) => model.tableName),
    )
    await checkSession(database)
    shareTurns(database)
    const missing = members.filter((model) => !found.has(model.tableName))
    if (missing.length > 0) {
      throw new ConfigurationError(
        missing
          .map((m) => `${modelName(m)}: table "${m.tableName}" does not exist; create it, or correct static tableName`)
          .join('\n'),
      )
    }
    for (const model of members) {
      catalogues.set(model, found.get(model.tableName) as CatalogueTable)
      descriptions.delete(model)
    }
  }
  revision++
}

/** The knex a model is bound to. @throws {ConfigurationError} it is bound to none */
function boundKnex(model: ModelClass): Queryable {
  const knex = model.knex() as Queryable | undefined
  if (!knex) {
    throw new ConfigurationError(
      `${modelName(model)}: not bound to a database; call Model.knex(knex) before the first request, or prepare({ knex })`,
    )
  }
  return knex
}

function describe(model: ModelClass, catalogue: CatalogueTable | undefined): ModelDescription {
  const schema = readModelSchema(model.jsonSchema)
  const primaryKey = primaryKeyOf(model)
  const relations = describeRelations(model)
  const property = (column: string) => model.columnNameToPropertyName(column)
  const stored = new Map(catalogue?.columns.map((column) => [property(column.column), column]))
  const unique = new Set(
    catalogue?.constraints
      .filter((c) => (c.kind === 'primary' || c.kind === 'unique') && c.columns.length === 1)
      .map((c) => property(c.columns[0] as string)),
  )
  const names = catalogue
    ? [...stored.keys()]
    : [...new Set([...primaryKey, ...[...schema.properties.keys()].filter((name) => !relations.has(name))])]
  const columns = new Map(
    names.map((name) => [
      name,
      describeColumn({
        property: name,
        column: stored.get(name)?.column ?? model.propertyNameToColumnName(name),
        stored: stored.get(name),
        schema: schema.properties.get(name) ?? {},
        required: schema.required.has(name),
        primary: primaryKey.includes(name),
        composite: primaryKey.length > 1,
        unique: unique.has(name),
      }),
    ]),
  )
  const declared = names.filter((name) => primaryKey.includes(name) || schema.properties.has(name))
  return {
    model,
    nativeName: catalogue?.nativeName ?? (model.tableName.split('.').at(-1) as string),
    partitions: new Set(catalogue?.partitions),
    columns,
    declared: schema.properties.size > 0 ? declared : names,
    primaryKey,
    relations,
    constraints: new Map(catalogue?.constraints.map((c) => [c.name, c.columns.map(property)])),
    referenced: new Set(catalogue?.columns.filter((c) => c.referenced).map((c) => property(c.column))),
    table: catalogue?.table,
    secured: catalogue?.secured ?? false,
    isView: catalogue?.isView ?? false,
    takes: catalogue?.takes ?? { insert: true, update: true, delete: true },
    isPartitioned: catalogue?.isPartitioned ?? false,
    uniqueKeys: (catalogue?.constraints ?? [])
      .filter(({ kind }) => kind === 'primary' || kind === 'unique')
      .map(({ columns: unique }) => unique.map(property)),
    lockable: catalogue?.lockable ?? true,
    filtersInserts: catalogue?.filtersInserts ?? false,
    hasInsertTriggers: catalogue?.hasInsertTriggers ?? false,
    foreignKeys: new Map(
      catalogue?.constraints.flatMap(({ kind, columns: own, target, enforced }) =>
        kind === 'foreign' && own.length === 1 && target
          ? [
              [
                property(own[0] as string),
                { table: target.table, column: target.columns[0] as string, enforced },
              ] as const,
            ]
          : [],
      ),
    ),
    prepared: catalogue !== undefined,
  }
}

interface ColumnSources {
  property: string
  column: string
  stored: CatalogueColumn | undefined
  schema: PropertySchema
  required: boolean
  primary: boolean
  composite: boolean
  unique: boolean
}

function describeColumn(from: ColumnSources): Column {
  const { stored, schema } = from
  const types = typesOf(schema)
  const allowsNull = types.length === 0 || types.includes('null')
  const hasDefault = stored?.hasDefault === true || schema.default !== undefined
  const nullable = stored ? !stored.notNull && allowsNull : types.includes('null')
  // a key the database fills in; without the catalogue, a single key that the schema does not ask for
  const auto = stored
    ? stored.generated || (from.primary && !from.composite && stored.hasDefault)
    : from.primary && !from.composite && !from.required
  const required = !auto && !hasDefault && (from.required || (stored ? stored.notNull : false))
  return {
    property: from.property,
    column: from.column,
    nativeName: stored?.nativeName ?? from.column,
    type: stored?.type ?? typeFromSchema(schema, auto),
    sqlType: stored?.sqlType,
    oid: stored?.oid,
    nullable,
    holdsNull: stored ? !stored.notNull : nullable,
    required,
    hasDefault,
    auto,
    primary: from.primary,
    unique: from.unique || (from.primary && !from.composite),
    maxLength: smaller(stored?.maxLength, schema.maxLength),
    precision: stored?.precision,
    scale: stored?.scale,
    labels: stored?.labels,
    element: stored?.element,
    checked: stored?.checks.flatMap((check) => readCheck(check, stored.nativeName)) ?? [],
    schema,
  }
}

const FORMATS: Readonly<Record<string, string>> = {
  'date-time': 'timestamptz',
  date: 'date',
  time: 'time',
  uuid: 'uuid',
}

/** The type a column most likely has, before the catalogue tells. */
function typeFromSchema(schema: PropertySchema, auto: boolean): string {
  const [type] = typesOf(schema).filter((name) => name !== 'null')
  switch (type) {
    case 'integer':
      return 'int4'
    case 'number':
      return 'float8'
    case 'boolean':
      return 'bool'
    case 'object':
    case 'array':
      return 'jsonb'
    case 'string':
      return FORMATS[schema.format ?? ''] ?? 'text'
    default:
      return auto ? 'int4' : 'unknown'
  }
}

function describeRelations(model: ModelClass): Map<string, RelationDescription> {
  return new Map(
    Object.values(model.getRelations()).map((relation) => {
      const kind = relationKind(model, relation)
      const description: RelationDescription = {
        name: relation.name,
        kind,
        model: relation.relatedModelClass,
        narrowed: isNarrowed(model, relation.name),
        single: kind !== 'has-many' && kind !== 'many-to-many',
        ownerProperties: relation.ownerProp.props,
        relatedProperties: relation.relatedProp.props,
        through: kind === 'many-to-many' || kind === 'has-one-through' ? describeJoin(model, relation) : undefined,
      }
      return [relation.name, description]
    }),
  )
}

/** The relation whose foreign key alone is this property. */
export function relationOfKey(model: ModelDescription, property: string): RelationDescription | undefined {
  for (const relation of model.relations.values()) {
    const { kind, ownerProperties } = relation
    if (kind === 'belongs-to-one' && ownerProperties.length === 1 && ownerProperties[0] === property) return relation
  }
  return undefined
}

/** True when a relation's mapping has a query of its own. */
function isNarrowed(model: ModelClass, name: string): boolean {
  const { modify, filter } = mappingOf(model, name)
  return modify !== undefined || filter !== undefined
}

function describeJoin(model: ModelClass, relation: Relation): JoinTable {
  const { modify, filter, beforeInsert, modelClass } = mappingOf(model, relation.name).join?.through ?? {}
  return {
    model: relation.joinModelClass,
    ownerProperties: relation.joinTableOwnerProp.props,
    relatedProperties: relation.joinTableRelatedProp.props,
    isPlain: modify === undefined && filter === undefined && beforeInsert === undefined,
    isBare: modelClass === undefined,
  }
}

/** What may be said of a relation, or of its join table. */
interface Mapping {
  readonly modify?: unknown
  readonly filter?: unknown
  readonly beforeInsert?: unknown
  readonly modelClass?: unknown
  readonly join?: { readonly through?: Mapping }
}

function mappingOf(model: ModelClass, name: string): Mapping {
  const mappings: unknown = model.relationMappings
  const all: unknown = typeof mappings === 'function' ? mappings.call(model) : mappings
  return (all as Readonly<Record<string, Mapping>> | undefined)?.[name] ?? {}
}

function smaller(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined ? b : b === undefined ? a : Math.min(a, b)
}
