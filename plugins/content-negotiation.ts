/** Reads bodies and writes answers of hand-written routes as views do. */

import type { Middleware } from '../lib/http/context.js'
import { passOn, runTraced } from '../lib/http/request-trace.js'
import { setPendingRender } from '../lib/http/response-end.js'
import {
  type NegotiationOptions,
  readRequest,
  renderAnswer,
  settleNegotiation,
} from '../lib/views/request/negotiate.js'

/**
 * Parses the body of POST, PUT and PATCH into `ctx.request.body`, files into `ctx.request.files`, and writes a plain
 * object or list in `ctx.body` by the renderer that suffix or `Accept` ask for. Files are removed after the response. A
 * handler of a `Context` of this package, `async (ctx: Context) => …`, has the body in its types.
 * @throws ConfigurationError an option is wrong
 * @example router.post('/import', contentNegotiation({ parsers: [MultiPartParser], renderers: [JSONRenderer, CSVRenderer] }), handler)
 */
export function contentNegotiation(options: NegotiationOptions = {}): Middleware {
  const negotiation = settleNegotiation(options)
  return async function negotiateContent(ctx, next) {
    if (!(await runTraced(ctx, { phase: 'body', run: () => readRequest(ctx, negotiation) }))) return
    setPendingRender(ctx, () => renderAnswer(ctx, negotiation))
    await passOn(ctx, next)
    await runTraced(ctx, { phase: 'render', run: () => renderAnswer(ctx, negotiation) })
  }
}
