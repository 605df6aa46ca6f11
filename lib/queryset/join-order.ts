/** Joins a list to what it is ordered by in tables of related objects, where that doubles no row and hides no name. */

import type { AnyQueryBuilder } from '../models/objection.js'
import type { OrderTerm, RelatedTerm } from './total-order.js'

/** What a join would be an error in: PostgreSQL locks no rows that may be missing, and a union has columns of its own. */
const SHAPED = /^(for(NoKey)?Update|for(Key)?Share|union|intersect|except)/

/** True for a query that may be joined: its rows stay what they are. It stays true of a query that is joined. */
export function isJoinable(query: AnyQueryBuilder): boolean {
  // documented, but missing from Objection's types: true for `select *`, which would have the join's columns, too
  const selecting = query as AnyQueryBuilder & { hasSelection(column: string, explicit: boolean): boolean }
  return !query.has(SHAPED) && !selecting.hasSelection(`${ORDER}.${VALUE}`, true)
}

const ORDER = 'order'
/** What the joined value is called; with a space, so that it is no column of the application's. */
export const VALUE = 'order value'

type Joined = OrderTerm & { readonly related: { readonly join: NonNullable<RelatedTerm['join']> } }

/** Joins a query to the values that `value()` of its terms then names. */
export function joinOrder(query: AnyQueryBuilder, order: readonly OrderTerm[]): AnyQueryBuilder {
  const joined = order.filter((term): term is Joined => term.related?.join !== undefined)
  if (joined.length === 0 || !isJoinable(query)) return query
  for (const { related } of new Map(joined.map((term) => [term.property, term])).values()) {
    const { sql, bindings } = related.join(query)
    void query.joinRaw(sql, bindings)
  }
  return query
}
