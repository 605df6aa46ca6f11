/** The routes of a view set, as data. */
import { ConfigurationError } from '../kernel/errors.js'
import { snakeCase } from '../kernel/naming.js'
import { parsePattern, type Segment } from '../kernel/path-pattern.js'
import { type ActionClass, actionsOf } from '../views/action-options.js'
import { actionNamed, actionsOn, answers, type StandardAction, withQuery } from '../views/actions.js'
import type { RouteKind } from '../views/endpoint.js'
import type { ActionMap } from '../views/view.js'

/** A path of a resource, and which of the view set's methods answer on it. */
export interface RouteTemplate {
  readonly kind: RouteKind
  /** The path is one of an object: the object's key stands before `path`. */
  readonly detail: boolean
  readonly path: readonly Segment[]
  readonly actions: ActionMap
}

/** The paths of a resource. Only the methods that a view set has are routed. */
const RESOURCE_ROUTES: readonly RouteTemplate[] = [
  { kind: 'resource', detail: false, path: [], actions: actionsOn('list') },
  { kind: 'resource', detail: false, path: parsePattern('aggregate'), actions: actionsOn('aggregate') },
  { kind: 'resource', detail: false, path: parsePattern('facets'), actions: actionsOn('facets') },
  {
    kind: 'bulk',
    detail: false,
    path: parsePattern('bulk'),
    actions: actionsOn('bulk'),
  },
  {
    kind: 'resource',
    detail: true,
    path: [],
    actions: actionsOn('detail'),
  },
  { kind: 'resource', detail: true, path: parsePattern('restore'), actions: actionsOn('restore') },
  { kind: 'resource', detail: true, path: parsePattern('purge'), actions: actionsOn('purge') },
]

/** The paths of a view set, those of its actions included. @throws {ConfigurationError} actions that do not go together */
export function routesOf(
  view: ActionClass & { readonly queryMethod?: boolean; readonly withoutActions?: readonly StandardAction[] },
): readonly RouteTemplate[] {
  const queried = (actions: ActionMap) => (view.queryMethod === true ? withQuery(actions) : actions)
  const standard = RESOURCE_ROUTES.map((route) => ({
    ...route,
    actions: queried(Object.fromEntries(Object.entries(route.actions).filter(([, action]) => answers(view, action)))),
  }))
  return actionRoutes(
    view,
    standard.filter(({ actions }) => Object.keys(actions).length > 0),
  )
}

/** The end of a route's name. */
export function routeSuffix(view: ActionClass, action: string): string {
  return actionsOf(view).get(action)?.urlName ?? snakeCase(action)
}

type OpenRoute = RouteTemplate & { readonly actions: Record<string, string> }

/** Actions on one path are one route, whatever their methods: those without an end stand on the path of the list, or of the object. */
function actionRoutes(view: ActionClass, standard: readonly OpenRoute[]): readonly RouteTemplate[] {
  const isOwn = ({ kind, path }: OpenRoute) => kind === 'resource' && path.length === 0
  const routes = new Map(standard.map((route, index) => [isOwn(route) ? `${route.detail} ` : String(index), route]))
  for (const { action, methods, detail, urlPath } of actionsOf(view).values()) {
    if (actionNamed(action)) {
      throw new ConfigurationError(
        `${view.name}: ${action}() has a route of its own, so action() cannot give it another; rename the method`,
      )
    }
    const path = actionPath(view, action, urlPath)
    const key = `${detail} ${path.length > 0 ? urlPath : ''}`
    const route = routes.get(key) ?? { kind: 'action', detail, path, actions: {} }
    for (const method of methods) {
      const other = route.actions[method]
      if (other !== undefined) {
        throw new ConfigurationError(
          `${view.name}: ${other}() and ${action}() both answer ${method.toUpperCase()} on "${urlPath}"; change methods or urlPath of one`,
        )
      }
      route.actions[method] = action
    }
    routes.set(key, route)
  }
  return [...routes.values()]
}

function actionPath(view: ActionClass, action: string, urlPath: string): readonly Segment[] {
  try {
    return parsePattern(urlPath)
  } catch (error) {
    throw new ConfigurationError(`${view.name}.${action}: urlPath does not fit: ${(error as Error).message}`)
  }
}
