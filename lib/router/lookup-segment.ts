/** The path parameter that names an object (`lookupField`). */

import { externalIds } from '../ids/external-ids.js'
import type { Hint, Parameter } from '../kernel/path-pattern.js'
import { describeModel } from '../models/describe-model.js'
import { GenericAPIView } from '../views/generic-api-view.js'
import { namesBeside } from '../views/names-beside.js'
import { resourceOf } from '../views/resource.js'
import type { ViewSetClass } from './registration.js'

const HINTS: Readonly<Record<string, Hint>> = { int2: 'int', int4: 'int', int8: 'int', uuid: 'uuid' }

/** The path parameter of a detail route; its hint is the type of the column that objects are looked up by. */
export function lookupSegment(view: ViewSetClass): Parameter {
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

export function isGeneric(view: ViewSetClass): view is typeof GenericAPIView {
  return view.prototype instanceof GenericAPIView
}
