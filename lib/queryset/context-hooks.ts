/** Hooks that a query carries in its context: Objection runs them for its relations, too. */
import type { AnyQueryBuilder } from '../models/objection.js'

/** True for a query with such hooks. */
export function hasContextHooks(query: AnyQueryBuilder): boolean {
  const { onBuild, runBefore, runAfter } = query.context() as Record<string, unknown>
  return onBuild !== undefined || runBefore !== undefined || runAfter !== undefined
}
