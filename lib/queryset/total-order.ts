/** Makes the order of a list total, so that no page repeats or loses a row (promise C10). */
import { describeModel } from '../models/describe-model.js'
import type { AnyQueryBuilder, ModelClass } from '../models/objection.js'

/** An ordering term: a property of the model, and its direction. */
export interface OrderTerm {
  readonly property: string
  readonly descending: boolean
}

/** Reads `-created_at` as a term. */
export function parseOrderTerm(text: string): OrderTerm {
  return text.startsWith('-') ? { property: text.slice(1), descending: true } : { property: text, descending: false }
}

/**
 * Orders a query by `terms`, unless it has an order of its own, and appends the primary key.
 * Names must come from a declaration, never from a client.
 */
export function orderTotally(query: AnyQueryBuilder, terms: readonly OrderTerm[]): AnyQueryBuilder {
  const model = query.modelClass() as ModelClass
  const { columns, primaryKey } = describeModel(model)
  const ordered = query.has('orderBy') || query.has('orderByRaw')
  const used = ordered ? [] : terms
  const last = used.at(-1)?.descending ?? false
  const keys = primaryKey
    .filter((property) => columns.has(property) && !used.some((term) => term.property === property))
    .map((property) => ({ property, descending: last }))
  // a query with DISTINCT or GROUP BY may only be ordered by what it selects: its order is the application's
  const closed = query.has('distinct') || query.has('distinctOn') || query.has('groupBy')
  for (const { property, descending } of closed ? used : [...used, ...keys]) {
    const column = columns.get(property)?.column ?? property
    void query.orderBy(`${query.tableRefFor(query.modelClass())}.${column}`, descending ? 'desc' : 'asc')
  }
  return query
}
