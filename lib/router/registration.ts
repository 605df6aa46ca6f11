/** View sets in their places. */

import type { Hint, Segment } from '../kernel/path-pattern.js'
import type { APIView } from '../views/api-view.js'

/** A view set class. */
export type ViewSetClass = typeof APIView

/** A view set in its place. */
export interface Registration {
  /** The path below the parent's object, or below the router's prefix. */
  readonly prefix: readonly Segment[]
  readonly view: ViewSetClass
  readonly basename: string
  /** The view set whose objects these belong to. */
  readonly parent: ParentRegistration | undefined
}

/** How a view set is nested in another. */
export interface ParentRegistration {
  readonly registration: Registration
  /** The name of the path parameter. */
  readonly lookup: string
  /** What the parameter may hold; undefined for what the parent's own key is. */
  readonly lookupType: Hint | undefined
}
