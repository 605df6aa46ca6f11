/** What `static softDelete` of a view class says: how rows are marked as deleted, and who may see, restore and purge them. */

import type { Where } from '../filters/field-path.js'
import { ConfigurationError } from '../kernel/errors.js'
import { didYouMean } from '../kernel/near-miss.js'
import { resolvePolicies } from '../kernel/policy.js'
import type { Column, ModelDescription } from '../models/model-description.js'
import { modelName } from '../models/objection.js'
import type { BasePermission } from '../permissions/permission.js'
import type { SoftDelete } from './statics.js'

/** @internal Which rows a request is about. */
export type DeletedRows = 'live' | 'all' | 'deleted'

/** How a view set deletes, decided once of its class. */
export interface Deletion {
  readonly column: Column
  /** Who may see and restore deleted objects, besides what the view set asks of anybody; undefined for nobody. */
  readonly permissions: readonly BasePermission[] | undefined
  /** Who may delete their rows. */
  readonly purgePermissions: readonly BasePermission[] | undefined
  /** The condition on the rows that a request is about. */
  readonly scopes: Readonly<Record<DeletedRows, Where | undefined>>
}

/** The property that a declaration names. */
export function deletionProperty(softDelete: NonNullable<SoftDelete>): string {
  return typeof softDelete === 'string' ? softDelete : softDelete.column
}

/** What a class declares. @throws {ConfigurationError} the model has no such column, or a list holds what is no permission */
export function deletionFor(name: string, softDelete: NonNullable<SoftDelete>, model: ModelDescription): Deletion {
  const property = deletionProperty(softDelete)
  const column = model.columns.get(property)
  if (!column) {
    throw new ConfigurationError(
      `${name}: softDelete names "${property}", which is no column of ${modelName(model.model)}${didYouMean(property, model.columns.keys())}`,
    )
  }
  const permissionsOf = (list: 'permissionClasses' | 'purgePermissionClasses') => {
    const classes = typeof softDelete === 'string' ? undefined : softDelete[list]
    if (classes?.length === 0) {
      throw new ConfigurationError(
        `${name}.softDelete.${list} is empty; leave it out for nobody, or name AllowAny for all whom the view set lets in`,
      )
    }
    return classes && resolvePolicies(`${name}.softDelete.${list}`, classes, 'hasPermission')
  }
  return {
    column,
    permissions: permissionsOf('permissionClasses'),
    purgePermissions: permissionsOf('purgePermissionClasses'),
    scopes: {
      live: marked(column, '?? is null'),
      deleted: marked(column, '?? is not null'),
      all: undefined,
    },
  }
}

function marked({ column }: Column, sql: string): Where {
  return ({ table }) => ({ sql, bindings: [`${table}.${column}`] })
}
