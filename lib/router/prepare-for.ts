/** `prepare()` by the first request, where nobody has called it. */
import { answerError } from '../http/answer-error.js'
import type { Context } from '../http/context.js'
import { ServiceUnavailable } from '../kernel/errors.js'

/** What is prepared. */
interface Prepared {
  prepare(): Promise<void>
}

/** False when that failed and was answered: the next request tries again. */
export async function prepareFor(router: Prepared, ctx: Context): Promise<boolean> {
  try {
    await router.prepare()
    return true
  } catch (error) {
    answerError(ctx, notPrepared(error))
    return false
  }
}

/** Koa's own log has the stack alone, so that the stack has the cause, too: a declaration may have to be mended. */
export function notPrepared(cause: unknown): ServiceUnavailable {
  const answer = new ServiceUnavailable(5, { cause })
  if (cause instanceof Error) answer.stack = `${answer.stack}\n[cause]: ${cause.stack}`
  return answer
}
