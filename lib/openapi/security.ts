/** Who may use an operation, and by which credentials. */
import type { BasePermission } from '../permissions/permission.js'
import type { ViewPolicies } from '../views/view.js'
import type { Components } from './components.js'
import type { DescribedEndpoint, DescribedOperation } from './endpoint.js'
import type { SecurityRequirement } from './types.js'

/** The authentication classes of a view as alternatives, and none of them where anonymous callers may use the operation. */
export function securityOf(
  components: Components,
  { authentication, permissions }: ViewPolicies,
  endpoint: DescribedEndpoint,
  { method }: DescribedOperation,
  { needsUser }: { needsUser: boolean },
): readonly SecurityRequirement[] {
  const schemes = authentication.flatMap((scheme) => scheme.openapi ?? [])
  if (schemes.length === 0) return []
  for (const { name, definition } of schemes) components.securityScheme(name, definition)
  const alternatives = [...new Set(schemes.map(({ name }) => name))].map((name) => ({ [name]: [] }))
  const isOpen = !needsUser && permissions.every((permission) => admitsAnonymous(permission, method, endpoint.detail))
  return isOpen ? [...alternatives, {}] : alternatives
}

/** Of a permission that does not tell we assume that it wants to know who is asking. */
function admitsAnonymous(permission: BasePermission, method: string, detail: boolean): boolean {
  return permission.admitsAnonymous(method) === true && !(detail && permission.guardsObjects())
}
