/** The limiters of rate-limiter-flexible that we use, from their own files: its main door loads those of all databases. */
import type * as Flexible from 'rate-limiter-flexible'
// @ts-expect-error only the main door has types
import Postgres from 'rate-limiter-flexible/lib/RateLimiterPostgres.js'
// @ts-expect-error only the main door has types
import Redis from 'rate-limiter-flexible/lib/RateLimiterRedis.js'
// @ts-expect-error only the main door has types
import Result from 'rate-limiter-flexible/lib/RateLimiterRes.js'

export const RateLimiterPostgres = Postgres as typeof Flexible.RateLimiterPostgres
export const RateLimiterRedis = Redis as typeof Flexible.RateLimiterRedis
export const RateLimiterRes = Result as typeof Flexible.RateLimiterRes
