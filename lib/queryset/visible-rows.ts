/**
 * Which rows of a table a request sees and writes: the contract, and how queries apply it. They carry it with them, so that
 * those which are made of them ask it, too. Decided in `views/request/request-rows.ts`.
 */

import { ConfigurationError } from '../kernel/errors.js'
import { describeModel } from '../models/describe-model.js'
import type { RelationDescription } from '../models/model-description.js'
import { type AnyQueryBuilder, columnName, type ModelClass } from '../models/objection.js'
import { bareName } from '../models/table-reference.js'
import { addApart } from './group-conditions.js'
import { schemaOf } from './schema-of.js'
import { joinSql, type SqlPart } from './sql-part.js'

/** A relation by which a query comes to other rows. */
export interface Leading {
  readonly owner: ModelClass
  /** The name of the relation. */
  readonly relation: string
  /** Target of the relation. */
  readonly model: ModelClass
}

/** Target of a foreign key: the number of a table is one of the database of the model that has the key. */
export interface KeyTarget {
  readonly owner: ModelClass
  readonly table: number
}

/** The rows of a table that somebody sees, or may write: a condition on each of them. */
export interface RowCondition {
  /** @param table what the query calls the table @param schema that which the query reads, where the connection does not say */
  where(table: string, schema?: () => string | undefined): SqlPart
}

/** Rows as another query shows them, in the place of their table: what that computes is what is seen. */
export interface RowSource {
  /** A fresh query of all columns. */
  query(): AnyQueryBuilder
  /** What is written may become a row that the query does not show. */
  readonly mayBeLeft: boolean
}

/** The rows of a table that somebody sees. */
export type SeenRows = RowCondition | RowSource

/** Use of a field. */
export type FieldUse = 'read' | 'write'

/** Kind of a write. */
export type RowWrite = 'create' | 'update' | 'delete'

/** @internal What a caller sees and may write; undefined answers stand for all rows. */
export interface VisibleRows {
  /** The rows that a relation leads to. */
  related(leading: Leading): SeenRows | undefined
  /** The rows that a foreign key leads to. @param leading the relation of that key, where the model has one */
  ofTable(target: KeyTarget, leading: Leading | undefined): SeenRows | undefined
  /**
   * The rows of a model with which a rule lets somebody do something, wherever they are met: those that may be read, or that may
   * be written, as they were before, as they are afterwards, or both.
   */
  allowed(model: ModelClass, does: RowWrite | 'read'): RowCondition | undefined
  /** The rows of a model of which a field may be read or written, where these are some. */
  ofField(model: ModelClass, property: string, use: FieldUse): RowCondition | undefined
}

const VISIBLE = Symbol('visible rows')

/** The query, which remembers for whom it reads: so do the queries of related rows that are made for it. */
export function seenBy<Query extends AnyQueryBuilder>(query: Query, visible: VisibleRows | undefined): Query {
  return visible ? query.context({ [VISIBLE]: visible }) : query
}

/** Rules of the caller for whom a query reads. */
export function visibleRowsOf(query: AnyQueryBuilder | undefined): VisibleRows | undefined {
  return query && (query.context() as { readonly [VISIBLE]?: VisibleRows })[VISIBLE]
}

/** Rules of the caller for whom a serializer, or a field, works. */
export function visibleRowsIn({ view }: { readonly view?: unknown }): VisibleRows | undefined {
  return (view as { readonly visibleRows?: VisibleRows } | null | undefined)?.visibleRows
}

/** Leaves out of a query what the caller does not see. */
export function leaveOutUnseen(
  query: AnyQueryBuilder,
  seen: RowCondition | Pick<RowSource, 'query'> | undefined,
): void {
  if (!seen) return
  const model = query.modelClass()
  const reference = query.tableRefFor(model)
  if ('query' in seen) {
    const table = bareName(reference)
    void query.alias(table).from(model.raw('? as ??', [seen.query().toKnexQuery() as never, table]) as never)
  } else addCondition(query, seen, reference)
}

/** A relation of a model, by which a query comes to other rows. */
interface RelationOf {
  readonly owner: ModelClass
  readonly relation: RelationDescription
}

/** Conditions on the rows that a relation leads to, and on those of its join table; undefined where the caller sees all. */
export function seenRelated(visible: VisibleRows | undefined, { owner, relation }: RelationOf) {
  const { name, model, through } = relation
  const rows = visible?.related({ owner, relation: name, model })
  const links = through && visible?.allowed(through.model, 'read')
  return rows || links ? { rows, links, join: through?.model.tableName } : undefined
}

/**
 * Leaves out what the caller does not see of the rows that a relation leads to.
 * @param shown another list of the related rows, whose view set has left out what the caller does not see
 */
export function leaveOutUnrelated(
  query: AnyQueryBuilder,
  visible: VisibleRows | undefined,
  of: RelationOf,
  shown?: AnyQueryBuilder,
): void {
  const { rows, links, join } = seenRelated(visible, of) ?? {}
  leaveOutUnseen(query, shown ? { query: () => shown } : rows)
  if (links) addCondition(query, links, query.tableRefFor(join as never))
}

/** Leaves out rows that are marked as deleted. */
export function leaveOutDeleted(query: AnyQueryBuilder, { deletedBy }: { deletedBy?: string | undefined }): void {
  if (deletedBy !== undefined) void query.whereNull(`${query.tableRefFor(query.modelClass())}.${deletedBy}`)
}

/** Says of each row of a query that a relation leads to it whether the caller sees that; undefined where all are seen. */
export function isSeenRelated(
  query: AnyQueryBuilder,
  visible: VisibleRows | undefined,
  of: RelationOf,
): SqlPart | undefined {
  const { rows, links, join } = seenRelated(visible, of) ?? {}
  const schema = () => schemaOf(query)
  const parts: SqlPart[] = []
  if (rows) {
    const table = query.tableRefFor(query.modelClass())
    parts.push('query' in rows ? isShownBy(rows, of.relation, table) : rows.where(table, schema))
  }
  if (links) parts.push(links.where(query.tableRefFor(join as never), schema))
  if (parts.length === 0) return undefined
  const { sql, bindings } = joinSql(parts, ') and (')
  return { sql: `(${sql})`, bindings }
}

function isShownBy(source: RowSource, { model, relatedProperties }: RelationDescription, table: string): SqlPart {
  const columns = relatedProperties.map((property) => columnName(model, property))
  const shown = 'koa_viewsets_shown'
  return {
    sql: `exists (select from ? as ?? where ${columns.map(() => '??.?? = ??.??').join(' and ')})`,
    bindings: [source.query().toKnexQuery(), shown, ...columns.flatMap((column) => [shown, column, table, column])],
  }
}

function addCondition(query: AnyQueryBuilder, condition: RowCondition, table: string): void {
  const { sql, bindings } = condition.where(table, () => schemaOf(query))
  addApart(query, () => query.whereRaw(`(${sql})`, bindings))
}

/** A table in FROM, of which only those rows are there that the caller sees. */
export function seenTable(model: ModelClass, condition: RowCondition, schema: string | undefined): SqlPart {
  const name = schema === undefined ? model.tableName : `${schema}.${model.tableName}`
  const table = bareName(model.tableName)
  const { sql, bindings } = condition.where(table, () => schema)
  return { sql: `(select * from ?? as ?? where ${sql})`, bindings: [name, table, ...bindings] }
}

/**
 * Leaves out what the caller does not see of what a query loads with its rows by a graph of its own.
 * @throws {ConfigurationError} the graph does not name what it loads
 */
export function leaveOutOfGraph(query: AnyQueryBuilder, visible: VisibleRows | undefined): void {
  if (!visible) return
  const leave = (owner: ModelClass, graph: Graph, path: readonly string[]): void => {
    if (graph.$allRecursive) {
      throw new ConfigurationError(
        `${owner.name}: a query loads "*", all relations, of which no rule can be asked; name each relation in its graph`,
      )
    }
    for (const [key, inner] of Object.entries(graph)) {
      const name = key.startsWith('$') ? undefined : inner.$relation
      const relation = name === undefined ? undefined : describeModel(owner).relations.get(name)
      if (!relation) continue
      const own = [...path, key]
      void query.modifyGraph(own.join('.'), (loading) => leaveOutUnrelated(loading, visible, { owner, relation }))
      leave(relation.model, inner, own)
    }
  }
  leave(query.modelClass() as ModelClass, graphOf(query), [])
}

/** A graph of relations, as Objection writes it. */
interface Graph {
  readonly [name: string]: Graph & { readonly $relation?: string; readonly $allRecursive?: boolean }
}

function graphOf(query: AnyQueryBuilder): Graph {
  let graph: Graph = {}
  // Objection takes a function, which sees each operation; it says nothing of a graph that is "*"
  query.has((({ expression }: { readonly expression?: { readonly node: Graph } }) => {
    if (expression) graph = expression.node
    return expression !== undefined
  }) as never)
  return graph
}
