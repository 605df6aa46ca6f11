/** How paths and bodies name the objects of a view class. */

import { CompositeKey } from '../fields/composite-key.js'
import { type ObjectKey, objectKey } from '../fields/object-key.js'
import { ConfigurationError } from '../kernel/errors.js'
import { didYouMean } from '../kernel/near-miss.js'
import type { ModelDescription } from '../models/model-description.js'
import { modelName } from '../models/objection.js'
import type { GenericViewClass } from './generic-view-class.js'

/** The key that objects are looked up by. @throws {ConfigurationError} the model has no column of that name */
export function findLookup(view: GenericViewClass, model: ModelDescription): ObjectKey {
  const { columns, primaryKey, prepared } = model
  // `id` is the primary key, whatever its columns are called, unless a column of that name tells objects apart
  const own = columns.get('id')
  const isOther = own !== undefined && (own.unique || (!prepared && primaryKey.length < 2))
  const properties = view.lookupField === 'id' && !isOther && primaryKey.length > 0 ? primaryKey : [view.lookupField]
  const parts = properties.map((property) => {
    const part = objectKey(model.model, property)
    if (part) return part
    throw new ConfigurationError(
      `${view.name}: lookupField "${property}" is no column of ${modelName(model.model)}${didYouMean(property, columns.keys())}`,
    )
  })
  return parts.length === 1 ? (parts[0] as ObjectKey) : new CompositeKey(parts)
}
