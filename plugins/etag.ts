/** Validators and `Cache-Control` for hand-written routes (spec section 4.9). */
import { type CacheOptions, cachePolicy } from '../lib/caching/cache-policy.js'
import { cacheResponse } from '../lib/caching/cache-response.js'
import type { Context, Middleware } from '../lib/context.js'

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
    if (before !== undefined) fallBackTo(ctx, String(before))
    await next()
    if (ctx.status >= 400 && before !== undefined && !ctx.res.hasHeader('Cache-Control')) {
      ctx.set('Cache-Control', String(before))
    }
    cacheResponse(ctx, policy, { keep: ctx.res.hasHeader('Cache-Control') })
  }
}

/** Takes the app's `Cache-Control` away until the headers are sent, by whomever: then it stands where no other does. */
function fallBackTo(ctx: Context, control: string): void {
  const { res } = ctx
  ctx.remove('Cache-Control')
  const writeHead = res.writeHead.bind(res) as (...values: unknown[]) => typeof res
  const writeHeadWithControl = (...values: unknown[]) => {
    if (!res.hasHeader('Cache-Control')) res.setHeader('Cache-Control', control)
    return writeHead(...values)
  }
  res.writeHead = writeHeadWithControl
}
