/** Warns of filter backends of an application that may be meant as rules: they narrow lists, and protect no object. */

import { BaseFilter } from '../../filters/filter.js'
import { OUR_FILTERS } from '../../filters/our-filters.js'
import { firstTime } from '../../kernel/once-per.js'
import { describeModel } from '../../models/describe-model.js'
import { answers } from '../actions.js'
import type { GenericViewClass } from '../generic-view-class.js'
import { resourceOf } from '../resource.js'

/** Actions that find one object by its key. */
const OF_OBJECTS = ['retrieve', 'update', 'partialUpdate', 'destroy', 'bulkUpdate', 'bulkDestroy']

const isFirst = firstTime()

/** Asks of a class that has its policies and was read from the catalogue. */
export function warnOfListRules(view: GenericViewClass & { readonly databaseRole?: unknown }): void {
  const resource = resourceOf(view)
  const { filters, model } = resource
  const backend = filters.find(isOwn)
  if (!backend) return
  const isNarrowed = !resource.isWholeTable || view.databaseRole != null || describeModel(model.model).secured
  if (isNarrowed || resource.guardsObjects || resource.overrides.lookup) return
  if (!OF_OBJECTS.some((action) => answers(view, action)) || !isFirst(view)) return
  const { name } = backend.constructor
  process.emitWarning(
    `${view.name}: ${name} of filterBackends has its own filterQueryset(), which narrows lists only: an object that it leaves ` +
      'out is found, changed and deleted by its key. Where it says whose rows a caller may see, put the condition into ' +
      'getQueryset(), or add an object permission',
    { code: 'KOA_VIEWSETS_LIST_RULE' },
  )
}

/** True for a backend whose `filterQueryset()` is the application's. */
function isOwn(backend: BaseFilter): boolean {
  return ![BaseFilter, ...OUR_FILTERS].some(
    (made) => (made as typeof BaseFilter).prototype.filterQueryset === backend.filterQueryset,
  )
}
