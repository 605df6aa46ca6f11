/** Throttles by address, by user and by part of an API; they count in memory. */
import { callerOf } from '../http/caller.js'
import { type Context, isAnonymous } from '../http/context.js'
import { described } from '../kernel/declarations.js'
import { takesOptions } from '../kernel/option-kinds.js'
import { type CacheKey, type RateThrottleOptions, SimpleRateThrottle } from './simple-rate-throttle.js'
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

/** Options of `ScopedRateThrottle`. */
export interface ScopedRateThrottleOptions extends RateThrottleOptions {
  /** The part of the API that it limits. @default the class's `scope`, else the view's `throttleScope`, else `default` */
  readonly scope?: string
}

/**
 * Limits users by their `id`, others by address, in a part of the API: each scope is a budget of its own.
 * @example
 * class Uploads extends ModelViewSet<Upload> {
 *   static override throttleScope = 'uploads'
 *   static override throttleClasses = [new ScopedRateThrottle({ rate: '20/day' })]
 * }
 */
export class ScopedRateThrottle extends SimpleRateThrottle {
  static override budget = 'scope'
  /** How many requests in which time, `N/period`: a `second`, `minute`, `hour` or `day`, or its first letter. @default '100/hour' */
  override rate = '100/hour'
  /** The scope on every view; undefined takes the view's. */
  scope: string | undefined = undefined
  readonly #scope: string | undefined

  constructor(options: ScopedRateThrottleOptions = {}) {
    super(options)
    this.#scope = options.scope
  }

  getCacheKey(ctx: Context, _view: ThrottledView): CacheKey | Promise<CacheKey> {
    return callerOf(ctx)
  }

  protected override getScope(view: Pick<ThrottledView, 'throttleScope'>): string {
    return this.#scope ?? this.scope ?? view.throttleScope ?? 'default'
  }
}

for (const made of [AnonRateThrottle, UserRateThrottle, ScopedRateThrottle]) described(made)
takesOptions(AnonRateThrottle, {})
takesOptions(UserRateThrottle, {})
takesOptions<ScopedRateThrottleOptions, RateThrottleOptions>(ScopedRateThrottle, { scope: 'text' })
