/** A request, from top to bottom. */

import { authenticate } from '../../authentication/authentication.js'
import { answerError } from '../../http/answer-error.js'
import { hasWorked, nextTurn } from '../../kernel/turns.js'
import { checkPermissions } from '../../permissions/check-permissions.js'
import { checkThrottles } from '../../throttling/check-throttles.js'
import { determineVersion } from '../../versioning/determine-version.js'
import { builtInMethod, isBuiltIn } from '../built-in.js'
import type { View } from '../view.js'
import { checkParentPermissions } from './parents.js'
import { respond } from './respond.js'
import { runAction, runAfterAction } from './run-action.js'
import { ANSWERED } from './run-once.js'

/** What is done, by the names of the functions. Who traces puts others of the same kind in their places (`traced-dispatch.ts`). */
export const STEPS = {
  authenticate,
  checkPermissions,
  checkParentPermissions,
  checkThrottles,
  answerOptions,
  runAction,
  respond,
  shownError,
} as const

/** Answers the request with the view's action, or with the error that stopped it. */
export async function dispatch(view: View, steps: typeof STEPS = STEPS): Promise<void> {
  const { ctx } = view
  const { policies } = view.plan
  const { versioning, authentication, permissions, throttles } = policies
  try {
    if (versioning) determineVersion(ctx, versioning)
    if (authentication.length > 0) await steps.authenticate(ctx, authentication)
    if (permissions.length > 0) await steps.checkPermissions(ctx, view, permissions)
    if (view.plan.parents.length > 0) await steps.checkParentPermissions(view)
    if (throttles.length > 0) await steps.checkThrottles(ctx, view, throttles)
    const data = await (ctx.req.method === 'OPTIONS' ? steps.answerOptions(view) : steps.runAction(view))
    // a write that is done once is rendered in its transaction
    if (data === ANSWERED) return
    if (hasWorked()) await nextTurn()
    steps.respond(view, data)
    await (view.finalizeResponse() as unknown)
    if (view.afterAction) runAfterAction(view)
  } catch (error) {
    answerError(ctx, await steps.shownError(view, error))
  }
}

function answerOptions(view: View): unknown {
  return view.options()
}

/**
 * What the view makes of an error; an application's `toError()` may itself throw, or be async. It gets what ours makes of it, whoever
 * sent the statement that was refused.
 */
async function shownError(view: View, error: unknown): Promise<unknown> {
  try {
    const shown = builtInMethod(view, 'toError')?.call(view, error) ?? error
    return isBuiltIn(view, 'toError') ? shown : await view.toError(shown)
  } catch (failure) {
    return failure
  }
}
