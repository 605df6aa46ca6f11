/** Limits how often a caller may ask, on any route. */

import { type Middleware, routeAction } from '../lib/http/context.js'
import { passOn, runTraced } from '../lib/http/request-trace.js'
import type { Policy } from '../lib/kernel/policy.js'
import { checkThrottles } from '../lib/throttling/check-throttles.js'
import { settleThrottles } from '../lib/throttling/settle-throttles.js'
import type { BaseThrottle } from '../lib/throttling/throttle.js'

/**
 * Asks throttles before anything that is mounted after it. Before `authentication()` it counts everybody by address,
 * failed logins too.
 * @throws {ConfigurationError} a throttle has a wrong rate or no store
 * @example router.get('/report', throttle(new ScopedRateThrottle({ scope: 'report', rate: '10/minute' })), report)
 */
export function throttle(...throttles: readonly Policy<BaseThrottle>[]): Middleware {
  const settled = settleThrottles('throttle()', throttles)
  return async function throttleRequests(ctx, next) {
    const view = { action: routeAction(ctx) }
    const step = { phase: 'throttles', policies: settled, run: () => checkThrottles(ctx, view, settled) } as const
    if (await runTraced(ctx, step)) await passOn(ctx, next)
  }
}
