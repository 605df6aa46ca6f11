/**
 * Columns and tables that `prepare()` has seen: an error about one of them is about a schema that has changed since, and no
 * fault of the client or of the application's SQL. A migration was too early, or this process is too old.
 */

import { firstTime, oncePer } from '../kernel/once-per.js'
import { isError } from '../kernel/realms.js'
import { mentionsOf, type NativeError, nativeMessage } from './native-error.js'
import { clientOf, type Queryable } from './pg-types.js'

/** Columns by table, both without schema. */
type Names = Map<string, Set<string>>

const namesIn = oncePer((_database: object): Names => new Map())
/** Names of all databases together, for an error of an unknown database. */
const ofAll: Names = new Map()
/** The database that an error comes from. */
const origins = new WeakMap<Error, object>()

const isNew = firstTime()

/** Remembers the columns of a table. @param database by what its pools and transactions have in common */
export function rememberNames(table: string, columns: readonly string[], database?: object): void {
  for (const known of [ofAll, ...(database ? [namesIn(database)] : [])]) {
    known.set(table, new Set([...(known.get(table) ?? []), ...columns]))
  }
}

/** Remembers of the errors of a database that they are its own: a table of one name has other columns elsewhere. */
export function noteErrors(knex: Queryable, database: object): void {
  const client = clientOf(knex)
  if (!isNew(client)) return
  client.on('query-error', (error) => {
    if (isError(error)) origins.set(error, database)
  })
}

function namesFor(error: NativeError): Names {
  const origin = origins.get(error)
  const known = origin && namesIn(origin)
  return known && known.size > 0 ? known : ofAll
}

/** True for a missing column that was there. */
export function isColumnGone(error: NativeError): boolean {
  const message = nativeMessage(error)
  return [...namesFor(error).values()].some((columns) =>
    [...columns].some((column) => mentionsOf(message, column).length > 0),
  )
}

/** True for a missing table that was there; not where a statement refers to one that it does not select from. */
export function isTableGone(error: NativeError): boolean {
  const message = nativeMessage(error)
  return (
    error.routine === 'parserOpenTable' &&
    [...namesFor(error).keys()].some((table) => mentionsOf(message, table).length > 0)
  )
}

/** True for a column that must have a value, and that is newer than what is known. */
export function isColumnNew(error: NativeError): boolean {
  const { table, column } = error
  const columns = typeof table === 'string' ? namesFor(error).get(table) : undefined
  return columns !== undefined && typeof column === 'string' && !columns.has(column)
}
