/** Writes data into the response by a renderer. */
import type { Context } from '../http/context.js'
import type { BaseRenderer, RenderContext } from './renderer.js'

/** Sets body, `Content-Type` and what other headers the renderer has. */
export function renderBody(ctx: Context, renderer: BaseRenderer, data: unknown, context: RenderContext): void {
  const body = renderer.render(data, context)
  if (!ctx.res.headersSent) ctx.res.setHeader('Content-Type', renderer.contentType)
  const headers = renderer.headers(context)
  if (headers) ctx.set(headers as Record<string, string>)
  ctx.body = body
}
