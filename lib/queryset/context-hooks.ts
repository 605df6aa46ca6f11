/** Hooks that a query carries in its context: Objection runs them for its relations, too. */
import type { AnyQueryBuilder } from '../models/objection.js'

/** Hooks of ours that change neither a query nor what it finds. */
export const quietHooks = new WeakSet<object>()

/** True for a query with such hooks, but for quiet ones. */
export function hasContextHooks(query: AnyQueryBuilder): boolean {
  const { onBuild, runBefore, runAfter } = query.context() as Record<string, object | undefined>
  return (onBuild !== undefined && !quietHooks.has(onBuild)) || runBefore !== undefined || runAfter !== undefined
}
