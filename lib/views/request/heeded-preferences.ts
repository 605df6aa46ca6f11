/** Which preferences of a request (RFC 7240) an action heeds. */

import { type Preferences, preferencesOf } from '../../http/prefer.js'
import { actionNamed, showsWritten } from '../actions.js'
import type { GenericView } from '../generic-view.js'
import { hasModel } from '../generic-view-class.js'
import type { View } from '../view.js'

/** The preferences of a request that the view's action heeds: of one of the application's, what it declares to take. */
export function heededPreferences(view: View): Preferences | undefined {
  const { resource } = view.plan
  if (view.ctx.req.headers['prefer'] === undefined || !resource || !hasModel(resource.view)) return undefined
  const { action, inputSerializer, querySerializer } = view.plan
  if (!(actionNamed(action) || inputSerializer || querySerializer)) return undefined
  const { returns, strict } = preferencesOf(view.ctx)
  const heeded = showsWritten(action, resource.view.statuses) ? returns : undefined
  if (heeded === undefined && !strict) return undefined
  view.ctx.vary('Prefer')
  return { returns: heeded, strict }
}

/** True where the class refuses unknown names in bodies, or the client prefers that. */
export function refusesUnknown(view: GenericView): boolean {
  return view.plan.viewClass.strictBody !== false || heededPreferences(view)?.strict === true
}
