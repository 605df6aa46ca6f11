/** Throttle stores, which keep the counts: their contract. */
import type { Rate } from './rate.js'

/** What is known of a caller's window once a request was counted. */
export interface ThrottleCount {
  /** Requests in this window, the present one included. */
  readonly used: number
  /** Milliseconds until the window ends. */
  readonly wait: number
}

/** The counts of one budget. */
export interface ThrottleLimiter {
  /** Counts one request of this key: exactly, however many come at once. The first one begins the key's window. */
  consume(key: string): ThrottleCount | Promise<ThrottleCount>
}

/** Keeps the counts of throttles. */
export interface ThrottleStore {
  /** The limiter of a budget; the same one whenever it is asked for. */
  limiter(budget: string, rate: Rate): ThrottleLimiter
}
