/** Declared names, each a column of the view's model or of one related to it (`author__country__name`), and terms of an order. */
import { createHash } from 'node:crypto'
import { type ExternalIds, externalKey } from '../ids/external-ids.js'
import { ConfigurationError } from '../kernel/errors.js'
import { didYouMean } from '../kernel/near-miss.js'
import { columnProblem } from '../models/build-model.js'
import { checkEnds } from '../models/check-joins.js'
import { describeModel } from '../models/describe-model.js'
import { isJoinedByColumns, mappingOf } from '../models/describe-relations.js'
import type { ModelDescription, RelationDescription } from '../models/model-description.js'
import { type AnyQueryBuilder, type ModelClass, modelName } from '../models/objection.js'
import { checkWhole, type Narrowed, ordersRows } from '../queryset/reads-whole-rows.js'
import { isJoinable, type OrderTerm, parseOrderTerm, type RelatedTerm, VALUE } from '../queryset/total-order.js'
import { FieldPath, PathStart } from './field-path.js'
import { jsonKey, SEPARATOR } from './json-key.js'
import type { RelationStep } from './step.js'

export { SEPARATOR }

/** Relations that one path may lead over: PostgreSQL plans 16 of them in some 30 ms, 30 in 200 and 60 in two seconds. */
const MOST_RELATIONS = 16

/**
 * The columns that a view's declared names lead to.
 * @param where the class and attribute that declare them, for the message
 * @param keys a name may also lead to a key of a column of JSON
 * @throws {ConfigurationError} some lead nowhere, one a line
 */
export function resolvePaths(
  where: string,
  model: ModelDescription,
  names: readonly string[],
  { keys = false }: { keys?: boolean } = {},
): readonly FieldPath[] {
  const mistakes: string[] = []
  const paths = names.flatMap((name) => {
    try {
      return [resolvePath(where, model, { name, keys })]
    } catch (error) {
      if (!(error instanceof ConfigurationError)) throw error
      mistakes.push(error.message)
      return []
    }
  })
  if (mistakes.length > 0) throw new ConfigurationError(mistakes.join('\n'))
  return paths
}

function resolvePath(
  where: string,
  model: ModelDescription,
  { name, keys }: { name: string; keys: boolean },
): FieldPath {
  const steps: RelationStep[] = []
  let description = model
  let rest = name
  for (;;) {
    const column = description.columns.get(rest)
    if (column) {
      const problem = columnProblem(column)
      if (problem !== undefined)
        throw new ConfigurationError(`${where} names "${name}", which ${problem}; leave it out`)
      return new FieldPath(name, column, steps)
    }
    const relation = relationAt(description, rest)
    if (!relation) {
      const key = keys ? jsonKey(description, rest) : undefined
      if (key) return new FieldPath(name, key.column, steps, key.sql)
      throw leadsNowhere(where, name, rest, description)
    }
    if (steps.length === MOST_RELATIONS) throw leadsTooFar(where, name)
    steps.push(stepThrough(where, description, relation))
    rest = rest.slice(relation.length + SEPARATOR.length)
    const step = description.relations.get(relation) as RelationDescription
    checkEnds(description, step)
    description = describeModel(step.model)
  }
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
    steps.push(stepThrough(where, description, name))
    description = describeModel((description.relations.get(name) as { model: ModelClass }).model)
  }
  const column = description.columns.get(key.path.at(-1) as string) ?? key.ids.column
  return { ids: key.ids, path: new FieldPath(path.name, column, steps) }
}

/**
 * Refuses to search the keys that clients know by external ids: a search would give away their digits (promise E14).
 * @throws {ConfigurationError}
 */
export function refuseHiddenKeys(where: string, model: ModelDescription, paths: readonly FieldPath[]): void {
  for (const { name, properties } of paths) {
    const key = externalKey(model, properties)
    if (!key?.ids.hidesKeys) continue
    throw new ConfigurationError(
      `${where} names "${name}", a key that ${modelName(key.ids.model)} hides behind external ids; filter by it instead`,
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

function leadsNowhere(where: string, name: string, rest: string, { model, relations, columns }: ModelDescription) {
  const step = rest.split(SEPARATOR, 1)[0] as string
  const fix = relations.has(rest)
    ? `"${rest}" is a relation of ${modelName(model)}; name a column behind it, such as ${rest}${SEPARATOR}id, or the foreign key`
    : `${modelName(model)} has neither a column nor a relation "${step}"; correct the name${didYouMean(step, [...columns.keys(), ...relations.keys()])}`
  return new ConfigurationError(`${where} names "${name}": ${fix}`)
}

function leadsTooFar(where: string, name: string): ConfigurationError {
  return new ConfigurationError(
    `${where} names "${name}": a path leads over ${MOST_RELATIONS} relations at most; shorten it, or override filterQueryset()`,
  )
}

/** The step over a relation of a model. @throws {ConfigurationError} it is not joined by columns */
export function stepThrough(where: string, description: ModelDescription, name: string): RelationStep {
  const owner = description.model
  const relation = owner.getRelations()[name] as NonNullable<ReturnType<ModelClass['getRelations']>[string]>
  if (!isJoinedByColumns(owner, name)) {
    throw new ConfigurationError(
      `${where} leads through "${name}" of ${modelName(owner)}, which is not joined by columns; override filterQueryset() for it`,
    )
  }
  const mapping = mappingOf(owner, name)
  const { relatedModelClass: model, ownerProp, relatedProp } = relation
  const related = description.relations.get(name)
  if (related?.narrowed) checkWhole(owner, name)
  const links = mapping.join?.through
  return {
    owner,
    name,
    single: related?.single === true,
    isFirst:
      related?.narrowed === true &&
      related.kind.startsWith('has-one') &&
      ordersRows(model, (relation as Narrowed).modify),
    model,
    narrowing: mapping.modify ?? mapping.filter,
    deletedBy: related?.kind === 'belongs-to-one' ? undefined : related?.deletedBy,
    join: pairs(ownerProp.cols, links ? relation.joinTableOwnerProp.cols : relatedProp.cols),
    through: links && {
      model: () => relation.joinModelClass,
      narrowing: links.modify ?? links.filter,
      join: pairs(relation.joinTableRelatedProp.cols, relatedProp.cols),
    },
  }
}

function pairs(ones: readonly string[], others: readonly string[]): [string, string][] {
  return ones.map((one, index) => [one, others[index] as string])
}

/**
 * A declared name as a term. A name of neither a column nor a path is a term of a column that there is not.
 * @param where the class and attribute that declare it, for the message
 * @throws {ConfigurationError} a path leads nowhere, or to more than one object
 */
export function declaredTerm(where: string, model: ModelDescription, text: string): OrderTerm {
  const term = parseOrderTerm(text)
  const { property } = term
  if (model.columns.has(property) || !property.includes(SEPARATOR)) return term
  const [path] = resolvePaths(where, model, [property])
  return { ...term, related: relatedTerm(where, model, path as FieldPath) }
}

function relatedTerm(where: string, model: ModelDescription, path: FieldPath): RelatedTerm {
  return termOf(path, refuseMany(where, model, path))
}

/** The value of a path as a join; undefined where it must be looked up for each row, as it may double or hide one. */
export function joinedTerm(model: ModelDescription, path: FieldPath): OrderTerm | undefined {
  const { isSure, doubtful } = wayOf(model, path)
  if (!path.related || !isSure || doubtful) return undefined
  const related = termOf(path, isSure)
  return related.join && { property: path.name, descending: false, related }
}

function termOf(path: FieldPath, isOne: boolean): RelatedTerm {
  const column = { ...path.column, property: path.name, holdsNull: true, unique: false }
  const { narrowed, subQueries } = path
  const lookUp = (query: AnyQueryBuilder) =>
    path.value(PathStart.of(query), (reference) => ({ sql: '??', bindings: [reference] }))
  if (narrowed || !isOne) return { column, narrowed, subQueries, value: lookUp, join: undefined }
  const alias = joinName(path.name)
  return {
    column,
    narrowed,
    subQueries,
    value: (query) => (isJoinable(query) ? { sql: '??', bindings: [`${alias}.${VALUE}`] } : lookUp(query)),
    join: (query) => path.join(PathStart.of(query), { alias, value: VALUE }),
  }
}

/** PostgreSQL cuts names at 63 bytes. */
const LONGEST_NAME = 40

function joinName(path: string): string {
  const isShort = Buffer.byteLength(path) <= LONGEST_NAME
  return `order ${isShort ? path : createHash('sha256').update(path).digest('hex').slice(0, LONGEST_NAME)}`
}

/**
 * A to-many relation has no single value to order by.
 * @returns true where the database itself sees to it that there is one, not the model alone
 * @throws {ConfigurationError}
 */
function refuseMany(where: string, model: ModelDescription, path: FieldPath): boolean {
  const { isSure, doubtful } = wayOf(model, path)
  if (!doubtful) return isSure
  const { step, owner, related } = doubtful
  throw new ConfigurationError(
    `${where} names "${path.name}": "${step}" of ${modelName(owner.model)} may lead to several objects, as no primary key and no unique constraint of ${modelName(related.model)} says otherwise; order by columns of one`,
  )
}

interface Way {
  /** The database itself sees to it that there is one object. */
  readonly isSure: boolean
  /** The first relation of which nothing says that it leads to one. */
  readonly doubtful?: { readonly step: string; readonly owner: ModelDescription; readonly related: ModelDescription }
}

function wayOf(model: ModelDescription, { properties }: FieldPath): Way {
  let owner = model
  let isSure = true
  for (const step of properties.slice(0, -1)) {
    const relation = owner.relations.get(step)
    if (!relation) return { isSure: false }
    const related = describeModel(relation.model)
    const isOne = relation.single && relation.through === undefined && isUnique(related, relation.relatedProperties)
    if (!isOne) return { isSure: false, doubtful: { step, owner, related } }
    isSure &&= !related.hasHeirs && hasKey(related.uniqueKeys, relation.relatedProperties)
    owner = related
  }
  return { isSure }
}

function isUnique({ primaryKey, uniqueKeys }: ModelDescription, properties: readonly string[]): boolean {
  return hasKey([primaryKey, ...uniqueKeys], properties)
}

function hasKey(keys: readonly (readonly string[])[], properties: readonly string[]): boolean {
  return keys.some((key) => key.length > 0 && key.every((one) => properties.includes(one)))
}
