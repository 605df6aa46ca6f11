/** Compares the tables that the catalogue was read of with those that another knex finds, as where each tenant has its own. */

import { ConfigurationError } from '../kernel/errors.js'
import type { Queryable } from '../postgres/pg-types.js'
import { runRaw } from '../postgres/type-parsers.js'
import { type CatalogueColumn, type CatalogueTable, readCatalogue } from './catalogue.js'
import { areReadTogether, catalogueOf, isReadFrom, listenTo } from './describe-model.js'
import type { ModelClass } from './objection.js'

/**
 * Checks that a knex finds the tables that the catalogue was read of, or others that are the same, as where each tenant has
 * a schema or a database. What is compiled holds for all of them. In another database, types that each has made for itself
 * are the same where they are called the same.
 * @param path where it looks for tables, for the message; undefined for its own schema
 * @returns false where it finds none of them
 * @throws {ConfigurationError} one is missing, or differs in a column or a constraint, or as `prepareModels()`
 */
export async function findsSameTables(
  models: readonly ModelClass[],
  knex: Queryable,
  path: string | undefined,
): Promise<boolean> {
  const [first] = models
  // those of other databases are read there
  const own = first ? models.filter((model) => areReadTogether(model, first)) : []
  const isOther = own.some((model) => !isReadFrom(model, knex))
  const read = own.flatMap((model) => {
    const table = catalogueOf(model)
    return table ? [{ name: model.tableName, known: table }] : []
  })
  const found = await readCatalogue(
    knex,
    read.map(({ name }) => name),
  )
  if (found.size === 0) return false
  const compared = isOther ? withoutOwnTypes : (column: CatalogueColumn) => column
  for (const { name, known } of read) {
    const difference = differenceOf(known, found.get(name), compared)
    if (difference === undefined) continue
    const where = path === undefined ? `database "${await databaseName(knex)}"` : `search_path "${path}"`
    throw new ConfigurationError(`${where}: the table "${name}" ${difference} than the one that prepare() read`)
  }
  if (isOther) await listenTo(knex)
  return true
}

async function databaseName(knex: Queryable): Promise<string> {
  const { rows } = await runRaw<{ rows: [{ name: string }] }>(knex, 'select current_database() as name')
  return rows[0].name
}

/** The number of the first type that a database has made (PostgreSQL: `FirstNormalObjectId`). */
const FIRST_OWN_TYPE = 16_384

function withoutOwnTypes(column: CatalogueColumn): CatalogueColumn {
  return column.oid < FIRST_OWN_TYPE ? column : { ...column, oid: 0 }
}

/**
 * The first difference of two tables, as the middle of a message; undefined where they are the same. The numbers of tables
 * are not compared, nor are partitions, nor additional columns that need no value: nobody reads them.
 */
function differenceOf(
  known: CatalogueTable,
  found: CatalogueTable | undefined,
  compared: (column: CatalogueColumn) => CatalogueColumn,
): string | undefined {
  if (!found) return 'is no other'
  const textOf = (column: CatalogueColumn) => JSON.stringify(compared(column))
  const columns = new Map(found.columns.map((column) => [column.column, textOf(column)]))
  const other = known.columns.find((column) => columns.get(column.column) !== textOf(column))
  if (other) return `has another column "${other.column}"`
  const names = new Set(known.columns.map(({ column }) => column))
  const needed = found.columns.find(({ column, notNull, hasDefault, generated }) => {
    return !names.has(column) && notNull && !hasDefault && !generated
  })
  if (needed) return `has another column "${needed.column}"`
  const rest = (table: CatalogueTable) =>
    JSON.stringify([
      { ...table, table: undefined, partitions: undefined, columns: undefined, constraints: undefined },
      table.constraints
        .filter((constraint) => !constraint.isOfPartition && constraint.columns.every((column) => names.has(column)))
        .map(({ target, ...constraint }) => JSON.stringify([constraint, target?.columns, target?.secured]))
        .sort(),
    ])
  return rest(known) === rest(found) ? undefined : 'has other constraints, triggers or policies'
}
