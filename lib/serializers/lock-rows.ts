/** Holds the rows that nested objects change until the end of the transaction (promises A7 and I6). */

import type { Model } from 'objection'
import { type ApiError, Conflict, PermissionDenied } from '../kernel/errors.js'
import { boundKnex, describeModel } from '../models/describe-model.js'
import type { RelationDescription } from '../models/model-description.js'
import { traitsOf } from '../models/model-traits.js'
import { type AnyQueryBuilder, type ModelClass, modelOf } from '../models/objection.js'
import type { Queryable } from '../postgres/pg-types.js'
import { groupConditions } from '../queryset/group-conditions.js'
import { isHeld } from '../queryset/held-rows.js'
import { valuesOf } from '../queryset/key-rows.js'
import { ownRows } from '../queryset/own-row.js'
import { relatedRows } from '../queryset/related-rows.js'
import { namesOfKeys } from '../queryset/same-keys.js'
import { orderByKey } from '../queryset/total-order.js'
import type { VisibleRows } from '../queryset/visible-rows.js'
import { whereRows } from '../queryset/where-keys.js'
import { namesOfRows, rowsAsStored } from './row-keys.js'

/**
 * Locks rows by one statement, in the order of their keys, so that two requests cannot wait for each other.
 * @returns what they are now, in the order given; undefined for one that is gone
 */
export async function lockRows(
  rows: readonly Model[],
  knex: Queryable | undefined,
): Promise<readonly (Model | undefined)[]> {
  const [first] = rows
  if (!first) return []
  const model = modelOf(first)
  return rowsAsStored(model, rows, knex, (query) => holding(query, [model]))
}

/** The query in the order of its keys; it holds its rows where PostgreSQL can lock those of all tables that it reads. */
function holding(query: AnyQueryBuilder, models: readonly ModelClass[]): AnyQueryBuilder {
  const ordered = orderByKey(query)
  return models.every((model) => describeModel(model).lockable) ? ordered.forNoKeyUpdate() : ordered
}

/**
 * Holds the foreign keys of rows. Another request may have moved one since it was read: then the object that was checked is
 * not the one related now (promise A7).
 * @throws Conflict one of them leads elsewhere by now
 */
export async function lockKeys(
  objects: readonly Model[],
  { ownerProperties }: RelationDescription,
  knex: Queryable | undefined,
): Promise<void> {
  const rows = objects.filter((object) => !isHeld(object, knex))
  const [first] = rows
  if (!first) return
  const model = modelOf(first)
  const stored = await lockRows(rows, knex)
  const now = stored.flatMap((row) => row ?? [])
  if (now.length < rows.length) throw await whyUnheld(rows, knex)
  const { columns } = describeModel(model)
  const keys = ownerProperties.map((property) => columns.get(property))
  const names = await namesOfKeys(
    keys,
    [...now, ...rows].map((row) => valuesOf(row, ownerProperties, keys)),
    knex ?? boundKnex(model),
  )
  if (rows.some((_, index) => names[index] !== names[rows.length + index])) throw moved()
}

/** A row, and one of those that a relation leads to. */
export interface Link {
  readonly owner: Model
  readonly target: Model
}

/** Locks objects that rows are related to by those objects' keys or by a join table, and checks that they still are. @throws Conflict */
export async function lockTargets(
  links: readonly Link[],
  relation: RelationDescription,
  knex: Queryable | undefined,
): Promise<void> {
  if (links.length === 0) return
  const targets = links.map(({ target }) => target)
  const isPlain = traitsOf(relation.model).plainQueries
  const read = [relation.model, ...(relation.through ? [relation.through.model] : [])]
  const narrow = (query: AnyQueryBuilder) => holding(whereRows(isPlain ? query : groupConditions(query), targets), read)
  const owners = links.map(({ owner }) => owner)
  const related = await relatedRows({ model: modelOf(owners[0] as Model), relation, objects: owners }, { knex, narrow })
  const { model } = relation
  const found = [...new Set(related.flat())]
  const names = await namesOfRows(model, [...targets, ...found], knex ?? boundKnex(model))
  const byRow = new Map(found.map((row, index) => [row, names[targets.length + index]]))
  const missing = targets.filter((_, index) => !related[index]?.some((row) => byRow.get(row) === names[index]))
  if (missing.length > 0) throw await whyUnheld(missing, knex)
}

/** Why rows that were read cannot be held: policies for updates hide them from locks, or another request has moved them. */
async function whyUnheld(rows: readonly Model[], knex: Queryable | undefined): Promise<ApiError> {
  if (!describeModel(modelOf(rows[0] as Model)).secured) return moved()
  const held = await lockRows(rows, knex)
  const hidden = rows.filter((_, index) => held[index] === undefined)
  return (await areSeen(hidden, knex)) ? new PermissionDenied() : moved()
}

/** True where the caller still sees one of the rows. */
export async function areSeen(rows: readonly Model[], knex: Queryable | undefined): Promise<boolean> {
  const [first] = rows
  return first !== undefined && (await whereRows(ownRows(modelOf(first), knex), rows).resultSize()) > 0
}

/** The error of a row that is gone, or leads elsewhere. */
export function moved(): Conflict {
  return new Conflict('The related object was changed by another request.')
}

/** The keys of the rows that are related to each of the owners, read by one statement; those that the caller does not see are noted. */
export function relatedKeys(
  owners: readonly Model[],
  { relation, ...reading }: RelatedKeys,
): Promise<readonly Model[][]> | [] {
  const [first] = owners
  if (!first) return []
  const { model, relatedProperties } = relation
  const { columns } = describeModel(model)
  const narrow = (query: AnyQueryBuilder) => {
    const table = query.tableRefFor(query.modelClass())
    // code of the application that runs for rows expects whole ones
    if (!traitsOf(model).plainRows) return query
    return query.select(relatedProperties.map((name) => `${table}.${columns.get(name)?.column ?? name}`))
  }
  return relatedRows({ model: modelOf(first), relation, objects: owners }, { ...reading, narrow })
}

/** How the keys of related rows are read. */
export interface RelatedKeys {
  readonly relation: RelationDescription
  readonly knex: Queryable
  readonly visible: VisibleRows | undefined
  /** Where rows are noted that the caller does not see. */
  readonly unseen: Set<Model>
}
