/** Validators and `Cache-Control` for hand-written routes. */
import { type CacheOptions, cachePolicy } from '../lib/caching/cache-policy.js'
import { cacheResponse } from '../lib/caching/cache-response.js'
import type { Context, Middleware } from '../lib/http/context.js'

/**
 * Adds `ETag` and `Cache-Control` to 200 answers of GET, HEAD and QUERY, and answers 304 to a client that has the
 * representation: strings, buffers and objects, not streams. A `Cache-Control` or an `ETag` of the handler's own stays.
 * @throws {ConfigurationError} an option is wrong
 * @example router.get('/report', etag({ maxAge: 60 }), handler)
 */
export function etag(options: CacheOptions = {}): Middleware {
  const policy = cachePolicy('etag()', options)
  return async function addValidators(ctx, next) {
    const before = ctx.res.getHeader('Cache-Control')
    // what is there afterwards is the handler's own
    const putBack = before === undefined ? undefined : fallBackTo(ctx, String(before))
    try {
      await next()
    } catch (error) {
      putBack?.()
      throw error
    }
    const isOwn = ctx.res.hasHeader('Cache-Control')
    if (ctx.status !== 200) putBack?.()
    cacheResponse(ctx, policy, { keep: isOwn })
    putBack?.()
  }
}

/**
 * Takes the app's `Cache-Control` away, but for an answer that the handler sends by itself.
 * @returns puts it back, where there is no other
 */
function fallBackTo(ctx: Context, control: string): () => void {
  const { res } = ctx
  let isAway = true
  const putBack = () => {
    if (isAway && !res.headersSent && !res.hasHeader('Cache-Control')) res.setHeader('Cache-Control', control)
    isAway = false
  }
  ctx.remove('Cache-Control')
  const writeHead = res.writeHead.bind(res) as (...values: unknown[]) => typeof res
  const writeHeadWithControl = (...values: unknown[]) => {
    putBack()
    return writeHead(...values)
  }
  res.writeHead = writeHeadWithControl
  return putBack
}
