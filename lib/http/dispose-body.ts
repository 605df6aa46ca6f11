/** Removal of the files that a parser has left on disk. */
import { reportError } from './answer-error.js'
import type { Context } from './context.js'

/** Removes the files of a body. A failure is reported, not thrown: the request itself has been worked on by then. */
export async function disposeBody(ctx: Context, body: { dispose?(): Promise<void> }): Promise<void> {
  try {
    await body.dispose?.()
  } catch (error) {
    reportError(ctx, error)
  }
}
