/** Whether code of the application looks at an object before it is written: what is related is loaded for nobody else. */

import { oncePer } from '../../kernel/once-per.js'
import { traitsOf } from '../../models/model-traits.js'
import { insertObstacle } from '../../rows/inserter.js'
import { ModelSerializer } from '../../serializers/model-serializer.js'
import { actionNamed, changesObject } from '../actions.js'
import type { GenericView } from '../generic-view.js'
import { INPUT } from '../overrides.js'
import type { Resource } from '../resource.js'

/** Methods that are given the object, or decide on who is. */
const LOOKING = ['getObject', 'getObjectToWrite', 'checkObjectPermissions', 'loadRelated', 'getSerializer', ...INPUT]

const decidedOf = oncePer((_resource: Resource) => new Map<string, boolean>())

/** True for a request that holds an object, writes it and shows it anew by nothing but code of the package. */
export function writesUnseen({ holds, ctx, resource, action, body }: GenericView): boolean {
  // a condition may be about all that is shown
  if (!holds || ctx.headers['if-none-match'] !== undefined) return false
  // operations are applied to all that is shown
  if (body.patch === 'operations') return false
  const decided = decidedOf(resource)
  let isUnseen = decided.get(action)
  if (isUnseen === undefined) {
    isUnseen = decide(resource, action)
    decided.set(action, isUnseen)
  }
  return isUnseen
}

function decide({ view, overrides, guardsObjects }: Resource, action: string): boolean {
  const { writes, hooks = [] } = actionNamed(action) ?? {}
  if (!changesObject(action) || overrides.hasPartOf(action) || guardsObjects) return false
  if (overrides.first([...hooks, ...LOOKING]) !== undefined) return false
  const { plainUpdates, plainDeletes } = traitsOf(view.modelClass())
  if (writes === 'delete') return plainDeletes
  const { serializerClass } = view
  if (!serializerClass || !plainUpdates || insertObstacle(serializerClass) !== null) return false
  return (serializerClass.prototype as Partial<ModelSerializer>).update === ModelSerializer.prototype.update
}
