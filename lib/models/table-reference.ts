/** Names of tables as SQL reads them. */
import type { Queryable } from '../postgres/pg-types.js'

/** What a name must not be, and why. */
const UNFIT_FOR_KNEX: readonly (readonly [RegExp, string])[] = [
  // the place of a value
  [/\?/, 'knex can carry no name with a question mark'],
  // an alias
  [/\sas(?:\s|$)/i, 'knex takes what follows " as " for another name'],
  // it is trimmed
  [/^\s|\s$|[\u2028\u2029]/, 'knex can carry no name with white space at its ends, nor with U+2028 or U+2029'],
  // all columns
  [/^\*$/, 'knex takes "*" for all columns'],
]

/** Why no statement of knex can name a table or a column; undefined for a name that one can. */
export function knexProblem(name: string): string | undefined {
  return UNFIT_FOR_KNEX.find(([pattern]) => pattern.test(name))?.[1]
}

/** A quoted name for `to_regclass`; the same parts at a dot as knex makes of a table name. */
export function toReference(knex: Queryable, table: string): string {
  return table
    .split('.')
    .map((part) => written(knex, part, quoteIdentifier))
    .join('.')
}

/** The name that knex makes of one of a model's, without quotes. */
export function writtenName(knex: Queryable, name: string): string {
  return written(knex, name, (native) => native)
}

function written(knex: Queryable, name: string, quote: (native: string) => string): string {
  const { wrapIdentifier = (own, asIs) => asIs(own) } = knex.client.config as {
    wrapIdentifier?: (name: string, quote: (native: string) => string) => string
  }
  return wrapIdentifier(name, quote)
}

/** A name as SQL quotes it. */
export function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`
}

/** SQL for `raw()` of knex, which takes a question mark for the place of a value. */
export function escaped(sql: string): string {
  return sql.replaceAll('?', '\\?')
}

/** The name of a table without its schema, as an alias has it. */
export function bareName(table: string): string {
  return table.slice(table.lastIndexOf('.') + 1)
}
