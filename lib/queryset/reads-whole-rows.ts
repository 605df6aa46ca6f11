/** Tells queries that only choose rows of their table from those that also make something of them. */
import type { AnyQueryBuilder, ModelClass } from '../models/objection.js'
import { hasContextHooks } from './context-hooks.js'
import { isShaped } from './count-rows.js'
import { hasOwn } from './group-conditions.js'

/** Operations that a query may have besides its conditions. */
const HOOKED =
  /^(runBefore|runAfter|onError|onBuild|onBuildKnex|first|forUpdate|forShare|from|timeout|range|page|eager|modifyGraph)$/

/** True when the query returns rows as its table has them: no columns of its own, no grouping, no graph, no hooks. */
export function readsWholeRows(query: AnyQueryBuilder): boolean {
  return !query.hasSelects() && !isShaped(query) && !hasOwn(query, HOOKED) && !hasContextHooks(query)
}

/** True where a modifier adds conditions, joins and orders: the rows are still those of the table. */
export function choosesRows(model: ModelClass, modifier: string | ((query: AnyQueryBuilder) => unknown)): boolean {
  const query = model.query() as AnyQueryBuilder
  try {
    void query.modify(modifier as string)
  } catch {
    // it needs what only a request has
    return false
  }
  return readsWholeRows(query)
}
