/** What can be wrong with who owns rows, and how they are marked as deleted (`ObjectPermission`, `softDelete`). */
import { ConfigurationError } from '../../kernel/errors.js'
import { checkKinds } from '../../kernel/option-kinds.js'
import { describeAnew, describeModel } from '../../models/describe-model.js'
import { modelName } from '../../models/objection.js'
import { markDeletion } from '../../models/soft-deletes.js'
import { ObjectPermission } from '../../permissions/object-permission.js'
import { hasAttribute } from '../../serializers/check-source.js'
import { isBuiltIn } from '../built-in.js'
import { type GenericViewClass, hasModel } from '../generic-view-class.js'
import { policiesOf } from '../policies.js'
import { resourceOf } from '../resource.js'
import { deletionProperty } from '../soft-delete.js'
import { refuseWritable } from './check-writes.js'

const OPTIONS = { column: 'name', permissionClasses: 'list', purgePermissionClasses: 'list' } as const
const POINTS_IN_TIME: ReadonlySet<string> = new Set(['timestamptz', 'timestamp'])

/**
 * Says of the view's model that its rows are marked as deleted: whatever shows them by a relation leaves those out.
 * @throws {ConfigurationError} the declaration is none, or another view set of the model says something else
 */
export function declareSoftDelete(view: GenericViewClass): void {
  const { softDelete } = view
  if (softDelete === null || !hasModel(view)) return
  const where = `${view.name}: static softDelete`
  if (typeof softDelete !== 'string') checkKinds(where, softDelete, { kinds: OPTIONS })
  const property = deletionProperty(softDelete)
  if (!property) throw new ConfigurationError(`${where} names no column; write softDelete = 'deleted_at'`)
  if (markDeletion(where, view.modelClass(), property)) describeAnew()
}

/**
 * The column must be there, hold a point in time or nothing, and be out of the client's reach.
 * @throws {ConfigurationError} naming class, attribute and fix
 */
export function checkSoftDelete(view: GenericViewClass): void {
  const resource = resourceOf(view)
  const { deletion, paginator } = resource
  if (!deletion) return
  const { property, type, sqlType, holdsNull } = deletion.column
  const { model } = describeModel(view.modelClass())
  const fail = (problem: string) => new ConfigurationError(`${view.name}: softDelete names "${property}"${problem}`)
  if (!POINTS_IN_TIME.has(type)) throw fail(` of type ${sqlType ?? type}; name a timestamptz, which is null until then`)
  if (!holdsNull) throw fail(`, which is never null, so that every row of ${modelName(model)} would be deleted`)
  refuseWritable(view, 'softDelete', property)
  if (!deletion.permissions) return
  if (resource.parameterNames.has('deleted') || paginator?.parameters().some(({ name }) => name === 'deleted')) {
    throw new ConfigurationError(
      `${view.name}: the query parameter "deleted" asks for deleted objects (softDelete), and is read by a filter or the paginator, too; rename it there`,
    )
  }
}

/**
 * Objects without the property are nobody's: each request would be refused. What a queryset of the application's selects
 * besides is not known.
 * @throws {ConfigurationError} naming class, property and model
 */
export function checkOwners(view: GenericViewClass): void {
  if (view.queryset !== null || !isBuiltIn(view.prototype, 'getQueryset')) return
  const description = describeModel(view.modelClass())
  const { columns, relations, model } = description
  for (const permission of policiesOf(view).permissions.flatMap(partsOf)) {
    if (!(permission instanceof ObjectPermission)) continue
    // an application's own looks at objects as it likes
    if (permission.hasObjectPermission !== ObjectPermission.prototype.hasObjectPermission) continue
    const { ownerField } = permission
    if (columns.has(ownerField) || relations.has(ownerField) || hasAttribute(description, ownerField)) continue
    throw new ConfigurationError(
      `${view.name}: ObjectPermission asks for the ownerField "${ownerField}", which ${modelName(model)} does not have; name the property that holds the owner's id`,
    )
  }
}

/** A permission, or those that it is made of. */
function partsOf(permission: object): readonly object[] {
  const { operands } = permission as { readonly operands?: readonly object[] }
  return operands ? operands.flatMap(partsOf) : [permission]
}
