/** Tells the log of requests that took too long. */
import type { Middleware } from '../lib/http/context.js'
import { measureRequest } from '../lib/timing/measure-request.js'
import { type SlowRequestOptions, slowTeller } from '../lib/timing/slow-requests.js'

/**
 * Logs each request that takes `threshold` milliseconds or more: method, route and its name, status, statements, and how much
 * of the time a statement ran. Mount it first, before `errors()`, so that it sees the status that is sent.
 * @throws {ConfigurationError} an option is wrong
 * @example app.use(slowRequests({ threshold: 300, log: (request) => logger.warn(request, 'slow request') }))
 */
export function slowRequests(options: SlowRequestOptions = {}): Middleware {
  const tell = slowTeller(options)
  return async function watchSlowRequests(ctx, next) {
    await measureRequest(ctx, next, (measured, failure) => tell(ctx, measured, failure))
  }
}
