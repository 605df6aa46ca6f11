/** Lists of related objects in an order of their own, or parts of them: what is shown, how it is asked for, and where it is kept. */

import { oncePer } from '../kernel/once-per.js'
import { describeModel } from '../models/describe-model.js'
import type { RelationDescription } from '../models/model-description.js'
import { type AnyQueryBuilder, columnName, type ModelClass } from '../models/objection.js'
import { encloseAdded } from './group-conditions.js'
import { type OwnerKeys, relatedTo } from './related-rows.js'
import { type OrderTerm, orderByKey, orderText } from './total-order.js'
import { leaveOutDeleted, leaveOutUnrelated, visibleRowsOf } from './visible-rows.js'

/** Related list: the relation, with the modifiers, order and limit of its objects. */
export interface RelatedList {
  readonly relation: string
  /** Named modifiers of the related model, which leave a part of the list. */
  readonly modifiers: readonly string[]
  /** The declared order, made total by the key; none for the relation's own order, then the key. */
  readonly order: readonly OrderTerm[]
  /** The most objects of each list; undefined for all of them. */
  readonly limit: number | undefined
  /** Another field of the same serializer shows the list in another order: it is not kept as the relation itself. */
  readonly isBeside?: boolean
}

/** Member of a relation graph with the list to load. */
export const RELATED_LIST = Symbol('list')

/** The name of a list among those that are loaded: the relation's own, unless it is a part of it. */
export function listKey(list: RelatedList): string {
  const { relation, modifiers, order, limit } = list
  return isPart(list) ? `${relation}(${modifiers.join()})${orderText(order)}:${limit ?? ''}` : relation
}

/** True for a list that leaves objects out, or stands in one of several orders: it is not kept as the relation itself. */
export function isPart({ modifiers, limit, isBeside = false }: RelatedList): boolean {
  return modifiers.length > 0 || limit !== undefined || isBeside
}

/** Member of a relation graph with the relation whose objects are counted, not loaded. */
export const COUNT = Symbol('count')

/** The name of the number of objects of a relation among what is loaded. */
export function countKey(relation: string): string {
  return `count(${relation})`
}

/** Parts of lists and numbers that were loaded with objects: not in them, where they would look like relations and columns. */
const loadedWith = oncePer((_owner: object) => new Map<string, readonly object[] | number>())

/** The part of a list, or the number, that was loaded with its owner; undefined where none was. */
export function loadedBeside(owner: object, key: string): readonly object[] | number | undefined {
  return loadedWith(owner).get(key)
}

export function keepBeside(owner: object, key: string, value: readonly object[] | number): void {
  loadedWith(owner).set(key, value)
}

/** The objects whose lists are asked for. */
export interface ListOwners {
  readonly model: ModelClass
  readonly relation: RelationDescription
  readonly keys: OwnerKeys
}

/** Orders and narrows the query that loads a list for all its owners at once. */
export function narrowList(query: AnyQueryBuilder, list: RelatedList, owners: ListOwners): void {
  const { order, limit } = list
  modifyList(query, list)
  if (limit !== undefined) void query.where(amongFirst(query, list, owners) as never)
  orderByKey(query, order)
}

function modifyList(query: AnyQueryBuilder, { modifiers, order }: Pick<RelatedList, 'modifiers' | 'order'>): void {
  for (const name of modifiers) encloseAdded(query, () => query.modify(name))
  // the declared order stands before any that a modifier or the relation has
  if (order.length > 0) void query.onBuildKnex((built) => void built.clearOrder())
}

/** The name of no table of the application's: inside, it hides tables around it. */
const FIRST = 'koa_viewsets_first'

/**
 * The condition that a row is among the first of its owner's list. For each owner PostgreSQL reads as many rows as are asked
 * for, in order where there is an index on foreign key and order: `row_number()` would have it read and sort all lists.
 */
function amongFirst(query: AnyQueryBuilder, list: RelatedList, owners: ListOwners): unknown {
  const { model, relation, keys: own } = owners
  const { columns, primaryKey } = describeModel(relation.model)
  const table = query.tableRefFor(query.modelClass())
  const key = primaryKey.map((property) => columns.get(property)?.column ?? property)
  const joined = joinColumns(query, owners)
  const inner = relatedRowsQuery(list, { owner: model, relation, references: own.references, parent: query })
  orderByKey(inner, list.order)
  const keys = key.map((column) => `${table}.${column}`)
  // what a modifier selects besides is of no use here, and might have the same name
  void inner.limit(list.limit as number).select(keys)
  void inner.onBuildKnex((built) => void built.clearSelect().select(keys))
  const names = (all: readonly string[]) => all.map(() => '??').join(', ')
  return model.raw(
    `(${names([...joined, ...key])}) in (select ${names([...own.references, ...key])} from ${own.sql} cross join lateral ? as ??)`,
    [
      ...joined,
      ...keys,
      ...own.references,
      ...key.map((column) => `${FIRST}.${column}`),
      ...own.bindings,
      inner,
      FIRST,
    ] as never,
  )
}

export interface RelatedListQuery {
  readonly owner: ModelClass
  readonly relation: RelationDescription
  /** The columns around the query that hold the key of its owner. */
  readonly references: readonly string[]
  /** The query of the owners, whose schema and context hold for the related rows. */
  readonly parent: AnyQueryBuilder
}

/** The related rows of one owner, which is known by columns of the SQL around them; in no order but that of a modifier. */
export function relatedRowsQuery(
  list: Pick<RelatedList, 'relation' | 'modifiers' | 'order'>,
  asked: RelatedListQuery,
): AnyQueryBuilder {
  const { owner, relation, references, parent } = asked
  const query = relatedTo(owner, relation, references).childQueryOf(parent, { fork: true })
  leaveOutUnrelated(query, visibleRowsOf(parent), { owner, relation })
  modifyList(query, list)
  leaveOutDeleted(query, relation)
  return query
}

/** The columns of a related row, or of its row in the join table, that name its owner. */
function joinColumns(query: AnyQueryBuilder, { relation }: ListOwners): readonly string[] {
  const { through, relatedProperties, model } = relation
  const owner = through?.model ?? model
  const properties = through?.ownerProperties ?? relatedProperties
  const table = query.tableRefFor(through ? (owner.tableName as never) : query.modelClass())
  return properties.map((property) => `${table}.${columnName(owner, property)}`)
}
