/** What a view is to those who route and answer by it: its class, its policies, and how a router has registered it. */

import type { BaseAuthentication } from '../authentication/authentication.js'
import type { Context } from '../http/context.js'
import type { DatabaseOptions } from '../http/database-role.js'
import type { IdempotencyRule } from '../idempotency/rule.js'
import type { BaseMetadata } from '../metadata/metadata.js'
import type { AskedForm, Parser } from '../parsers/parser.js'
import type { BasePermission } from '../permissions/permission.js'
import type { BaseRenderer } from '../renderers/renderer.js'
import type { RuleSet, Rules } from '../rules/rule-set.js'
import type { BaseThrottle } from '../throttling/throttle.js'
import type { BaseVersioning } from '../versioning/versioning.js'
import type { ActionClass } from './action-options.js'
import type { ActionPlan, ActionRoute } from './action-plan.js'
import type { ActionMap } from './actions.js'
import type { APIView } from './api-view.js'
import type { GovernedClass } from './policies.js'
import type { Replicas } from './replicas.js'

export type { ActionMap }

/** @internal The policies of a view class, as instances; made once. */
export interface ViewPolicies {
  readonly versioning: BaseVersioning | undefined
  readonly authentication: readonly BaseAuthentication[]
  readonly permissions: readonly BasePermission[]
  readonly throttles: readonly BaseThrottle[]
  readonly parsers: readonly Parser[]
  /** What its serializers ask of forms. */
  readonly form: AskedForm
  readonly renderers: readonly BaseRenderer[]
  /** Answer 406 where no renderer writes what the client accepts. */
  readonly strictAccept: boolean
  /** What OPTIONS answers; undefined where the view has no metadata. */
  readonly metadata: BaseMetadata | undefined
  /** Writes that bring an `Idempotency-Key` are done once; undefined where the header means nothing. */
  readonly idempotency: IdempotencyRule | undefined
}

/** One request's view. */
export type View = APIView

/** @internal A view set that another is nested in, and the path parameter that names its object. */
export interface ParentLink {
  readonly view: ParentViewClass
  readonly basename: string
  /** The name of the parameter in the path of the nested view set. */
  readonly param: string
}

/** A view class, as far as what routes it knows of it. */
export interface HandledClass extends GovernedClass, ActionClass, DatabaseOptions {
  new (): object
  readonly name: string
  /** Which method answers which HTTP method, beside those of the same name. */
  readonly actions: ActionMap
  /** The view that answers a request. */
  open(ctx: Context, plan: ActionPlan): View
}

/** A view class whose objects other view sets are nested in. */
export interface ParentViewClass extends HandledClass {
  readonly lookupField: string
  readonly lookupUrlKwarg: string | null
}

/** What is said of the route of a view: by the router that has registered it, or of a route of one's own. */
export interface RegisteredRoute {
  /** The first part of the route's name. */
  readonly basename?: string | undefined
  /** The view sets it is nested in, the outermost first. @default [] */
  readonly parents?: readonly ParentLink[]
  /** What the router declares of the database role and settings of its views. */
  readonly database?: DatabaseOptions | undefined
  /** Where requests read, beside the database of the view. */
  readonly replicas?: Replicas | undefined
  /** Who sees and writes which rows. @see docs/reference/rules.md @default all rows, to all callers */
  readonly rules?: Rules | RuleSet | undefined
  /** @internal The routes that a router has made of the path's methods, by their names in upper case. */
  readonly routes?: ReadonlyMap<string, ActionRoute> | undefined
}
