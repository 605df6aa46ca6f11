/** The Koa handler of a view class: which action of it answers which method. */

import { answerError } from '../http/answer-error.js'
import { type Context, formatOf, requestedFormat, setFormat } from '../http/context.js'
import { type DatabaseOptions, databaseScope } from '../http/database-role.js'
import { ConfigurationError, MethodNotAllowed, NotFound } from '../kernel/errors.js'
import { METHODS } from '../kernel/methods.js'
import { TRACE, type Traced } from '../kernel/trace.js'
import { ALL_CHANNELS } from '../kernel/trace-channels.js'
import { mediaTypesFor } from '../parsers/parser.js'
import { type ActionClass, actionClass, actionsOf, answerSchemaOf } from './action-options.js'
import { actionNamed, allowedMethods, takesQuery } from './actions.js'
import { type GovernedClass, policiesOf, queryParsers } from './policies.js'
import { dispatch } from './request/dispatch.js'
import { tracedDispatch } from './request/traced-dispatch.js'
import type { ActionMap, DecidedAction, OpenRoute, RegisteredRoute, View, ViewPolicies } from './view.js'

/** A Koa handler that answers with a view. */
export type ViewHandler = (ctx: Context) => Promise<void>

/** A view class, as far as its handler knows it. */
export interface HandledClass extends GovernedClass, ActionClass, DatabaseOptions {
  new (): object
  readonly name: string
  /** Which method answers which HTTP method, beside those of the same name. */
  readonly actions: ActionMap
  /** The view that answers a request. */
  open(ctx: Context, route: OpenRoute): View
}

/**
 * The HTTP methods a class answers: by its static actions, and by methods of the same name.
 * @throws {ConfigurationError} it answers none
 */
export function methodsOf(view: HandledClass): ActionMap {
  // a query() that is there already is most likely for something else
  const own = METHODS.filter((method) => method !== 'query' && hasMethod(view, method))
  const actions = { ...view.actions, ...Object.fromEntries(own.map((method) => [method, method])) }
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
  return allowedMethods(actions, { describes: describing.metadataClass !== null })
}

/** What answers one method of a path: the class, with the statics of its action, and what each request opens it with. */
interface Answering {
  readonly view: HandledClass
  readonly route: OpenRoute
  readonly formats: ReadonlySet<string>
}

/** What of an action its class tells. @throws {ConfigurationError} a policy list holds something else */
export function decidedOf(view: GovernedClass & ActionClass, action: string): DecidedAction {
  return {
    policies: takesPatches(view, action) ? policiesOf(view) : withoutPatches(policiesOf(view)),
    inputSerializer: actionsOf(view).get(action)?.inputSerializer,
    answerSchema: answerSchemaOf(view, action),
  }
}

/** True for an action whose object a patch document may change: PATCH of one object, or a method that the router does not know. */
function takesPatches(view: ActionClass, action: string): boolean {
  return action === 'partialUpdate' || !(actionNamed(action) || actionsOf(view).has(action))
}

function withoutPatches(policies: ViewPolicies): ViewPolicies {
  const parsers = policies.parsers.filter(({ patch }) => patch === undefined)
  return parsers.length === policies.parsers.length ? policies : { ...policies, parsers }
}

/** The media types of the bodies that PATCH reads on a path (RFC 5789, section 3.1). */
export function patchedTypes(view: HandledClass, { patch: action }: ActionMap): readonly string[] {
  return action === undefined
    ? []
    : mediaTypesFor('PATCH', decidedOf(actionClass(view, action), action).policies.parsers)
}

/**
 * The handler of a view class.
 * @param actions which method answers which HTTP method, in lower case
 * @throws {ConfigurationError} a method does not exist, or a policy list holds something else
 */
export function viewHandler(view: HandledClass, actions: ActionMap, route: RegisteredRoute): ViewHandler {
  const allowed = methodsTaken(view, actions)
  const byMethod = answeringByMethod(view, actions, route)
  const isRouted = route.basename !== undefined
  const acceptQuery = acceptedQuery(byMethod.get('QUERY'))
  return function answerByView(ctx) {
    const answering = byMethod.get(ctx.req.method ?? '')
    if (answering === undefined) {
      answerError(ctx, new MethodNotAllowed(ctx.method, allowed))
      return Promise.resolve()
    }
    if (acceptQuery !== undefined) ctx.set('Accept-Query', acceptQuery)
    // our router has told the format; only other methods of the path may write it
    const format = isRouted ? formatOf(ctx) : undefined
    if (format !== undefined && ctx.req.method !== 'OPTIONS' && !answering.formats.has(format)) {
      answerError(ctx, new NotFound())
      return Promise.resolve()
    }
    let opened: View
    try {
      opened = answering.view.open(ctx, answering.route)
    } catch (error) {
      // the constructor of an application
      answerError(ctx, error)
      return Promise.resolve()
    }
    if (!isRouted) setFormat(ctx, requestedFormat(ctx, answering.formats))
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
function acceptedQuery(answering: Answering | undefined): string | undefined {
  if (!answering) return undefined
  const { decided, action } = answering.route
  const policies = decided?.policies ?? policiesOf(answering.view)
  // a view that is not generic reads it as any other body
  const isOurs = takesQuery(action) && 'queryMethod' in answering.view
  const parsers = isOurs ? queryParsers(policies) : policies.parsers
  return mediaTypesFor('QUERY', parsers).join(', ')
}

function answeringByMethod(
  view: HandledClass,
  actions: ActionMap,
  { basename, parents = [], database: outer, replicas }: RegisteredRoute,
): ReadonlyMap<string, Answering> {
  // each with the same properties in the same order: to V8 one shape
  const byMethod = new Map<string, Answering>()
  const answering = (own: HandledClass, action: string, { isOptions = false } = {}): Answering => {
    const decided = decidedOf(own, action)
    // OPTIONS asks no database
    const database = isOptions ? undefined : databaseScope(own.name, own, outer)
    const formats = new Set(decided.policies.renderers.map(({ format }) => format))
    return { view: own, route: { basename, parents, action, actions, database, replicas, decided }, formats }
  }
  for (const [method, action] of Object.entries(actions)) {
    if (!hasMethod(view, action)) {
      throw new ConfigurationError(`${view.name}: has no method ${action}() for ${method.toUpperCase()}`)
    }
    byMethod.set(method.toUpperCase(), answering(actionClass(view, action), action))
  }
  const get = byMethod.get('GET')
  if (get && !byMethod.has('HEAD')) byMethod.set('HEAD', get)
  // who may use none of a path's actions has no business with their description
  const [first] = byMethod.values()
  const describing = first?.view ?? view
  if (policiesOf(describing).metadata) {
    byMethod.set('OPTIONS', answering(describing, 'metadata', { isOptions: true }))
  }
  return byMethod
}
