/** Asks permissions on any route. */

import { keepPrivate } from '../lib/caching/cache-response.js'
import type { Context, Middleware } from '../lib/http/context.js'
import { passOn, runTraced } from '../lib/http/request-trace.js'
import { type Policies, resolvePolicies } from '../lib/kernel/policy.js'
import { checkRoute, checkRouteObject } from '../lib/permissions/check-permissions.js'
import type { BasePermission } from '../lib/permissions/permission.js'

/**
 * Lets a request pass when all rules do; else 401 for an anonymous caller, with the challenges of `authentication()` before
 * it, and 403 for a known one. What a known caller gets is stored nowhere (`no-store`), as behind `authentication()`.
 * @throws {ConfigurationError} an entry is no permission, or needs a model that it was not given
 * @example router.delete('/books/:id', authentication(TokenAuth), permissions(or(IsAdminUser, ObjectPermission)), handler)
 */
export function permissions(...rules: Policies<BasePermission>): Middleware {
  const settled = resolvePolicies('permissions()', rules, 'hasPermission')
  for (const rule of settled) rule.check({ name: 'permissions()' })
  return async function askPermissions(ctx, next) {
    const step = { phase: 'permissions', policies: settled, run: () => checkRoute(ctx, settled) } as const
    if (!(await runTraced(ctx, step))) return
    await passOn(ctx, next)
    keepPrivate(ctx)
  }
}

/**
 * Asks the rules of the `permissions()` before a handler about an object that the handler has found. What it throws is
 * answered by `errors()`.
 * @throws AuthenticationFailed, PermissionDenied a rule refuses
 * @throws {ConfigurationError} there is no `permissions()` before the handler
 * @example
 * router.delete('/books/:id', permissions(ObjectPermission), async (ctx) => {
 *   const book = await Book.query().findById(ctx.params.id).throwIfNotFound()
 *   await checkObjectPermissions(ctx, book)
 *   …
 * })
 */
export async function checkObjectPermissions(ctx: Context, object: object): Promise<void> {
  await checkRouteObject(ctx, object)
}
