/** Security requirements of an operation: by which credentials it may be used. */
import { HasScope } from '../permissions/has-scope.js'
import type { BasePermission } from '../permissions/permission.js'
import type { ActionPlan } from '../views/action-plan.js'
import type { DescribedOperation } from './subject.js'
import type { SecurityRequirement } from './types.js'

/** The authentication classes of a view as alternatives, and none of them where anonymous callers may use the operation. */
export function securityOf(
  { components, endpoint, operation, view: { plan } }: DescribedOperation,
  { needsUser }: { needsUser: boolean },
): readonly SecurityRequirement[] {
  const { authentication, permissions } = plan.policies
  const schemes = authentication.flatMap((scheme) => scheme.openapi ?? [])
  if (schemes.length === 0) return []
  for (const { name, definition } of schemes) components.securityScheme(name, definition)
  const scopes = permissions.flatMap((permission) => (permission instanceof HasScope ? permission.scopes : []))
  const named = new Map(
    schemes.map(({ name, definition }) => [name, definition['type'] === 'openIdConnect' ? scopes : []]),
  )
  const alternatives = [...named].map(([name, wanted]) => ({ [name]: [...wanted] }))
  const isOpen =
    !needsUser &&
    permissions.every((permission) => admitsAnonymous(permission, operation.method, endpoint.detail)) &&
    permissionsOfParents(plan).every((permission) => admitsAnonymous(permission, 'GET', true))
  return isOpen ? [...alternatives, {}] : alternatives
}

/** What the view sets that an action is nested in ask of those who read their objects. */
export function permissionsOfParents({ parent }: ActionPlan): readonly BasePermission[] {
  return parent ? [...permissionsOfParents(parent), ...parent.policies.permissions] : []
}

/** A permission that does not say admits nobody anonymous: we assume that it wants to know who is asking. */
function admitsAnonymous(permission: BasePermission, method: string, detail: boolean): boolean {
  return permission.admitsAnonymous(method) === true && !(detail && permission.guardsObjects())
}
