/** The relations of models that foreign keys make: `table('books', { relations: 'foreign keys' })`. */
import type { Model, RelationMapping } from 'objection'
import { groupBy } from '../kernel/maps.js'
import { isOneDatabase } from '../postgres/one-database.js'
import type { Queryable } from '../postgres/pg-types.js'
import { modelColumn } from './catalogue.js'
import { byDatabase, describeAnew, type PreparedDatabase, prepareModels } from './describe-model.js'
import { type FoundRelation, findRelations, RELATION_CLASSES } from './foreign-key-relations.js'
import { baseModelOf, type ModelClass, propertyName } from './objection.js'
import { describeTables, linkedTables, type SchemaTable, shortestKey, tableProblem } from './schema-tables.js'
import { type Reflection, reflectionOf, table } from './table.js'
import { quoteIdentifier, toReference } from './table-reference.js'

/**
 * Reads which relations there are, for those of the models that wait for it. Each leads to the first of the models that is of
 * its table, and to a model that is made where none is. They are read once: nothing that is shown changes its name later.
 * @param models all that an API has
 * @param knex where to read; each model's own knex when missing
 * @returns true where some were found, so that there are more models than before
 * @throws {ConfigurationError} a model is bound to no knex
 */
export async function relateModels(models: Iterable<ModelClass>, knex?: Queryable): Promise<boolean> {
  const all = [...models]
  let isRelated = false
  for (const [database, members] of byDatabase(all.filter(isWaiting), knex)) {
    const found = await linkedTables(
      database,
      members.map(({ tableName }) => tableName),
    )
    const tables = await describeTables(
      database,
      found.filter((one) => tableProblem(one) === undefined),
    )
    // somebody else may have read them in the meantime
    const related = new RelatedTables(database, tables, knex ? all : await modelsIn(database, all))
    for (const model of members.filter(isWaiting)) related.relate(model)
    isRelated = true
  }
  if (isRelated) describeAnew()
  return isRelated
}

/** Those of the models whose tables are there: foreign keys lead to no other database. */
async function modelsIn(database: Queryable, models: readonly ModelClass[]): Promise<readonly ModelClass[]> {
  const found: ModelClass[] = []
  for (const [knex, own] of groupBy(models, (model) => model.knex() as Queryable | undefined)) {
    if (knex && (await isOneDatabase(database, knex))) found.push(...own)
  }
  return models.filter((model) => found.includes(model))
}

/**
 * Reads the database catalogue for these models, and the relations of those that foreign keys relate.
 * @param knex where to read; each model's own knex when missing
 * @returns those databases
 * @throws {ConfigurationError} a model is bound to no knex, its table does not exist, or settings of the database make strings
 * that cannot be read
 */
export async function prepareRelatedModels(
  models: Iterable<ModelClass>,
  knex?: Queryable,
): Promise<PreparedDatabase[]> {
  const all = [...models]
  await relateModels(all, knex)
  return prepareModels(all, knex)
}

/** True for a model of `relations: 'foreign keys'` whose relations were not read yet. */
function isWaiting(model: ModelClass): boolean {
  return reflectionOf(model)?.isKnown === false
}

/** Tables that foreign keys join, and their models. */
class RelatedTables {
  readonly #knex: Queryable
  readonly #tables: readonly SchemaTable[]
  readonly #byReference: ReadonlyMap<string, SchemaTable>
  /** The models that the API has, and those that are made. */
  readonly #models = new Map<SchemaTable, ModelClass>()
  readonly #relations = new Map<ModelClass, ReadonlyMap<SchemaTable, readonly FoundRelation[]>>()

  constructor(knex: Queryable, tables: readonly SchemaTable[], models: readonly ModelClass[]) {
    this.#knex = knex
    this.#tables = tables
    this.#byReference = new Map(
      tables.flatMap((one) => [
        [toReference(knex, one.tableName), one] as const,
        [`${quoteIdentifier(one.schema)}.${quoteIdentifier(one.name)}`, one] as const,
      ]),
    )
    for (const model of models) {
      const own = this.#tableOf(model)
      if (own && !this.#models.has(own)) this.#models.set(own, model)
    }
  }

  /** Fills in the relations of a model, and of those that are made for them. */
  relate(model: ModelClass): void {
    const reflection = reflectionOf(model)
    const own = this.#tableOf(model)
    if (!reflection || reflection.isKnown || !own) return
    reflection.isKnown = true
    for (const relation of this.#relationsOf(reflection).get(own) ?? []) {
      const target = this.#models.get(relation.target) ?? this.#make(relation.target, reflection, model)
      reflection.mappings[relation.name] = this.#mapping(reflection.made, relation, target)
      this.relate(target)
    }
  }

  #tableOf({ tableName }: ModelClass): SchemaTable | undefined {
    return this.#byReference.get(toReference(this.#knex, tableName))
  }

  /** Of all tables, as models of a base write names. */
  #relationsOf({ base }: Reflection): ReadonlyMap<SchemaTable, readonly FoundRelation[]> {
    const known = this.#relations.get(base)
    if (known) return known
    const modelFor = (one: SchemaTable) => {
      const own = this.#models.get(one)
      return own && reflectionOf(own)?.base === base ? own : base
    }
    const { of } = findRelations(this.#tables, {
      takenOf: (one) => [
        ...one.catalogue.columns.map(({ column }) => propertyName(modelFor(one), column)),
        ...membersOf(modelFor(one)),
      ],
      spell: (one, name) => propertyName(modelFor(one), modelColumn(this.#knex, name)),
    })
    this.#relations.set(base, of)
    return of
  }

  #make(of: SchemaTable, { base }: Reflection, owner: ModelClass): ModelClass {
    const { catalogue, tableName } = of
    const key = shortestKey(of)
    const equated = catalogue.columns.filter(({ isEquated }) => isEquated).map(({ column }) => column)
    const made = table(tableName, {
      idColumn: key.length > 0 ? key : equated,
      base,
      relations: 'foreign keys',
    }) as unknown as ModelClass
    const knex = owner.knex()
    if (knex && made.knex() !== knex) made.knex(knex)
    this.#models.set(of, made)
    return made
  }

  #mapping(owner: ModelClass, relation: FoundRelation, target: ModelClass): RelationMapping<Model> {
    const { kind, own, other } = relation
    const from = endOf(owner.tableName, own)
    const to = endOf(target.tableName, other)
    const between = kind === 'many-to-many' ? this.#models.get(relation.through) : undefined
    const through = kind === 'many-to-many' && {
      from: endOf(between?.tableName ?? relation.through.tableName, relation.from),
      to: endOf(between?.tableName ?? relation.through.tableName, relation.to),
      ...(between && { modelClass: between }),
    }
    return {
      relation: owner[RELATION_CLASSES[kind]],
      modelClass: target,
      join: { from, ...(through && { through }), to },
    }
  }
}

function endOf(tableName: string, columns: readonly string[]): string | string[] {
  const [first = '', ...others] = columns.map((column) => `${tableName}.${column}`)
  return others.length > 0 ? [first, ...others] : first
}

/** What instances of a class have besides their columns: `get age()`. */
function membersOf(model: ModelClass): readonly string[] {
  const root = baseModelOf(model).prototype as object
  const names: string[] = []
  for (let one = model.prototype as object; one !== root; one = Object.getPrototypeOf(one) as object) {
    names.push(...Object.getOwnPropertyNames(one))
  }
  return names
}
