/** The filter backends of the package. */
import { FieldFilter } from './field-filter.js'
import { FullTextSearchFilter, SearchRankOrderingFilter } from './full-text-filters.js'
import { ModifierFilter } from './modifier-filter.js'
import { OrderingFilter } from './ordering-filter.js'
import { SearchFilter } from './search-filter.js'

/** Backends that do nothing without a parameter of theirs: a request that has none does not ask them. */
export const OUR_FILTERS: ReadonlySet<unknown> = new Set([
  FieldFilter,
  FullTextSearchFilter,
  ModifierFilter,
  OrderingFilter,
  SearchFilter,
  SearchRankOrderingFilter,
])

/** Backends that give no query to code of the application's, as modifiers are: it could lose what narrows that. */
export const CODELESS_FILTERS: ReadonlySet<unknown> = new Set([...OUR_FILTERS].filter((one) => one !== ModifierFilter))
