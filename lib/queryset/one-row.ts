/**
 * Holds, changes or deletes one row of a table by its key, by a statement of ours. It is what Objection would send for a model
 * that adds nothing to it, in a third of the time: the text is made once for each shape.
 */

import type { Model } from 'objection'
import { oncePer } from '../kernel/once-per.js'
import { describeModel, oncePerCatalogue } from '../models/describe-model.js'
import { exactKey } from '../models/exact-key.js'
import { copyTexts, exactTypes, RememberingTypes } from '../models/exact-types.js'
import { keepJsonTexts } from '../models/json-texts.js'
import type { Column } from '../models/model-description.js'
import { traitsOf } from '../models/model-traits.js'
import { type ModelClass, modelOf } from '../models/objection.js'
import { nativeSql, type Queryable } from '../postgres/pg-types.js'
import { type PgAnswer, type RawRow, readsRawRows, runAsPg } from '../postgres/run-statement.js'
import { positionColumn } from './keyset.js'

/** How many texts are kept for a model: clients choose which columns change. */
const MOST_TEXTS = 200

/** True where `holdOne` does what the model's `query()` would. */
export function holdsPlainly(model: ModelClass, knex: Queryable): boolean {
  const { plainQueries, plainRows, namedRows } = traitsOf(model)
  return plainQueries && plainRows && namedRows && readsRawRows(knex)
}

/** True where `updateOne` does what the object's `$query().patch()` would. */
export function updatesPlainly(object: Model, knex: Queryable): boolean {
  const { plainChanges, plainUpdates, namedRows } = traitsOf(modelOf(object))
  return plainChanges && plainUpdates && namedRows && readsRawRows(knex) && hasKey(object)
}

/** True where `deleteOne` does what the object's `$query().delete()` would. */
export function deletesPlainly(object: Model, knex: Queryable): boolean {
  const { plainDeletes, namedRows } = traitsOf(modelOf(object))
  return plainDeletes && namedRows && readsRawRows(knex) && hasKey(object)
}

/** How a row is locked: `no key update` leaves it free to be referred to. */
export type RowLock = 'no key update' | 'update'

export interface HeldRow {
  readonly object: Model
  /** The strings of the columns that were asked for. */
  readonly texts: RawRow
}

/** Names of no column of the application's. */
const TERM = 'koaviewsetsterm'

/**
 * The row with these values of columns that are unique together, locked until the transaction ends.
 * @param terms columns to read as strings, besides the row
 */
export async function holdOne(
  model: ModelClass,
  columns: readonly Column[],
  { values, terms, lock, knex }: HeldKey,
): Promise<HeldRow | undefined> {
  const names = columns.map(({ column }) => column)
  const shape = `${lock}|${names.join()}|${terms.map(({ column }) => column).join()}`
  const text = kept(model, knex, shape, () => {
    const positions = terms.map((column) => positionColumn(column, column.column))
    const selected = positions.map(({ sql }, index) => `, ${sql} as ${TERM}${index}`)
    return [
      `select ??.*${selected.join('')} from ?? where ${sameKey(names)} for ${lock}`,
      [model.tableName, ...positions.flatMap(({ bindings }) => bindings as string[]), model.tableName, ...names],
    ]
  })
  const types = new RememberingTypes(knex)
  const { rows, fields } = await runAsPg(knex, text, values, types)
  const [row] = rows
  if (!row) return undefined
  const texts = terms.map((_, index) => {
    const name = `${TERM}${index}`
    const value = row[name]
    delete row[name]
    return value as string | null
  })
  const [object] = instancesOf(model, { rows, fields, types }, knex) as [Model]
  return { object, texts }
}

interface HeldKey {
  readonly values: readonly unknown[]
  readonly terms: readonly Column[]
  readonly lock: RowLock
  readonly knex: Queryable
}

/** Changes the object's row, and the object. @returns the row as it is now; undefined where it is gone */
export async function updateOne(
  object: Model,
  patch: Model,
  { values, knex }: { values: ReadonlyMap<string, unknown>; knex: Queryable },
): Promise<Model | undefined> {
  const model = modelOf(object)
  const names = [...values.keys()]
  const text = kept(model, knex, `set|${names.join()}`, () => {
    const key = keyOf(model)
    return [
      `update ?? set ${names.map(() => '?? = ?').join(', ')} where ${sameKey(key)} returning *`,
      [model.tableName, ...names, ...key],
    ]
  })
  const row = await oneOf(model, { text, values: [...values.values(), ...keyValues(object)], knex })
  if (row) copyTexts(row, object.$set(patch).$set(row))
  return row
}

/** Deletes the object's row. @returns how many were deleted */
export async function deleteOne(object: Model, knex: Queryable): Promise<number> {
  const model = modelOf(object)
  const text = kept(model, knex, 'delete', () => {
    const key = keyOf(model)
    return [`delete from ?? where ${sameKey(key)}`, [model.tableName, ...key]]
  })
  return (await runAsPg(knex, text, keyValues(object), exactTypes(knex))).rowCount ?? 0
}

function keyOf(model: ModelClass): readonly string[] {
  const { columns, primaryKey } = describeModel(model)
  return primaryKey.map((property) => `${model.tableName}.${(columns.get(property) as Column).column}`)
}

function keyValues(object: Model): readonly unknown[] {
  return [exactKey(object)].flat()
}

/** An application's own object may have none. */
function hasKey(object: Model): boolean {
  return [object.$id() as unknown].flat().every((value) => value != null)
}

function sameKey(key: readonly string[]): string {
  return key.map(() => '?? = ?').join(' and ')
}

/** The object of the one row that a statement returns. */
async function oneOf(model: ModelClass, { text, values, knex }: OneStatement): Promise<Model | undefined> {
  const types = new RememberingTypes(knex)
  const { rows, fields } = await runAsPg(knex, text, values, types)
  if (rows.length === 0) return undefined
  const [object] = instancesOf(model, { rows, fields, types }, knex)
  return object
}

interface OneStatement {
  readonly text: string
  readonly values: readonly unknown[]
  readonly knex: Queryable
}

/** Objects of rows that pg has read, without hooks. */
export function instancesOf(
  model: ModelClass,
  { rows, fields, types }: Pick<PgAnswer, 'rows' | 'fields'> & { readonly types: RememberingTypes },
  knex: Queryable,
): Model[] {
  const named = namedRows(knex, rows)
  const remember = types.of(model, named, fields)
  keepJsonTexts(model, named, exactTypes(knex), fields)
  const objects = named.map((row) => model.fromDatabaseJson(row))
  remember?.(objects)
  return objects
}

/** Rows by the names that the application has for columns; the rows themselves where knex has no mapper. */
function namedRows(knex: Queryable, rows: Record<string, unknown>[]): Record<string, unknown>[] {
  return (knex.client as KnexClient).postProcessResponse(rows)
}

interface KnexClient {
  readonly config: object
  postProcessResponse(rows: Record<string, unknown>[]): Record<string, unknown>[]
}

type Sql = readonly [sql: string, names: readonly string[]]

/** By the database's configuration, which may rename identifiers. */
const textsOf = oncePer<object, (model: ModelClass) => Map<string, string>>(() => oncePerCatalogue(() => new Map()))

/** The text of a shape, with values in the order of their marks. */
function kept(model: ModelClass, knex: Queryable, shape: string, make: () => Sql): string {
  const { config } = knex.client as KnexClient
  const own = textsOf(config)(model)
  let text = own.get(shape)
  if (text === undefined) {
    text = compile(knex, make())
    if (own.size < MOST_TEXTS) own.set(shape, text)
  }
  return text
}

/** Names are quoted by knex; marks of values become PostgreSQL's. */
function compile(knex: Queryable, [sql, names]: Sql): string {
  let name = 0
  const bindings = (sql.match(/\?\??/g) ?? []).map((mark) => (mark === '??' ? names[name++] : null))
  return nativeSql(knex.raw(sql, bindings as never)).text
}
