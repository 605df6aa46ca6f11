/** Throttle stores, which keep the counts: their contract, and rates as they are written: `100/hour`. */
import { ConfigurationError } from '../kernel/errors.js'
import { quote } from '../kernel/quote.js'

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

/** The most requests in a window of some seconds. */
export interface Rate {
  /** The most requests in the window. */
  readonly limit: number
  /** The length of the window, in seconds. */
  readonly seconds: number
}

const SECONDS: ReadonlyMap<string, number> = new Map([
  ['second', 1],
  ['s', 1],
  ['minute', 60],
  ['m', 60],
  ['hour', 3600],
  ['h', 3600],
  ['day', 86_400],
  ['d', 86_400],
])

/** Nine digits, so that every store can count beyond the limit. */
const RATE = /^([1-9][0-9]{0,8})\/([a-z]+)$/

/**
 * Reads `N/period`.
 * @param where what has the rate, for the message
 * @throws {ConfigurationError} it is written in any other way
 * @example parseRate('100/hour', 'BurstThrottle') // { limit: 100, seconds: 3600 }
 */
export function parseRate(text: unknown, where: string): Rate {
  const [, limit, period = ''] = (typeof text === 'string' && RATE.exec(text)) || []
  const seconds = SECONDS.get(period)
  if (limit !== undefined && seconds !== undefined) return { limit: Number(limit), seconds }
  throw new ConfigurationError(
    `${where}: rate ${quote(text)} is not N/period; give a whole number from 1 to 999999999 and one of ` +
      `${[...SECONDS.keys()].join(', ')}, such as '100/hour'`,
  )
}
