/** The limiters of rate-limiter-flexible that we use, from their own files: its main door loads those of all databases. */
import type * as Flexible from 'rate-limiter-flexible'
// @ts-expect-error only the main door has types
import Redis from 'rate-limiter-flexible/lib/RateLimiterRedis.js'
// @ts-expect-error only the main door has types
import Result from 'rate-limiter-flexible/lib/RateLimiterRes.js'
// @ts-expect-error only the main door has types
import StoreAbstract from 'rate-limiter-flexible/lib/RateLimiterStoreAbstract.js'

export const RateLimiterRedis = Redis as typeof Flexible.RateLimiterRedis
export const RateLimiterRes = Result as typeof Flexible.RateLimiterRes
export const RateLimiterStoreAbstract = StoreAbstract as typeof Flexible.RateLimiterStoreAbstract
