/** Loads related objects into objects that are there already. */

import { ConfigurationError } from '../kernel/errors.js'
import { describeModel } from '../models/describe-model.js'
import { type RelationDescription, tellsApart } from '../models/model-description.js'
import { type AnyQueryBuilder, type ModelClass, modelName } from '../models/objection.js'
import type { Queryable } from '../postgres/pg-types.js'
import { isHeld, noteHeld } from './held-rows.js'
import { COUNT, isPart, keepBeside, loadedBeside, narrowList, RELATED_LIST, type RelatedList } from './related-lists.js'
import { type OwnerKeys, relatedRows } from './related-rows.js'
import { orderByKey } from './total-order.js'
import { leaveOutDeleted, type VisibleRows } from './visible-rows.js'

/** Relations to load, by name, and those to load with each. */
export interface Relations {
  readonly [relation: string]: Relations
  /** Order and limit of a related list. */
  readonly [RELATED_LIST]?: RelatedList
  /** The relation whose objects are counted in place of being loaded. */
  readonly [COUNT]?: string
}

/** Objects whose related ones are to be counted. */
export interface RelationCount {
  readonly model: ModelClass
  readonly relation: string
  readonly owners: readonly object[]
  /** The relations on the way to the owners. */
  readonly path: readonly string[]
  readonly knex: Queryable | undefined
}

/** Counts related objects, in the order of their owners. */
export type RelationCounter = (counting: RelationCount) => Promise<readonly number[]>

export interface Loading {
  readonly relations: Relations
  readonly knex: Queryable | undefined
  /**
   * The query of the objects, whose schema and context hold for the related ones. What a graph of its own has loaded,
   * narrowed perhaps, stays.
   */
  readonly parent?: AnyQueryBuilder | undefined
  /** Whose related objects are loaded. @default those of whom that query is for */
  readonly visible?: VisibleRows | undefined
  /** Counts related objects, where the graph asks for that. */
  readonly count?: RelationCounter | undefined
}

/**
 * One query for each relation, however many objects, one after the other: Objection itself would send those of one level
 * at once, which a transaction's only connection cannot take. Lists come in the order that is declared for them, else in
 * that of their primary key, after any order that the relation itself has, so that the same rows give the same answer.
 */
export async function loadRelations(model: ModelClass, objects: readonly object[], loading: Loading): Promise<void> {
  const own = new Set(Object.keys((loading.parent?.graphExpressionObject() ?? {}) as object))
  await loadBesides(model, objects, { path: [], isOwn: (name) => own.has(name), ...loading })
}

interface Besides extends Loading {
  readonly path: readonly string[]
  /** True for a relation that the application's own graph may have loaded. */
  readonly isOwn: (name: string) => boolean
}

async function loadBesides(model: ModelClass, objects: readonly object[], besides: Besides): Promise<void> {
  const { relations, knex, count, path, isOwn } = besides
  if (objects.length === 0) return
  const descriptions = describeModel(model).relations
  for (const [key, inner] of Object.entries(relations)) {
    const counted = inner[COUNT]
    if (counted !== undefined) {
      const numbers = (await count?.({ model, relation: counted, owners: objects, path, knex })) ?? []
      for (const [index, number] of numbers.entries()) keepBeside(objects[index] as object, key, number)
      continue
    }
    const list = inner[RELATED_LIST]
    const name = list?.relation ?? key
    const relation = descriptions.get(name)
    const isLoaded = isOwn(name) && objects.every((object) => (object as Record<string, unknown>)[name] !== undefined)
    const isPartial = list !== undefined && isPart(list)
    if (isPartial && isLoaded) throw loadedOtherwise(model, name)
    if (!relation) continue
    if (!isLoaded) await loadRelation(model, objects, { key, relation, list, ...besides })
    if (Object.keys(inner).length > 0) {
      // objects of one foreign key share what it leads to
      const related = [...new Set(isPartial ? partsOf(objects, key) : relatedOf(objects, name))]
      const further = { ...besides, relations: inner, path: [...path, name], isOwn: () => isLoaded }
      await loadBesides(relation.model, related, further)
    }
  }
}

/** A queryset that loads a relation may have narrowed it, and to what only the application knows. */
function loadedOtherwise(model: ModelClass, name: string): ConfigurationError {
  return new ConfigurationError(
    `${modelName(model)}: getQueryset() loads "${name}" with a graph of its own, of which a serializer shows a part ` +
      '(limit, modify); narrow the list in one place: leave it out of the graph, or show it whole',
  )
}

interface Related extends Pick<Besides, 'knex' | 'parent' | 'visible'> {
  /** The name under which it is loaded. */
  readonly key: string
  readonly relation: RelationDescription
  readonly list: RelatedList | undefined
}

async function loadRelation(model: ModelClass, objects: readonly object[], related: Related): Promise<void> {
  const { key, relation, list, knex, parent, visible } = related
  const narrow = (query: AnyQueryBuilder, keys: OwnerKeys) => {
    // what a foreign key of the object's own points to is shown as long as it does
    if (relation.kind !== 'belongs-to-one') leaveOutDeleted(query, relation)
    if (relation.single && leadsToOne(relation)) return
    if (list) narrowList(query, list, { model, relation, keys })
    else orderByKey(query)
  }
  const rows = await relatedRows({ model, relation, objects }, { knex, parent, visible, narrow })
  for (const [index, object] of (objects as readonly Record<string, unknown>[]).entries()) {
    const own = rows[index] ?? []
    // a join table may link two objects several times, of which the condition finds all
    if (list && isPart(list)) keepBeside(object, key, own.slice(0, list.limit))
    else object[relation.name] = relation.single ? (own[0] ?? null) : own
  }
  // a list of all that is related
  if (!knex || relation.single || list || relation.deletedBy !== undefined) return
  noteHeld(
    objects.flatMap((object, index) => (isHeld(object, knex) ? [rows[index] as object] : [])),
    knex,
  )
}

/** False where the first of several rows is shown, as nothing says that there is one. */
function leadsToOne({ model, through, relatedProperties }: RelationDescription): boolean {
  return through === undefined && tellsApart(describeModel(model), relatedProperties)
}

function partsOf(objects: readonly object[], key: string): object[] {
  return objects.flatMap((object) => (loadedBeside(object, key) ?? []) as readonly object[])
}

function relatedOf(objects: readonly object[], name: string): object[] {
  const related = objects.flatMap((object) => (object as Record<string, unknown>)[name])
  return related.filter((value): value is object => typeof value === 'object' && value !== null)
}
