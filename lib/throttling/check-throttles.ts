/** Throttle checks, the fourth step of dispatch: 429 where one refuses. */
import type { Context } from '../http/context.js'
import { Throttled } from '../kernel/errors.js'
import { type RateLimitLine, setRateLimitHeaders } from './rate-limit-headers.js'
import type { BaseThrottle, ThrottledView } from './throttle.js'

/**
 * Asks each throttle in order and shows in the `RateLimit` headers what they said. The first that refuses answers;
 * those before it have counted, those after it are not asked (promise H10).
 * @throws Throttled
 */
export async function checkThrottles(
  ctx: Context,
  view: ThrottledView,
  throttles: readonly BaseThrottle[],
): Promise<void> {
  const lines: RateLimitLine[] = []
  let wait: number | undefined
  try {
    for (const throttle of throttles) {
      const rate = throttle.rateFor(view)
      if (wait !== undefined) {
        if (rate) lines.push({ rate, state: undefined, applies: await throttle.applies(ctx, view) })
        continue
      }
      const answer = throttle.check(ctx, view)
      const state = (answer instanceof Promise ? await answer : answer) || undefined
      if (rate) lines.push({ rate, state, applies: state !== undefined })
      if (state?.allowed === false) wait = state.wait
    }
  } finally {
    setRateLimitHeaders(ctx, lines)
  }
  if (wait !== undefined) throw new Throttled(wait)
}
