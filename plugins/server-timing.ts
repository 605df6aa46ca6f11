/** Tells chosen callers what the steps of their requests took. */
import type { Context, Middleware } from '../lib/http/context.js'
import { ConfigurationError } from '../lib/kernel/errors.js'
import { measureRequest } from '../lib/timing/measure-request.js'
import { serverTimingValue as durations, sendServerTiming } from '../lib/timing/server-timing.js'

/**
 * Sends `Server-Timing`, which browsers show beside a request: milliseconds of `auth`, `permissions`, `throttle`, `body`,
 * `action`, `render`, `db` (within the others, with the number of statements) and `total`. Durations tell strangers what they
 * should not know, such as whether a row is there, so it is sent to nobody but those whom `when` names.
 * @param when asked once the answer is there, so that it may look at `ctx.state.user`
 * @throws {ConfigurationError} `when` is no function
 * @example app.use(serverTiming((ctx) => ctx.state.user?.is_staff === true))
 */
export function serverTiming(when: (ctx: Context) => boolean | Promise<boolean>): Middleware {
  if (typeof when !== 'function') {
    throw new ConfigurationError(
      'serverTiming(): give a function that says of a ctx whether its caller may see durations',
    )
  }
  return async function sendDurations(ctx, next) {
    await measureRequest(ctx, next, async ({ timings, total }, failure) => {
      if (failure === undefined && (await when(ctx)) === true) sendServerTiming(ctx, durations(timings, total))
    })
  }
}
