import type { BaseFilter } from '../filters/filter.js'
import { type IdempotencyRule, idempotencyRule } from '../idempotency/rule.js'
import { ConfigurationError } from '../kernel/errors.js'
import { oncePer } from '../kernel/once-per.js'
import { resolvePolicies, resolvePolicy } from '../kernel/policy.js'
import { settled } from '../kernel/settled.js'
import type { BasePagination } from '../pagination/pagination.js'
import { JSONParser } from '../parsers/json-parser.js'
import { PARSER, type Parser } from '../parsers/parser.js'
import { AllowAny, type BasePermission } from '../permissions/permission.js'
import { RENDERER } from '../renderers/renderer.js'
import { settleThrottles } from '../throttling/settle-throttles.js'
import type { APIView } from './api-view.js'
import type { GenericViewClass } from './generic-view-class.js'
import type { ViewPolicies } from './view.js'

/** The statics of its policies, and what its serializers ask of forms. */
type Governing =
  | 'versioningClass'
  | 'authenticationClasses'
  | 'permissionClasses'
  | 'throttleClasses'
  | 'throttleScope'
  | 'parserClasses'
  | 'rendererClasses'
  | 'metadataClass'
  | 'strictAccept'
  | 'atomic'
  | 'idempotent'
  | 'idempotencyScope'
  | 'askedForm'

/** What a view class declares of its policies. */
export type GovernedClass = { readonly [Name in Governing]: (typeof APIView)[Name] } & { readonly name: string }

/** The policies of a view class. @throws {ConfigurationError} a list holds something else, or there is no renderer */
export const policiesOf = oncePer((view: GovernedClass): ViewPolicies => {
  const resolved = resolve(view)
  for (const permission of resolved.permissions) {
    settled(permission.check(view) as unknown, `${view.name}: ${permission.constructor.name}: check() is asynchronous`)
  }
  return resolved
})

function resolve(view: GovernedClass): ViewPolicies {
  const where = (name: string) => `${view.name}.${name}`
  const renderers = resolvePolicies(where('rendererClasses'), view.rendererClasses, RENDERER)
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
    parsers: resolvePolicies(where('parserClasses'), view.parserClasses, PARSER),
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

/** The policies of a class's lists; one set for as long as the process runs, as a paginator may hold connections. */
interface ListPolicies {
  readonly paginator: BasePagination | undefined
  readonly filters: readonly BaseFilter[]
}

export const listPoliciesOf = oncePer(
  (view: Pick<GenericViewClass, 'name' | 'paginationClass' | 'filterBackends'>): ListPolicies => ({
    paginator: view.paginationClass
      ? resolvePolicy(`${view.name}.paginationClass`, view.paginationClass, 'paginate')
      : undefined,
    filters: resolvePolicies(`${view.name}.filterBackends`, view.filterBackends, 'filterQueryset'),
  }),
)
