/** Which preferences of a request (RFC 7240) an action heeds. */

import { type Preferences, preferencesOf } from '../../http/prefer.js'
import type { ActionPlan } from '../action-plan.js'
import { actionNamed, showsWritten } from '../actions.js'
import type { GenericView } from '../generic-view.js'
import { hasModel } from '../generic-view-class.js'
import type { View } from '../view.js'

/** True for an action that heeds preferences: of the application's own those that declare what they take. */
export function heedsPreferences({ action, resource, inputSerializer, querySerializer }: ActionPlan): boolean {
  if (!resource || !hasModel(resource.view)) return false
  return [actionNamed(action), inputSerializer, querySerializer].some((one) => one !== undefined)
}

/** The preferences of a request that the view's action heeds. */
export function heededPreferences(view: View): Preferences | undefined {
  if (view.ctx.req.headers['prefer'] === undefined || !heedsPreferences(view.plan)) return undefined
  const { action, resource } = view.plan
  const { returns, strict } = preferencesOf(view.ctx)
  const heeded = resource && showsWritten(action, resource.view.statuses) ? returns : undefined
  if (heeded === undefined && !strict) return undefined
  view.ctx.vary('Prefer')
  return { returns: heeded, strict }
}

/** True where the class refuses unknown names in bodies, or the client prefers that. */
export function refusesUnknown(view: GenericView): boolean {
  return view.plan.viewClass.strictBody !== false || heededPreferences(view)?.strict === true
}
