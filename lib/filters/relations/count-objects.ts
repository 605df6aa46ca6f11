/** Counts the related objects of several objects at once. */

import { describeModel } from '../../models/describe-model.js'
import type { AnyQueryBuilder, ModelClass } from '../../models/objection.js'
import { nativeSql, type Queryable } from '../../postgres/pg-types.js'
import { runStatement, type StatementClient } from '../../postgres/run-statement.js'
import { keyRows, PLACE, valuesOf } from '../../queryset/key-rows.js'
import type { SqlPart } from '../../queryset/keyset.js'
import type { VisibleRows } from '../../queryset/visible-rows.js'
import { stepThrough } from '../resolve-paths.js'
import { joinOf } from '../step.js'
import { countedRows } from './related-condition.js'

export interface ObjectsToCount {
  /** The model of the owners, and its relation. */
  readonly model: ModelClass
  readonly relation: string
  readonly owners: readonly object[]
  readonly knex: Queryable
  readonly schema: () => string | undefined
  /** The related rows that count; undefined for those of the model. */
  readonly rows: AnyQueryBuilder | undefined
  /** The schema of these, where that is another view set's to say. */
  readonly relatedSchema: (() => string | undefined) | undefined
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
  const description = describeModel(model)
  const count = countSql(asked, KEYS)
  const properties = description.relations.get(relation)?.ownerProperties ?? []
  const columns = properties.map((property) => description.columns.get(property))
  const values = owners.map((owner) => valuesOf(owner, properties))
  const rows = keyRows({ columns, values, table: KEYS, names: count.columns })
  const sql = `select ${count.sql} from ${rows.sql} order by ??`
  const compiled = nativeSql(knex.raw(sql, [...count.bindings, ...rows.bindings, PLACE] as never))
  const found = await runStatement(knex, { text: compiled.text, name: undefined }, compiled.values, recipient)
  return found.map(([number]) => Number(number))
}

/** The SQL of the number for one owner, and the columns of the owner that it reads. */
export function countSql(
  { model, relation, knex, schema, rows, relatedSchema, visible }: Omit<ObjectsToCount, 'owners'>,
  owner: string,
): SqlPart & { readonly columns: readonly string[] } {
  const step = stepThrough(model.name, describeModel(model), relation)
  const names = { owner, related: COUNTED, through: `${COUNTED}_through`, schema, rows, relatedSchema, visible }
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
  if (typeof (binding as Partial<AnyQueryBuilder> | null)?.toKnexQuery !== 'function') return binding
  return (binding as AnyQueryBuilder).transacting(knex as never).toKnexQuery()
}
