/** Whether code of the application looks at an object before it is written: what is related is loaded for nobody else. */

import { oncePer } from '../../kernel/once-per.js'
import { traitsOf } from '../../models/model-traits.js'
import { decideRows } from '../../rows/row-plan.js'
import type { SerializerClass } from '../../serializers/contract.js'
import { ModelSerializer } from '../../serializers/model-serializer.js'
import { NestedSerializer } from '../../serializers/nested-serializer.js'
import { serializerPlan } from '../../serializers/plan.js'
import { uploadField } from '../../serializers/store-uploads.js'
import { actionNamed, changesObject } from '../actions.js'
import type { GenericView } from '../generic-view.js'
import { INPUT } from '../overrides.js'
import type { Resource } from '../resource.js'

/** Methods that are given the object, or decide on who is. */
const LOOKING = ['getObject', 'getObjectToWrite', 'checkObjectPermissions', 'loadRelated', 'getSerializer', ...INPUT]

const decidedOf = oncePer((_resource: Resource) => new Map<string, boolean>())

/** Methods of serializers that are given the object, or decide on who is. */
const VALIDATING = ['isValid', 'validate', 'save', 'update'] as const

/** True for a request that writes an object and shows it anew by nothing but code of the package. */
export function writesUnseen({ ctx, resource, action, body }: GenericView): boolean {
  // a condition may be about all that is shown
  if (ctx.headers['if-none-match'] !== undefined) return false
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
  return serializerClass !== null && plainUpdates && !looks(serializerClass)
}

/** True where code of the application, or the objects that are nested in the input, need the object as it is shown. */
function looks(serializer: SerializerClass): boolean {
  const own = serializer.prototype as Partial<ModelSerializer>
  if (VALIDATING.some((name) => own[name] !== ModelSerializer.prototype[name])) return true
  const { validators, writable } = serializerPlan(serializer)
  if (validators.length > 0) return true
  if (writable.some(({ hook, field }) => hook !== undefined || field instanceof NestedSerializer || uploadField(field)))
    return true
  const { plan } = decideRows(serializer)
  return plan === undefined || plan.runsFields
}
