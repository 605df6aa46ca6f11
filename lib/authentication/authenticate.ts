/** The second step of dispatch: who is asking (spec section 5). */
import type { Context } from '../context.js'
import type { BaseAuthentication } from './authentication.js'

/** Tries each scheme in order; the first that knows the caller sets `ctx.state.user` and `ctx.state.auth`. */
export async function authenticate(ctx: Context, schemes: readonly BaseAuthentication[]): Promise<void> {
  for (const scheme of schemes) {
    const credentials = await scheme.authenticate(ctx)
    if (!credentials) continue
    ctx.state['user'] = credentials.user
    ctx.state['auth'] = credentials.auth
    return
  }
}

/** The challenges for a 401: one for each scheme that has one. */
export function challengeOf(schemes: readonly BaseAuthentication[]): string {
  const challenges = schemes.flatMap((scheme) => scheme.challenge ?? [])
  return challenges.length > 0 ? [...new Set(challenges)].join(', ') : 'Session realm="api"'
}
