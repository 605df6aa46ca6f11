/** Sends what an action returned, in the form the client asked for. */
import { STATUS_CODES } from 'node:http'
import { Readable } from 'node:stream'
import { type Context, FORMAT } from '../../http/context.js'
import { isStreamed, readByRequest } from '../../http/response-body.js'
import { UNREAD } from '../../http/unread.js'
import { ApiError, NotFound } from '../../kernel/errors.js'
import { JSONRenderer } from '../../renderers/json-renderers.js'
import { type BaseRenderer, renderBody, selectRenderer } from '../../renderers/renderer.js'
import type { View } from '../view.js'

/**
 * Renders data into the response. Nothing returned and no body set is 204, or the status that the action has set;
 * an action may also set `ctx.body` itself, and a stream that it returns is the body as it is.
 * @throws ApiError the action has set a status of 400 or more and nothing to go with it
 */
export function respond(view: View, data: unknown): void {
  const { ctx } = view
  // the action has written the response itself
  if (ctx.respond === false || ctx.res.headersSent) return
  // past Koa's `set()`, which makes several arrays for each header
  ctx.res.setHeader('X-Content-Type-Options', 'nosniff')
  if (data === undefined && (ctx.body === undefined || ctx.body === null)) {
    respondEmpty(ctx)
    return
  }
  if (ctx.res.statusCode >= 400) ctx.set('Cache-Control', 'no-store')
  const isBody = isStreamed(data)
  if (isBody) ctx.body = data
  if (isBody || data === undefined) {
    readByRequest(ctx)
    return
  }
  const renderer = rendererOf(view)
  if (view.plan.policies.renderers.length > 1) ctx.vary('Accept')
  renderBody(ctx, renderer, data, { basename: view.plan.basename ?? view.constructor.name })
  // Koa tells the length of any other body
  if (ctx.method === 'HEAD' && UNREAD.get(ctx)) ctx.body = Readable.from([])
}

/** What a path takes is told by it where the path itself answers with nothing of the kind, such as a file or events. */
const METADATA: readonly BaseRenderer[] = [new JSONRenderer()]

/** The renderer for the view's request. */
export function rendererOf(view: View): BaseRenderer {
  if (view.renderer === undefined) {
    const own = view.plan.policies.renderers
    const isMetadata = view.ctx.method === 'OPTIONS' && !own.some(({ mediaType }) => mediaType.endsWith('json'))
    const renderers = isMetadata ? METADATA : own
    const isChosen = renderers.length > 1
    view.renderer = isChosen ? selectRenderer(view.ctx, renderers, { format: FORMAT.get(view.ctx) }) : renderers[0]
  }
  return view.renderer as BaseRenderer
}

function respondEmpty(ctx: Context): void {
  const { status } = ctx
  if (status === 404) throw new NotFound()
  if (status >= 400) throw new ApiError(status, STATUS_CODES[status] ?? 'Error')
  // Koa would keep a type that was set before, and write `null` for it
  ctx.remove('Content-Type')
  ctx.body = null
  if (status !== 200) ctx.status = status
}
