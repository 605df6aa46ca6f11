/** Timings of a request, by the steps of views and plugins and by the statements of known databases. */

import type { Context } from '../http/context.js'
import { traceOf } from '../http/request-trace.js'
import { runAs, type Timings } from '../kernel/trace.js'
import type { TracedRequest } from '../kernel/trace-channels.js'
import { watchDatabases } from '../postgres/watch-statements.js'

/** What was measured of a request. */
export interface Measured {
  readonly names: TracedRequest
  readonly timings: Timings
  /** Milliseconds by a clock that only goes forward. */
  readonly total: number
}

/**
 * Runs what comes after a middleware, and tells `done` what it took, also where it throws. Several measure one request together.
 * @throws what comes after it, or `done`, throws
 */
export async function measureRequest(
  ctx: Context,
  next: () => Promise<unknown>,
  done: (measured: Measured, failure?: unknown) => void | Promise<void>,
): Promise<void> {
  const begin = performance.now()
  const trace = traceOf(ctx)
  const timings = trace.measure()
  watchDatabases()
  const measured = (): Measured => ({ names: trace.names, timings, total: performance.now() - begin })
  try {
    await runAs(trace, next)
  } catch (error) {
    await done(measured(), error)
    throw error
  }
  await done(measured())
}
