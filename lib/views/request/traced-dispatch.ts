/** A request, from top to bottom, for those who listen to its steps or measure them (docs/reference/tracing.md). */

import type { Context } from '../../http/context.js'
import { traceOf } from '../../http/request-trace.js'
import { atResponseEnd, isSentWhole } from '../../http/response-end.js'
import { currentTrace, publishAround, runAs, type Trace, traceStep, traceSync } from '../../kernel/trace.js'
import { type AnswerTrace, CHANNELS, type DispatchTrace } from '../../kernel/trace-channels.js'
import { watchDatabase, watchDatabases } from '../../postgres/watch-statements.js'
import type { View } from '../view.js'
import { dispatch, STEPS } from './dispatch.js'
import { ACTION_STEPS, runAction } from './run-action.js'

/** `dispatch()`, between the events of its channel. */
export async function tracedDispatch(view: View): Promise<void> {
  const { ctx } = view
  const trace = traceOf(ctx)
  trace.names.view = view.constructor.name
  trace.names.action = view.plan.action
  watchDatabases()
  const event: DispatchTrace = { request: trace.names }
  const answer = async () => {
    await dispatch(view, TRACED)
    event.status = ctx.status
    if (ctx.status < 500) return
    event.error = trace.failure
    CHANNELS.dispatch.error.publish(event)
  }
  await runAs(trace, () => publishAround(CHANNELS.dispatch, event, { work: answer }))
  runAs(trace, () => watchAnswer(ctx, trace))
}

const own = () => currentTrace() as Trace

/** The steps of `dispatch()`, each with its events. They run as those of a trace. */
const TRACED: typeof STEPS = {
  authenticate: (ctx, policies) =>
    traceStep(own(), { phase: 'authentication', policies, work: () => STEPS.authenticate(ctx, policies) }),
  checkPermissions: (ctx, view, policies) =>
    traceStep(own(), { phase: 'permissions', policies, work: () => STEPS.checkPermissions(ctx, view, policies) }),
  checkParentPermissions: (view) =>
    traceStep(own(), { phase: 'permissions', policies: [], work: () => STEPS.checkParentPermissions(view) }),
  checkThrottles: (ctx, view, policies) =>
    traceStep(own(), { phase: 'throttles', policies, work: () => STEPS.checkThrottles(ctx, view, policies) }),
  answerOptions: (view) => traceStep(own(), { phase: 'action', work: () => STEPS.answerOptions(view) }),
  runAction: (view) => runAction(view, TRACED_ACTION),
  respond: (view, data) => traceSync(own(), 'render', () => STEPS.respond(view, data)),
  async shownError(view, error) {
    const shown = await STEPS.shownError(view, error)
    const trace = own()
    trace.failure = shown
    return shown
  },
}

const TRACED_ACTION: typeof ACTION_STEPS = {
  parseBody: (...given) => traceStep(own(), { phase: 'body', work: () => ACTION_STEPS.parseBody(...given) }),
  readQueryBody: (view) => traceStep(own(), { phase: 'body', work: () => ACTION_STEPS.readQueryBody(view) }),
  call(view) {
    // one that `getKnex()` has just made
    if (view.knex) watchDatabase(view.knex)
    return traceStep(own(), { phase: 'action', work: () => ACTION_STEPS.call(view) })
  },
}

/** Tells of the sending. */
function watchAnswer(ctx: Context, trace: Trace): void {
  if (!CHANNELS.answer.hasSubscribers) return
  const event: AnswerTrace = { request: trace.names, status: ctx.status }
  const work = () => new Promise<void>((resolve) => atResponseEnd(ctx, resolve))
  const done = () => {
    event.aborted = !isSentWhole(ctx)
  }
  void publishAround(CHANNELS.answer, event, { work, done })
}
