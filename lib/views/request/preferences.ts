/** What a request prefers (RFC 7240), of the actions that come with the package: what others answer, only their code knows. */

import { contentDigest, strongTag } from '../../caching/entity-tags.js'
import { type Preferences, preferencesOf } from '../../http/prefer.js'
import { actionNamed, showsObject, showsWritten } from '../actions.js'
import type { GenericView } from '../generic-view.js'
import { hasModel } from '../generic-view-class.js'
import { refuseUnknownNames } from '../steps/refuse-unknown-names.js'
import { refuseUnknownParameters } from '../steps/refuse-unknown-parameters.js'
import type { View } from '../view.js'
import { rendererOf } from './respond.js'

/** The preferences of a request that the view's action heeds. */
export function heededPreferences(view: View): Preferences | undefined {
  if (!actionNamed(view.action) || !isGeneric(view)) return undefined
  const { returns, strict } = preferencesOf(view.ctx)
  const heeded = showsWritten(view.action, view.viewClass.statuses) ? returns : undefined
  if (heeded === undefined && !strict) return undefined
  view.ctx.vary('Prefer')
  return { returns: heeded, strict }
}

function isGeneric(view: View): view is GenericView {
  const { viewClass } = view as Partial<GenericView>
  return viewClass !== undefined && hasModel(viewClass)
}

/** Refuses what would be ignored. @throws ValidationError */
export function handleStrictly(view: View): void {
  const generic = view as GenericView
  refuseUnknownParameters(generic)
  refuseUnknownNames(generic)
  view.ctx.append('Preference-Applied', 'handling=strict')
}

/** The data of an answer that shows as much as the client prefers: undefined for none, with the status and the tag of what there is. */
export function preferredAnswer(view: View, returns: 'minimal' | 'representation', data: unknown): unknown {
  const { ctx } = view
  if (data === undefined || ctx.res.headersSent || ctx.status >= 300) return data
  ctx.append('Preference-Applied', `return=${returns}`)
  if (returns === 'representation') return data
  const { rowVersion } = view as GenericView
  if (rowVersion !== undefined && showsObject(view.action)) {
    ctx.set('ETag', strongTag(rowVersion, contentDigest(rendererOf(view).render(data, {}))))
  }
  return undefined
}
