/** The fourth step of dispatch: is it too often (spec section 8). */
import type { Context } from '../context.js'
import type { BaseThrottle, ThrottledView } from './throttle.js'

/** Asks each throttle in order; the first that refuses answers, and those before it have counted. @throws Throttled */
export async function checkThrottles(
  ctx: Context,
  view: ThrottledView,
  throttles: readonly BaseThrottle[],
): Promise<void> {
  for (const throttle of throttles) await throttle.check(ctx, view)
}
