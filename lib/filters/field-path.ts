/** Where a declared name leads: a column of the view's model, or of one related to it (`author__country__name`). */
import { ConfigurationError } from '../errors.js'
import type { ExternalIds } from '../ids/external-ids.js'
import { externalKey } from '../ids/external-key.js'
import { type Column, describeModel, type ModelDescription } from '../models/describe-model.js'
import type { AnyQueryBuilder, ModelClass } from '../models/objection.js'
import { hasPlainQueries } from '../models/plain-model.js'
import type { SqlPart } from '../queryset/keyset.js'
import { schemaOf } from '../queryset/schema-of.js'

/** What stands between the names of a path, and before a lookup. */
export const SEPARATOR = '__'

/** A table on the way. */
interface Source {
  readonly model: ModelClass
  /** What the mapping narrows its rows by. */
  readonly narrowing: unknown
}

/** A relation on the way, with the columns that join it. */
interface Step extends Source {
  /** Pairs of columns: the owner's and the related table's, or the join table's in its place. */
  readonly join: readonly (readonly [owner: string, other: string])[]
  readonly through: Through | undefined
}

/** The join table of a relation. */
interface Through {
  readonly model: () => ModelClass
  readonly narrowing: unknown
  /** Pairs of columns: the join table's and the related table's. */
  readonly join: readonly (readonly [through: string, related: string])[]
}

/** Where paths start: the list's table, as its query names it, in the schema that the query reads. */
export class PathStart {
  readonly table: string
  readonly #query: AnyQueryBuilder
  #schema: string | null | undefined = null

  constructor(query: AnyQueryBuilder) {
    this.table = query.tableRefFor(query.modelClass())
    this.#query = query
  }

  /** Asked for on the way to other tables only: to know it the query is built. */
  get schema(): string | undefined {
    if (this.#schema === null) this.#schema = schemaOf(this.#query)
    return this.#schema
  }
}

/** A column that a declaration names. */
export class FieldPath {
  /** The name as it was declared. */
  readonly name: string
  readonly column: Column
  /** There is at most one value for each object. */
  readonly single: boolean
  /** A mapping or a model on the way has a query of its own: the SQL is known only once it is built. */
  readonly narrowed: boolean
  /** The relations on the way, and the property at the end. */
  readonly properties: readonly string[]
  readonly #steps: readonly Step[]

  constructor(name: string, column: Column, relations: readonly RelationStep[]) {
    this.name = name
    this.column = column
    this.single = relations.every((relation) => relation.single)
    this.properties = [...relations.map((relation) => relation.name), column.property]
    this.#steps = relations.map(({ step }) => step)
    this.narrowed = this.#steps.some((step) => !isWhole(step) || (step.through && !isWhole(joinSource(step.through))))
  }

  get related(): boolean {
    return this.#steps.length > 0
  }

  /** A condition on the column. On a related one it is EXISTS, so that no row of the list is multiplied. */
  where(start: PathStart, condition: (reference: string) => SqlPart): SqlPart {
    return this.#from(start, EXISTS, (related) => condition(`${related}.${this.column.column}`))
  }

  /** The value of the column, as an expression; on a path that is `single`. */
  value(start: PathStart, expression: (reference: string) => SqlPart): SqlPart {
    return this.#from(start, SELECT, (related) => expression(`${related}.${this.column.column}`))
  }

  #from(start: PathStart, form: Form, inner: (table: string) => SqlPart): SqlPart {
    const from = (owner: string, index: number): SqlPart => {
      const step = this.#steps[index]
      if (!step) return inner(owner)
      // with a space, so that it cannot be a table of the application's
      const related = `related ${index + 1}`
      const { schema } = start
      const source = sourceOf(step, { schema, alias: related })
      const { through } = step
      const join = through
        ? joinThrough(source, through, { owner, related, index, schema, keys: step.join })
        : { from: source, where: equal(owner, related, step.join) }
      return form(join.from, join.where, from(related, index + 1))
    }
    return from(start.table, 0)
  }
}

type Form = (from: SqlPart, join: SqlPart, inner: SqlPart) => SqlPart

const EXISTS: Form = (from, join, inner) => ({
  sql: `exists (select 1 from ${from.sql} where ${join.sql} and ${inner.sql})`,
  bindings: [...from.bindings, ...join.bindings, ...inner.bindings],
})

const SELECT: Form = (from, join, inner) => ({
  sql: `(select ${inner.sql} from ${from.sql} where ${join.sql})`,
  bindings: [...inner.bindings, ...from.bindings, ...join.bindings],
})

function joinSource({ model, narrowing }: Through): Source {
  return { model: model(), narrowing }
}

/** True when neither the mapping nor the model's own `query()` leaves out rows. */
function isWhole({ model, narrowing }: Source): boolean {
  return narrowing === undefined && hasPlainQueries(model)
}

/** The related table, or a query for the part of it that the mapping and the model's own `query()` narrow it to. */
function sourceOf(source: Source, { schema, alias }: { schema: string | undefined; alias: string }): SqlPart {
  const { model, narrowing } = source
  if (isWhole(source)) {
    return {
      sql: '?? as ??',
      bindings: [schema === undefined ? model.tableName : `${schema}.${model.tableName}`, alias],
    }
  }
  const query = narrowed(model.query(), narrowing)
  return { sql: '? as ??', bindings: [schema === undefined ? query : query.withSchema(schema), alias] }
}

/** Mappings take a function, the name of a modifier, a list of those, or an object of equalities. */
function narrowed(query: AnyQueryBuilder, narrowing: unknown): AnyQueryBuilder {
  if (narrowing === undefined) return query
  const isModifier = typeof narrowing === 'function' || typeof narrowing === 'string' || Array.isArray(narrowing)
  return isModifier ? query.modify(narrowing as never) : query.where(narrowing as never)
}

interface Between {
  readonly owner: string
  readonly related: string
  readonly index: number
  readonly schema: string | undefined
  readonly keys: Step['join']
}

function joinThrough(source: SqlPart, through: Through, { owner, related, index, schema, keys }: Between) {
  const alias = `through ${index + 1}`
  const table = sourceOf(joinSource(through), { schema, alias })
  const on = equal(alias, related, through.join)
  return {
    from: {
      sql: `${table.sql} join ${source.sql} on ${on.sql}`,
      bindings: [...table.bindings, ...source.bindings, ...on.bindings],
    },
    where: equal(owner, alias, keys),
  }
}

function equal(left: string, right: string, pairs: Step['join']): SqlPart {
  return {
    sql: pairs.map(() => '?? = ??').join(' and '),
    bindings: pairs.flatMap(([one, other]) => [`${left}.${one}`, `${right}.${other}`]),
  }
}

interface RelationStep {
  readonly name: string
  readonly step: Step
  readonly single: boolean
}

/**
 * The columns that a view's declared names lead to.
 * @param where the class and attribute that declare them, for the message
 * @throws {ConfigurationError} some lead nowhere, one a line
 */
export function resolvePaths(where: string, model: ModelDescription, names: readonly string[]): readonly FieldPath[] {
  const mistakes: string[] = []
  const paths = names.flatMap((name) => {
    try {
      return [resolvePath(where, model, name)]
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error
      mistakes.push(error.message)
      return []
    }
  })
  if (mistakes.length > 0) throw new ConfigurationError(mistakes.join('\n'))
  return paths
}

function resolvePath(where: string, model: ModelDescription, name: string): FieldPath {
  const steps: RelationStep[] = []
  let description = model
  let rest = name
  for (;;) {
    const column = description.columns.get(rest)
    if (column) return new FieldPath(name, column, steps)
    const relation = relationAt(description, rest)
    if (!relation) throw leadsNowhere(where, name, rest, description)
    steps.push(relationStep(where, description, relation))
    rest = rest.slice(relation.length + SEPARATOR.length)
    description = describeModel((description.relations.get(relation) as { model: ModelClass }).model)
  }
}

function relationStep(where: string, owner: ModelDescription, name: string): RelationStep {
  return { name, step: describeStep(where, owner.model, name), single: isSingle(owner, name) }
}

/** A path whose column clients know by external ids only. */
export interface ExternalPath {
  readonly ids: ExternalIds
  /** Leads to the column that the ids are made of, under the same name. */
  readonly path: FieldPath
}

/** The external ids at the end of a path; undefined where it ends in anything else. */
export function externalPath(where: string, model: ModelDescription, path: FieldPath): ExternalPath | undefined {
  const key = externalKey(model, path.properties)
  if (!key) return undefined
  const steps: RelationStep[] = []
  let description = model
  for (const name of key.path.slice(0, -1)) {
    steps.push(relationStep(where, description, name))
    description = describeModel((description.relations.get(name) as { model: ModelClass }).model)
  }
  const column = description.columns.get(key.path.at(-1) as string) ?? key.ids.column
  return { ids: key.ids, path: new FieldPath(path.name, column, steps) }
}

/**
 * Refuses to search the keys that clients know by external ids: a search would tell their digits (promise E14).
 * @throws {ConfigurationError}
 */
export function refuseHidden(where: string, model: ModelDescription, paths: readonly FieldPath[]): void {
  for (const { name, properties } of paths) {
    const key = externalKey(model, properties)
    if (!key?.ids.hidesKeys) continue
    throw new ConfigurationError(
      `${where} names "${name}", a key that ${key.ids.model.name} hides behind external ids; filter by it instead`,
    )
  }
}

/** The models that declared names lead through, so that their tables are known before the names are resolved. */
export function modelsOnPaths(model: ModelClass, names: readonly string[]): ModelClass[] {
  const found = new Set<ModelClass>()
  for (const name of names) {
    let owner = model
    let rest = name
    for (;;) {
      const relations = owner.getRelations()
      const relation = longestPrefix(Object.keys(relations), rest)
      if (relation === undefined) break
      owner = (relations[relation] as { relatedModelClass: ModelClass }).relatedModelClass
      found.add(owner)
      rest = rest.slice(relation.length + SEPARATOR.length)
    }
  }
  return [...found]
}

function relationAt(description: ModelDescription, rest: string): string | undefined {
  return longestPrefix([...description.relations.keys()], rest)
}

/** The longest of the names that `text` begins with, before a separator: names may hold one themselves. */
function longestPrefix(names: readonly string[], text: string): string | undefined {
  const found = names.filter((name) => text.startsWith(name + SEPARATOR))
  return found.sort((one, other) => other.length - one.length)[0]
}

function isSingle(description: ModelDescription, relation: string): boolean {
  return description.relations.get(relation)?.single === true
}

function leadsNowhere(where: string, name: string, rest: string, { model, relations }: ModelDescription) {
  const fix = relations.has(rest)
    ? `"${rest}" is a relation of ${model.name}; name a column behind it, such as ${rest}${SEPARATOR}id, or the foreign key`
    : `${model.name} has neither a column nor a relation "${rest.split(SEPARATOR, 1)[0]}"; correct the name`
  return new ConfigurationError(`${where} names "${name}": ${fix}`)
}

interface Mapping {
  readonly modify?: unknown
  readonly filter?: unknown
  readonly join?: { from?: unknown; to?: unknown; through?: { modify?: unknown; filter?: unknown } }
}

function describeStep(where: string, owner: ModelClass, name: string): Step {
  const relation = owner.getRelations()[name] as NonNullable<ReturnType<ModelClass['getRelations']>[string]>
  const mapping = mappingOf(owner, name)
  const ends = [mapping.join?.from, mapping.join?.to].flat()
  if (ends.some((end) => typeof end !== 'string' || end.includes(':'))) {
    throw new ConfigurationError(
      `${where} leads through "${name}" of ${owner.name}, which is not joined by columns; override filterQueryset() for it`,
    )
  }
  const { relatedModelClass: model, ownerProp, relatedProp } = relation
  const narrowing = mapping.modify ?? mapping.filter
  if (!mapping.join?.through)
    return { model, join: pairs(ownerProp.cols, relatedProp.cols), through: undefined, narrowing }
  return {
    model,
    join: pairs(ownerProp.cols, relation.joinTableOwnerProp.cols),
    through: {
      model: () => relation.joinModelClass,
      narrowing: mapping.join.through.modify ?? mapping.join.through.filter,
      join: pairs(relation.joinTableRelatedProp.cols, relatedProp.cols),
    },
    narrowing,
  }
}

function mappingOf(model: ModelClass, name: string): Mapping {
  const mappings: unknown = model.relationMappings
  const all: unknown = typeof mappings === 'function' ? mappings.call(model) : mappings
  return (all as Record<string, Mapping>)[name] ?? {}
}

function pairs(ones: readonly string[], others: readonly string[]): [string, string][] {
  return ones.map((one, index) => [one, others[index] as string])
}
