/** Inserts rows by kept statements and returns them in their written form, where nothing of the application is between. */

import type { ObjectKey } from '../fields/object-key.js'
import { reasonOf } from '../kernel/reasons.js'
import { inTurns } from '../kernel/turns.js'
import { traitsOf } from '../models/model-traits.js'
import { modelName } from '../models/objection.js'
import type { Queryable } from '../postgres/pg-types.js'
import { type RawRow, runStatement, type Statement } from '../postgres/run-statement.js'
import { type ConditionKey, conditionKey } from '../queryset/condition-key.js'
import { JsonText, jsonListSteps } from '../renderers/json-renderers.js'
import type { SerializerClass } from '../serializers/contract.js'
import { serializerPlan } from '../serializers/plan.js'
import { rowsSkippedError } from '../serializers/write-rows.js'
import { ownCode } from './own-code.js'
import type { RowAccess } from './row-access.js'
import { rowPlan } from './row-plan.js'
import { writerOf } from './row-writer.js'
import { compileInsert, compileInserts, compileListInsert, listColumns, type RowConditions } from './write-sql.js'

/**
 * Why objects are created through instances of the model, as a sentence for `explain()`; null where one statement inserts an
 * object and returns it in its written form.
 */
export function insertObstacle(serializer: SerializerClass): string | null {
  const { model } = serializerPlan(serializer)
  const { lists = [] } = rowPlan(serializer) ?? {}
  const isPlain = !model || traitsOf(model.model).plainInserts
  return reasonOf([
    ownCode(serializer, 'insert'),
    isPlain ? null : `${modelName(model.model)} has hooks or formatting for its inserts`,
    lists.length > 0 ? `${serializer.name} shows lists, or numbers, of related objects` : null,
  ])
}

/** A row that was inserted. */
export interface InsertedKey {
  /** The values of the columns that paths name it by. */
  readonly key: readonly unknown[]
  readonly text: JsonText
  /** What was asked of it. */
  readonly answers: RawRow
}

/** The values of a row, by column name. */
export type RowValues = ReadonlyMap<string, unknown>

/** Inserts a row. @param key what paths name the row by @param asked expressions on the row, whose texts are returned */
export function insertOne(
  access: RowAccess,
  key: ObjectKey,
  { values, asked }: { readonly values: RowValues; readonly asked: RowConditions },
): Promise<InsertedKey> {
  const { plan, knex, model, statements } = access
  const { asked: terms, isVaried, beside } = asked
  const { text, values: bound } = conditionKey(terms) as ConditionKey
  const compile = () => compileInsert(knex, { plan, model, values, key: key.columns, asked: terms, beside }).text
  const shape = `insert|${key.name}|${[...values.keys()].join()}${text}${beside?.shape ?? ''}`
  const statement = statements.keep(isVaried ? undefined : shape, compile)
  return whole(access, async (trx) => {
    const [row] = await runStatement(trx, statement, [...values.values(), ...bound, ...(beside?.values ?? [])])
    // what a trigger has done in its place is undone
    if (!row) throw rowsSkippedError()
    const { length } = key.columns
    const answers = terms.length > 0 ? row.slice(-terms.length) : row.slice(0, 0)
    return { key: row.slice(0, length), text: new JsonText(writerOf(plan, length)(row, access)), answers }
  })
}

/** Inserts rows, all or none, and returns them as a JSON list. */
export async function insertMany(access: RowAccess, rows: readonly RowValues[]): Promise<JsonText> {
  if (rows.length === 0) return new JsonText('[]')
  const inserted = await whole(access, (trx) => insertRows(access, rows, trx))
  return inTurns(jsonListSteps(inserted, writerOf(access.plan, 0), access))
}

/** The rows as they were inserted. @throws ValidationError the database has left out one of them */
export async function insertRows(access: RowAccess, rows: readonly RowValues[], knex: Queryable): Promise<RawRow[]> {
  const { statement, values } = statementFor(access, rows, knex)
  const found = await runStatement(knex, statement, values)
  if (found.length < rows.length) throw rowsSkippedError()
  return found
}

function statementFor(
  { plan, model, statements }: RowAccess,
  rows: readonly RowValues[],
  knex: Queryable,
): { statement: Statement; values: readonly unknown[] } {
  const selection = { plan, model, rows }
  const columns = listColumns(selection)
  if (!columns) {
    const { text, values } = compileInserts(knex, selection)
    return { statement: { text, name: undefined }, values }
  }
  const shape = `inserts|${columns.map(({ column }) => column).join()}`
  const statement = statements.keep(shape, () => compileListInsert(knex, selection))
  return { statement, values: columns.map(({ column }) => rows.map((row) => row.get(column))) }
}

/** In a transaction where the database may insert less than it was given. */
function whole<Result>({ knex, model }: RowAccess, insert: (knex: Queryable) => Promise<Result>): Promise<Result> {
  return model.filtersInserts ? knex.transaction(insert) : insert(knex)
}
