/** Which pages may ask: a browser tells where a request comes from, and a page of anywhere can reach a server on the user's own machine. */
import type { Context } from '../http/context.js'

const LOOPBACK = /^https?:\/\/(?:localhost|127(?:\.\d{1,3}){3}|\[::1\])(?::\d+)?$/i

/** True without an `Origin`, of a page of this machine, and of the origins that are allowed. */
export function isAllowedOrigin({ req }: Context, allowed: ReadonlySet<string>): boolean {
  const { origin } = req.headers
  return origin === undefined || LOOPBACK.test(origin) || allowed.has(origin)
}
