/** Registrations: view sets in their places. */

import { isDeepStrictEqual } from 'node:util'
import { externalIds } from '../ids/external-ids.js'
import type { Hint, PathParameter, Segment } from '../kernel/path-pattern.js'
import { describeModel } from '../models/describe-model.js'
import { classesOf } from '../views/action-options.js'
import type { APIView } from '../views/api-view.js'
import { isGeneric } from '../views/generic-api-view.js'
import { namesBeside } from '../views/names-beside.js'
import { resourceOf } from '../views/resource.js'

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

const HINTS: Readonly<Record<string, Hint>> = { int2: 'int', int4: 'int', int8: 'int', uuid: 'uuid' }

/** The path parameter of a detail route; its hint is the type of the column that objects are looked up by. */
export function lookupSegment(view: ViewSetClass): PathParameter {
  if (!isGeneric(view)) return { kind: 'param', name: 'id', hint: 'str', beside: namesBeside(view) }
  const { lookupField } = view
  const { columns, prepared } = describeModel(view.modelClass())
  const isStored = externalIds(view.modelClass())?.stored === true
  const isKnown = prepared || (!isStored && (lookupField === 'id' || columns.has(lookupField)))
  const key = isKnown ? resourceOf(view).lookup : undefined
  // a string that is no external id is a missing object, not a missing path
  const hint = key?.ids || key?.columns.length !== 1 ? undefined : HINTS[key.columns[0]?.type ?? '']
  const name = view.lookupUrlKwarg ?? lookupField
  return { kind: 'param', name, hint: hint ?? 'str', key: !key?.ids, beside: namesBeside(view) }
}
