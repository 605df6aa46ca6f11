/** Counts the rows of a list: its conditions only, no order, no columns, no related objects (promise D3). */
import type { AnyQueryBuilder } from '../models/objection.js'

const SHAPED = /^(groupBy|having|distinct|union|limit|offset|with\w*Recursive|with$)/

/** The number of rows the query would return without a page. */
export async function countRows(query: AnyQueryBuilder): Promise<number> {
  if (query.has(SHAPED)) return Number(await query.clone().resultSize())
  const counting = query.clone().clear(/^(orderBy|select|column|withGraph)/)
  const [row] = await counting.count('* as count').castTo<{ count: string | number }[]>()
  return Number(row?.count ?? 0)
}
