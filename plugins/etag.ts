/** Validators and `Cache-Control` for hand-written routes. */
import { type CacheOptions, cachePolicy } from '../lib/caching/cache-policy.js'
import { cacheResponse, keepPrivate } from '../lib/caching/cache-response.js'
import { takeControlAway } from '../lib/caching/control-before.js'
import type { Middleware } from '../lib/http/context.js'

/**
 * Adds `ETag` and `Cache-Control` to 200 answers of GET, HEAD and QUERY, and answers 304 to a client that has the
 * representation: strings, buffers and objects, not streams. A `Cache-Control` or an `ETag` of the handler's own stays.
 * @throws {ConfigurationError} an option is wrong
 * @example router.get('/report', etag({ maxAge: 60 }), handler)
 */
export function etag(options: CacheOptions = {}): Middleware {
  const policy = cachePolicy('etag()', options)
  return async function addValidators(ctx, next) {
    // what is there afterwards is the handler's own
    const putBack = takeControlAway(ctx)
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
    // what nobody says anything of stays so, such as a 304 of the handler's own
    if (ctx.res.hasHeader('Cache-Control')) keepPrivate(ctx)
  }
}
