/** Reads the tables and views of schemas for the commands, and says what is left out. */

import type { Knex } from 'knex'
import { didYouMean } from '../../kernel/near-miss.js'
import {
  describeTables,
  type FoundTable,
  type SchemaTable,
  tableProblem,
  tablesOfSchemas,
} from '../../models/schema-tables.js'
import { quoted } from './source-text.js'

/** What of a database is read. */
export interface SchemaChoice {
  /** The names of schemas; undefined for the first of the search path. */
  readonly schemas: readonly string[] | undefined
  /** The names of the tables and views, with their schema before a dot or without; undefined for all. */
  readonly tables: readonly string[] | undefined
}

export interface DatabaseSchema {
  /** Of each schema, in the order of their names. */
  readonly tables: readonly SchemaTable[]
  /** What was left out, and why: sentences. */
  readonly notes: readonly string[]
}

/** Tables in which tools, and this package, keep what they have done; read where they are named. */
const BOOKKEEPING =
  /^(?:koa_viewsets_.*|knex_migrations(?:_lock)?|_prisma_migrations|__drizzle_migrations|kysely_migration(?:_lock)?|SequelizeMeta)$/

/** @throws Error there is no such schema or table, or nothing to read */
export async function readSchema(trx: Knex.Transaction, { schemas, tables }: SchemaChoice): Promise<DatabaseSchema> {
  const read = await findSchemas(trx, schemas)
  const where = `${read.length > 1 ? 'schemas' : 'schema'} ${read.map(quoted).join(', ')}`
  const rows = await tablesOfSchemas(trx, read)
  const isCalled = (row: FoundTable, table: string) => row.name === table || `${row.schema}.${row.name}` === table
  const missing = tables?.filter((table) => !rows.some((row) => isCalled(row, table))) ?? []
  if (missing.length > 0) {
    const known = rows.map(({ name }) => name)
    throw new Error(
      missing
        .map((table) => `there is no table or view ${quoted(table)} in ${where}${didYouMean(table, known)}`)
        .join('\n'),
    )
  }
  const chosen = rows.filter((row) =>
    tables ? tables.some((table) => isCalled(row, table)) : !BOOKKEEPING.test(row.name),
  )
  const notes: string[] = []
  const fit = chosen.filter((row) => {
    const problem = tableProblem(row)
    if (problem !== undefined) notes.push(`${quoted(row.name)} is left out: ${problem}`)
    return problem === undefined
  })
  const found = await describeTables(trx, fit)
  for (const { name, schema } of fit) {
    if (!found.some((table) => table.name === name && table.schema === schema))
      notes.push(`${quoted(name)} is left out: it has no columns`)
  }
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
