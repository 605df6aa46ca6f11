/** Tells rows of a model by their primary keys, as PostgreSQL tells them. */

import type { Model } from 'objection'
import { boundKnex, describeModel } from '../models/describe-model.js'
import type { AnyQueryBuilder, ModelClass } from '../models/objection.js'
import type { Queryable } from '../postgres/pg-types.js'
import { valuesOf } from '../queryset/key-rows.js'
import { ownRows } from '../queryset/own-row.js'
import { readExactly } from '../queryset/read-exactly.js'
import { type CanonicalKey, namesOfKeys } from '../queryset/same-keys.js'
import { whereRows } from '../queryset/where-keys.js'

/** A name for each row, which those of one primary key have in common. */
export function namesOfRows(
  model: ModelClass,
  rows: readonly object[],
  knex: Queryable,
): Promise<readonly CanonicalKey[]> {
  const { columns, primaryKey } = describeModel(model)
  const key = primaryKey.map((property) => columns.get(property))
  return namesOfKeys(
    key,
    rows.map((row) => valuesOf(row, primaryKey, key)),
    knex,
  )
}

/** Of the rows that were found those with the keys of the given ones, in the order of these; undefined for one that is not there. */
export async function findSame<Row extends object>(
  model: ModelClass,
  given: readonly object[],
  { found, knex }: { found: readonly Row[]; knex: Queryable },
): Promise<readonly (Row | undefined)[]> {
  const names = await namesOfRows(model, [...found, ...given], knex)
  const byName = new Map(found.map((row, index) => [names[index] as CanonicalKey, row]))
  return given.map((_, index) => byName.get(names[found.length + index] as CanonicalKey))
}

/** The rows of objects of a model as they are stored, in the order given; undefined for one that is not there. */
export async function rowsAsStored(
  model: ModelClass,
  rows: readonly Model[],
  knex: Queryable | undefined,
  narrow: (query: AnyQueryBuilder) => AnyQueryBuilder = (query) => query,
): Promise<readonly (Model | undefined)[]> {
  const found = (await readExactly(narrow(whereRows(ownRows(model, knex), rows)))) as Model[]
  return findSame(model, rows, { found, knex: knex ?? boundKnex(model) })
}
