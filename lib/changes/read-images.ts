/** Images of rows: what is recorded of them as they are now, written by PostgreSQL itself where nothing but their own columns is shown. */

import type { Knex } from 'knex'
import type { Model } from 'objection'
import { oncePer } from '../kernel/once-per.js'
import type { Column } from '../models/model-description.js'
import type { ModelClass } from '../models/objection.js'
import { nativeSql, type Queryable } from '../postgres/pg-types.js'
import { readsRawRows, runStatement, statementOf } from '../postgres/run-statement.js'
import { readRows } from '../postgres/type-parsers.js'
import { keyRows, PLACE } from '../queryset/key-rows.js'
import { keysOfRows, ONE_BY_ONE, type RowKeys } from '../queryset/where-keys.js'
import { objectText } from '../rows/json-text.js'
import { rowPlan } from '../rows/row-plan.js'
import type { RowPlan } from '../rows/row-shape.js'
import { LIST_ALIAS } from '../rows/sql-parts.js'
import type { SerializerClass } from '../serializers/contract.js'

/** The plan of a serializer of which PostgreSQL can write all, from one row; undefined for any other. */
export function flatPlan(serializer: SerializerClass): RowPlan | undefined {
  const plan = rowPlan(serializer)
  return plan?.isNative && plan.joins.length + plan.lists.length === 0 && !plan.varies ? plan : undefined
}

/** Types of extensions that have casts to JSON, which they do not read back. */
const WRITE_OTHER_JSON: ReadonlySet<string> = new Set(['hstore', 'geometry'])

/** The value of a deciding column, whose JSON the column's type reads. @param cell its SQL */
export function keptCell({ type, element = type }: Column, cell: string): string {
  return WRITE_OTHER_JSON.has(element) ? `${cell}::text` : cell
}

/** Serializer of row images, with the columns read beside them. */
export interface ImageSerializer {
  readonly model: ModelClass
  readonly shown: SerializerClass
  /** The column that marks rows as deleted; undefined where deleted rows are gone. */
  readonly mark: Column | undefined
  /** The columns that decide who sees them. */
  readonly deciding: readonly Column[]
}

/** A row that is there. */
export interface RowState {
  /** Which of those that were asked for. */
  readonly place: number
  /** It is marked as deleted. */
  readonly isDeleted: boolean
  /** JSON of each deciding column; null for NULL. */
  readonly held: readonly (string | null)[]
}

/** A row that is there, and its JSON. */
export interface RowImage extends RowState {
  readonly text: string
}

/** Texts of statements, by the database's configuration, which may rename identifiers. */
const texts = oncePer<object, WeakMap<SerializerClass, string>>(() => new WeakMap())

/** The rows by one kept statement; undefined where instances are needed to show them. */
export async function readImages(
  asked: ImageSerializer,
  rows: readonly Model[],
  knex: Queryable,
): Promise<readonly RowImage[] | undefined> {
  const plan = flatPlan(asked.shown)
  if (!plan || !readsRawRows(knex)) return undefined
  const rowKeys = keysOfRows(asked.model, rows)
  const { columns: key, keys: values } = rowKeys
  const isListed = key.every(({ type, sqlType }) => sqlType !== undefined && !ONE_BY_ONE.has(type))
  const kept = texts(knex.client.config)
  let text = isListed ? kept.get(asked.shown) : undefined
  let bound: readonly unknown[] = key.map((_, index) => values.map((one) => one[index]))
  if (text === undefined) {
    const compiled = nativeSql(compile(asked, plan, rowKeys, knex))
    text = compiled.text
    bound = compiled.values
    if (isListed) kept.set(asked.shown, text)
  }
  const found = await runStatement(knex, isListed ? statementOf(text) : { text, name: undefined }, bound)
  return found.map(([place, deleted, held, json]) => ({ text: json as string, ...stateOf({ place, deleted, held }) }))
}

/** The rows, of which something else than PostgreSQL writes the JSON. */
export async function readStates(
  asked: ImageSerializer,
  rows: readonly Model[],
  knex: Queryable,
): Promise<readonly RowState[]> {
  const { sql, bindings } = compile(asked, undefined, keysOfRows(asked.model, rows), knex).toSQL()
  const states = await readRows<StateRow>(knex, sql, bindings)
  return states.map(stateOf)
}

/** As texts. */
interface StateRow {
  readonly place: unknown
  readonly deleted: unknown
  readonly held: unknown
}

function stateOf({ place, deleted, held }: StateRow): RowState {
  return {
    place: Number(place) - 1,
    isDeleted: deleted === 'true',
    held: JSON.parse(held as string) as RowState['held'],
  }
}

function compile(
  { model, mark, deciding }: ImageSerializer,
  plan: RowPlan | undefined,
  { columns: key, keys: values }: RowKeys,
  knex: Queryable,
): Knex.Raw {
  const json = plan ? objectText(plan.object, plan) : { sql: 'null', bindings: [] }
  const read = plan?.columns ?? []
  const source = keyRows({ columns: key, values, table: 'v', names: key.map((_, index) => `k${index}`) })
  const cells = read.map(() => ', t.?? as ??').join('')
  const same = key.map(() => 't.?? = ??').join(' and ')
  const held = deciding.map((column) => `to_json(${keptCell(column, 't.??')})::text`).join()
  return knex.raw(
    `select place, deleted, held, ${json.sql} as shown from (
       select ?? as place, (${mark ? 't.?? is not null' : 'false'})::text as deleted,
         array_to_json(array[${held}]::text[])::text as held${cells}
       from ${source.sql} join ?? as t on ${same}) as ??`,
    [
      ...json.bindings,
      `v.${PLACE}`,
      ...(mark ? [mark.column] : []),
      ...deciding.map(({ column }) => column),
      ...read.flatMap(({ column }, index) => [column.column, `c${index}`]),
      ...source.bindings,
      model.tableName,
      ...key.flatMap(({ column }, index) => [column, `v.k${index}`]),
      LIST_ALIAS,
    ] as never,
  )
}
