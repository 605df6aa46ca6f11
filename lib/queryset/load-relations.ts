/** Loads related objects into objects that are there already. */

import { describeModel } from '../models/describe-model.js'
import type { AnyQueryBuilder, ModelClass } from '../models/objection.js'
import type { Queryable } from '../postgres/pg-types.js'
import { readExactly } from './read-exactly.js'

/** Relations to load, by name, and those to load with each. */
export interface Relations {
  readonly [relation: string]: Relations
}

export interface Loading {
  readonly relations: Relations
  readonly knex: Queryable | undefined
  /**
   * The query of the objects, whose schema and context hold for the related ones. What a graph of its own has loaded,
   * narrowed perhaps, stays.
   */
  readonly parent?: AnyQueryBuilder
}

/**
 * One query for each relation, however many objects, one after the other: Objection itself would send those of one level
 * at once, which a transaction's only connection cannot take. Lists come in the order of their primary key, after any order
 * that the relation itself has, so that the same rows give the same answer.
 */
export async function loadRelations(
  model: ModelClass,
  objects: readonly object[],
  { relations, knex, parent }: Loading,
): Promise<void> {
  const own = new Set(Object.keys((parent?.graphExpressionObject() ?? {}) as object))
  await loadBesides(model, objects, { relations, knex, parent, isOwn: (name) => own.has(name) })
}

interface Besides {
  readonly relations: Relations
  readonly knex: Queryable | undefined
  readonly parent: AnyQueryBuilder | undefined
  /** True for a relation that the application's own graph may have loaded. */
  readonly isOwn: (name: string) => boolean
}

async function loadBesides(
  model: ModelClass,
  objects: readonly object[],
  { relations, knex, parent, isOwn }: Besides,
): Promise<void> {
  if (objects.length === 0) return
  const descriptions = describeModel(model).relations
  for (const [name, inner] of Object.entries(relations)) {
    const relation = descriptions.get(name)
    const isLoaded = isOwn(name) && objects.every((object) => (object as Record<string, unknown>)[name] !== undefined)
    if (!isLoaded) await loadRelation(model, objects, { name, single: relation?.single, knex, parent })
    if (relation && Object.keys(inner).length > 0) {
      const related = relatedOf(objects, name)
      await loadBesides(relation.model, related, { relations: inner, knex, parent, isOwn: () => isLoaded })
    }
  }
}

interface Related extends Pick<Besides, 'knex' | 'parent'> {
  readonly name: string
  readonly single: boolean | undefined
}

async function loadRelation(
  model: ModelClass,
  objects: readonly object[],
  { name, single, knex, parent }: Related,
): Promise<void> {
  const options = knex === undefined ? {} : { transaction: knex }
  const query = model.fetchGraph([...objects] as never[], { [name]: {} }, options)
  if (parent) {
    void (query as typeof query & Child).childQueryOf(parent, { fork: true })
    if (knex) void query.transacting(knex as never)
  }
  if (single === false) void query.modifyGraph(name, (related) => orderByKey(related as AnyQueryBuilder))
  await readExactly(query as AnyQueryBuilder)
}

/** Objection's own way to hand a query's schema, context and transaction to another; it is not in its types. */
interface Child {
  childQueryOf(query: AnyQueryBuilder, options: { fork: boolean }): unknown
}

function orderByKey(query: AnyQueryBuilder): void {
  const model = query.modelClass() as ModelClass
  const { columns, primaryKey } = describeModel(model)
  for (const property of primaryKey) {
    const column = columns.get(property)?.column ?? property
    void query.orderBy(`${query.tableRefFor(query.modelClass())}.${column}`)
  }
}

function relatedOf(objects: readonly object[], name: string): object[] {
  const related = objects.flatMap((object) => (object as Record<string, unknown>)[name])
  return related.filter((value): value is object => typeof value === 'object' && value !== null)
}
