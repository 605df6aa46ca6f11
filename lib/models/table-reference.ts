/** Names of tables as SQL reads them. */
import type { Queryable } from '../postgres/pg-types.js'

/** A quoted name for `to_regclass`; the same parts at a dot as knex makes of a table name. */
export function toReference(knex: Queryable, table: string): string {
  const { wrapIdentifier } = knex.client.config as {
    wrapIdentifier?: (name: string, quote: (n: string) => string) => string
  }
  const quote = (name: string) => `"${name.replaceAll('"', '""')}"`
  return table
    .split('.')
    .map((part) => (wrapIdentifier ? wrapIdentifier(part, quote) : quote(part)))
    .join('.')
}
