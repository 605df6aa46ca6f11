/** The second step of dispatch: who is asking (spec section 5). */
import { rememberChallengers } from '../challenges.js'
import type { Context } from '../context.js'
import type { BaseAuthentication } from './authentication.js'

const FOUND_BY = Symbol('the scheme that knew the caller')

/**
 * Tries each scheme in order; the first that knows the caller sets `ctx.state.user` and `ctx.state.auth`. Where none does,
 * both stay as the application has set them.
 * @throws AuthenticationFailed credentials are wrong, on an open view too
 */
export async function authenticate(ctx: Context, schemes: readonly BaseAuthentication[]): Promise<void> {
  rememberChallengers(ctx, schemes)
  for (const scheme of schemes) {
    const credentials = await scheme.authenticate(ctx)
    if (!credentials) continue
    ctx.state['user'] = credentials.user
    ctx.state['auth'] = credentials.auth
    ;(ctx.state as Record<symbol, unknown>)[FOUND_BY] = scheme
    return
  }
}

/** The scheme that has set `ctx.state.user`; undefined when the application did, or nobody. */
export function foundBy(ctx: Context): BaseAuthentication | undefined {
  return (ctx.state as Record<symbol, BaseAuthentication | undefined>)[FOUND_BY]
}
