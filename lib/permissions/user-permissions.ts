/** Permissions that look at the user alone. */

import { type Context, isAnonymous, isSafeMethod } from '../http/context.js'
import { BasePermission } from './permission.js'

/** Lets in anybody who is logged in. */
export class IsAuthenticated extends BasePermission {
  override hasPermission(ctx: Context): boolean {
    return !isAnonymous(ctx.state['user'])
  }

  override admitsAnonymous(_method: string): boolean {
    return false
  }
}

/** Lets in staff: a user whose `is_staff`, or `isStaff`, is true. */
export class IsAdminUser extends BasePermission {
  override hasPermission(ctx: Context): boolean {
    const user: unknown = ctx.state['user']
    if (isAnonymous(user)) return false
    const { is_staff, isStaff } = user as { is_staff?: unknown; isStaff?: unknown }
    return (is_staff ?? isStaff) === true
  }

  override admitsAnonymous(): boolean {
    return false
  }
}

/** Anybody may read (GET, HEAD, OPTIONS, QUERY); other methods are for those who are logged in. */
export class IsAuthenticatedOrReadOnly extends IsAuthenticated {
  override hasPermission(ctx: Context): boolean {
    return isSafeMethod(ctx.method) || super.hasPermission(ctx)
  }

  override admitsAnonymous(method: string): boolean {
    return isSafeMethod(method)
  }
}
