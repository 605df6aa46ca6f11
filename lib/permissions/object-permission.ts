/** Owner permission: an object is its owner's (promises E5, E6 and E8). */

import { type Context, userId } from '../http/context.js'
import { idText } from '../kernel/id-text.js'
import { takeOptions, takesOptions } from '../kernel/option-kinds.js'
import { BasePermission, type GuardedView } from './permission.js'

/** Options of `ObjectPermission`. */
export interface ObjectPermissionOptions {
  /** The property of the object that holds its owner's id. @default 'owner_id' */
  readonly ownerField?: string
}

/**
 * An object may be worked on by its owner: by the user whose `id` its owner field holds. A null or missing owner is nobody's.
 *
 * It says nothing of lists, which show all objects of the queryset: narrow that by overriding `getQueryset()`.
 * @example
 * // alone, it would let anybody create an object, and choose its owner: so IsAuthenticated, and a HiddenField `author_id`
 * static override permissionClasses: Permissions = [
 *   IsAuthenticated,
 *   or(IsAdminUser, new ObjectPermission({ ownerField: 'author_id' })),
 * ]
 */
export class ObjectPermission extends BasePermission {
  /** The property of the object that holds its owner's id. */
  readonly ownerField: string

  constructor(options: ObjectPermissionOptions = {}) {
    super()
    takeOptions(this, options)
    this.ownerField = options.ownerField ?? 'owner_id'
  }

  override hasObjectPermission(ctx: Context, _view: GuardedView, object: object): boolean {
    const owner = idText((object as Record<string, unknown>)[this.ownerField])
    return owner !== undefined && owner === idText(userId(ctx.state['user']))
  }
}

takesOptions<ObjectPermissionOptions>(ObjectPermission, { ownerField: 'name' })
