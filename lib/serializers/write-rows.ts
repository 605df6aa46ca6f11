/** Writes many rows of one table by one statement each. */

import type { Knex } from 'knex'
import type { Model } from 'objection'
import { type ApiError, NotFound, PermissionDenied, ValidationError } from '../kernel/errors.js'
import { buildModel, databaseValues, type RowMaker } from '../models/build-model.js'
import { boundKnex, describeModel } from '../models/describe-model.js'
import { exactAt, RememberingTypes } from '../models/exact-types.js'
import { showKept } from '../models/kept-values.js'
import { type Column, keyColumns } from '../models/model-description.js'
import { mayKeep, traitsOf } from '../models/model-traits.js'
import { type AnyQueryBuilder, columnName, type ModelClass } from '../models/objection.js'
import { escaped, quoteIdentifier } from '../models/table-reference.js'
import { nativeSql, type Queryable } from '../postgres/pg-types.js'
import { readsRawRows, runAsPg } from '../postgres/run-statement.js'
import { keyRows, PLACE } from '../queryset/key-rows.js'
import { instancesOf } from '../queryset/one-row.js'
import { readExactly } from '../queryset/read-exactly.js'
import type { AnySerializer } from './contract.js'
import { areSeen } from './lock-rows.js'
import { rowsAsStored } from './row-keys.js'
import type { Writes } from './split-writes.js'

/** Rows of nothing but defaults, as many as the parameter says; `values` and a column would ask for a right on that column. */
export const ROWS_OF_DEFAULTS = 'select from generate_series(1, ?)'

/** How many parameters we put into one statement; PostgreSQL takes 65,535. */
export const MOST_PARAMETERS = 60_000

/** Returns what a serializer's statements run on: the request's transaction, or the pool of the model. */
export function serializerKnex({ context, plan }: AnySerializer): Queryable {
  return context.knex ?? boundKnex(plan.model?.model as ModelClass)
}

/** Inserts instances that `buildModel` has made, and returns them as the database has them. Runs the model's hooks. */
export async function insertInstances(model: ModelClass, rows: readonly Model[], knex: Queryable): Promise<Model[]> {
  const created: Model[] = []
  const { columns } = describeModel(model)
  for (const part of parts(rows, columns.size)) {
    created.push(...(await insertPart(model, part, knex)))
  }
  return created
}

/** Objection takes its own instances for rows that the database has left out, so they are counted where they come in. */
async function insertPart(model: ModelClass, part: readonly Model[], knex: Queryable): Promise<Model[]> {
  let returned: unknown
  const query = model
    .query(knex)
    .insert([...part])
    .returning('*')
    .onBuildKnex((knexQuery: Knex.QueryBuilder, builder: AnyQueryBuilder) => {
      void knexQuery.on('query-response', (rows: unknown) => {
        returned = rows
      })
      // knex makes no SQL of several rows without a value
      if (part.length > 1 && part.every((row) => setsNothing(row, builder))) {
        void knexQuery.insert(builder.knex().raw(ROWS_OF_DEFAULTS, [part.length]))
      }
    })
  const created = (await readExactly(query as AnyQueryBuilder)) as Model[]
  // a static hook has cancelled the statement, and may have written in its place
  if (returned === undefined) return rowsInPlace(model, created, knex)
  if (Array.isArray(returned) && returned.length < part.length) throw rowsSkippedError()
  return created
}

/** The stored rows of instances that no statement has inserted. @throws {ValidationError} one has none */
async function rowsInPlace(model: ModelClass, rows: readonly Model[], knex: Queryable): Promise<Model[]> {
  const isKeyed = rows.every((row) => [row.$id() as unknown].flat().every((value) => value != null))
  const stored = isKeyed ? await rowsAsStored(model, rows, knex) : []
  const found = stored.filter((row) => row !== undefined)
  if (found.length < rows.length) throw rowsSkippedError()
  return found
}

/** True for a row that its hooks, too, have left without a value. */
function setsNothing(row: Model, builder: AnyQueryBuilder): boolean {
  return Object.values(row).every((value) => value === undefined) && sendsNothing(row, builder)
}

/** True for a row of which Objection would send nothing, whatever it holds. */
export function sendsNothing(row: Model, builder: AnyQueryBuilder): boolean {
  return Object.keys((row as unknown as RowMaker).$toDatabaseJson(builder)).length === 0
}

/** The refusal of rows of which a trigger or a rule of the database, or a hook, has left out some; it must not be committed. */
export function rowsSkippedError(): ValidationError {
  return new ValidationError('Invalid value.')
}

/** What changes in a row. */
export interface RowChange {
  /** The object as it is. */
  readonly instance: Model
  /** Values by column name; none where nothing changes. */
  readonly values: ReadonlyMap<string, unknown>
  /** What they are made of; its hooks have run. */
  readonly patch?: Model
}

/** The change of a row, after the model's own validation and its `$beforeUpdate`. */
export async function changeOf(
  model: ModelClass,
  instance: Model,
  { columns, kept }: Pick<Writes, 'columns' | 'kept'>,
  knex: Queryable,
): Promise<RowChange> {
  if (Object.keys(columns).length === 0) return { instance, values: new Map() }
  const patch = buildModel(model, columns, { patch: true })
  const left = traitsOf(model).plainUpdates ? undefined : showKept(patch, kept)
  await patch.$beforeUpdate({ old: instance, patch: true }, { transaction: knex } as never)
  const values = databaseValues(model, patch)
  for (const property of left?.() ?? []) values.delete(columnName(model, property))
  return { instance, values, patch }
}

/** True when these changes can be made by one statement: nothing of the application stands in between. */
export function updatesRows(model: ModelClass, knex: Queryable): boolean {
  const { plainChanges, namedRows } = traitsOf(model)
  return plainChanges && namedRows && readsRawRows(knex)
}

/**
 * Changes rows, each of them once, and returns them in the order given.
 * @throws NotFound one of them is gone
 * @throws PermissionDenied a policy keeps one of them as it is
 */
export async function updateRows(model: ModelClass, changes: readonly RowChange[], knex: Queryable): Promise<Model[]> {
  const changed = changes.filter(({ values }) => values.size > 0)
  const names = new Set<string>()
  for (const { values } of changed) for (const name of values.keys()) names.add(name)
  const updated = new Map<RowChange, Model>()
  for (const part of parts(changed, 2 * names.size + describeModel(model).primaryKey.length + 1)) {
    for (const [change, row] of await updatePart(model, part, knex)) updated.set(change, row)
  }
  const missing = changed.filter((change) => !updated.has(change))
  const left = await leftRows(
    model,
    missing.map(({ instance }) => instance),
    knex,
  )
  const gone = missing.flatMap(({ instance }, index) => (left[index] ? [] : [instance]))
  if (gone.length > 0) throw await whyUnchanged(model, gone, knex)
  return changes.map(
    (change) =>
      (change.values.size > 0 ? (updated.get(change) ?? left[missing.indexOf(change)]) : change.instance) as Model,
  )
}

/** Why an update has found no rows: a policy hides them from it, or they are gone. */
export async function whyUnchanged(model: ModelClass, rows: readonly Model[], knex: Queryable): Promise<ApiError> {
  const isHidden = describeModel(model).secured && (await areSeen(rows, knex))
  return isHidden ? new PermissionDenied() : new NotFound()
}

/** Rows that an update has not changed: triggers and rules may leave them as they are. undefined for one that is gone. */
export async function leftRows(
  model: ModelClass,
  rows: readonly Model[],
  knex: Queryable,
): Promise<readonly (Model | undefined)[]> {
  return rows.length === 0 || !mayKeep(describeModel(model), 'update') ? [] : rowsAsStored(model, rows, knex)
}

/**
 * Sends one UPDATE for rows that need not change the same columns: what a row does not change is set to what it is.
 * @returns the rows, each with its change
 */
async function updatePart(
  model: ModelClass,
  changes: readonly RowChange[],
  knex: Queryable,
): Promise<(readonly [change: RowChange, row: Model])[]> {
  const description = describeModel(model)
  const { columns } = description
  const keys = keyColumns(description)
  const changing = [...columns.values()].filter(({ column }) => changes.some(({ values }) => values.has(column)))
  const sparse = new Set(changing.filter(({ column }) => !changes.every(({ values }) => values.has(column))))
  const sets = changing.map((column, index) =>
    sparse.has(column)
      ? {
          sql: '?? = case when ?? then ?? else t.?? end',
          bindings: [column.column, `v.h${index}`, `v.c${index}`, column.column],
        }
      : { sql: '?? = ??', bindings: [column.column, `v.c${index}`] },
  )
  const flags = changing.filter((column) => sparse.has(column))
  const names = [
    ...keys.map((_, index) => `k${index}`),
    ...changing.map((_, index) => `c${index}`),
    ...flags.map((column) => `h${changing.indexOf(column)}`),
  ]
  const source = keyRows({
    columns: [...keys, ...changing, ...flags.map(() => FLAG)],
    values: changes.map(({ instance, values }) => [
      ...keys.map(({ property }) => exactAt(instance, property)),
      ...changing.map(({ column }) => values.get(column) ?? null),
      ...flags.map(({ column }) => values.has(column)),
    ]),
    table: 'v',
    names,
  })
  const same = keys.map(() => 't.?? = ??').join(' and ')
  // a mapper of knex may write another name for one that nobody writes
  const returned = [...columns.values()].map(({ nativeName }) => `t.${escaped(quoteIdentifier(nativeName))}`).join(', ')
  const sql =
    `update ?? as t set ${sets.map((set) => set.sql).join(', ')} from ${source.sql} ` +
    `where ${same} returning ??, ${returned}`
  const { text, values } = nativeSql(
    knex.raw(sql, [
      model.tableName,
      ...sets.flatMap((set) => set.bindings),
      ...source.bindings,
      ...keys.flatMap(({ column }, index) => [column, `v.k${index}`]),
      `v.${PLACE}`,
    ] as never),
  )
  const types = new RememberingTypes(knex)
  const { rows: found, fields } = await runAsPg(knex, text, values, types)
  // as the mapper writes it
  const place = fields[0]?.name as string
  const rows = found.map((answer) => {
    const { [place]: _, ...row } = answer
    return row
  })
  const objects = instancesOf(model, { rows, fields, types }, knex)
  return objects.map((object, index) => [changes[Number(found[index]?.[place]) - 1] as RowChange, object] as const)
}

/** A column that says whether a row changes another. */
const FLAG = { type: 'bool', sqlType: 'boolean' } as Column

/** As many items at once as a statement has room for. */
export function parts<Item>(items: readonly Item[], parameters: number): Item[][] {
  const size = Math.max(1, Math.floor(MOST_PARAMETERS / Math.max(1, parameters)))
  return Array.from({ length: Math.ceil(items.length / size) }, (_, part) =>
    items.slice(part * size, (part + 1) * size),
  )
}
