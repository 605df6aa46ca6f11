/** Pieces of SQL of which the statements of rows are made, and the tables that are joined to a list. */

import { describeModel } from '../models/describe-model.js'
import type { Column, ModelDescription } from '../models/model-description.js'
import { joinSql, type SqlPart } from '../queryset/sql-part.js'
import type { OrderTerm } from '../queryset/total-order.js'
import type { VisibleRows } from '../queryset/visible-rows.js'
import type { RowJoin, RowPlan } from './row-shape.js'

/** The name of the page in the SQL around it. */
export const LIST_ALIAS = 'list'

/** `asc` or `desc`. */
export function direction({ descending }: OrderTerm, backwards: boolean): string {
  return descending === backwards ? 'asc' : 'desc'
}

/** Knex's own builder, as far as we use it. */
export interface KnexQuery {
  limit(value: number, options: { skipBinding: boolean }): KnexQuery
  offset(value: number): KnexQuery
}

/** Row plan of a list, with its order. */
export interface OrderedPlan {
  readonly plan: RowPlan
  readonly model: ModelDescription
  readonly order: readonly OrderTerm[]
}

/** Columns of the list's own table that are needed, with the names they get. */
export function innerColumns({ plan, model, order }: OrderedPlan, wrapped: boolean): Map<string, Column> {
  const needed = new Map<string, Column>()
  for (const [index, { table, column }] of plan.columns.entries()) if (table === 0) needed.set(`c${index}`, column)
  if (!wrapped) return needed
  for (const [index, { property, related }] of order.entries()) {
    if (!related) needed.set(`o${index}`, model.columns.get(property) as Column)
  }
  for (const { table, parent, relation } of plan.joins) {
    if (parent !== 0) continue
    for (const [index, property] of relation.ownerProperties.entries()) {
      needed.set(`k${table}_${index}`, model.columns.get(property) as Column)
    }
  }
  return needed
}

/** The tables that are joined to a list, with the rows that the caller sees. */
export function joinedTables(plan: RowPlan, visible: VisibleRows | undefined): SqlPart {
  return joinSql(plan.joins.map((join) => joinClause(join, plan, visible)))
}

function joinClause({ table, parent, relation }: RowJoin, plan: RowPlan, visible: VisibleRows | undefined): SqlPart {
  const related = describeModel(relation.model)
  const owner = plan.joins.find((join) => join.table === parent)?.relation.model
  const leading = { owner: owner ?? plan.model, relation: relation.name, model: relation.model }
  const seen = visible?.related(leading)
  const source = seen && 'query' in seen ? seen.query().toKnexQuery() : undefined
  const only = seen && 'where' in seen ? seen.where(`j${table}`) : undefined
  const keys = relation.ownerProperties.map((property, index) => [
    `j${table}.${related.columns.get(relation.relatedProperties[index] as string)?.column}`,
    owner ? `j${parent}.${describeModel(owner).columns.get(property)?.column}` : `${LIST_ALIAS}.k${table}_${index}`,
  ])
  return {
    sql: ` left join ${source ? '?' : '??'} as ?? on ${keys.map(() => '?? = ??').join(' and ')}${only ? ` and (${only.sql})` : ''}`,
    bindings: [source ?? relation.model.tableName, `j${table}`, ...keys.flat(), ...(only?.bindings ?? [])],
  }
}
