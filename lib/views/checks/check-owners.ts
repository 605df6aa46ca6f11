/** Whether the property is there by which objects belong to somebody. */
import { ConfigurationError } from '../../kernel/errors.js'
import { describeModel } from '../../models/describe-model.js'
import { modelName } from '../../models/objection.js'
import { ObjectPermission } from '../../permissions/object-permission.js'
import { hasAttribute } from '../../serializers/check-source.js'
import { isBuiltIn } from '../built-in.js'
import type { GenericViewClass } from '../generic-view-class.js'
import { policiesOf } from '../policies.js'

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
    if (!(permission instanceof ObjectPermission) || !isOwn(permission)) continue
    const { ownerField } = permission
    if (columns.has(ownerField) || relations.has(ownerField) || hasAttribute(description, ownerField)) continue
    throw new ConfigurationError(
      `${view.name}: ObjectPermission asks for the ownerField "${ownerField}", which ${modelName(model)} does not have; name the property that holds the owner's id`,
    )
  }
}

/** True where objects are asked as the package has it. */
function isOwn(permission: ObjectPermission): boolean {
  return permission.hasObjectPermission === ObjectPermission.prototype.hasObjectPermission
}

/** A permission, or those that it is made of. */
function partsOf(permission: object): readonly object[] {
  const { operands } = permission as { readonly operands?: readonly object[] }
  return operands ? operands.flatMap(partsOf) : [permission]
}
