/**
 * What `prepare()` has read, by the names of the database: an error about one of them is about a schema that has changed since,
 * and no fault of the client or of the application's SQL. A migration was too early, or this process is too old.
 */

import { type NativeError, nativeMessage } from './native-error.js'

/** Columns by table, of all databases together. */
const known = new Map<string, Set<string>>()

/** Remembers the columns of a table, both without schema. */
export function rememberNames(table: string, columns: readonly string[]): void {
  const names = known.get(table) ?? new Set()
  for (const column of columns) names.add(column)
  known.set(table, names)
}

/** True for a missing column that was there. */
export function isColumnGone(error: NativeError): boolean {
  const message = nativeMessage(error)
  return [...known.values()].some((columns) => [...columns].some((column) => names(message, column)))
}

/** True for a missing table that was there; not where a statement refers to one that it does not select from. */
export function isTableGone(error: NativeError): boolean {
  const message = nativeMessage(error)
  return error.routine === 'parserOpenTable' && [...known.keys()].some((table) => names(message, table))
}

/** True for a column that must have a value, and that is newer than what is known. */
export function isColumnNew({ table, column }: NativeError): boolean {
  const columns = typeof table === 'string' ? known.get(table) : undefined
  return columns !== undefined && typeof column === 'string' && !columns.has(column)
}

const BEFORE = /["„“»«.]$/u
const AFTER = /^(?:["“”«»\s]|$)/u

/** True for a message that has the name behind a dot or in quotation marks, in whichever language. */
function names(message: string, name: string): boolean {
  for (let at = message.indexOf(name); at !== -1; at = message.indexOf(name, at + 1)) {
    if (BEFORE.test(message.slice(0, at)) && AFTER.test(message.slice(at + name.length))) return true
  }
  return false
}
