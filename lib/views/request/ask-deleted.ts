/** Asks whether a caller may see, restore or purge deleted objects, and remembers which rows the request is about. */

import { lastValueOf, type ParameterDescription } from '../../filters/filter.js'
import { queryOf } from '../../http/context.js'
import { ValidationError } from '../../kernel/errors.js'
import { checkPermissions } from '../../permissions/check-permissions.js'
import { isRead } from '../actions.js'
import type { GenericView } from '../generic-view.js'
import type { GenericViewClass } from '../generic-view-class.js'
import { resourceOf } from '../resource.js'
import type { DeletedRows } from '../soft-delete.js'

const PARAMETER = 'deleted'

const ROWS: ReadonlyMap<string, DeletedRows> = new Map([
  ['false', 'live'],
  ['true', 'all'],
  ['only', 'deleted'],
])

/**
 * What a request asks of deleted objects: by its action, or by `?deleted=`.
 * @throws ValidationError the parameter has another value
 * @throws PermissionDenied, AuthenticationFailed the caller may not
 */
export async function askDeleted(view: GenericView): Promise<void> {
  const { ctx } = view
  const { action, resource } = view.plan
  if (action === 'restoreDeleted' || action === 'purgeDeleted') {
    view.deletedRows = 'deleted'
    return
  }
  const permissions = resource.deletion?.permissions
  const asked = permissions && isRead(action) ? lastValueOf(queryOf(ctx), PARAMETER) : undefined
  if (asked === undefined) return
  const rows = ROWS.get(asked)
  if (!rows) throw new ValidationError({ [PARAMETER]: ['Use one of: true, only, false.'] })
  if (rows !== 'live' && permissions) {
    await checkPermissions(ctx, view, permissions)
    Object.assign(view, { plan: view.plan.ofDeleted })
  }
  view.deletedRows = rows
}

/** The parameter by which some callers ask for deleted objects; none where nobody may. */
export function deletedParameters(view: GenericViewClass, action: string): readonly ParameterDescription[] {
  if (!isRead(action) || !resourceOf(view).deletion?.permissions) return []
  return [
    {
      name: PARAMETER,
      description: 'Shows deleted objects too, or only those, to whom that is permitted.',
      schema: { type: 'string', enum: [...ROWS.keys()], default: 'false' },
    },
  ]
}
