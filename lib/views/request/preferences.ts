/** What a request prefers (RFC 7240), of the actions that come with the package: what others answer, only their code knows. */

import { contentDigest, ROW_VERSION, strongTag } from '../../caching/cache-response.js'
import { isSafeMethod } from '../../http/context.js'
import { actionNamed, showsObject } from '../actions.js'
import type { GenericView } from '../generic-view.js'
import { refuseUnknownNames } from '../steps/refuse-unknown-names.js'
import { refuseUnknownParameters } from '../steps/refuse-unknown-parameters.js'
import type { View } from '../view.js'
import { rendererOf } from './respond.js'

/** Refuses what would be ignored, as the class declares or the client prefers. @throws ValidationError */
export function handleStrictly(view: GenericView, isPreferred: boolean): void {
  const { ctx, plan } = view
  // those of writes were refused before there was a connection
  if (isSafeMethod(ctx.method) || !plan.resource) refuseIgnored(view, isPreferred)
  refuseUnknownNames(view)
  if (isPreferred) ctx.append('Preference-Applied', 'handling=strict')
}

/** Refuses parameters that would be ignored. @throws ValidationError */
export function refuseIgnored(view: GenericView, isPreferred: boolean): void {
  const { action, querySerializer, viewClass } = view.plan
  const isRead = action === 'retrieve' || querySerializer !== undefined
  // what an action of the application's reads without declaring it, only its code knows; lists check where they read
  const isKnown = querySerializer !== undefined || actionNamed(action) !== undefined
  if (isKnown && (isPreferred || (viewClass.strictParams && action !== 'list'))) {
    refuseUnknownParameters(view, !(isPreferred || isRead))
  }
}

/** The data of an answer that shows as much as the client prefers: undefined for none, with the status and the tag of what there is. */
export function preferredAnswer(view: View, returns: 'minimal' | 'representation', data: unknown): unknown {
  const { ctx } = view
  if (data === undefined || ctx.res.headersSent || ctx.status >= 300) return data
  ctx.append('Preference-Applied', `return=${returns}`)
  if (returns === 'representation') return data
  const rowVersion = ROW_VERSION.get(ctx)
  if (rowVersion !== undefined && showsObject(view.plan.action)) {
    ctx.set('ETag', strongTag(rowVersion, contentDigest(rendererOf(view).render(data, {}))))
  }
  return undefined
}
