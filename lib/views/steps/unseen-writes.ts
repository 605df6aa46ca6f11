/** Whether code of the application looks at an object around its writing: what is related is loaded for nobody else. */

import { oncePer } from '../../kernel/once-per.js'
import { traitsOf } from '../../models/model-traits.js'
import { ownCode } from '../../rows/own-code.js'
import { serializerPlan } from '../../serializers/plan.js'
import { actionNamed } from '../actions.js'
import type { GenericView } from '../generic-view.js'
import { declaredInput } from '../input-class.js'
import { INPUT } from '../overrides.js'
import type { Resource } from '../resource.js'

/** Methods that are given what is saved, or decide on who is. */
const SHOWING = ['loadRelated', 'getSerializer', ...INPUT]
/** Methods that are given an object before, or decide on who is. */
const LOOKING = ['getObject', 'getObjectToWrite', 'checkObjectPermissions']

/** What is decided of the writes of an action. */
interface Unseen {
  /** Nobody looks at objects before they are written. */
  readonly before: boolean
  /** Nobody looks at what is saved but who shows it. */
  readonly saved: boolean
}

const decidedOf = oncePer((_resource: Resource) => new Map<string, Unseen>())

/** True for a request that writes an object and shows it anew by nothing but code of the package. */
export function writesUnseen(view: GenericView): boolean {
  // a condition may be about all that is shown
  if (view.ctx.headers['if-none-match'] !== undefined) return false
  // operations are applied to all that is shown
  return view.body.patch !== 'operations' && unseen(view).before
}

/** True where nothing but code of the package looks at what was saved. */
export function savesUnseen(view: GenericView): boolean {
  return unseen(view).saved
}

function unseen({ plan: { resource, action } }: GenericView): Unseen {
  const decided = decidedOf(resource)
  let known = decided.get(action)
  if (!known) {
    known = decide(resource, action)
    decided.set(action, known)
  }
  return known
}

const SEEN: Unseen = { before: false, saved: false }

function decide(resource: Resource, action: string): Unseen {
  const { view, overrides, guardsObjects } = resource
  const { writes } = actionNamed(action) ?? {}
  const serializerClass = declaredInput(view)
  if (!writes || overrides.hasPartOf(action) || resource.ownHook(action) !== null) return SEEN
  if (overrides.first(SHOWING) !== undefined) return SEEN
  const mayLook = guardsObjects || overrides.first(LOOKING) !== undefined
  const { plainUpdates, plainDeletes } = traitsOf(view.modelClass())
  if (writes === 'delete') return { before: !mayLook && plainDeletes, saved: false }
  if (!serializerClass || ownCode(serializerClass, writes) !== null) return SEEN
  // objects in the input are compared with those that are nested in the object
  const nests = serializerPlan(serializerClass).nesting.some(({ input }) => input === 'objects')
  return { before: !(mayLook || nests) && plainUpdates, saved: true }
}
