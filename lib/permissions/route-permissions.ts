/** Permissions on a hand-written route, where no view keeps them for the objects that the handler finds. */
import { type Context, RequestSlot, routeAction } from '../http/context.js'
import { ConfigurationError } from '../kernel/errors.js'
import { checkObjectPermissions, checkPermissions } from './check-permissions.js'
import type { BasePermission, GuardedView } from './permission.js'

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
