/** Loads related objects into objects that are there already. */
import { describeModel } from '../models/describe-model.js'
import type { AnyQueryBuilder, ModelClass, Queryable } from '../models/objection.js'
import { readExactly } from './read-exactly.js'

/** Relations to load, by name, and those to load with each. */
export interface Relations {
  readonly [relation: string]: Relations
}

/**
 * One query for each relation, however many objects, one after the other: Objection itself would send those of one level
 * at once, which a transaction's only connection cannot take. Lists come in the order of their primary key, after any order
 * that the relation itself has, so that the same rows give the same answer.
 */
export async function loadRelations(
  model: ModelClass,
  objects: readonly object[],
  relations: Relations,
  knex: Queryable | undefined,
  parent?: AnyQueryBuilder,
): Promise<void> {
  if (objects.length === 0) return
  const descriptions = describeModel(model).relations
  for (const [name, inner] of Object.entries(relations)) {
    const relation = descriptions.get(name)
    const options = knex === undefined ? {} : { transaction: knex }
    const query = model.fetchGraph([...objects] as never[], { [name]: {} }, options)
    if (parent) {
      void (query as unknown as Child).childQueryOf(parent, { fork: true })
      if (knex) void query.transacting(knex as never)
    }
    if (relation?.single === false) void query.modifyGraph(name, (related) => orderByKey(related as AnyQueryBuilder))
    await readExactly(query as unknown as AnyQueryBuilder)
    if (relation && Object.keys(inner).length > 0) {
      await loadRelations(relation.model, relatedOf(objects, name), inner, knex, parent)
    }
  }
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
