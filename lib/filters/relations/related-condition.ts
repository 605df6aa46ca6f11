/** Conditions on the objects of a relation: that there is one, or none, such that …; and how many there are. */

import type { Context } from '../../http/context.js'
import { describeModel } from '../../models/describe-model.js'
import type { RelationDescription } from '../../models/model-description.js'
import type { AnyQueryBuilder, ModelClass } from '../../models/objection.js'
import { isModelQuery } from '../../models/objection.js'
import { nativeSql, type Queryable } from '../../postgres/pg-types.js'
import { runStatement, type StatementClient } from '../../postgres/run-statement.js'
import { keyRows, PLACE, valuesOf } from '../../queryset/key-rows.js'
import { comparedColumns } from '../../queryset/related-rows.js'
import { schemaOf } from '../../queryset/schema-of.js'
import type { SqlPart } from '../../queryset/sql-part.js'
import type { VisibleRows } from '../../queryset/visible-rows.js'
import type { PathStart } from '../field-path.js'
import { stepThrough } from '../resolve-paths.js'
import { joinOf, type RelationStep } from '../step.js'
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
function countedRows({ model, through }: RelationStep, table: string): SqlPart {
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
      areListed: true,
      rows,
    }),
  }
}

export interface ObjectsToCount {
  /** The model of the owners, and its relation. */
  readonly model: ModelClass
  readonly relation: string
  readonly owners: readonly object[]
  readonly knex: Queryable
  readonly schema: () => string | undefined
  /** The related rows that count; undefined for those of the model. */
  readonly rows: AnyQueryBuilder | undefined
  /** Another view set says which these are. */
  readonly areListed: boolean
  /** Whose rows are counted. */
  readonly visible: VisibleRows | undefined
  /** Who waits for the numbers. */
  readonly recipient: StatementClient | undefined
}

/** Names of no table and no column of the application's. */
const KEYS = 'koa_viewsets_keys'
const COUNTED = 'koa_viewsets_counted'

/** How many related objects each owner has, in the order of the owners: by one statement. */
export async function countObjects(asked: ObjectsToCount): Promise<readonly number[]> {
  const { model, relation, owners, knex, recipient } = asked
  const described = describeModel(model).relations.get(relation) as RelationDescription
  const count = countSql(asked, KEYS)
  const columns = comparedColumns(model, described)
  const values = owners.map((owner) => valuesOf(owner, described.ownerProperties, columns))
  const rows = keyRows({ columns, values, table: KEYS, names: count.columns })
  const sql = `select ${count.sql} from ${rows.sql} order by ??`
  const compiled = nativeSql(knex.raw(sql, [...count.bindings, ...rows.bindings, PLACE] as never))
  const found = await runStatement(knex, { text: compiled.text, name: undefined }, compiled.values, recipient)
  return found.map(([number]) => Number(number))
}

/** The SQL of the number for one owner, and the columns of the owner that it reads. */
export function countSql(
  { model, relation, knex, schema, rows, areListed, visible }: Omit<ObjectsToCount, 'owners'>,
  owner: string,
): SqlPart & { readonly columns: readonly string[] } {
  const step = stepThrough(model.name, describeModel(model), relation)
  const names = { owner, related: COUNTED, through: `${COUNTED}_through`, schema, rows, areListed, visible }
  const { from, where } = joinOf(step, names)
  const counted = countedRows(step, COUNTED)
  const bindings = [...counted.bindings, ...from.bindings, ...where.bindings]
  return {
    sql: `(select count(${counted.sql}) from ${from.sql} where ${where.sql})`,
    bindings: bindings.map((binding) => builtFor(knex, binding)),
    columns: step.join.map(([column]) => column),
  }
}

/** A binding as knex takes it: a query of Objection as one of knex. */
export function builtFor(knex: Queryable, binding: unknown): unknown {
  return isModelQuery(binding) ? binding.transacting(knex as never).toKnexQuery() : binding
}
