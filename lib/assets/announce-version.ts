/** The header `X-App-Version` (promise G11). */
import { beforeHead } from '../http/before-head.js'
import type { Context } from '../http/context.js'

const VERSION_HEADER = 'X-App-Version'

/**
 * Sends the version with the response, whatever becomes of it: Koa removes all headers when an error reaches it, which
 * may be that of a stream, long after the handler has returned.
 */
export function announceVersion(ctx: Context, version: string): void {
  const { res } = ctx
  res.setHeader(VERSION_HEADER, version)
  const onerror = ctx.onerror.bind(ctx)
  // constants first: V8 puts a function that is written right into a property with what is to stay, and with it the request
  const announceAndFail: Context['onerror'] = (error) => {
    beforeHead(ctx, () => {
      if (!res.headersSent) res.setHeader(VERSION_HEADER, version)
    })
    onerror(error)
  }
  ctx.onerror = announceAndFail
}
