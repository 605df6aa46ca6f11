/** The SQL of inserts and updates that return rows in their written form. */

import type { Column, ModelDescription } from '../models/model-description.js'
import type { ModelClass } from '../models/objection.js'
import { type CompiledSql, nativeSql, type Queryable } from '../postgres/pg-types.js'
import { type NamedRow, rowOf } from '../queryset/one-row.js'
import { joinSql, type SqlPart } from '../queryset/sql-part.js'
import { ONE_BY_ONE } from '../queryset/where-keys.js'
import type { RowPlan } from './row-shape.js'
import { outerColumns } from './row-sql.js'
import { innerColumns, joinedTables, LIST_ALIAS } from './sql-parts.js'

/** A name that hides a table of the same name, which an application may have. */
const WRITTEN = 'koa_viewsets_written'
const STORED = 'koa_viewsets_stored'

/** RETURNING list of a row that is written. */
interface WrittenRow {
  readonly plan: RowPlan
  readonly model: ModelDescription
  /** The columns that name the object in paths; their values come first in the row that is returned. */
  readonly key: readonly Column[]
  /** Expressions that are returned behind all else; their values are bound behind those of the row. */
  readonly asked: readonly SqlPart[]
  /** What goes with it; its values are bound behind all else. */
  readonly beside?: StatementBeside | undefined
}

/** A statement about the row that another one writes, sent as one with it. */
export interface StatementBeside {
  /** Its text is the same where this is the same. */
  readonly shape: string
  /** The columns of the row that it reads, which are `c0`, `c1` … of the tables that it is made of. */
  readonly columns: readonly Column[]
  /** Its values are null: they are bound later. */
  readonly statement: (rows: WrittenTables) => SqlPart
  readonly values: readonly unknown[]
}

/** Tables of one row, as SQL between brackets. */
export interface WrittenTables {
  /** The row as it is written. */
  readonly written: SqlPart
  /** The row as it was; of an insert that of no row. */
  readonly stored: SqlPart
}

/** Conditions to evaluate on a row that is written. */
export interface RowConditions {
  readonly asked: readonly SqlPart[]
  /** Its SQL may be another for each request: the statement is not kept. */
  readonly isVaried: boolean
  /** What goes with the statement. */
  readonly beside?: StatementBeside | undefined
}

/** Insert of one row: values by column name. */
export interface InsertSelection extends WrittenRow {
  readonly values: ReadonlyMap<string, unknown>
}

/** Update of one row: values by column name. */
export interface UpdateSelection extends Omit<WrittenRow, 'key'> {
  readonly values: ReadonlyMap<string, unknown>
  /** The columns that tell the row apart, with its values of them. */
  readonly named: ReadonlyMap<string, unknown>
  /** Further conditions. */
  readonly where: readonly SqlPart[]
}

/** Delete of one row. */
export interface RowDelete extends NamedRow {
  /** What goes with the statement. */
  readonly beside: StatementBeside | undefined
}

/** Rows that are no list: they have no order and no page. */
const NO_LIST = { order: [], backwards: false, positions: undefined, limit: 1, offset: 0, counting: undefined }

/** Compiles the insert of one row that returns it in its written form: its key, then the plan's columns. */
export function compileInsert(knex: Queryable, { values, ...row }: InsertSelection): CompiledSql {
  const names = [...values.keys()]
  const marks = (mark: string) => names.map(() => mark).join(', ')
  const insert = {
    sql: `insert into ?? ${names.length > 0 ? `(${marks('??')}) values (${marks('?')})` : 'default values'}`,
    bindings: [row.model.model.tableName, ...names, ...values.values()],
  }
  return compileReturning(knex, insert, row)
}

/** Compiles the update of one row that returns it in its written form: the plan's columns. */
export function compileUpdate(knex: Queryable, { values, named, where, ...row }: UpdateSelection): CompiledSql {
  const { tableName } = row.model.model
  const found = rowOf(named.keys(), where)
  const { beside } = row
  const stored = beside && storedRow(tableName, found, beside)
  const isSame = beside ? isStored : isUnchanged(tableName, found)
  const condition = joinSql(beside || row.plan.joins.length > 0 ? [found, isSame] : [found], ' and ')
  const update = {
    sql: `update ?? set ${[...values].map(() => '?? = ?').join(', ')} where ${condition.sql}`,
    bindings: [tableName, ...[...values].flat(), ...condition.bindings],
  }
  return compileReturning(knex, update, { ...row, key: [] }, { before: stored })
}

/** The SQL that deletes a row, and returns something where there was one. */
export function deleteSql({ tableName }: ModelClass, { named, where, beside }: RowDelete): SqlPart {
  const read = (beside?.columns ?? []).map(({ column }, index) => [column, `b${index}`])
  const deleted = joinSql([
    { sql: 'delete from ?? where ', bindings: [tableName] },
    rowOf(named.keys(), where),
    { sql: ` returning ${read.map(() => '?? as ??').join(', ') || '1'}`, bindings: read.flat() },
  ])
  if (!beside) return deleted
  const other = besideSql(beside, read.length)
  return {
    sql: `with ?? as (${deleted.sql})${other.sql} select 1 from ??`,
    bindings: [WRITTEN, ...deleted.bindings, ...other.bindings, WRITTEN],
  }
}

/** The row as it is, unless somebody holds it, or has changed it since the statement began. */
function storedRow(tableName: string, found: SqlPart, { columns }: StatementBeside): SqlPart {
  return {
    sql: `?? as (select ctid${columns.map(() => ', ?? as ??').join('')} from ?? where ${found.sql} for no key update skip locked), `,
    bindings: [
      STORED,
      ...columns.flatMap(({ column }, index) => [column, `c${index}`]),
      ...[tableName, ...found.bindings],
    ],
  }
}

/** What is recorded of the row is what it was when it was written. */
const isStored: SqlPart = { sql: 'ctid = (select ctid from ??)', bindings: [STORED] }

/** Condition that no other transaction has locked or changed the row since the statement began: joined rows are as they were then. */
function isUnchanged(tableName: string, found: SqlPart): SqlPart {
  return {
    sql: `ctid = (select ctid from ?? where ${found.sql} for no key update skip locked)`,
    bindings: [tableName, ...found.bindings],
  }
}

/** @param write the statement that writes the row, but for what it returns */
function compileReturning(
  knex: Queryable,
  write: SqlPart,
  { plan, model, key, asked, beside }: WrittenRow,
  { before = NOTHING, ordered = false }: { readonly before?: SqlPart | undefined; readonly ordered?: boolean } = {},
): CompiledSql {
  const wrapped = plan.joins.length > 0 || beside !== undefined
  const selection = { ...NO_LIST, plan, model }
  const keys = key.map((column, index) => [`key${index}`, column] as const)
  const read = (beside?.columns ?? []).map((column, index) => [`b${index}`, column] as const)
  const returned = [...keys, ...innerColumns(selection, wrapped), ...read]
  const terms = [...returned.map(() => '?? as ??'), ...asked.map(({ sql }) => `${sql} as ??`)]
  const written = {
    sql: `${write.sql} returning ${terms.join(', ') || '1'}`,
    bindings: [
      ...write.bindings,
      ...returned.flatMap(([name, column]) => [column.column, name]),
      ...asked.flatMap(({ bindings }, index) => [...bindings, `asked${index}`]),
    ],
  }
  if (!wrapped) return nativeSql(knex.raw(written.sql, written.bindings as never))
  const columns = outerColumns(selection)
  // where the caller sees less than all, `RowAccess.obstacleTo()` says so
  const from = joinedTables(plan, undefined)
  const other = beside ? besideSql(beside, read.length) : NOTHING
  // a join keeps no order
  const rows = ordered ? '(select row_number() over () as ??, i.* from ?? as i)' : '??'
  return nativeSql(
    knex.raw(
      `with ${before.sql}?? as (${written.sql})${other.sql} select ${keys.map(() => '??, ').join('')}${columns.sql}${asked.map(() => ', ??').join('')} from ${rows} as ??${from.sql}${ordered ? ' order by ??' : ''}`,
      [
        ...before.bindings,
        WRITTEN,
        ...written.bindings,
        ...other.bindings,
        ...keys.map(([name]) => `${LIST_ALIAS}.${name}`),
        ...columns.bindings,
        ...asked.map((_, index) => `${LIST_ALIAS}.asked${index}`),
        ...(ordered ? ['ordinal'] : []),
        WRITTEN,
        LIST_ALIAS,
        ...from.bindings,
        ...(ordered ? [`${LIST_ALIAS}.ordinal`] : []),
      ] as never,
    ),
  )
}

const BESIDE = 'koa_viewsets_beside'

const NOTHING: SqlPart = { sql: '', bindings: [] }

function besideSql({ statement }: StatementBeside, columns: number): SqlPart {
  const names = Array.from({ length: columns }, (_, index) => [`b${index}`, `c${index}`])
  const { sql, bindings } = statement({
    written: {
      sql: `(select ${names.map(() => '?? as ??').join(', ')} from ??)`,
      bindings: [...names.flat(), WRITTEN],
    },
    stored: { sql: '(select * from ??)', bindings: [STORED] },
  })
  return { sql: `, ?? as (${sql})`, bindings: [BESIDE, ...bindings] }
}

/** Insert of several rows: the values of each by column name. */
export interface InsertsSelection {
  readonly plan: RowPlan
  readonly model: ModelDescription
  readonly rows: readonly ReadonlyMap<string, unknown>[]
}

/** Compiles the insert of rows that returns them in their written form, in their order. */
export function compileInserts(knex: Queryable, { plan, model, rows }: InsertsSelection): CompiledSql {
  const given = new Set(rows.flatMap((row) => [...row.keys()]))
  const names = [...given]
  if (names.length === 0)
    return {
      text: insertText(knex, { plan, model, names, source: 'select from generate_series(1, $1)' }),
      values: [rows.length],
    }
  const values: unknown[] = []
  // the text of so many parameters is made here: knex would look for each of them
  const mark = (value: unknown) => (value === undefined ? 'default' : `$${values.push(value)}`)
  const cells = rows.map((row) => `(${names.map((name) => mark(row.get(name))).join(', ')})`)
  return { text: insertText(knex, { plan, model, names, source: `values ${cells.join(', ')}` }), values }
}

/** Compiles the same where each column can be one parameter: the text is one for all lists, however long. */
export function compileListInsert(knex: Queryable, { plan, model, rows }: InsertsSelection): string {
  const columns = listColumns({ model, rows }) ?? []
  const lists = columns.map(({ sqlType }, index) => `$${index + 1}::${sqlType}[]`)
  const names = columns.map(({ column }) => column)
  return insertText(knex, { plan, model, names, source: `select * from unnest(${lists.join(', ')})` })
}

/** The columns where each can be one parameter; a row without a value needs the default. */
export function listColumns({ model, rows }: Pick<InsertsSelection, 'model' | 'rows'>): readonly Column[] | undefined {
  const [first] = rows
  if (!first || first.size === 0) return undefined
  const columns = [...model.columns.values()].filter(({ column }) => first.has(column))
  const fit = columns.every(({ type, sqlType }) => !ONE_BY_ONE.has(type) && sqlType !== undefined)
  const isEven = rows.every((row) => row.size === first.size && columns.every(({ column }) => row.has(column)))
  return fit && isEven && columns.length === first.size ? columns : undefined
}

interface InsertParts {
  readonly plan: RowPlan
  readonly model: ModelDescription
  readonly names: readonly string[]
  /** Source of the rows, in PostgreSQL's notation. */
  readonly source: string
}

/** No parameter: it stands where the rows come from. */
const SOURCE = '$0'

function insertText(knex: Queryable, { plan, model, names, source }: InsertParts): string {
  const listed = names.length > 0 ? ` (${names.map(() => '??').join(', ')})` : ''
  const write = { sql: `insert into ??${listed} ${SOURCE}`, bindings: [model.model.tableName, ...names] }
  const { text } = compileReturning(knex, write, { plan, model, key: [], asked: [] }, { ordered: true })
  return text.replace(SOURCE, () => source)
}
