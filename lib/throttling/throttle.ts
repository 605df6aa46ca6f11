/** The contract of throttling (spec section 8). */
import type { Context } from '../context.js'

/** What a throttle may know of the view it guards. */
export interface ThrottledView {
  readonly action: string
}

/** A limit on how often a caller may ask. Immutable and shared by all requests; counts live in its store. */
export abstract class BaseThrottle {
  /** Counts the request. @throws Throttled when the limit is used up */
  abstract check(ctx: Context, view: ThrottledView): void | Promise<void>
}
