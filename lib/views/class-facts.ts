/** What is read off a generic view's class for its `Resource`: what filter backends know of it, and what names its objects. */

import { type ObjectKey, objectKey } from '../fields/object-key.js'
import type { BaseFilter, FilterView } from '../filters/filter.js'
import { ConfigurationError } from '../kernel/errors.js'
import type { ModelDescription } from '../models/model-description.js'
import { modelName } from '../models/objection.js'
import type { GenericViewClass } from './generic-view-class.js'
import { relatedViewSets } from './related-view-set.js'

/** What is decided of a class. */
interface Decided {
  readonly model: ModelDescription
  readonly filters: readonly BaseFilter[]
}

/** What filter backends know of a class. @param filterViewOfRelated that of the view sets of its relations */
export function filterViewOf(
  view: GenericViewClass,
  { model, filters: backends }: Decided,
  filterViewOfRelated: (related: GenericViewClass) => FilterView,
): FilterView {
  const { name, filtersetFields, searchFields, orderingFields, searchConfig, searchType, searchParam } = view
  return {
    name,
    model,
    filtersetFields,
    searchFields,
    orderingFields,
    searchConfig,
    searchType,
    searchParam,
    backends,
    relations: relatedViewSets(view, filterViewOfRelated),
  }
}

/** The key that objects are looked up by. @throws {ConfigurationError} the model has no column of that name */
export function findLookup(view: GenericViewClass, model: ModelDescription): ObjectKey {
  // `id` is the default for any single primary key, whatever its name
  const [key] = model.primaryKey
  const property = view.lookupField === 'id' && !model.columns.has('id') && key !== undefined ? key : view.lookupField
  const found = objectKey(model.model, property)
  if (!found) {
    throw new ConfigurationError(
      `${view.name}: lookupField "${view.lookupField}" is no column of ${modelName(model.model)}`,
    )
  }
  return found
}
