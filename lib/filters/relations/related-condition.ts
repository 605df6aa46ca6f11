/** Conditions on the objects of a relation: that there is one, or none, such that …; and how many there are. */

import type { Context } from '../../http/context.js'
import { describeModel } from '../../models/describe-model.js'
import type { SqlPart } from '../../queryset/keyset.js'
import { schemaOf } from '../../queryset/schema-of.js'
import type { PathStart } from '../field-path.js'
import { joinOf, type Step } from '../step.js'
import type { AskedRelation } from './asked-relation.js'

/** What a condition on related objects needs of its request. */
export interface Asking {
  readonly start: PathStart
  readonly ctx: Context | undefined
}

/** That there is a related object for which a condition holds; false, never NULL, where there is none. */
export function existsRelated(
  asked: AskedRelation,
  asking: Asking,
  condition: ((start: PathStart) => SqlPart) | undefined,
): SqlPart {
  const { start, from, where } = tables(asked, asking)
  const inner = condition?.(start)
  const and = inner === undefined ? '' : ` and ${inner.sql}`
  return {
    sql: `exists (select 1 from ${from.sql} where ${where.sql}${and})`,
    bindings: [...from.bindings, ...where.bindings, ...(inner?.bindings ?? [])],
  }
}

/** What holds for the rows of all related objects together, by what their table is called. */
export function ofRelated(asked: AskedRelation, asking: Asking, condition: (table: string) => SqlPart): SqlPart {
  const { start, from, where } = tables(asked, asking)
  const inner = condition(start.table)
  return {
    sql: `(select ${inner.sql} from ${from.sql} where ${where.sql})`,
    bindings: [...inner.bindings, ...from.bindings, ...where.bindings],
  }
}

/** How many related objects there are: of several rows of a join table that lead to one object, one counts. */
export function countOf({ step }: AskedRelation, table: string): SqlPart {
  const { sql, bindings } = countedRows(step, table)
  return { sql: `count(${sql})`, bindings }
}

/** What is counted of the rows that a step leads to. */
export function countedRows({ model, through }: Step, table: string): SqlPart {
  const { columns, primaryKey } = describeModel(model)
  const key = through ? primaryKey.flatMap((property) => columns.get(property)?.column ?? []) : []
  if (key.length === 0) return { sql: '*', bindings: [] }
  return { sql: `distinct (${key.map(() => '??').join(', ')})`, bindings: key.map((column) => `${table}.${column}`) }
}

/** The related rows that the caller may see, under a name that is none of the tables around them. */
function tables({ step, relation }: AskedRelation, { start: outer, ctx }: Asking) {
  const rows = relation.rows(ctx)
  // the list of the related objects is read there, whatever schema the list around it is of
  const schema = rows && schemaOf(rows)
  const start = outer.below(`asked ${outer.depth + 1}`, schema)
  const names = {
    owner: outer.table,
    related: start.table,
    through: `${start.table} through`,
  }
  return {
    start,
    ...joinOf(step, {
      ...names,
      schema: () => outer.schema,
      visible: outer.visible,
      relatedSchema: () => schema,
      rows,
    }),
  }
}
