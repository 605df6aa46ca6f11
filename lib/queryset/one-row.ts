/**
 * Holds, changes or deletes one row of a table by its key, by a statement of ours. It is what Objection would send for a model
 * that adds nothing to it, in a third of the time: the text is made once for each shape.
 */

import type { Model } from 'objection'
import { ConfigurationError } from '../kernel/errors.js'
import { oncePer } from '../kernel/once-per.js'
import { describeModel, oncePerCatalogue } from '../models/describe-model.js'
import { exactKey } from '../models/exact-key.js'
import { copyTexts, exactTypes, keepJsonTexts, RememberingTypes } from '../models/exact-types.js'
import { type Column, keyColumns } from '../models/model-description.js'
import { type ModelClass, modelName, modelOf } from '../models/objection.js'
import { nativeSql, type Queryable } from '../postgres/pg-types.js'
import { type PgAnswer, type RawRow, readsRawRows, runAsPg } from '../postgres/run-statement.js'
import type { KeyedCondition } from './condition-key.js'
import { positionColumn } from './keyset.js'
import { answerSql, askedOnChange, type ConditionColumn, forgetAnswers, noteAnswer, noteTold } from './row-answers.js'
import { joinSql, type SqlPart } from './sql-part.js'

/** Most SQL texts that are cached for a model: clients choose which columns change. */
const MOST_TEXTS = 200

/** True for an object whose row `updateOne` and `deleteOne` can name; one that an application has made itself may have no key. */
export function namesRow(object: Model, model: ModelClass, knex: Queryable): boolean {
  return (
    modelOf(object) === model && readsRawRows(knex) && [object.$id() as unknown].flat().every((value) => value != null)
  )
}

/** Lock of a row: `no key update` leaves it free to be referred to. */
export type RowLock = 'no key update' | 'update'

export interface HeldRow {
  readonly object: Model
  /** The strings of the columns that were asked for. */
  readonly texts: RawRow
}

/** Names of no column of the application's. */
const TERM = 'koaviewsetsterm'

/**
 * The row with these values of columns that are unique together, locked until the transaction ends. What it is asked besides
 * is noted on its object.
 */
export async function holdOne(
  model: ModelClass,
  columns: readonly Column[],
  { values, terms, where, asked, lock, knex }: HeldKey,
): Promise<HeldRow | undefined> {
  const names = columns.map(({ column }) => column)
  const shape = `${lock}|${names.join()}|${terms.map(({ column }) => column).join()}|${where?.key.text}|${keyTexts(asked)}`
  const text = keptText(model, knex, where?.isVaried ? undefined : shape, () => {
    const selected = termsOf(
      terms.map((column) => positionColumn(column, column.column)),
      asked,
    )
    return joinSql([
      { sql: 'select ??.*', bindings: [model.tableName] },
      selected,
      { sql: ' from ?? where ', bindings: [model.tableName] },
      rowOf(names, where ? [where] : []),
      { sql: ` for ${lock}`, bindings: [] },
    ])
  })
  const bound = [...asked.flatMap(({ key }) => key.values), ...values, ...(where?.key.values ?? [])]
  const found = await oneOf(model, { text, values: bound, knex }, terms.length + asked.length)
  if (!found) return undefined
  noteAnswers(found, asked)
  return { ...found, texts: found.texts.slice(0, terms.length) }
}

export interface HeldKey {
  readonly values: readonly unknown[]
  /** Columns to read as strings, besides the row. */
  readonly terms: readonly Column[]
  /** A condition on the row, with its key. */
  readonly where?: KeyedCondition | undefined
  readonly asked: readonly ConditionColumn[]
  readonly lock: RowLock
  readonly knex: Queryable
}

/** New values of a row by column name. */
interface RowChange {
  readonly values: ReadonlyMap<string, unknown>
  /** Conditions to evaluate on the changed row, noted on the object that is returned. */
  readonly asked: readonly ConditionColumn[]
  readonly knex: Queryable
}

/** Changes the object's row, and the object. @returns the row as it is now; undefined where it is gone */
export async function updateOne(
  object: Model,
  patch: Model,
  { values, asked, knex }: RowChange,
): Promise<Model | undefined> {
  const model = modelOf(object)
  const names = [...values.keys()]
  const { terms, condition } = askedOnChange(object)
  const besides = condition ? [condition] : []
  const columns = terms.map(({ column }) => column).join()
  const shape = condition?.isVaried ? undefined : `set|${names.join()}|${columns}|${keyTexts([...besides, ...asked])}`
  const text = keptText(model, knex, shape, () =>
    joinSql([
      { sql: 'update ?? set ', bindings: [model.tableName] },
      joinSql(names.map(equal), ', '),
      { sql: ' where ', bindings: [] },
      rowOf(keyOf(model)),
      { sql: ' returning *', bindings: [] },
      termsOf([...terms.map((column) => positionColumn(column, column.column)), ...besides.map(answerSql)], asked),
    ]),
  )
  const answers = [...besides, ...asked].flatMap(({ key }) => key.values)
  const bound = [...values.values(), ...keyValues(object), ...answers]
  const found = await oneOf(model, { text, values: bound, knex }, terms.length + besides.length + asked.length)
  if (!found) return undefined
  noteAnswers(found, asked)
  // what was said of the object is of the row that it was
  forgetAnswers([object])
  const { object: row, texts } = found
  const holds = condition && texts[terms.length] === 'true'
  if (terms.length + besides.length > 0) noteTold(row, { texts: texts.slice(0, terms.length), holds })
  copyTexts(row, object.$set(patch).$set(row))
  return row
}

/** Strings behind the columns of the row. */
function termsOf(positions: readonly SqlPart[], asked: readonly ConditionColumn[]): SqlPart {
  const terms = [...positions, ...asked.map(answerSql)]
  return joinSql(terms.map(({ sql, bindings }, index) => ({ sql: `, ${sql} as ${TERM}${index}`, bindings })))
}

function noteAnswers({ object, texts }: HeldRow, asked: readonly ConditionColumn[]): void {
  const first = texts.length - asked.length
  for (const [index, { condition }] of asked.entries()) noteAnswer(object, condition, texts[first + index] === 'true')
}

function keyTexts(asked: readonly KeyedCondition[]): string {
  return asked.map(({ key }) => key.text).join()
}

/** Deletes the object's row. @returns how many were deleted */
export async function deleteOne(object: Model, knex: Queryable): Promise<number> {
  const model = modelOf(object)
  const text = keptText(model, knex, 'delete', () =>
    joinSql([{ sql: 'delete from ?? where ', bindings: [model.tableName] }, rowOf(keyOf(model))]),
  )
  const deleted = (await runAsPg(knex, text, keyValues(object), exactTypes(knex))).rowCount ?? 0
  if (deleted > 1) throw severalRows(model)
  return deleted
}

/** Key and conditions of a row to write, without an object of it. */
export interface NamedRow {
  /** The columns that tell the row apart, with its values of them. */
  readonly named: ReadonlyMap<string, unknown>
  /** Further conditions. */
  readonly where: readonly KeyedCondition[]
}

/** The error of a key that a view, or a table with heirs, has in several rows: what is written by it is taken back. */
export function severalRows(model: ModelClass): ConfigurationError {
  return new ConfigurationError(
    `${modelName(model)}: its key "${describeModel(model).primaryKey.join()}" is that of several rows, which a write of one ` +
      'would change; set static idColumn to what is unique',
  )
}

function keyOf(model: ModelClass): readonly string[] {
  return keyColumns(describeModel(model)).map(({ column }) => `${model.tableName}.${column}`)
}

function keyValues(object: Model): readonly unknown[] {
  return [exactKey(object)].flat()
}

/** The condition on a row that columns tell apart, with values in the order of its marks. */
export function rowOf(names: Iterable<string>, where: readonly SqlPart[] = []): SqlPart {
  return joinSql([...[...names].map(equal), ...where.map((one) => ({ ...one, sql: `(${one.sql})` }))], ' and ')
}

/** Cache key of that condition's text. */
export function shapeOf({ named, where }: NamedRow): string {
  return `${[...named.keys()].join()}|${keyTexts(where)}`
}

/** The values that it binds. */
export function boundOf({ named, where }: NamedRow): unknown[] {
  return [...named.values(), ...where.flatMap(({ key }) => key.values)]
}

function equal(name: string): SqlPart {
  return { sql: '?? = ?', bindings: [name, null] }
}

/** The object of the one row that a statement returns, and so many strings behind it. */
async function oneOf(
  model: ModelClass,
  { text, values, knex }: OneStatement,
  count: number,
): Promise<HeldRow | undefined> {
  const types = new RememberingTypes(knex)
  const { rows, fields } = await runAsPg(knex, text, values, types)
  const [row] = rows
  if (!row) return undefined
  if (rows.length > 1) throw severalRows(model)
  const texts: (string | null)[] = []
  for (let index = 0; index < count; index++) {
    const name = `${TERM}${index}`
    texts.push(row[name] as string | null)
    delete row[name]
  }
  const [object] = instancesOf(model, { rows, fields, types }, knex) as [Model]
  return { object, texts }
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

/** By the database's configuration, which may rename identifiers. */
const textsOf = oncePer<object, (model: ModelClass) => Map<string, string>>(() => oncePerCatalogue(() => new Map()))

/** The text of a shape, with values in the order of their marks; without a shape it is not kept. */
export function keptText(model: ModelClass, knex: Queryable, shape: string | undefined, make: () => SqlPart): string {
  const { config } = knex.client as KnexClient
  const own = textsOf(config)(model)
  const known = shape === undefined ? undefined : own.get(shape)
  if (known !== undefined) return known
  const { sql, bindings } = make()
  const { text } = nativeSql(knex.raw(sql, bindings as never))
  if (shape !== undefined && own.size < MOST_TEXTS) own.set(shape, text)
  return text
}
