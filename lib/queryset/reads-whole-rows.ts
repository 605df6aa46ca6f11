/** Tells queries that only choose rows of their table from those that also make something of them. */
import type { AnyQueryBuilder } from '../models/objection.js'
import { hasContextHooks } from './context-hooks.js'
import { isShaped } from './count-rows.js'
import { hasOwn } from './group-conditions.js'

/** What a query may do besides its conditions. */
const HOOKED =
  /^(runBefore|runAfter|onError|onBuild|onBuildKnex|first|forUpdate|forShare|from|timeout|range|page|eager|modifyGraph)$/

/** True when the query returns rows as its table has them: no columns of its own, no grouping, no graph, no hooks. */
export function readsWholeRows(query: AnyQueryBuilder): boolean {
  return !query.hasSelects() && !isShaped(query) && !hasOwn(query, HOOKED) && !hasContextHooks(query)
}
