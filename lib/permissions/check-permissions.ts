/** Permission checks, the third step of dispatch: 401 or 403 where one refuses (promises E1 and E10). */
import { scopeChallengeOf } from '../http/challenges.js'
import { type Context, isAnonymous } from '../http/context.js'
import { AuthenticationFailed, PermissionDenied } from '../kernel/errors.js'
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
