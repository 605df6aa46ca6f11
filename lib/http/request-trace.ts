/** The trace of a request, and the steps of plugins as those of one. */

import { type Phase, runAs, TRACE, Trace, type Traced, traceStep } from '../kernel/trace.js'
import { ALL_CHANNELS } from '../kernel/trace-channels.js'
import { watchDatabases } from '../postgres/watch-statements.js'
import { runStep } from './answer-error.js'
import type { Context } from './context.js'

/** The trace of a request; made where there is none. */
export function traceOf(ctx: Context): Trace {
  const traced = ctx as Traced
  traced[TRACE] ??= new Trace(ctx)
  return traced[TRACE]
}

/** A step of a plugin. */
export interface PluginStep {
  readonly phase: Phase
  /** Those that it asks. */
  readonly policies?: readonly object[]
  readonly run: () => void | Promise<void>
}

/** `runStep()`, with the events of the step where somebody listens. */
export function runTraced(ctx: Context, { phase, policies, run }: PluginStep): Promise<boolean> {
  if (!isTraced(ctx)) return runStep(ctx, run)
  watchDatabases()
  const trace = traceOf(ctx)
  return runStep(ctx, () => runAs(trace, () => traceStep(trace, { phase, policies, work: run })))
}

/** `next()`, as a part of the request that a step before it was traced of. */
export function passOn(ctx: Context, next: () => Promise<unknown>): Promise<unknown> {
  const trace = (ctx as Traced)[TRACE]
  return trace ? runAs(trace, next) : next()
}

function isTraced(ctx: Context): boolean {
  return (ctx as Traced)[TRACE] !== undefined || ALL_CHANNELS.some(({ hasSubscribers }) => hasSubscribers)
}
