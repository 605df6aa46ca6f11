/** The path of a request, whose target may be no URL at all: Koa throws where one reads the path or the query of that. */
import type { Context } from './context.js'

/** The path of a request; undefined for a target that has none, such as `http://[`. */
export function pathOf(ctx: Context): string | undefined {
  try {
    const path: string | null = ctx.path
    return path ?? undefined
  } catch {
    return undefined
  }
}

/** True for the error that Koa throws since the request's target is no URL, and for no other `ERR_INVALID_URL`. */
export function isTargetError(ctx: Context, error: unknown): boolean {
  if (!(error instanceof TypeError) || (error as { code?: unknown }).code !== 'ERR_INVALID_URL') return false
  try {
    void ctx.path
    return false
  } catch {
    return true
  }
}
