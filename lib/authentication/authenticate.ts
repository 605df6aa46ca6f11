/** Authentication, the second step of dispatch: the first scheme that knows the caller. */
import { rememberChallengers } from '../http/answer-error.js'
import { finderOf, rememberFinder } from '../http/challenges.js'
import type { Context } from '../http/context.js'
import { ConfigurationError } from '../kernel/errors.js'
import type { BaseAuthentication, Credentials } from './authentication.js'

/**
 * Tries each scheme in order; the first that knows the caller sets `ctx.state.user` and `ctx.state.auth`. Where none does,
 * both stay as the application has set them.
 * @throws AuthenticationFailed credentials are wrong, on an open view too
 * @throws {ConfigurationError} a scheme has returned what is neither null nor `{ user, auth }`
 */
export async function authenticate(ctx: Context, schemes: readonly BaseAuthentication[]): Promise<void> {
  rememberChallengers(ctx, schemes)
  for (const scheme of schemes) {
    const credentials = await scheme.authenticate(ctx)
    if (credentials === null || credentials === undefined) continue
    const { user, auth } = readCredentials(scheme, credentials)
    ctx.state['user'] = user
    ctx.state['auth'] = auth
    rememberFinder(ctx, scheme, schemes)
    return
  }
}

const NAMES: ReadonlySet<string> = new Set(['user', 'auth', 'authInfo', 'auth_info'])

/** @throws {ConfigurationError} the scheme has returned something else: its user, a list, or a name that nobody reads */
function readCredentials(scheme: BaseAuthentication, given: Credentials): { user: unknown; auth: unknown } {
  const fail = (problem: string) => {
    throw new ConfigurationError(
      `${scheme.constructor.name}: authenticate() returned ${problem}; return { user, auth }, or null where there are no credentials`,
    )
  }
  if (typeof given !== 'object' || Array.isArray(given)) fail(Array.isArray(given) ? 'a list' : `a ${typeof given}`)
  let auth: unknown
  for (const name in given) {
    if (!NAMES.has(name)) fail(`the property "${name}", which nobody reads`)
    if (name !== 'user' && given[name as keyof Credentials] !== undefined) auth = given[name as keyof Credentials]
  }
  if (given.user === undefined) fail('no user')
  return { user: given.user, auth }
}

/** The scheme that has set `ctx.state.user`; undefined when the application did, or nobody. */
export function foundBy(ctx: Context): BaseAuthentication | undefined {
  return finderOf(ctx) as BaseAuthentication | undefined
}
