/** The `Cache-Control` of the application, in whose place comes that of what answers. */
import { beforeHead } from '../http/before-head.js'
import { type Context, RequestSlot } from '../http/context.js'

/** Puts back what was taken away before a view has answered. */
export const CONTROL_BEFORE = new RequestSlot<() => void>('the Cache-Control before the view')

/**
 * Takes the app's `Cache-Control` away, but for an answer that the handler sends by itself.
 * @returns puts it back, where there is no other; undefined where there is none
 */
export function takeControlAway(ctx: Context): (() => void) | undefined {
  const { res } = ctx
  const control = res.getHeader('Cache-Control')
  if (control === undefined) return undefined
  let isAway = true
  const putBack = () => {
    if (isAway && !res.headersSent && !res.hasHeader('Cache-Control')) res.setHeader('Cache-Control', control)
    isAway = false
  }
  ctx.remove('Cache-Control')
  beforeHead(ctx, putBack)
  return putBack
}
