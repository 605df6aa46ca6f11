/** What lists declare and nothing reads, and what looks like a rule of rows and narrows lists only. */

import { FieldFilter } from '../../filters/field-filter.js'
import { type BaseFilter, isDescribed } from '../../filters/filter.js'
import { FullTextSearchFilter, SearchRankOrderingFilter } from '../../filters/full-text-filters.js'
import { OrderingFilter } from '../../filters/ordering-filter.js'
import { OUR_FILTERS } from '../../filters/our-filters.js'
import { SearchFilter } from '../../filters/search-filter.js'
import { firstTime } from '../../kernel/once-per.js'
import { describeModel } from '../../models/describe-model.js'
import { ACTIONS, answers, namesNoObject } from '../actions.js'
import type { GenericViewClass } from '../generic-view-class.js'
import { resourceOf } from '../resource.js'

const READERS = {
  filtersetFields: [FieldFilter],
  searchFields: [SearchFilter, FullTextSearchFilter, SearchRankOrderingFilter],
  orderingFields: [OrderingFilter],
} as const

const NAMES = Object.keys(READERS) as (keyof typeof READERS)[]
const isFirst = firstTime()

/**
 * Names that no backend reads do nothing, which is hardly meant. A class that leaves out backends of the class above it may
 * keep its names, and backends of an application may read them.
 */
export function warnOfUnreadNames(view: GenericViewClass): void {
  const backends: readonly BaseFilter[] = resourceOf(view).filters
  if (backends.some((backend) => !OUR_FILTERS.has(backend.constructor))) return
  const unread = NAMES.filter((name) => {
    const isRead = backends.some((backend) => READERS[name].some((reader) => backend instanceof reader))
    return view[name].length > 0 && !isRead && !isAbove(ownerOf(view, name), ownerOf(view, 'filterBackends'))
  })
  if (unread.length === 0 || !isFirst(view)) return
  for (const name of unread) {
    process.emitWarning(
      `${view.name}: ${name} is read by ${READERS[name][0].name}, which is not among filterBackends; add it, or leave ${name} out`,
      { code: 'KOA_VIEWSETS_UNREAD_NAMES' },
    )
  }
}

/** The class that declares a static itself. */
function ownerOf(view: object, name: string): object {
  let owner = view
  while (!Object.hasOwn(owner, name)) owner = Object.getPrototypeOf(owner) as object
  return owner
}

/** True where a class is one that another extends. */
function isAbove(one: object, other: object): boolean {
  return one !== other && Object.prototype.isPrototypeOf.call(one, other)
}

const isFirstRule = firstTime()

/** Asks of a class that has its policies and was read from the catalogue. */
export function warnOfListRules(view: GenericViewClass & { readonly databaseRole?: unknown }): void {
  const resource = resourceOf(view)
  const { filters, model } = resource
  const backend = filters.find((one) => !isDescribed(one))
  if (!backend) return
  const isNarrowed = !resource.isWholeTable || view.databaseRole != null || describeModel(model.model).secured
  if (isNarrowed || resource.guardsObjects || resource.overrides.has('getObject')) return
  if (!ACTIONS.some(({ name }) => !namesNoObject(name) && answers(view, name)) || !isFirstRule(view)) return
  const { name } = backend.constructor
  process.emitWarning(
    `${view.name}: ${name} of filterBackends has its own filterQueryset(), which narrows lists only: an object that it leaves ` +
      'out is found, changed and deleted by its key. Where it says whose rows a caller may see, put the condition into ' +
      'getQueryset(), or add an object permission',
    { code: 'KOA_VIEWSETS_LIST_RULE' },
  )
}
