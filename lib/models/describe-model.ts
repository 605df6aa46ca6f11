/** Descriptions of models: columns, keys and relations, from `jsonSchema`, `relationMappings` and the catalogue. */

import { ConfigurationError } from '../kernel/errors.js'
import { type PropertySchema, readModelSchema, typesOf } from '../kernel/json-schema.js'
import { groupBy } from '../kernel/maps.js'
import { checkSession } from '../postgres/connection-queue.js'
import type { Queryable } from '../postgres/pg-types.js'
import { noteErrors, rememberNames } from '../postgres/prepared-names.js'
import { shareTurns } from '../postgres/row-stream.js'
import { runRaw } from '../postgres/type-parsers.js'
import { noteDatabase } from '../postgres/watch-statements.js'
import { type CatalogueColumn, type CatalogueTable, readCatalogue } from './catalogue.js'
import { type Checked, readCheck } from './check-constraint.js'
import { describeRelations } from './describe-relations.js'
import type { Column, ModelDescription } from './model-description.js'
import { type ModelClass, modelName, primaryKeyOf } from './objection.js'
import { bareName, toReference } from './table-reference.js'

export interface ColumnSources
  extends Pick<Column, 'property' | 'column' | 'schema' | 'required' | 'primary' | 'unique'> {
  stored: CatalogueColumn | undefined
  composite: boolean
}

/** Describes a column for serializers. */
function describeColumn(from: ColumnSources): Column {
  const { stored, schema } = from
  const types = typesOf(schema)
  const allowsNull = types.length === 0 || types.includes('null')
  const hasDefault = stored?.hasDefault === true || schema.default !== undefined
  const nullable = stored ? !stored.notNull && allowsNull : types.includes('null')
  // a key the database fills in; without the catalogue, a single key that the schema does not ask for
  const auto = stored
    ? stored.generated || (from.primary && !from.composite && stored.makesValues)
    : from.primary && !from.composite && !from.required
  const required = !auto && !hasDefault && (from.required || (stored ? stored.notNull : false))
  return {
    property: from.property,
    column: from.column,
    nativeName: stored?.nativeName ?? from.column,
    writtenName: stored?.writtenName ?? from.column,
    type: stored?.type ?? typeFromSchema(schema, auto),
    sqlType: stored?.sqlType,
    oid: stored?.oid,
    collation: stored?.collation,
    nullable,
    holdsNull: stored?.holdsNull ?? nullable,
    required,
    hasDefault,
    auto,
    isComputed: stored?.isComputed ?? false,
    primary: from.primary,
    unique: from.unique || (from.primary && !from.composite),
    maxLength: smaller(stored?.maxLength, schema.maxLength),
    precision: stored?.precision,
    scale: stored?.scale,
    leastPart: stored?.leastPart,
    labels: stored?.labels,
    element: stored?.element,
    dimensions: stored?.dimensions ?? 1,
    isDomain: stored?.isDomain ?? false,
    domains: stored?.domains ?? [],
    isOrdered: stored?.isOrdered ?? true,
    isEquated: stored?.isEquated ?? true,
    isDeterministic: stored?.isDeterministic ?? true,
    isCounted: stored?.isCounted ?? false,
    checked: stored ? [...checkedIn(stored), ...openBounds(schema)] : [],
    schema,
  }
}

/** Bounds of a model's schema that are none of its values, as CHECKs have them. */
function openBounds({ exclusiveMinimum, exclusiveMaximum }: PropertySchema): readonly Checked[] {
  const boundOf = (value: number) => ({ value: String(value), exclusive: true })
  return [
    ...(typeof exclusiveMinimum === 'number' ? [{ least: boundOf(exclusiveMinimum) }] : []),
    ...(typeof exclusiveMaximum === 'number' ? [{ greatest: boundOf(exclusiveMaximum) }] : []),
  ]
}

/** What CHECKs ask of the column; where other texts are equal to the choices that one names, these are not all that there are. */
function checkedIn({ checks, nativeName, collation }: CatalogueColumn): readonly Checked[] {
  const checked = checks.flatMap((check) => readCheck(check, nativeName))
  return collation === undefined ? checked : checked.filter(({ choices }) => choices === undefined)
}

const FORMATS: Readonly<Record<string, string>> = {
  'date-time': 'timestamptz',
  date: 'date',
  time: 'time',
  uuid: 'uuid',
}

/** The type a column most likely has, before the catalogue was read. */
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

function smaller(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined ? b : b === undefined ? a : Math.min(a, b)
}

/** The cached description of a model. */
interface Known {
  /** Its table in the catalogue; undefined until that was read. */
  readonly table: CatalogueTable | undefined
  /** The database that it was read from, as `configOf()` identifies it; undefined for any. */
  readonly source?: object | undefined
  /** What was made of it, and after how many declarations. */
  readonly description?: ModelDescription
  readonly declaration?: number
}

const known = new WeakMap<ModelClass, Known>()
/** Grows with `describeAnew()`: descriptions made under a lower number are stale. */
let declaration = 0
/** Grows with each catalogue that is read, and with `describeAnew()`: what `oncePerCatalogue()` keeps of a lower number is stale. */
let revision = 0

/** The description of a model; made once, and again when its catalogue was read. */
export function describeModel(model: ModelClass): ModelDescription {
  const made = known.get(model)
  if (made?.description && made.declaration === declaration) return made.description
  const description = describe(model, made?.table)
  known.set(model, { table: made?.table, source: made?.source, description, declaration })
  return description
}

/** The model that the last step of a path is of; undefined where one before it is no relation. */
export function ownerAt(model: ModelDescription, path: readonly string[]): ModelDescription | undefined {
  let owner = model
  for (const step of path.slice(0, -1)) {
    const relation = owner.relations.get(step)
    if (!relation) return undefined
    owner = describeModel(relation.model)
  }
  return owner
}

/** Invalidates all descriptions after a declaration that changes what models are. Catalogues are not read again. */
export function describeAnew(): void {
  declaration++
  revision++
}

/** A database whose catalogue was read, and its tables as `to_regclass()` finds them. */
export interface PreparedDatabase {
  readonly knex: Queryable
  readonly tables: readonly string[]
}

/**
 * Reads the database catalogue for these models, by one statement for each database they live in.
 * @param knex where to read; each model's own knex when missing
 * @returns those databases
 * @throws {ConfigurationError} a model is bound to no knex, its table does not exist, or settings of the database make strings
 * that cannot be read
 */
export async function prepareModels(models: Iterable<ModelClass>, knex?: Queryable): Promise<PreparedDatabase[]> {
  const databases = byDatabase(models, knex)
  for (const [database, members] of databases) {
    // first: a connection that is refused answers nothing rightly
    await listenTo(database)
    const found = await readCatalogue(
      database,
      members.map((model) => model.tableName),
    )
    const missing = members.filter((model) => !found.has(model.tableName))
    if (missing.length > 0) {
      throw new ConfigurationError(
        missing
          .map((m) => `${modelName(m)}: table "${m.tableName}" does not exist; create it, or correct static tableName`)
          .join('\n'),
      )
    }
    for (const model of members) describeBy(model, found.get(model.tableName) as CatalogueTable, configOf(database))
  }
  return [...databases].map(([database, members]) => ({
    knex: database,
    tables: members.map((model) => toReference(database, model.tableName)),
  }))
}

/** Models by where their tables are read. @throws {ConfigurationError} one is bound to no knex */
export function byDatabase(
  models: Iterable<ModelClass>,
  knex: Queryable | undefined,
): ReadonlyMap<Queryable, readonly ModelClass[]> {
  return groupBy(new Set(models), (model) => knex ?? boundKnex(model))
}

/** Describes a model by its table in a catalogue. @param source the database that it was read of; undefined for any */
export function describeBy(model: ModelClass, table: CatalogueTable, source?: object): void {
  rememberNames(
    table.nativeName,
    table.columns.map(({ nativeName }) => nativeName),
    source,
  )
  known.set(model, { table, source })
  revision++
}

/** Checks the session settings of a database, and installs what shares turns, traces statements and reads errors. */
async function listenTo(knex: Queryable): Promise<void> {
  await checkSession(knex)
  shareTurns(knex)
  noteDatabase(knex)
  noteErrors(knex, configOf(knex))
}

/** True where the model's catalogue was read of the database behind a knex, or not at all. */
export function isReadFrom(model: ModelClass, knex: Queryable): boolean {
  const source = known.get(model)?.source
  return source === undefined || source === configOf(knex)
}

/** The cache key of models of which no catalogue was read. */
const NOWHERE = {}

/** The cache key for what is known of a model's tables: `configOf()` of the database that its catalogue was read from. */
export function sourceOf(model: ModelClass): object {
  return known.get(model)?.source ?? NOWHERE
}

/** True where the catalogues of both were read by one pool. */
export function areReadTogether(model: ModelClass, other: ModelClass): boolean {
  return sourceOf(model) === sourceOf(other)
}

/** The config object of a knex client, which a pool and its transactions share: it identifies the database in caches. */
export function configOf({ client }: Queryable): object {
  return (client as { readonly config: object }).config
}

/**
 * Checks that a knex finds the tables that the catalogue was read of, or others that are the same, as where each tenant has
 * a schema or a database. What is compiled holds for all of them. In another database, types that each has made for itself
 * are the same where they are called the same.
 * @param path where it looks for tables, for the message; undefined for its own schema
 * @returns false where it finds none of them
 * @throws {ConfigurationError} one is missing, or differs in a column or a constraint, or as `prepareModels()`
 */
export async function findsSameTables(
  models: readonly ModelClass[],
  knex: Queryable,
  path: string | undefined,
): Promise<boolean> {
  const [first] = models
  // those of other databases are read there
  const own = models.filter((model) => known.get(model)?.source === known.get(first as ModelClass)?.source)
  const isOther = own.some((model) => !isReadFrom(model, knex))
  const read = own.flatMap((model) => {
    const table = known.get(model)?.table
    return table ? [{ name: model.tableName, known: table }] : []
  })
  const found = await readCatalogue(
    knex,
    read.map(({ name }) => name),
  )
  if (found.size === 0) return false
  const compared = isOther ? withoutOwnTypes : (column: CatalogueColumn) => column
  for (const { name, known } of read) {
    const difference = differenceOf(known, found.get(name), compared)
    if (difference === undefined) continue
    const where = path === undefined ? `database "${await databaseName(knex)}"` : `search_path "${path}"`
    throw new ConfigurationError(`${where}: the table "${name}" ${difference} than the one that prepare() read`)
  }
  if (isOther) await listenTo(knex)
  return true
}

async function databaseName(knex: Queryable): Promise<string> {
  const { rows } = await runRaw<{ rows: [{ name: string }] }>(knex, 'select current_database() as name')
  return rows[0].name
}

/** The number of the first type that a database has made (PostgreSQL: `FirstNormalObjectId`). */
const FIRST_OWN_TYPE = 16_384

function withoutOwnTypes(column: CatalogueColumn): CatalogueColumn {
  return column.oid < FIRST_OWN_TYPE ? column : { ...column, oid: 0 }
}

/**
 * The first difference of two tables, as the middle of a message; undefined where they are the same. The numbers of tables
 * are not compared, nor are additional columns that need no value: nobody reads them.
 */
function differenceOf(
  known: CatalogueTable,
  found: CatalogueTable | undefined,
  compared: (column: CatalogueColumn) => CatalogueColumn,
): string | undefined {
  if (!found) return 'is no other'
  const textOf = (column: CatalogueColumn) => JSON.stringify(compared(column))
  const columns = new Map(found.columns.map((column) => [column.column, textOf(column)]))
  const other = known.columns.find((column) => columns.get(column.column) !== textOf(column))
  if (other) return `has another column "${other.column}"`
  const names = new Set(known.columns.map(({ column }) => column))
  const needed = found.columns.find(({ column, notNull, hasDefault, generated }) => {
    return !names.has(column) && notNull && !hasDefault && !generated
  })
  if (needed) return `has another column "${needed.column}"`
  const rest = (table: CatalogueTable) =>
    JSON.stringify([
      { ...table, table: undefined, columns: undefined, constraints: undefined },
      table.constraints
        .filter((constraint) => constraint.columns.every((column) => names.has(column)))
        .map(({ target, ...constraint }) => JSON.stringify([constraint, target?.columns]))
        .sort(),
    ])
  return rest(known) === rest(found) ? undefined : 'has other constraints, triggers or policies'
}

/** The knex a model is bound to. @throws {ConfigurationError} it is bound to none */
export function boundKnex(model: ModelClass): Queryable {
  const knex = model.knex() as Queryable | undefined
  if (!knex) {
    throw new ConfigurationError(
      `${modelName(model)}: not bound to a database; call Model.knex(knex), or prepare({ knex }) where getKnex() of its views returns one`,
    )
  }
  return knex
}

const NO_EVENT = { insert: false, update: false, delete: false }

/** The table that is assumed until the catalogue is read. */
const UNREAD: Omit<CatalogueTable, 'table' | 'nativeName'> = {
  secured: false,
  isView: false,
  takes: { insert: true, update: true, delete: true },
  isPartitioned: false,
  hasHeirs: false,
  lockable: true,
  filtersInserts: false,
  isIndirect: false,
  triggers: { before: NO_EVENT, after: NO_EVENT, deferred: [] },
  partitions: [],
  columns: [],
  constraints: [],
}

/** The keys that ON CONFLICT may name: PostgreSQL refuses columns that are also those of a key which is checked later. */
function arbitersOf({ constraints, isIndirect }: typeof UNREAD): readonly (readonly string[])[] {
  if (isIndirect) return []
  const keys = constraints.filter(({ kind }) => kind === 'primary' || kind === 'unique')
  const nameOf = (columns: readonly string[]) => columns.toSorted().join('\0')
  const later = new Set(keys.flatMap(({ arbiter, columns }) => (arbiter ? [] : [nameOf(columns)])))
  return keys.flatMap(({ columns }) => (later.has(nameOf(columns)) ? [] : [columns]))
}

function describe(model: ModelClass, catalogue: CatalogueTable | undefined): ModelDescription {
  const table = catalogue ?? UNREAD
  const schema = readModelSchema(model.jsonSchema)
  const primaryKey = primaryKeyOf(model)
  const relations = describeRelations(model)
  const property = (column: string) => model.columnNameToPropertyName(column)
  const stored = new Map(table.columns.map((column) => [property(column.column), column]))
  // those of a table are not those of its heirs, whose rows are its own, too
  const uniqueKeys = (table.hasHeirs ? [] : table.constraints)
    .filter(({ kind }) => kind === 'primary' || kind === 'unique')
    .map(({ columns: unique }) => unique.map(property))
  const unique = new Set(uniqueKeys.flatMap((key) => (key.length === 1 ? key : [])))
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
    ...table,
    model,
    nativeName: catalogue?.nativeName ?? bareName(model.tableName),
    partitions: new Set(table.partitions),
    columns,
    declared: schema.properties.size > 0 ? declared : names,
    primaryKey,
    relations,
    constraints: new Map(table.constraints.map((c) => [c.name, c.columns.map(property)])),
    referenced: new Set(table.columns.filter((c) => c.referenced).map((c) => property(c.column))),
    cascading: new Set(table.columns.filter((c) => c.cascades).map((c) => property(c.column))),
    table: catalogue?.table,
    uniqueKeys,
    arbiters: arbitersOf(table).map((columns) => columns.map(property)),
    partialKeys: table.constraints.flatMap(({ columns: unique, condition }) =>
      condition === null ? [] : [{ properties: unique.map(property), condition }],
    ),
    foreignKeys: new Map(
      table.constraints.flatMap(({ kind, columns: own, target, enforced }) =>
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
    references: table.constraints.flatMap(({ columns: own, target, enforced, validated }) => {
      if (!target || !enforced) return []
      const { reference, ...leading } = target
      return [{ ...leading, properties: own.map(property), target: reference, validated }]
    }),
    prepared: catalogue !== undefined,
  }
}

/** The function `make`, called once for each key, and again after a catalogue was read. What it throws is not kept. */
export function oncePerCatalogue<K extends object, T>(make: (key: K) => T): (key: K) => T {
  const made = new WeakMap<K, { revision: number; value: T }>()
  return (key) => {
    const known = made.get(key)
    if (known?.revision === revision) return known.value
    const value = make(key)
    made.set(key, { revision, value })
    return value
  }
}
