/** Answers the probes of a proxy or an orchestrator. */
import { acceptsMethod, isPath } from '../lib/assets/own-route.js'
import { answerProbe, type HealthOptions, HealthState } from '../lib/health/health-state.js'
import { runStep } from '../lib/http/answer-error.js'
import type { Context, Middleware } from '../lib/http/context.js'

/** What `health()` returns. */
export interface HealthMiddleware extends Middleware {
  /** From now on `/readyz` is 503, so that proxies send nothing more; requests that come all the same are answered. */
  drain(): void
}

/**
 * Answers GET and HEAD of `/livez` and `/readyz`, with 200 or 503 and nothing of why. The process lives as long as it
 * answers. It is ready once its routers are prepared, and as long as their databases answer and have one of their tables;
 * a full pool is no dead database. `drain()` and `api.close()` end that. Why it is not ready is reported by the app's `error`
 * event, once each time that it comes to be so. See docs/reference/health.md.
 *
 * Mount it first: what else the app does is not needed for it.
 * @throws {ConfigurationError} an option is wrong
 * @example
 * const probes = health({ api })
 * app.use(probes)
 * process.once('SIGTERM', () => probes.drain())
 */
export function health(options: HealthOptions = {}): HealthMiddleware {
  const { live, ready, state } = HealthState.of(options)
  async function answerProbes(ctx: Context, next: () => Promise<unknown>): Promise<unknown> {
    const isLive = isPath(ctx, live)
    if (!(isLive || isPath(ctx, ready))) return next()
    return runStep(ctx, async () => {
      if (acceptsMethod(ctx, ['GET', 'HEAD'])) answerProbe(ctx, isLive || (await state.isReady(ctx)))
    })
  }
  return Object.assign(answerProbes, { drain: () => state.drain() })
}
