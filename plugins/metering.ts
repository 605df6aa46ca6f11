/** Usage events for hand-written routes. */
import type { Middleware } from '../lib/http/context.js'
import { meterRequest } from '../lib/metering/meter-request.js'
import { checkMeteringOptions, type MeteringOptions, meteringFor } from '../lib/metering/metering-engine.js'

/**
 * Counts every request that comes by, whatever its outcome: one event for the engine when the response has ended. A
 * request counts in a meter once, also where a view with `MeteringMixin` follows. Without an engine nothing is counted.
 * Mount it before what may refuse. The application closes the engine itself, after its server: `await engine.close()`.
 * @throws {ConfigurationError} an option is wrong
 * @example router.get('/report', metering({ engine, meterName: 'reports' }), handler)
 */
export function metering(options: MeteringOptions = {}): Middleware {
  checkMeteringOptions(options)
  return async function meterRequests(ctx, next) {
    const settings = meteringFor(options)
    if (settings) meterRequest(ctx, settings)
    await next()
  }
}
