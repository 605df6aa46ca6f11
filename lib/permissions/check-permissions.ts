/** Permission checks, the third step of dispatch: 401 or 403 where one refuses (promises E1 and E10). */
import { scopeChallengeOf } from '../http/challenges.js'
import { type Context, isAnonymous, RequestSlot, routeAction } from '../http/context.js'
import { AuthenticationFailed, ConfigurationError, PermissionDenied } from '../kernel/errors.js'
import type { BasePermission, GuardedView } from './permission.js'

/** All permissions must pass. @throws AuthenticationFailed for an anonymous caller, PermissionDenied for a known one */
export async function checkPermissions(
  ctx: Context,
  view: GuardedView,
  permissions: readonly BasePermission[],
): Promise<void> {
  for (const permission of permissions) {
    if ((await permission.hasPermission(ctx, view)) !== true) refuse(ctx, permission)
  }
}

/** All permissions must pass for an object. @throws AuthenticationFailed for an anonymous caller, PermissionDenied for a known one */
export async function checkObjectPermissions(
  ctx: Context,
  view: GuardedView,
  permissions: readonly BasePermission[],
  object: object,
): Promise<void> {
  for (const permission of permissions) {
    if ((await permission.hasObjectPermission(ctx, view, object)) !== true) refuse(ctx, permission)
  }
}

function refuse(ctx: Context, permission: BasePermission): never {
  if (isAnonymous(ctx.state['user'])) throw new AuthenticationFailed()
  const challenge = scopeChallengeOf(ctx, permission.missingScopes(ctx))
  throw new PermissionDenied(undefined, challenge === undefined ? {} : { headers: { 'WWW-Authenticate': challenge } })
}

const PERMISSIONS = new RequestSlot<readonly BasePermission[]>('the permissions of the route')

/** Checks a request, and remembers the permissions for its objects. @throws AuthenticationFailed, PermissionDenied */
export async function checkRoute(ctx: Context, permissions: readonly BasePermission[]): Promise<void> {
  const before = PERMISSIONS.get(ctx)
  PERMISSIONS.set(ctx, before ? [...before, ...permissions] : permissions)
  await checkPermissions(ctx, viewOf(ctx), permissions)
}

/**
 * Checks an object by all permissions that `permissions()` has put before the handler.
 * @throws AuthenticationFailed, PermissionDenied one refuses it
 * @throws {ConfigurationError} there are none
 */
export async function checkRouteObject(ctx: Context, object: object): Promise<void> {
  const permissions = PERMISSIONS.get(ctx)
  if (!permissions) {
    throw new ConfigurationError('checkObjectPermissions(): the route has no permissions; put permissions() before it')
  }
  await checkObjectPermissions(ctx, viewOf(ctx), permissions, object)
}

/** What stands for the view. */
function viewOf(ctx: Context): GuardedView {
  return { action: routeAction(ctx) }
}
