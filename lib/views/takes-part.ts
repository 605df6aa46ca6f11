/** Partial bodies: which actions leave fields as they are that the body leaves out. */
import type { ActionPlan } from './action-plan.js'

const PARTIAL: ReadonlySet<string> = new Set(['partialUpdate', 'bulkUpdate'])

/** True of PATCH, and of a PUT whose class says so (`partialPut`). */
export function takesPart({ action, viewClass }: Pick<ActionPlan, 'action' | 'viewClass'>): boolean {
  return PARTIAL.has(action) || (action === 'update' && 'partialPut' in viewClass && viewClass.partialPut === true)
}
