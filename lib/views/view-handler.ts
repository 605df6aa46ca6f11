/** The Koa handler of a view class: which action of it answers which method. */

import { CONTROL_BEFORE, takeControlAway } from '../caching/control-before.js'
import { answerError } from '../http/answer-error.js'
import { type Context, FORMAT, requestedFormat } from '../http/context.js'
import { databaseScope } from '../http/database-role.js'
import { ConfigurationError, MethodNotAllowed, NotFound } from '../kernel/errors.js'
import { METHODS } from '../kernel/methods.js'
import { TRACE, type Traced } from '../kernel/trace.js'
import { ALL_CHANNELS } from '../kernel/trace-channels.js'
import { mediaTypesFor } from '../parsers/parser.js'
import { ruleSetOf } from '../rules/rule-set.js'
import { actionClass } from './action-options.js'
import { type ActionPlan, type ActionRoute, planOf } from './action-plan.js'
import { type ActingClass, allowedMethods, takesQuery } from './actions.js'
import { isCacheable } from './mixins/cacheable-mixin.js'
import { policiesOf, queryParsers } from './policies.js'
import { dispatch } from './request/dispatch.js'
import { tracedDispatch } from './request/traced-dispatch.js'
import type { ActionMap, HandledClass, RegisteredRoute, View } from './view.js'

/** A Koa handler that answers with a view. */
export type ViewHandler = (ctx: Context) => Promise<void>

/**
 * The HTTP methods a class answers: by its static actions, and by methods of the same name.
 * @throws {ConfigurationError} it answers none
 */
export function methodsOf(view: HandledClass): ActionMap {
  // a query() that is there already is most likely for something else
  const own = METHODS.filter((method) => method !== 'query' && hasMethod(view, method))
  const { withoutActions = [] } = view as ActingClass
  const standard = Object.entries(view.actions).filter(([, action]) => !withoutActions.includes(action as never))
  const actions = Object.fromEntries([...standard, ...own.map((method) => [method, method] as const)])
  if (Object.keys(actions).length === 0) {
    throw new ConfigurationError(
      `${view.name}: answers no method; add get(), post() …, or name its actions: asView({ get: 'list' })`,
    )
  }
  return actions
}

function hasMethod({ prototype }: HandledClass, name: string): boolean {
  return typeof (prototype as Readonly<Record<string, unknown>>)[name] === 'function'
}

/** The methods that a path takes, as `Allow` lists them. @throws {ConfigurationError} */
export function methodsTaken(view: HandledClass, actions: ActionMap): readonly string[] {
  const [first] = Object.values(actions)
  const describing = first === undefined ? view : actionClass(view, first)
  return allowedMethods(actions, describing.metadataClass !== null)
}

/** The media types of the bodies that PATCH reads on a path (RFC 5789, section 3.1). */
export function patchedTypes(plan: ActionPlan): readonly string[] {
  const patching = plan.beside('patch')
  return patching ? mediaTypesFor('PATCH', patching.policies.parsers) : []
}

/**
 * The handler of a view class.
 * @param actions which method answers which HTTP method, in lower case
 * @throws {ConfigurationError} a method does not exist, or a policy list holds something else
 */
export function viewHandler(view: HandledClass, actions: ActionMap, route: RegisteredRoute): ViewHandler {
  const allowed = methodsTaken(view, actions)
  const byMethod = routesByMethod(view, actions, route)
  const isRouted = route.basename !== undefined
  const isCached = isCacheable(view)
  const acceptQuery = acceptedQuery(byMethod.get('QUERY'))
  return function answerByView(ctx) {
    const asked = byMethod.get(ctx.req.method ?? '')
    if (asked === undefined) {
      answerError(ctx, new MethodNotAllowed(ctx.method, allowed))
      return Promise.resolve()
    }
    if (acceptQuery !== undefined) ctx.set('Accept-Query', acceptQuery)
    const putBack = isCached ? takeControlAway(ctx) : undefined
    if (putBack) CONTROL_BEFORE.set(ctx, putBack)
    // our router has told the format; only other methods of the path may write it
    const format = isRouted ? FORMAT.get(ctx) : undefined
    let opened: View
    let plan: ActionPlan
    try {
      plan = planOf(asked)
      if (format !== undefined && ctx.req.method !== 'OPTIONS' && !plan.formats.has(format)) throw new NotFound()
      opened = plan.viewClass.open(ctx, plan)
    } catch (error) {
      // the constructor of an application
      answerError(ctx, error)
      return Promise.resolve()
    }
    if (!isRouted) FORMAT.set(ctx, requestedFormat(ctx, plan.formats))
    for (const channel of ALL_CHANNELS) if (channel.hasSubscribers) return tracedDispatch(opened)
    return (ctx as Traced)[TRACE] === undefined ? dispatch(opened) : tracedDispatch(opened)
  }
}

/** A handler whose first requests wait until the view is prepared; where that fails, they are answered with the error. */
export function preparedHandler(handler: ViewHandler, prepare: () => Promise<void>): ViewHandler {
  let isPrepared = false
  const prepareAndAnswer: ViewHandler = async (ctx) => {
    try {
      await prepare()
      isPrepared = true
    } catch (error) {
      answerError(ctx, error)
      return
    }
    await handler(ctx)
  }
  return (ctx) => (isPrepared ? handler(ctx) : prepareAndAnswer(ctx))
}

/** The media types of QUERY on a path, as `Accept-Query` lists them (RFC 10008); undefined where it takes none. */
function acceptedQuery(route: ActionRoute | undefined): string | undefined {
  if (!route) return undefined
  const { view, action } = route
  const policies = policiesOf(view)
  // a view that is not generic reads it as any other body
  const isOurs = takesQuery(action) && 'queryMethod' in view
  const parsers = isOurs ? queryParsers(policies) : policies.parsers
  return mediaTypesFor('QUERY', parsers).join(', ')
}

/** What answers each method of a path. @throws {ConfigurationError} a method does not exist, or a policy list holds something else */
function routesByMethod(
  view: HandledClass,
  actions: ActionMap,
  { basename, parents, database: outer, replicas, rules: given, routes }: RegisteredRoute,
): ReadonlyMap<string, ActionRoute> {
  const rules = given && ruleSetOf(given)
  const byMethod = new Map<string, ActionRoute>()
  for (const [method, action] of Object.entries(actions)) {
    if (!hasMethod(view, action)) {
      throw new ConfigurationError(`${view.name}: has no method ${action}() for ${method.toUpperCase()}`)
    }
    const name = method.toUpperCase()
    const own = actionClass(view, action)
    const known = routes?.get(name)
    // each with the same properties in the same order: to V8 one shape
    const route =
      known?.action === action
        ? known
        : {
            view: own,
            action,
            actions,
            basename,
            parents,
            database: databaseScope(own.name, own, outer),
            replicas,
            rules,
          }
    policiesOf(own)
    byMethod.set(name, route)
  }
  const get = byMethod.get('GET')
  if (get && !byMethod.has('HEAD')) byMethod.set('HEAD', get)
  // who may use none of a path's actions has no business with their description
  const [first] = byMethod.values()
  const describing = first?.view ?? view
  if (policiesOf(describing).metadata) {
    // OPTIONS asks no database
    byMethod.set('OPTIONS', { view: describing, action: 'metadata', actions, basename, parents, rules })
  }
  return byMethod
}
