/**
 * Which rows of a table a request sees and writes, said once: asked wherever a query leads from one table to another, and
 * carried by the queries themselves, so that those which are made of them ask it, too.
 */

import type { AnyQueryBuilder, ModelClass } from '../models/objection.js'
import type { SqlPart } from './keyset.js'
import { schemaOf } from './schema-of.js'

/** A relation by which a query comes to other rows. */
export interface Leading {
  readonly owner: ModelClass
  /** The name of the relation. */
  readonly relation: string
  /** What it leads to. */
  readonly model: ModelClass
}

/** The rows of a table that somebody sees, or may write: a condition on each of them. */
export interface RowCondition {
  /** @param table what the query calls the table @param schema that which the query reads, where the connection does not say */
  where(table: string, schema?: () => string | undefined): SqlPart
}

/** How a row is written. */
export type RowWrite = 'create' | 'update' | 'delete'

/** What a caller sees and may write; undefined answers stand for all rows. */
export interface VisibleRows {
  /** The rows that a relation leads to. */
  related(leading: Leading): RowCondition | undefined
  /** The rows that a foreign key leads to. @param table the table's number @param leading the relation of that key, where the model has one */
  ofTable(table: number, leading: Leading | undefined): RowCondition | undefined
  /** The rows of a model that may be written: as they were before, as they are afterwards, or both. */
  written(model: ModelClass, write: RowWrite): RowCondition | undefined
}

const VISIBLE = Symbol('visible rows')

/** The query, which remembers for whom it reads: so do the queries of related rows that are made for it. */
export function seenBy<Query extends AnyQueryBuilder>(query: Query, visible: VisibleRows | undefined): Query {
  return visible ? query.context({ [VISIBLE]: visible }) : query
}

/** What the caller sees for whom a query reads. */
export function visibleRowsOf(query: AnyQueryBuilder | undefined): VisibleRows | undefined {
  return query && (query.context() as { readonly [VISIBLE]?: VisibleRows })[VISIBLE]
}

/** What the caller sees whom a serializer, or a field, works for. */
export function visibleRowsIn({ view }: { readonly view?: unknown }): VisibleRows | undefined {
  return (view as { readonly visibleRows?: VisibleRows } | null | undefined)?.visibleRows
}

/** Leaves out of a query what the caller does not see. */
export function leaveOutUnseen(query: AnyQueryBuilder, seen: RowCondition | undefined): void {
  if (!seen) return
  const { sql, bindings } = seen.where(query.tableRefFor(query.modelClass()), () => schemaOf(query))
  void query.whereRaw(`(${sql})`, bindings)
}

/** A table in FROM, of which only those rows are there that the caller sees. */
export function seenTable(model: ModelClass, seen: RowCondition, schema: string | undefined): SqlPart {
  const name = schema === undefined ? model.tableName : `${schema}.${model.tableName}`
  const table = model.tableName.split('.').at(-1) as string
  const { sql, bindings } = seen.where(table, () => schema)
  return { sql: `(select * from ?? as ?? where ${sql})`, bindings: [name, table, ...bindings] }
}
