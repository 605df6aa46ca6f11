/** Registrations: view sets in their places. */

import { isDeepStrictEqual } from 'node:util'
import type { Hint, Segment } from '../kernel/path-pattern.js'
import { classesOf } from '../views/action-options.js'
import type { APIView } from '../views/api-view.js'
import { namesBeside } from '../views/names-beside.js'

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

/** Tells a view set of the name that another one has below its path, where the keys of its objects stand. */
export function nameBeside(view: Registration, { prefix, parent }: Registration): void {
  const name = prefix[view.prefix.length]
  if (parent !== view.parent || name?.kind !== 'literal') return
  const isBelow = view.prefix.every((segment, index) => isDeepStrictEqual(segment, prefix[index]))
  if (isBelow) for (const one of classesOf(view.view)) namesBeside(one).add(name.text)
}

/** How a view set is nested in another. */
export interface ParentRegistration {
  readonly registration: Registration
  /** The name of the path parameter. */
  readonly lookup: string
  /** What the parameter may hold; undefined for what the parent's own key is. */
  readonly lookupType: Hint | undefined
}
