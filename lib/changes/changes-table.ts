/** Table of changes: its name, its schema, and the role that asks it. */

import { ConfigurationError } from '../kernel/errors.js'
import { oncePer, RecentMap } from '../kernel/once-per.js'
import { changesTableName } from '../kernel/settings.js'
import { toReference } from '../models/table-reference.js'
import { aloneOn } from '../postgres/alone-on.js'
import { quotedName } from '../postgres/create-table.js'
import { nativeError } from '../postgres/native-error.js'
import { clientOf, type Queryable } from '../postgres/pg-types.js'
import { runsAsRole, scopeOf, tablePlaceOf } from '../postgres/scoped-knex.js'
import { readRows, runRaw } from '../postgres/type-parsers.js'

/** Its name in SQL, with its schema if the setting has one. */
export function changesTable(): string {
  return quotedName(changesTableName())
}

/** By the configuration of the database: names with their schemas, by the names of the setting. */
const found = oncePer<object, Map<string, string>>(() => new Map())

/** The table in a database, with its schema once `findChangesTable()` has found it: a request may have a `search_path` of its own. */
export function tableIn(knex: Queryable): string {
  return found(knex.client.config).get(changesTableName()) ?? changesTable()
}

/** Looks for the table. @throws {ConfigurationError} there is none */
export async function requireChangesTable(knex: Queryable): Promise<void> {
  const name = changesTable()
  const { rows } = await runRaw<{ rows: readonly { readonly name: string }[] }>(
    knex,
    `select format('%I.%I', nspname, relname) as name from pg_class join pg_namespace n on n.oid = relnamespace
     where pg_class.oid = to_regclass(?)`,
    [name],
  )
  const [table] = rows
  if (!table) {
    throw new ConfigurationError(
      `changes: the table ${name} is not there; await ensureChangesTable(knex), from 'koa-viewsets/changes', before prepare()`,
    )
  }
  found(knex.client.config).set(changesTableName(), table.name)
}

/** The transaction as a number: PostgreSQL has no index by blocks for `xid8`. */
export const NUMBER = 'transaction::text::bigint'

/** Most names of models in schemas that requests choose which are cached. */
const MOST_NAMES = 10_000

/** Names of models by the configuration of the database, and by where a request finds their tables. */
const names = oncePer<object, RecentMap<string>>(() => new RecentMap(MOST_NAMES))

interface FoundTable {
  readonly schema: string
  /** The schema is called as the role. */
  readonly isOwn: boolean
  /** What is looked into first. */
  readonly first: string
}

/**
 * What a model is called in the table: by its own; and where a request chooses in which schema that is found, as with one for
 * each tenant, with the schema.
 */
export async function nameIn(knex: Queryable, table: string): Promise<string> {
  const place = tablePlaceOf(knex)
  if (!place || table.includes('.')) return table
  const known = names(knex.client.config)
  const key = JSON.stringify([place, table])
  let name = known.get(key)
  if (name === undefined) {
    const [found] = await readRows<FoundTable>(
      knex,
      `select nspname as schema, nspname = current_user as "isOwn",
         trim(' "' from split_part(current_setting('search_path'), ',', 1)) as first
       from pg_class join pg_namespace n on n.oid = relnamespace where pg_class.oid = to_regclass(?)`,
      [toReference(knex, table)],
    )
    // it may come, with the schema of a new tenant
    if (!found) return table
    // a role finds the tables of its login, but for a schema of its own
    name = place.searchPath !== undefined || found.isOwn ? `${found.schema}.${table}` : table
    // a table of the tenant's own may come before one that all share
    const isFirst = found.first === found.schema || (found.isOwn && found.first === '$user')
    if (isFirst || place.searchPath === undefined) known.set(key, name)
  }
  return name
}

/** No such table, no right to it, and no place in it for a row. */
const GONE = /^(?:42P01|42501|23)/

async function told<Answer>(knex: Queryable, work: () => Promise<Answer>): Promise<Answer> {
  try {
    return await work()
  } catch (error) {
    if (!GONE.test(String(nativeError(error as Error).code))) throw error
    throw new ConfigurationError(
      `changes: the table ${tableIn(knex)} cannot be used; await ensureChangesTable(knex), and grant the login SELECT and INSERT on it`,
      { cause: error },
    )
  }
}

/**
 * Work on the table, to which the roles of callers have no right.
 * @throws {ConfigurationError} there is no table, or not for the login: nothing for a client
 */
export function onChanges<Result>(knex: Queryable, work: (knex: Queryable) => Promise<Result>): Promise<Result> {
  return asLogin(knex, (own) => told(own, () => work(own)))
}

/** What a statement on the table finds. @throws {ConfigurationError} as `onChanges()` */
export async function queryChanges<Rows>(knex: Queryable, sql: string, values: readonly unknown[]): Promise<Rows> {
  const { rows } = await onChanges(knex, (own) => runRaw<{ rows: Rows }>(own, sql, values))
  return rows
}

async function asLogin<Result>(knex: Queryable, work: (knex: Queryable) => Promise<Result>): Promise<Result> {
  const scope = scopeOf(knex)
  if (scope) return work(scope.base)
  if (!runsAsRole(knex)) return work(knex)
  // what else is asked of the transaction meanwhile is asked as its caller
  return aloneOn(await clientOf(knex).acquireConnection(), () => withoutRole(knex, work))
}

async function withoutRole<Result>(knex: Queryable, work: (knex: Queryable) => Promise<Result>): Promise<Result> {
  const { rows } = await runRaw<{ rows: readonly [{ role: string }] }>(
    knex,
    "select pg_catalog.current_setting('role') as role, pg_catalog.set_config('role', 'none', true)",
    [],
  )
  const result = await work(knex)
  await runRaw(knex, "select pg_catalog.set_config('role', ?, true)", [rows[0].role])
  return result
}
