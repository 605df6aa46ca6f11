/** Narrows a query to the rows beyond a position, each range of them read from its own place in the index. */
import type { AnyQueryBuilder } from '../models/objection.js'
import type { SqlPart } from './keyset.js'

export interface BeyondOptions {
  /** The rows beyond the position, from `rangesBeyond`. */
  readonly ranges: readonly SqlPart[]
  /** The columns of the primary key. */
  readonly keys: readonly string[]
  /** Puts a query in the list's order and cuts it to the size of a page. */
  ordered(query: AnyQueryBuilder): AnyQueryBuilder
}

/**
 * Adds the condition. One range is a condition like any other. Of several, an OR would make PostgreSQL read the list from
 * its start, so the keys of one page of each range are looked up first: that costs a few times one page, wherever it is.
 */
export function whereBeyond(query: AnyQueryBuilder, { ranges, keys, ordered }: BeyondOptions): void {
  const [only] = ranges
  if (!only) {
    void query.whereRaw('false')
  } else if (ranges.length === 1) {
    void query.whereRaw(only.sql, only.bindings as never)
  } else {
    const table = query.tableRefFor(query.modelClass())
    const references = keys.map((key) => `${table}.${key}`)
    const pages = ranges.map(({ sql, bindings }) =>
      ordered(
        (query.clone() as AnyQueryBuilder)
          .clear(/^(orderBy|select|column|withGraph)/)
          .select(references)
          .whereRaw(sql, bindings as never),
      ),
    )
    const names = references.map(() => '??').join(', ')
    const union = pages.map(() => '?').join(' union all ')
    void query.whereRaw(`(${names}) in (${union})`, [...references, ...pages] as never)
  }
}
