/** The header `X-App-Version` (spec section 9.2; promise G11). */
import type { Context } from '../context.js'

const VERSION_HEADER = 'X-App-Version'

/**
 * Sends the version with the response, whatever becomes of it: Koa removes all headers when an error reaches it, which
 * may be a stream's long after the handler has returned.
 */
export function announceVersion({ res }: Context, version: string): void {
  res.setHeader(VERSION_HEADER, version)
  const writeHead = res.writeHead.bind(res) as (...values: unknown[]) => typeof res
  res.writeHead = function writeVersionHead(...values: unknown[]) {
    if (!res.headersSent && !res.hasHeader(VERSION_HEADER)) res.setHeader(VERSION_HEADER, version)
    return writeHead(...values)
  }
}
