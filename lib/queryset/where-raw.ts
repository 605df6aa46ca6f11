/** Conditions in the application's own SQL (promise C14). */

import type { AnyQueryBuilder } from '../models/objection.js'
import { escaped } from '../models/table-reference.js'

const PLACEHOLDER = '{idx}'

/**
 * Adds a condition in SQL to a query, where `{idx}` stands for each parameter in turn. The condition is put in
 * parentheses and AND-ed with the rest, so an OR in it stays inside. A parameter that is a list is one array.
 * The SQL is yours: never put into it what a client has sent, but give that as a parameter.
 * @example whereRaw(super.getQueryset(), 'owner_id = {idx} or shared @> {idx}::int[]', user.id, [user.id])
 * @throws TypeError there are more or fewer placeholders than parameters
 */
export function whereRaw<Query extends { whereRaw: AnyQueryBuilder['whereRaw'] }>(
  query: Query,
  sql: string,
  ...params: readonly unknown[]
): Query {
  const parts = sql.split(PLACEHOLDER)
  if (parts.length - 1 !== params.length) {
    throw new TypeError(
      `whereRaw: the SQL has ${parts.length - 1} placeholders ${PLACEHOLDER} and ${params.length} parameters were given`,
    )
  }
  // `?` is an operator of PostgreSQL's and a placeholder of knex's
  const text = parts.map(escaped).join('?')
  query.whereRaw(`(${text})`, [...params] as never)
  return query
}
