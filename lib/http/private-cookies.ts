/** Cookies of answers that shared caches may keep, and would give to everybody. */
import type { Context } from './context.js'

/**
 * Keeps an answer out of shared caches where it sets a cookie, which is its caller's, whoever sets it: the session's
 * middleware does so when the handler has long returned.
 * @param control the `Cache-Control` that the answer has; another one stays
 */
export function keepCookiesPrivate({ res }: Context, control: string): void {
  if (!control.includes('public')) return
  const writeHead = res.writeHead.bind(res) as (...values: unknown[]) => typeof res
  const writePrivately = (...values: unknown[]) => {
    if (res.hasHeader('Set-Cookie') && res.getHeader('Cache-Control') === control) {
      res.setHeader('Cache-Control', control.replace('public', 'private'))
    }
    return writeHead(...values)
  }
  res.writeHead = writePrivately
}
