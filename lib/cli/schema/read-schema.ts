/** Reads the tables and views of a schema from the catalogue. */
import type { Knex } from 'knex'
import { type CatalogueTable, readCatalogue } from '../../models/catalogue.js'
import { nameProblem } from '../../models/column-names.js'
import { quoted } from './source-text.js'

/** What of a database is read. */
export interface SchemaChoice {
  /** The names of schemas; undefined for the first of the search path. */
  readonly schemas: readonly string[] | undefined
  /** The names of the tables and views, with their schema before a dot or without; undefined for all. */
  readonly tables: readonly string[] | undefined
}

export interface SchemaTable {
  /** The name in the database, without the schema. */
  readonly name: string
  readonly schema: string
  /** As a model names it: with its schema where that is none of the search path. */
  readonly tableName: string
  readonly kind: TableKind
  readonly comment: string | undefined
  /** The comments of columns by name. */
  readonly comments: ReadonlyMap<string, string>
  readonly catalogue: CatalogueTable
}

export type TableKind = 'table' | 'view' | 'materialized view' | 'foreign table'

export interface DatabaseSchema {
  /** Of each schema, in the order of their names. */
  readonly tables: readonly SchemaTable[]
  /** What was left out, and why: sentences. */
  readonly notes: readonly string[]
}

// every key is one lower-case word, as in the catalogue's queries
interface RelationRow {
  name: string
  schema: string
  kind: string
  visible: boolean
  readable: boolean
  comment: string | null
  comments: Record<string, string> | null
}

const KINDS: Readonly<Record<string, TableKind>> = {
  r: 'table',
  p: 'table',
  v: 'view',
  m: 'materialized view',
  f: 'foreign table',
}

/** Tables in which tools keep what they have done; read where they are named. */
const BOOKKEEPING = new Set(['knex_migrations', 'knex_migrations_lock'])

// partitions show the rows of their table, and what an extension has made is its own
const RELATIONS = `
  select c.relname as name, n.nspname as schema, c.relkind as kind, pg_table_is_visible(c.oid) as visible,
    has_table_privilege(c.oid, 'select') as readable, obj_description(c.oid, 'pg_class') as comment,
    (select json_object_agg(a.attname, d.description) from pg_description d
      join pg_attribute a on a.attrelid = d.objoid and a.attnum = d.objsubid
      where d.objoid = c.oid and d.classoid = 'pg_class'::regclass and d.objsubid > 0) as comments
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where n.nspname = any(?) and c.relkind in ('r', 'p', 'v', 'm', 'f') and not c.relispartition
    and not exists (select from pg_depend e where e.classid = 'pg_class'::regclass and e.objid = c.oid and e.deptype = 'e')
  order by array_position(?::text[], n.nspname::text), c.relname collate "C"`

/** @throws Error there is no such schema or table, or nothing to read */
export async function readSchema(trx: Knex.Transaction, { schemas, tables }: SchemaChoice): Promise<DatabaseSchema> {
  const read = await findSchemas(trx, schemas)
  const where = `${read.length > 1 ? 'schemas' : 'schema'} ${read.map(quoted).join(', ')}`
  const { rows } = await trx.raw<{ rows: RelationRow[] }>(RELATIONS, [[...read], [...read]])
  const isCalled = (row: RelationRow, table: string) => row.name === table || `${row.schema}.${row.name}` === table
  const missing = tables?.filter((table) => !rows.some((row) => isCalled(row, table))) ?? []
  if (missing.length > 0) {
    throw new Error(missing.map((table) => `there is no table or view ${quoted(table)} in ${where}`).join('\n'))
  }
  const chosen = rows.filter((row) =>
    tables ? tables.some((table) => isCalled(row, table)) : !BOOKKEEPING.has(row.name),
  )
  const notes: string[] = []
  const fit = chosen.filter((row) => {
    const problem = problemOf(row)
    if (problem !== undefined) notes.push(`${quoted(row.name)} is left out: ${problem}`)
    return problem === undefined
  })
  const nameOf = ({ name, schema, visible }: RelationRow) => (visible ? name : `${schema}.${name}`)
  const catalogue = await readCatalogue(trx, fit.map(nameOf))
  const found = fit.flatMap((row): SchemaTable[] => {
    const tableName = nameOf(row)
    const known = catalogue.get(tableName)
    if (!known?.columns.length) notes.push(`${quoted(row.name)} is left out: it has no columns`)
    const { name, schema, kind, comment, comments } = row
    const described = new Map(Object.entries(comments ?? {}))
    return known?.columns.length
      ? [
          {
            name,
            schema,
            tableName,
            kind: KINDS[kind] ?? 'table',
            comment: comment ?? undefined,
            comments: described,
            catalogue: known,
          },
        ]
      : []
  })
  if (found.length === 0) throw new Error([`${where} has no tables and no views that can be read`, ...notes].join('\n'))
  return { tables: found, notes }
}

async function findSchemas(trx: Knex.Transaction, given: readonly string[] | undefined): Promise<readonly string[]> {
  const sql =
    'select nspname as name from pg_namespace where nspname = any(coalesce(?::text[], array[current_schema()::text]))'
  const { rows } = await trx.raw<{ rows: { name: string }[] }>(sql, [given ? [...given] : null])
  const missing = given?.filter((name) => !rows.some((row) => row.name === name)) ?? []
  if (missing.length > 0) throw new Error(missing.map((name) => `there is no schema ${quoted(name)}`).join('\n'))
  if (rows.length === 0) throw new Error('no schema of the search path exists; name one by --schema')
  return given ?? rows.map(({ name }) => name)
}

/** Why no model can have the table; undefined where one can. */
function problemOf({ name, schema, visible, readable }: RelationRow): string | undefined {
  if (!readable) return 'the user of DATABASE_URL may not select from it'
  if (name.includes('.')) return 'knex takes what stands before a dot for a schema'
  return nameProblem(name) ?? (visible ? undefined : schemaProblem(schema))
}

function schemaProblem(schema: string): string | undefined {
  return schema.includes('.') ? 'the name of its schema has a dot' : nameProblem(schema)
}
