/** Sends what an action returned, in the form the client asked for (spec section 4.9). */
import { formatOf } from '../path-suffix.js'
import { selectRenderer } from '../renderers/select-renderer.js'
import type { View } from './view.js'

/** Renders data into the response. Nothing returned and no body set is 204; an action may also set `ctx.body` itself. */
export function respond(view: View, data: unknown): void {
  const { ctx, policies } = view
  ctx.set('X-Content-Type-Options', 'nosniff')
  if (data === undefined) {
    if (ctx.body === undefined || ctx.body === null) ctx.body = null
    return
  }
  const { renderers } = policies
  const renderer = selectRenderer(ctx, renderers, formatOf(ctx))
  if (renderers.length > 1) ctx.vary('Accept')
  ctx.set('Content-Type', renderer.contentType)
  ctx.body = renderer.render(data)
}
