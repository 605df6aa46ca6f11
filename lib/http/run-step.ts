/** Runs one step of a request for a plugin: what it refuses is answered here, with the headers set so far kept. */

import { subjectOf, toApiError } from '../postgres/database-errors.js'
import { answerError } from './answer-error.js'
import type { Context } from './context.js'

/**
 * True when the step has passed; false when it threw and the error was answered as JSON, so that nothing more is to be
 * done. Errors of the middleware after the plugin are not its concern: call `next()` outside.
 * @param challenge the value of `WWW-Authenticate` for a 401 that brings none
 * @example if (await runStep(ctx, () => checkThrottles(ctx, view, throttles))) await next()
 */
export async function runStep(ctx: Context, step: () => void | Promise<void>, challenge?: string): Promise<boolean> {
  try {
    await step()
    return true
  } catch (error) {
    answerError(ctx, toApiError(error, subjectOf(ctx.method)) ?? error, challenge)
    return false
  }
}
