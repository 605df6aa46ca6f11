/** Cookies of answers that shared caches may keep, and would give to everybody. */
import { beforeHead } from './before-head.js'
import type { Context } from './context.js'

/**
 * Keeps an answer out of shared caches where it sets a cookie, which is its caller's, whoever sets it: the session's
 * middleware does so when the handler has long returned.
 * @param control the `Cache-Control` that the answer has; another one stays
 */
export function keepCookiesPrivate(ctx: Context, control: string): void {
  if (!control.includes('public')) return
  const { res } = ctx
  beforeHead(ctx, () => {
    if (res.hasHeader('Set-Cookie') && res.getHeader('Cache-Control') === control)
      res.setHeader('Cache-Control', control.replace('public', 'private'))
  })
}
