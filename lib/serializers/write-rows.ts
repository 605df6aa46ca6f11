/** Writes many rows of one table by one statement each (spec section 4.5). */
import type { Knex } from 'knex'
import type { Model } from 'objection'
import { NotFound, ValidationError } from '../errors.js'
import { keyText } from '../fields/key-text.js'
import { buildModel, databaseValues } from '../models/build-model.js'
import { exactValue } from '../models/database-text.js'
import { type Column, describeModel } from '../models/describe-model.js'
import { keepJsonTexts } from '../models/json-texts.js'
import type { AnyQueryBuilder, ModelClass, Queryable } from '../models/objection.js'
import { hasPlainChanges } from '../models/plain-model.js'
import { nativeSql } from '../queryset/compiled-sql.js'
import { exactTypes, readExactly } from '../queryset/read-exactly.js'
import { readsRawRows, runStatement } from '../queryset/run-statement.js'
import { ONE_BY_ONE } from './row-sql.js'

/** How many parameters we put into one statement; PostgreSQL takes 65,535. */
export const MOST_PARAMETERS = 60_000

/** Inserts instances that `buildModel` has made, and returns them as the database has them. Runs the model's hooks. */
export async function insertRows(model: ModelClass, rows: readonly Model[], knex: Queryable): Promise<Model[]> {
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
    .onBuildKnex((knexQuery: Knex.QueryBuilder) => {
      void knexQuery.on('query-response', (rows: unknown) => {
        returned = rows
      })
    })
  const created = (await readExactly(query as unknown as AnyQueryBuilder)) as Model[]
  if (Array.isArray(returned) && returned.length < part.length) throw leftOut()
  return created
}

/** The refusal of a list of which a trigger or a rule of the database has left out rows; it must not be committed. */
export function leftOut(): ValidationError {
  return new ValidationError('Invalid value.')
}

/** What changes in a row. */
export interface RowChange {
  /** The object as it is. */
  readonly instance: Model
  /** Values by column name; none where nothing changes. */
  readonly values: ReadonlyMap<string, unknown>
}

/** The change of a row, after the model's own validation and its `$beforeUpdate`. */
export async function changeOf(
  model: ModelClass,
  instance: Model,
  columns: Readonly<Record<string, unknown>>,
  knex: Queryable,
): Promise<RowChange> {
  if (Object.keys(columns).length === 0) return { instance, values: new Map() }
  const patch = buildModel(model, columns, { patch: true })
  await patch.$beforeUpdate({ old: instance, patch: true }, { transaction: knex } as never)
  return { instance, values: databaseValues(model, patch) }
}

/** True when these changes can be made by one statement: nothing of the application stands in between. */
export function updatesRows(model: ModelClass, knex: Queryable): boolean {
  const { columns, primaryKey, prepared } = describeModel(model)
  return (
    prepared &&
    primaryKey.length === 1 &&
    columns.has(primaryKey[0] ?? '') &&
    // knex takes a question mark for the place of a value, in names too
    [...columns.values()].every(({ column }) => !column.includes('?')) &&
    hasPlainChanges(model) &&
    readsRawRows(knex)
  )
}

/** Changes rows and returns them in the order given. @throws NotFound one of them is gone */
export async function updateRows(model: ModelClass, changes: readonly RowChange[], knex: Queryable): Promise<Model[]> {
  const key = keyOf(model)
  const changed = changes.filter(({ values }) => values.size > 0)
  const width = new Set(changed.flatMap(({ values }) => [...values.keys()])).size
  const updated = new Map<string, Model>()
  for (const part of parts(changed, 2 * width + 1)) {
    for (const [before, row] of await updatePart(model, part, knex)) updated.set(keyText(key, before), row)
  }
  return changes.map(({ instance, values }) => {
    const row = values.size > 0 ? updated.get(keyText(key, (instance as Loose)[key.property])) : instance
    if (!row) throw new NotFound()
    return row
  })
}

/**
 * One UPDATE for rows that need not change the same columns: what a row does not change is set to what it is.
 * @returns the keys that the rows had, and the rows
 */
async function updatePart(
  model: ModelClass,
  changes: readonly RowChange[],
  knex: Queryable,
): Promise<(readonly [key: unknown, row: Model])[]> {
  const { columns } = describeModel(model)
  const key = keyOf(model)
  const changing = [...columns.values()].filter(({ column }) => changes.some(({ values }) => values.has(column)))
  const sparse = new Set(changing.filter(({ column }) => !changes.every(({ values }) => values.has(column))))
  const sets = changing.map((column, index) =>
    sparse.has(column)
      ? { sql: `?? = case when v.h${index} then v.c${index} else t.?? end`, bindings: [column.column, column.column] }
      : { sql: `?? = v.c${index}`, bindings: [column.column] },
  )
  const cells: readonly Cells[] = [
    {
      name: 'k',
      type: key.sqlType,
      values: changes.map(({ instance }) => exactValue((instance as Loose)[key.property])),
    },
    ...changing.flatMap(({ column, sqlType }, index) => [
      { name: `c${index}`, type: sqlType, values: changes.map(({ values }) => values.get(column) ?? null) },
    ]),
    ...changing.flatMap((column, index) => {
      const given = () => changes.map(({ values }) => values.has(column.column))
      return sparse.has(column) ? [{ name: `h${index}`, type: 'bool', values: given() }] : []
    }),
  ]
  const source = changing.some(({ type }) => ONE_BY_ONE.has(type)) ? asRows(cells) : asLists(cells)
  const quoted = (sql: string, bindings: readonly string[]) => nativeSql(knex.raw(sql, bindings as never)).text
  const head = quoted(`update ?? as t set ${sets.map((set) => set.sql).join(', ')}`, [
    model.tableName,
    ...sets.flatMap((set) => set.bindings),
  ])
  const shown = [...columns.values()]
  const tail = quoted(`where t.?? = v.k returning v.k, ${shown.map(() => 't.??').join(', ')}`, [
    key.column,
    ...shown.map(({ column }) => column),
  ])
  const text = `${head} from ${source.sql} as v (${cells.map(({ name }) => name).join(', ')}) ${tail}`
  const types = exactTypes(knex)
  const parsers = [key, ...shown].map(({ oid }) => types.getTypeParser(oid ?? 0, 'text'))
  const found = await runStatement(knex, { text, name: undefined }, source.values)
  const stored = found.map((row) => {
    const [before, ...values] = row.map((cell, index) => (cell === null ? null : parsers[index]?.(cell)))
    return { before, after: Object.fromEntries(shown.map(({ column }, index) => [column, values[index]])) }
  })
  keepJsonTexts(
    model,
    stored.map(({ after }) => after),
    types,
  )
  return stored.map(({ before, after }) => [before, model.fromDatabaseJson(after)] as const)
}

/** A column of what the rows are changed by. */
interface Cells {
  readonly name: string
  /** The type, as SQL writes it. */
  readonly type: string | undefined
  readonly values: readonly unknown[]
}

function asLists(cells: readonly Cells[]): CompiledSource {
  const lists = cells.map(({ type }, index) => `$${index + 1}::${type}[]`)
  return { sql: `unnest(${lists.join(', ')})`, values: cells.map(({ values }) => values) }
}

function asRows(cells: readonly Cells[]): CompiledSource {
  const values: unknown[] = []
  const rows = (cells[0]?.values ?? []).map((_, row) => {
    // casts stand in the first row only: the others follow it
    const marks = cells.map(({ type, values: own }) => `$${values.push(own[row])}${row === 0 ? `::${type}` : ''}`)
    return `(${marks.join(', ')})`
  })
  return { sql: `(values ${rows.join(', ')})`, values }
}

interface CompiledSource {
  readonly sql: string
  readonly values: readonly unknown[]
}

type Loose = Model & Record<string, unknown>

function keyOf(model: ModelClass): Column {
  const { columns, primaryKey } = describeModel(model)
  return columns.get(primaryKey[0] as string) as Column
}

/** As many items at once as a statement has room for. */
function parts<Item>(items: readonly Item[], parameters: number): Item[][] {
  const size = Math.max(1, Math.floor(MOST_PARAMETERS / Math.max(1, parameters)))
  return Array.from({ length: Math.ceil(items.length / size) }, (_, part) =>
    items.slice(part * size, (part + 1) * size),
  )
}
