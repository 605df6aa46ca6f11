/** Reads the tables and views of a schema from the catalogue. */
import type { Knex } from 'knex'
import { type CatalogueTable, readCatalogue } from '../../models/catalogue.js'
import { nameProblem } from '../../models/column-names.js'
import { quoted } from './source-text.js'

/** What of a database is read. */
export interface SchemaChoice {
  /** The schema's name; undefined for the first of the search path. */
  readonly schema: string | undefined
  /** The names of the tables and views; undefined for all. */
  readonly tables: readonly string[] | undefined
}

export interface SchemaTable {
  /** The name in the database, without the schema. */
  readonly name: string
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
  readonly name: string
  /** In the order of their names. */
  readonly tables: readonly SchemaTable[]
  /** What was left out, and why: sentences. */
  readonly notes: readonly string[]
}

// every key is one lower-case word, as in the catalogue's queries
interface RelationRow {
  name: string
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
  select c.relname as name, c.relkind as kind, pg_table_is_visible(c.oid) as visible,
    has_table_privilege(c.oid, 'select') as readable, obj_description(c.oid, 'pg_class') as comment,
    (select json_object_agg(a.attname, d.description) from pg_description d
      join pg_attribute a on a.attrelid = d.objoid and a.attnum = d.objsubid
      where d.objoid = c.oid and d.classoid = 'pg_class'::regclass and d.objsubid > 0) as comments
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where n.nspname = ? and c.relkind in ('r', 'p', 'v', 'm', 'f') and not c.relispartition
    and not exists (select from pg_depend e where e.classid = 'pg_class'::regclass and e.objid = c.oid and e.deptype = 'e')
  order by c.relname collate "C"`

/** @throws Error there is no such schema or table, or nothing to read */
export async function readSchema(trx: Knex.Transaction, { schema, tables }: SchemaChoice): Promise<DatabaseSchema> {
  const name = await findSchema(trx, schema)
  const { rows } = await trx.raw<{ rows: RelationRow[] }>(RELATIONS, [name])
  const missing = tables?.filter((table) => !rows.some((row) => row.name === table)) ?? []
  if (missing.length > 0) {
    throw new Error(
      missing.map((table) => `there is no table or view ${quoted(table)} in schema ${quoted(name)}`).join('\n'),
    )
  }
  const chosen = rows.filter((row) => (tables ? tables.includes(row.name) : !BOOKKEEPING.has(row.name)))
  const notes: string[] = []
  const fit = chosen.filter((row) => {
    const problem = problemOf(row, name)
    if (problem !== undefined) notes.push(`${quoted(row.name)} is left out: ${problem}`)
    return problem === undefined
  })
  const names = new Map(fit.map((row) => [row.name, row.visible ? row.name : `${name}.${row.name}`]))
  const catalogue = await readCatalogue(trx, [...names.values()])
  const found = fit.flatMap((row): SchemaTable[] => {
    const tableName = names.get(row.name) as string
    const known = catalogue.get(tableName)
    if (!known?.columns.length) notes.push(`${quoted(row.name)} is left out: it has no columns`)
    const { kind, comment, comments } = row
    const described = new Map(Object.entries(comments ?? {}))
    return known?.columns.length
      ? [
          {
            name: row.name,
            tableName,
            kind: KINDS[kind] ?? 'table',
            comment: comment ?? undefined,
            comments: described,
            catalogue: known,
          },
        ]
      : []
  })
  if (found.length === 0) {
    throw new Error([`schema ${quoted(name)} has no tables and no views that can be read`, ...notes].join('\n'))
  }
  return { name, tables: found, notes }
}

async function findSchema(trx: Knex.Transaction, given: string | undefined): Promise<string> {
  const sql = 'select nspname as name from pg_namespace where nspname = coalesce(?::text, current_schema())'
  const { rows } = await trx.raw<{ rows: { name: string }[] }>(sql, [given ?? null])
  const [found] = rows
  if (found) return found.name
  throw new Error(
    given === undefined
      ? 'no schema of the search path exists; name one by --schema'
      : `there is no schema ${quoted(given)}`,
  )
}

/** Why no model can have the table; undefined where one can. */
function problemOf({ name, visible, readable }: RelationRow, schema: string): string | undefined {
  if (!readable) return 'the user of DATABASE_URL may not select from it'
  if (name.includes('.')) return 'knex takes what stands before a dot for a schema'
  return nameProblem(name) ?? (visible ? undefined : schemaProblem(schema))
}

function schemaProblem(schema: string): string | undefined {
  return schema.includes('.') ? 'the name of its schema has a dot' : nameProblem(schema)
}
