/** The end of what a parser has left on disk. */
import { reportError } from './answer-error.js'
import type { Context } from './context.js'

/** Removes it, once nobody needs it. Where that fails it is reported: what was done for the request is done. */
export async function disposeBody(ctx: Context, body: { dispose?(): Promise<void> }): Promise<void> {
  try {
    await body.dispose?.()
  } catch (error) {
    reportError(ctx, error)
  }
}
