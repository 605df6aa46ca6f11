/** Names of tables as SQL reads them. */
import type { Queryable } from '../postgres/pg-types.js'

/** A quoted name for `to_regclass`; the same parts at a dot as knex makes of a table name. */
export function toReference(knex: Queryable, table: string): string {
  const { wrapIdentifier } = knex.client.config as {
    wrapIdentifier?: (name: string, quote: (n: string) => string) => string
  }
  return table
    .split('.')
    .map((part) => (wrapIdentifier ? wrapIdentifier(part, quoteIdentifier) : quoteIdentifier(part)))
    .join('.')
}

/** A name as SQL quotes it. */
export function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}
