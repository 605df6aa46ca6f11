/** Tells queries that only choose rows of their table from those that also make something of them. */
import type { Relation } from 'objection'
import { ConfigurationError } from '../kernel/errors.js'
import { didYouMean } from '../kernel/near-miss.js'
import { quote } from '../kernel/quote.js'
import { describeModel } from '../models/describe-model.js'
import { mappingOf } from '../models/describe-relations.js'
import type { RelationDescription } from '../models/model-description.js'
import { baseModel } from '../models/model-traits.js'
import { type AnyQueryBuilder, columnName, type ModelClass, modelName } from '../models/objection.js'
import { hasContextHooks } from './context-hooks.js'
import { isShaped, LOCKS } from './count-rows.js'
import { hasOwn } from './group-conditions.js'

/** Operations that a query may have besides its conditions. */
const HOOKED = new RegExp(
  `^(runBefore|runAfter|onError|onBuild|onBuildKnex|first|${LOCKS}|from|timeout|range|page|eager|modifyGraph)$`,
)

/** True when the query returns rows as its table has them: no columns of its own, no grouping, no graph, no hooks. */
export function readsWholeRows(query: AnyQueryBuilder): boolean {
  return !query.hasSelects() && !isShaped(query) && !hasOwn(query, HOOKED) && !hasContextHooks(query)
}

/** Name of a modifier, or one itself. */
type Modifier = string | ((query: AnyQueryBuilder) => unknown)

/** A relation as Objection keeps it; its types leave out what narrows it. */
export type Narrowed = Relation & { readonly modify: Modifier }

/** What Objection asks of a model for the name of a modifier; its types leave it out. */
interface Asked {
  readonly modifierNotFound: unknown
  getModifiers(): object
}

/** What is wrong with the name of a modifier, for a message; undefined where the model has it. */
export function modifierProblem(model: ModelClass, name: string): string | undefined {
  const asked = model as ModelClass & Asked
  const known = Object.keys(asked.getModifiers())
  if (known.includes(name) || asked.modifierNotFound !== (baseModel(model) as unknown as Asked).modifierNotFound)
    return undefined
  const fix = didYouMean(name, known) || `; ${known.length === 0 ? 'it has none' : `take one of ${known.join(', ')}`}`
  return `is no modifier of ${modelName(model)}${fix}`
}

/** True where a modifier adds conditions, joins and orders: the rows are still those of the table. */
export function choosesRows(model: ModelClass, modifier: Modifier): boolean {
  const query = modifiedBy(model, modifier)
  return query !== undefined && readsWholeRows(query)
}

/**
 * What of a modifier cuts rows off, for a message: of a relation these are the rows of all its owners together, not of each.
 * DISTINCT ON does, unless a column that leads to the owner is among its own.
 */
export function cutOf(
  { model, relatedProperties, through }: RelationDescription,
  modifier: Modifier,
): string | undefined {
  const [joined, properties] = through ? [through.model, through.ownerProperties] : [model, relatedProperties]
  const columns = properties.map((property) => columnName(joined, property))
  const keys = new Set([...properties, ...columns])
  // what is no text may name any column
  const isOther = (one: unknown) => typeof one === 'string' && !keys.has(one.slice(one.lastIndexOf('.') + 1))
  const query = modifiedBy(model, modifier)
  if (query?.has(/^(limit|offset|first|page|range)$/)) return 'a limit'
  const mixes = ({ name, args }: Operation) => name === 'distinctOn' && args?.flat().every(isOther) === true
  // Objection takes a function, too; it is not in its types
  return query?.has(mixes as never) ? `distinctOn() without ${columns.join(', ')}` : undefined
}

/** An operation of a query, as Objection keeps it. */
interface Operation {
  readonly name: string
  readonly args?: readonly unknown[] | null
}

/** True where a modifier takes the first rows of its order, so that no other order may stand before that. */
export function takesFirst(model: ModelClass, modifier: Modifier): boolean {
  return modifiedBy(model, modifier)?.has('distinctOn') === true
}

/** True where a modifier orders rows. */
export function ordersRows(model: ModelClass, modifier: Modifier): boolean {
  return modifiedBy(model, modifier)?.has(/^orderBy/) === true
}

/**
 * @throws {ConfigurationError} the mapping of a relation names a modifier that there is not, or cuts its rows off, so that each
 * object would be shown others
 */
export function checkWhole(owner: ModelClass, name: string): void {
  const relation = describeModel(owner).relations.get(name)
  if (!relation) return
  const mapping = `${modelName(owner)}.relationMappings.${name}`
  const { modify, filter } = mappingOf(owner, name)
  for (const one of [modify ?? filter].flat()) {
    const problem = typeof one === 'string' ? modifierProblem(relation.model, one) : undefined
    if (problem !== undefined) throw new ConfigurationError(`${mapping}: modify names ${quote(one)}, which ${problem}`)
  }
  const cut = cutOf(relation, (owner.getRelation(name) as Narrowed).modify)
  if (cut === undefined) return
  throw new ConfigurationError(
    `${mapping}: its modify has ${cut}, which counts for the rows of all objects together; ` +
      'leave it out: one object is the first of its order, and a list is cut by limit of NestedSerializer',
  )
}

/** A query with what the modifier adds; undefined where that needs what only a request has. */
function modifiedBy(model: ModelClass, modifier: Modifier): AnyQueryBuilder | undefined {
  const query = model.query() as AnyQueryBuilder
  try {
    return query.modify(modifier as string)
  } catch {
    return undefined
  }
}
