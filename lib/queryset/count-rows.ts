/** Counts the rows of a list: its conditions only, no order, no columns, no related objects (promise D3). */
import type { AnyQueryBuilder } from '../models/objection.js'

const SHAPED = /^(groupBy|having|distinct|union|limit|offset|with\w*Recursive|with$)/

/** The number of rows the query would return without a page. */
export async function countRows(query: AnyQueryBuilder): Promise<number> {
  if (isShaped(query)) return Number(await query.clone().resultSize())
  const [row] = await countQuery(query).castTo<{ count: string | number }[]>()
  return Number(row?.count ?? 0)
}

/** The query that counts, for a query without DISTINCT, grouping and the like. */
export function countQuery(query: AnyQueryBuilder): AnyQueryBuilder {
  const counting = query.clone().clear(/^(orderBy|select|column|withGraph)/) as AnyQueryBuilder
  return counting.count('* as count') as unknown as AnyQueryBuilder
}

/** True for a query whose rows are not those of its table one by one. */
export function isShaped(query: AnyQueryBuilder): boolean {
  return query.has(SHAPED)
}
