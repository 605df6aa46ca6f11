/** What is shown of rows as they are now, written by PostgreSQL itself where nothing but their own columns is. */

import type { Model } from 'objection'
import { oncePer } from '../kernel/once-per.js'
import { describeModel } from '../models/describe-model.js'
import { exactAt } from '../models/exact-types.js'
import type { Column } from '../models/model-description.js'
import type { ModelClass } from '../models/objection.js'
import { nativeSql, type Queryable } from '../postgres/pg-types.js'
import { readsRawRows, runStatement, statementOf } from '../postgres/run-statement.js'
import { keyRows, PLACE } from '../queryset/key-rows.js'
import { ONE_BY_ONE } from '../queryset/where-keys.js'
import { objectText } from '../rows/json-text.js'
import { rowPlan } from '../rows/row-plan.js'
import type { RowPlan } from '../rows/row-shape.js'
import { LIST } from '../rows/sql-parts.js'
import type { SerializerClass } from '../serializers/contract.js'

/** The plan of a serializer of which PostgreSQL can write all, from one row; undefined for any other. */
export function flatPlan(serializer: SerializerClass): RowPlan | undefined {
  const plan = rowPlan(serializer)
  return plan?.isNative && plan.joins.length + plan.lists.length === 0 && !plan.varies ? plan : undefined
}

/** How rows are shown. */
interface Shown {
  readonly model: ModelClass
  readonly shown: SerializerClass
  /** The column that marks rows as deleted. */
  readonly mark: Column | undefined
}

/** A row that is there: which of those that were asked for, its JSON, and whether it is marked as deleted. */
export interface RowImage {
  readonly place: number
  readonly text: string
  readonly isDeleted: boolean
}

/** Texts of statements, by the database's configuration, which may rename identifiers. */
const texts = oncePer<object, WeakMap<SerializerClass, string>>(() => new WeakMap())

/** The rows by one kept statement; undefined where instances are needed to show them. */
export async function readImages(
  asked: Shown,
  rows: readonly Model[],
  knex: Queryable,
): Promise<readonly RowImage[] | undefined> {
  const plan = flatPlan(asked.shown)
  if (!plan || !readsRawRows(knex)) return undefined
  const { columns, primaryKey } = describeModel(asked.model)
  const key = primaryKey.map((property) => columns.get(property) as Column)
  const values = rows.map((row) => key.map(({ property }) => exactAt(row, property)))
  const isListed = key.every(({ type, sqlType }) => sqlType !== undefined && !ONE_BY_ONE.has(type))
  const kept = texts(knex.client.config)
  let text = isListed ? kept.get(asked.shown) : undefined
  let bound: readonly unknown[] = key.map((_, index) => values.map((one) => one[index]))
  if (text === undefined) {
    const compiled = compile(asked, plan, { key, values }, knex)
    text = compiled.text
    bound = compiled.values
    if (isListed) kept.set(asked.shown, text)
  }
  const found = await runStatement(knex, isListed ? statementOf(text) : { text, name: undefined }, bound)
  return found.map(([place, deleted, json]) => ({
    place: Number(place) - 1,
    text: json as string,
    isDeleted: deleted === 'true',
  }))
}

interface Keys {
  readonly key: readonly Column[]
  readonly values: readonly (readonly unknown[])[]
}

function compile({ model, mark }: Shown, plan: RowPlan, { key, values }: Keys, knex: Queryable) {
  const json = objectText(plan.object, plan)
  const source = keyRows({ columns: key, values, table: 'v', names: key.map((_, index) => `k${index}`) })
  const cells = plan.columns.map((_, index) => `, t.?? as c${index}`).join('')
  const same = key.map((_, index) => `t.?? = v.k${index}`).join(' and ')
  return nativeSql(
    knex.raw(
      `select ${LIST}.place, ${LIST}.deleted, ${json.sql} from (
         select v.${PLACE} as place, (${mark ? 't.?? is not null' : 'false'})::text as deleted${cells}
         from ${source.sql} join ?? as t on ${same}) as ${LIST}`,
      [
        ...json.bindings,
        ...(mark ? [mark.column] : []),
        ...plan.columns.map(({ column }) => column.column),
        ...source.bindings,
        model.tableName,
        ...key.map(({ column }) => column),
      ] as never,
    ),
  )
}
