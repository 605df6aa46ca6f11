/** Second attempts of an action, on another server or without locks: they begin as the first did. */

import { ROW_VERSION } from '../../caching/cache-response.js'
import { FORMAT } from '../../http/context.js'
import type { View } from '../view.js'

/** Makes the view and its answer what they are now, whatever an attempt leaves there. */
export function resetOf(view: View): () => void {
  const { ctx, parentKey, renderer, afterAction } = view
  const headers = ctx.res.getHeaders()
  const { status } = ctx
  const params = ctx['params'] as unknown
  const format = FORMAT.get(ctx)
  const version = ROW_VERSION.get(ctx)
  const begun = afterAction?.length ?? 0
  return () => {
    for (const name of ctx.res.getHeaderNames()) {
      const value = headers[name]
      if (value === undefined) ctx.res.removeHeader(name)
      else ctx.res.setHeader(name, value)
    }
    ctx.status = status
    ctx['params'] = params
    FORMAT.set(ctx, format)
    ROW_VERSION.set(ctx, version)
    Object.assign(view, { parentKey, renderer })
    view.afterAction?.splice(begun)
  }
}
