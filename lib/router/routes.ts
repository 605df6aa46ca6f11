/** The routes of a view set, as data (spec section 4.1). */
import type { ActionMap } from '../views/view.js'

/** A path of a resource, and which of the view set's methods answer on it. */
export interface RouteTemplate {
  readonly detail: boolean
  readonly actions: ActionMap
}

/** The paths of a resource. Only the methods that a view set has are routed. */
export const RESOURCE_ROUTES: readonly RouteTemplate[] = [
  { detail: false, actions: { get: 'list', post: 'create' } },
  { detail: true, actions: { get: 'retrieve', put: 'update', patch: 'partialUpdate', delete: 'destroy' } },
]

/** The end of a route's name, where it is not the action's own name. */
export const ROUTE_NAMES: Readonly<Record<string, string>> = { partialUpdate: 'partial_update' }
