/** What filter backends know of a view class. */

import type { FilterSettings } from '../filters/filter.js'
import { withoutPrefix } from '../filters/search-filter.js'
import type { GenericViewClass } from './generic-view-class.js'
import { relatedViewSets } from './related-view-set.js'
import type { Resource } from './resource.js'

/** What filter backends know of a class. @param filterSettingsOfRelated that of the view sets of its relations */
export function filterSettingsOf(
  view: GenericViewClass,
  resource: Resource,
  filterSettingsOfRelated: (related: GenericViewClass) => FilterSettings,
): FilterSettings {
  const { name, searchConfig, searchType, searchParam } = view
  const { model, filters: backends } = resource
  const mayAsk = (attribute: string) => (named: string) => resource.mayAsk(attribute, named)
  const relations = [...relatedViewSets(view, filterSettingsOfRelated)].filter(([named]) =>
    mayAsk('filterRelations')(named),
  )
  return {
    name,
    model,
    filtersetFields: view.filtersetFields.filter(mayAsk('filtersetFields')),
    searchFields: view.searchFields.filter((named) => mayAsk('searchFields')(withoutPrefix(named))),
    orderingFields: view.orderingFields.filter(mayAsk('orderingFields')),
    searchConfig,
    searchType,
    searchParam,
    backends,
    relations: new Map(relations),
  }
}
