/** Tells on any route who is asking. */
import { authenticate, type BaseAuthentication } from '../lib/authentication/authentication.js'
import { keepPrivate } from '../lib/caching/cache-response.js'
import type { Middleware } from '../lib/http/context.js'
import { passOn, runTraced } from '../lib/http/request-trace.js'
import { type Policies, resolvePolicies } from '../lib/kernel/policy.js'

/**
 * Tries each scheme in order; the first that knows the caller sets `ctx.state.user` and `ctx.state.auth`. Wrong credentials
 * are 401. A caller without any passes, anonymous: put `permissions()` after it, whose 401 names the challenges of these schemes.
 * What a known caller gets is stored nowhere (`no-store`), unless the handler or `etag()` says otherwise.
 * @throws {ConfigurationError} an entry is no scheme, or an option of it is wrong
 * @example router.get('/report', authentication(TokenAuth, SessionAuthentication), permissions(IsAdminUser), handler)
 */
export function authentication(...schemes: Policies<BaseAuthentication>): Middleware {
  const settled = resolvePolicies('authentication()', schemes, 'authenticate')
  const headers = settled.flatMap(({ vary }) => vary ?? [])
  return async function authenticateCaller(ctx, next) {
    ctx.vary(headers)
    const step = { phase: 'authentication', policies: settled, run: () => authenticate(ctx, settled) } as const
    if (!(await runTraced(ctx, step))) return
    await passOn(ctx, next)
    keepPrivate(ctx, settled)
  }
}
