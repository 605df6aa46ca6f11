/** Throttles: their contract. */

import type { Context } from '../http/context.js'
import { described, insteadOf } from '../kernel/declarations.js'

/** What a throttle may know of the view it guards. */
export interface ThrottledView {
  /** The name of the method that answers; on a hand-written route the HTTP method in lower case, `get` for HEAD. */
  readonly action: string
  /** The view's `static throttleScope`. */
  readonly throttleScope?: string | undefined
}

/** What a throttle admits, for the headers and the documentation. */
export interface ThrottleRate {
  /** Printable ASCII. */
  readonly name: string
  /** Requests of one caller in one window. */
  readonly limit: number
  /** The length of the window, in seconds. */
  readonly seconds: number
}

/** What a throttle says of a request that it has counted. */
export interface ThrottleState {
  /** False where the request is refused with 429. */
  readonly allowed: boolean
  /** Requests that are left in the window. */
  readonly remaining: number
  /** Seconds until the window ends; need not be whole. */
  readonly wait: number
}

/** A state, or nothing for a caller who is not counted. */
// biome-ignore lint/suspicious/noConfusingVoidType: so that a throttle which only refuses needs no return
export type ThrottleAnswer = ThrottleState | undefined | void

/** A limit on how often a caller may ask. Immutable and shared by all requests; counts live in its store. */
export abstract class BaseThrottle {
  /**
   * Counts the request. What it returns decides and is shown in the `RateLimit` headers; it may also return nothing,
   * and refuse by throwing.
   * @throws Throttled when the limit is used up
   */
  abstract check(ctx: Context, view: ThrottledView): ThrottleAnswer | Promise<ThrottleAnswer>

  /** Whether it would count this caller; asked in place of `check` once another throttle has refused. */
  applies(_ctx: Context, _view: ThrottledView): boolean | Promise<boolean> {
    return true
  }

  /** What it admits on a view; undefined keeps it out of the `RateLimit` headers and the documentation. */
  rateFor(_view: Pick<ThrottledView, 'throttleScope'>): ThrottleRate | undefined {
    return undefined
  }

  /**
   * Called before any request: for the list that it stands in, and for each view.
   * @param where the view's attribute, for messages
   * @throws ConfigurationError it cannot work as it was declared
   */
  settle(_where: string, _view?: Pick<ThrottledView, 'throttleScope'>): void {}
}

described(BaseThrottle)

insteadOf(BaseThrottle, {
  allowRequest: 'override check(ctx, view)',
  getIdent: 'return the caller from getCacheKey(ctx, view) of a SimpleRateThrottle',
  getRate: 'set rate',
})
