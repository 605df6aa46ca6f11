/** The client that a query reads for: its statement, and those of queries that are made of it, end when the client has gone. */

import type { AnyQueryBuilder } from '../models/objection.js'
import type { StatementClient } from '../postgres/run-statement.js'

const RECIPIENT = Symbol('who waits for the rows')

/** The query, which remembers who waits for its rows: so do the queries of related rows that are made for it. */
export function readFor<Query extends AnyQueryBuilder>(query: Query, recipient: StatementClient | undefined): Query {
  return recipient ? query.context({ [RECIPIENT]: recipient }) : query
}

/** Recipient of the rows of a query. */
export function recipientOf(query: AnyQueryBuilder): StatementClient | undefined {
  return (query.context() as { readonly [RECIPIENT]?: StatementClient })[RECIPIENT]
}
