/** Descriptions of models: columns, keys and relations, from `jsonSchema`, `relationMappings` and the catalogue. */

import { ConfigurationError } from '../kernel/errors.js'
import { readModelSchema } from '../kernel/json-schema.js'
import { groupBy } from '../kernel/maps.js'
import { checkSession } from '../postgres/connection-queue.js'
import { identityOf, mayBeOne } from '../postgres/one-database.js'
import type { Queryable } from '../postgres/pg-types.js'
import { noteErrors, rememberNames } from '../postgres/prepared-names.js'
import { shareTurns } from '../postgres/row-stream.js'
import { noteDatabase } from '../postgres/watch-statements.js'
import { type CatalogueTable, readCatalogue } from './catalogue.js'
import { describeColumn } from './describe-column.js'
import { describeRelations } from './describe-relations.js'
import type { ModelDescription } from './model-description.js'
import { columnName, type ModelClass, modelName, primaryKeyOf, propertyName } from './objection.js'
import { bareName, knexProblem, toReference } from './table-reference.js'

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
    const joins = bareJoins(members)
    const problems = members.flatMap((model) => tableProblem(model, found.has(model.tableName), joins.get(model)) ?? [])
    if (problems.length > 0) throw new ConfigurationError(problems.join('\n'))
    for (const model of members) describeBy(model, found.get(model.tableName) as CatalogueTable, configOf(database))
  }
  return [...databases].map(([database, members]) => ({
    knex: database,
    tables: members.map((model) => toReference(database, model.tableName)),
  }))
}

/** The classes that Objection makes for join tables of which the application has no model, and the mappings that name these. */
export function bareJoins(models: readonly ModelClass[]): ReadonlyMap<ModelClass, string> {
  const joins = new Map<ModelClass, string>()
  for (const model of models) {
    for (const { name, through } of describeModel(model).relations.values())
      if (through?.isBare) joins.set(through.model, `${modelName(model)}.relationMappings.${name}`)
  }
  return joins
}

/** @param mapping the one that alone names the table */
function tableProblem(model: ModelClass, exists: boolean, mapping: string | undefined): string | undefined {
  const { tableName } = model
  const where = `${mapping ?? modelName(model)}: table "${tableName}"`
  if (!exists) return `${where} does not exist; create it, or correct ${mapping ? 'join.through' : 'static tableName'}`
  const [problem] = tableName.split('.').flatMap((part) => knexProblem(part) ?? [])
  return problem === undefined ? undefined : `${where} cannot be read: ${problem}; make a view of it with another name`
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
  const columns = table.columns.map(({ nativeName }) => nativeName)
  // an error names the partition
  for (const name of [table.nativeName, ...table.partitions]) rememberNames(name, columns, source)
  known.set(model, { table, source })
  revision++
}

/** Checks the session settings of a database, and installs what shares turns, traces statements and reads errors. */
export async function listenTo(knex: Queryable): Promise<void> {
  await checkSession(knex)
  shareTurns(knex)
  noteDatabase(knex)
  noteErrors(knex, configOf(knex))
}

/** The table of a model in the catalogue; undefined until that was read. */
export function catalogueOf(model: ModelClass): CatalogueTable | undefined {
  return known.get(model)?.table
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

/** The identities of the databases that pools reach, as far as it was asked. */
const identities = new WeakMap<object, string | undefined>()

/** Notes which of the pools that models are bound to reach one database: what is of one model's table is of the other's. */
export async function uniteDatabases(models: Iterable<ModelClass>): Promise<void> {
  const pools = [...new Set([...models].flatMap((model) => (model.knex() as Queryable | undefined) ?? []))]
  if (pools.length < 2) return
  for (const pool of pools) {
    const config = configOf(pool)
    if (identities.get(config) === undefined) identities.set(config, await identityOf(pool))
  }
}

/** True where the catalogues of both were read of one database, as far as `uniteDatabases()` knows. */
export function areOfOneDatabase(model: ModelClass, other: ModelClass): boolean {
  const [one, two] = [sourceOf(model), sourceOf(other)]
  return one === two || (areAsked(one, two) && mayBeOne(identities.get(one), identities.get(two)))
}

function areAsked(...sources: readonly object[]): boolean {
  return sources.every((source) => identities.has(source))
}

/** The config object of a knex client, which a pool and its transactions share: it identifies the database in caches. */
export function configOf({ client }: Queryable): object {
  return (client as { readonly config: object }).config
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
  const property = (column: string) => propertyName(model, column)
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
        column: stored.get(name)?.column ?? columnName(model, name),
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
    references: table.constraints.flatMap(({ columns: own, target, enforced, validated, isOfPartition }) => {
      if (!target || !enforced) return []
      const { reference, ...leading } = target
      return [{ ...leading, properties: own.map(property), target: reference, validated: validated && !isOfPartition }]
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
