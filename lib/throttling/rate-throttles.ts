/** Throttles of callers, counting in memory. */
import { callerOf } from '../http/caller.js'
import { type Context, isAnonymous } from '../http/context.js'
import { described } from '../kernel/declarations.js'
import { takesOptions } from '../kernel/option-kinds.js'
import { type CacheKey, SimpleRateThrottle } from './simple-rate-throttle.js'
import type { ThrottledView } from './throttle.js'

/**
 * Limits anonymous callers, by address; whoever is logged in passes uncounted.
 * @example static override throttleClasses = [new AnonRateThrottle({ rate: '20/minute' })]
 */
export class AnonRateThrottle extends SimpleRateThrottle {
  static override budget = 'anon'
  /** How many requests in which time, `N/period`: a `second`, `minute`, `hour` or `day`, or its first letter. @default '100/hour' */
  override rate = '100/hour'

  getCacheKey(ctx: Context, _view: ThrottledView): CacheKey | Promise<CacheKey> {
    return isAnonymous(ctx.state['user']) ? callerOf(ctx) : null
  }
}

/** Limits users by their `id`; by address anonymous callers, and users without one. */
export class UserRateThrottle extends SimpleRateThrottle {
  static override budget = 'user'
  /** How many requests in which time, `N/period`: a `second`, `minute`, `hour` or `day`, or its first letter. @default '1000/hour' */
  override rate = '1000/hour'

  getCacheKey(ctx: Context, _view: ThrottledView): CacheKey | Promise<CacheKey> {
    return callerOf(ctx)
  }
}

for (const made of [AnonRateThrottle, UserRateThrottle]) described(made)
takesOptions(AnonRateThrottle, {})
takesOptions(UserRateThrottle, {})
