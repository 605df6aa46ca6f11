/** The policies of a view class as instances, made once. */
import type { BaseAuthentication } from '../authentication/authentication.js'
import type { BaseFilter } from '../filters/filter.js'
import { type IdempotencyRule, type IdempotencyScope, type Idempotent, idempotencyRule } from '../idempotency/rule.js'
import { ConfigurationError } from '../kernel/errors.js'
import { oncePer } from '../kernel/once-per.js'
import { type Policies, type Policy, resolvePolicies, resolvePolicy } from '../kernel/policy.js'
import type { BaseMetadata } from '../metadata/metadata.js'
import type { BasePagination } from '../pagination/pagination.js'
import { JSONParser } from '../parsers/json-parser.js'
import type { AskedForm, Parser } from '../parsers/parser.js'
import { AllowAny, type BasePermission } from '../permissions/permission.js'
import type { BaseRenderer } from '../renderers/renderer.js'
import { settleThrottles } from '../throttling/settle-throttles.js'
import type { BaseThrottle } from '../throttling/throttle.js'
import type { BaseVersioning } from '../versioning/versioning.js'
import type { ViewPolicies } from './view.js'

/** What a view class declares of its policies. */
export interface GovernedClass {
  readonly name: string
  readonly versioningClass: Policy<BaseVersioning> | null
  readonly authenticationClasses: Policies<BaseAuthentication>
  readonly permissionClasses: Policies<BasePermission>
  readonly throttleClasses: Policies<BaseThrottle>
  readonly throttleScope: string | undefined
  readonly parserClasses: Policies<Parser>
  readonly rendererClasses: Policies<BaseRenderer>
  readonly metadataClass: Policy<BaseMetadata> | null
  readonly strictAccept: boolean
  readonly atomic: boolean
  readonly idempotent: Idempotent
  readonly idempotencyScope: IdempotencyScope
  /** What its serializers ask of forms. */
  askedForm(): AskedForm
}

/** The policies of a view class. @throws {ConfigurationError} a list holds something else, or there is no renderer */
export const policiesOf = oncePer((view: GovernedClass): ViewPolicies => {
  const resolved = resolve(view)
  for (const permission of resolved.permissions) permission.check(view)
  return resolved
})

function resolve(view: GovernedClass): ViewPolicies {
  const where = (name: string) => `${view.name}.${name}`
  const renderers = resolvePolicies(where('rendererClasses'), view.rendererClasses, 'render')
  if (renderers.length === 0) throw new ConfigurationError(`${where('rendererClasses')}: give at least one renderer`)
  const { versioningClass, metadataClass } = view
  const permissions = resolvePolicies(where('permissionClasses'), view.permissionClasses, 'hasPermission').filter(
    (permission) => permission.constructor !== AllowAny,
  )
  return {
    versioning: versioningClass
      ? resolvePolicy(where('versioningClass'), versioningClass, 'determineVersion')
      : undefined,
    authentication: resolvePolicies(where('authenticationClasses'), view.authenticationClasses, 'authenticate'),
    permissions,
    throttles: settleThrottles(where('throttleClasses'), view.throttleClasses, view),
    parsers: resolvePolicies(where('parserClasses'), view.parserClasses, 'parse'),
    form: view.askedForm(),
    metadata:
      metadataClass === null ? undefined : resolvePolicy(where('metadataClass'), metadataClass, 'determineMetadata'),
    renderers,
    strictAccept: view.strictAccept,
    idempotency: idempotencyOf(view, permissions),
  }
}

/** @throws {ConfigurationError} nothing tells callers apart, or there is no transaction to keep answers in */
function idempotencyOf(view: GovernedClass, permissions: readonly BasePermission[]): IdempotencyRule | undefined {
  const { name, idempotent, idempotencyScope, atomic } = view
  const rule = idempotencyRule(name, idempotent, idempotencyScope)
  if (!rule) return undefined
  if (!atomic)
    throw new ConfigurationError(`${name}: idempotent keeps answers in the transaction; leave out atomic: false`)
  if (rule.scope || permissions.some((permission) => permission.admitsAnonymous('POST') !== true)) return rule
  throw new ConfigurationError(
    `${name}: idempotent needs to know whose key it is, and anybody may write; ` +
      'add a permission such as IsAuthenticatedOrReadOnly, or tell callers apart by static idempotencyScope',
  )
}

const JSON_TYPE = 'application/json'
const JSON_ALONE: readonly Parser[] = [new JSONParser()]

/** What reads the bodies of QUERY: the view's own parser of JSON, or else one with the default limits. */
export const queryParsers = oncePer(({ parsers }: ViewPolicies): readonly Parser[] => {
  const own = parsers.find(({ mediaTypes }) => mediaTypes.includes(JSON_TYPE))
  return own ? [own] : JSON_ALONE
})

/** What a view class declares of its lists. */
export interface ListingClass {
  readonly name: string
  readonly paginationClass: Policy<BasePagination> | null
  readonly filterBackends: Policies<BaseFilter>
}

/** The policies of a class's lists; one set for as long as the process runs, as a paginator may hold connections. */
interface ListPolicies {
  readonly paginator: BasePagination | undefined
  readonly filters: readonly BaseFilter[]
}

export const listPoliciesOf = oncePer(
  (view: ListingClass): ListPolicies => ({
    paginator: view.paginationClass
      ? resolvePolicy(`${view.name}.paginationClass`, view.paginationClass, 'paginate')
      : undefined,
    filters: resolvePolicies(`${view.name}.filterBackends`, view.filterBackends, 'filterQueryset'),
  }),
)
