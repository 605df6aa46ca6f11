/** Validators and `Cache-Control` for hand-written routes (spec section 4.9). */
import { type CacheOptions, cachePolicy } from '../lib/caching/cache-policy.js'
import { cacheResponse } from '../lib/caching/cache-response.js'
import type { Middleware } from '../lib/context.js'

/**
 * Adds `ETag` and `Cache-Control` to 200 answers of GET and HEAD, and answers 304 to a client that has the
 * representation: texts, buffers and objects, not streams. A `Cache-Control` or an `ETag` of the handler's own stays.
 * @throws {ConfigurationError} maxAge is no whole number of at least 0
 * @example router.get('/report', etag({ maxAge: 60 }), handler)
 */
export function etag(options: CacheOptions = {}): Middleware {
  const policy = cachePolicy('etag()', options)
  return async function addValidators(ctx, next) {
    const before = ctx.res.getHeader('Cache-Control')
    // what is there afterwards is the handler's own
    ctx.remove('Cache-Control')
    try {
      await next()
      cacheResponse(ctx, policy, { keep: ctx.res.hasHeader('Cache-Control') })
    } finally {
      const isOpen = !ctx.headerSent && !ctx.res.hasHeader('Cache-Control')
      if (isOpen && before !== undefined) ctx.set('Cache-Control', String(before))
    }
  }
}
