/** Keeps an OR of the application apart from the conditions that are added to it. */
import type { AnyQueryBuilder } from '../models/objection.js'

/** Objection copies the conditions of one query into another by this; it is not in its types. */
interface Copying {
  copyFrom(query: AnyQueryBuilder, operations: RegExp): void
}

/**
 * The same query with its conditions in one pair of parentheses, if an OR stands at their top: `a or b` and then `id = 5`
 * would be read as `a or (b and id = 5)`, and let out what the application hides.
 */
export function groupConditions(query: AnyQueryBuilder): AnyQueryBuilder {
  if (!query.has(/^orWhere/)) return query
  const grouped = query.clone().clearWhere()
  return grouped.where((conditions) => {
    ;(conditions as unknown as Copying).copyFrom(query, /where/i)
  })
}
