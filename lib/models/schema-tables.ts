/** Tables and views of a database as its catalogue has them: for `init` and `types`, and for relations by foreign keys. */
import type { Queryable } from '../postgres/pg-types.js'
import { readRows } from '../postgres/type-parsers.js'
import { nameProblem } from './build-model.js'
import { type CatalogueTable, modelColumn, readCatalogue } from './catalogue.js'
import { toReference, writtenName } from './table-reference.js'

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

/** A table or a view, of which nothing is read yet. Every key is one lower-case word, as in the catalogue's queries. */
export interface FoundTable {
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

// partitions show the rows of their table, and what an extension has made is its own
const TABLES = `
  select c.relname as name, n.nspname as schema, c.relkind as kind, pg_table_is_visible(c.oid) as visible,
    has_table_privilege(c.oid, 'select') as readable, obj_description(c.oid, 'pg_class') as comment,
    (select json_object_agg(a.attname, d.description) from pg_description d
      join pg_attribute a on a.attrelid = d.objoid and a.attnum = d.objsubid
      where d.objoid = c.oid and d.classoid = 'pg_class'::regclass and d.objsubid > 0) as comments
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
  where c.relkind in ('r', 'p', 'v', 'm', 'f') and not c.relispartition
    and not exists (select from pg_depend e where e.classid = 'pg_class'::regclass and e.objid = c.oid and e.deptype = 'e')`

/** The tables and views of schemas, in the order of both. */
export async function tablesOfSchemas(knex: Queryable, schemas: readonly string[]): Promise<readonly FoundTable[]> {
  const order = 'array_position(?::text[], n.nspname::text), c.relname collate "C"'
  const names = [...schemas]
  return readRows<FoundTable>(knex, `${TABLES} and n.nspname = any(?) order by ${order}`, [names, names])
}

/** The tables that foreign keys join with some, however far away, and these; those of the search path first. */
export async function linkedTables(knex: Queryable, tables: readonly string[]): Promise<readonly FoundTable[]> {
  const linked = `
    with recursive links as materialized (
      select conrelid as one, confrelid as other from pg_constraint where contype = 'f'
      union select confrelid, conrelid from pg_constraint where contype = 'f'
    ), linked as (
      select to_regclass(name)::oid as oid from unnest(?::text[]) as w(name)
      union select links.other from linked join links on links.one = linked.oid
    )`
  const order = 'pg_table_is_visible(c.oid) desc, n.nspname collate "C", c.relname collate "C"'
  const references = tables.map((table) => toReference(knex, table))
  return readRows<FoundTable>(knex, `${linked} ${TABLES} and c.oid in (select oid from linked) order by ${order}`, [
    references,
  ])
}

/** Why no model can have the table; undefined where one can. */
export function tableProblem({ name, schema, visible, readable }: FoundTable): string | undefined {
  if (!readable) return 'the user of DATABASE_URL may not select from it'
  if (name.includes('.')) return 'knex takes what stands before a dot for a schema'
  return nameProblem(name) ?? (visible ? undefined : schemaProblem(schema))
}

function schemaProblem(schema: string): string | undefined {
  return schema.includes('.') ? 'the name of its schema has a dot' : nameProblem(schema)
}

/** Reads the catalogue of tables; those without columns are left out, and without what mappers of knex cannot name. */
export async function describeTables(knex: Queryable, tables: readonly FoundTable[]): Promise<readonly SchemaTable[]> {
  const named = tables.flatMap((table) => {
    const parts = (table.visible ? [table.name] : [table.schema, table.name]).map((part) => spelled(knex, part))
    return parts.includes(undefined) ? [] : [{ ...table, tableName: parts.join('.') }]
  })
  const catalogue = await readCatalogue(
    knex,
    named.map(({ tableName }) => tableName),
  )
  return named.flatMap(({ name, schema, tableName, kind, comment, comments }): SchemaTable[] => {
    const known = catalogue.get(tableName)
    if (!known?.columns.length) return []
    return [
      {
        name,
        schema,
        tableName,
        kind: KINDS[kind] ?? 'table',
        comment: comment ?? undefined,
        comments: new Map(Object.entries(comments ?? {})),
        catalogue: known,
      },
    ]
  })
}

/** A name of the database as models write it; undefined where knex would write another one. */
function spelled(knex: Queryable, name: string): string | undefined {
  return [modelColumn(knex, name), name].find((one) => writtenName(knex, one) === name)
}

/** The primary key, else what is unique of columns that are never null: of several, the one of the fewest columns. */
export function shortestKey({ kind, catalogue }: SchemaTable): readonly string[] {
  const { columns, constraints, hasHeirs } = catalogue
  // rows of tables that inherit from it are its own, too, and its keys are not theirs
  const isCounted = (name: string) => columns.some(({ column, isCounted }) => column === name && isCounted)
  if (hasHeirs && !constraints.some(({ kind, columns: [name = ''] }) => kind === 'primary' && isCounted(name)))
    return []
  const primary = constraints.find((constraint) => constraint.kind === 'primary')
  if (primary) return primary.columns
  // no column of a view is known to hold no null
  const isFilled = (name: string) =>
    kind === 'materialized view' || columns.some(({ column, holdsNull }) => column === name && !holdsNull)
  const [key] = constraints
    .filter(
      (constraint) =>
        constraint.kind === 'unique' && constraint.columns.length > 0 && constraint.columns.every(isFilled),
    )
    .sort((a, b) => a.columns.length - b.columns.length || (a.name < b.name ? -1 : 1))
  return key ? key.columns : []
}
