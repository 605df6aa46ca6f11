/** Orders the results of a full-text search by how well they match. */

import { takeOptions, takesOptions } from '../kernel/option-kinds.js'
import type { Queryable } from '../postgres/pg-types.js'
import { PathStart } from './field-path.js'
import {
  BaseFilter,
  type FilterPart,
  type FilterView,
  type ParameterDescription,
  type QueryParameters,
} from './filter.js'
import { checkFullText, type FullTextOptions, fullTextOf, searchParameter, searchText } from './full-text.js'
import { FullTextSearchFilter } from './full-text-search-filter.js'

/**
 * Puts the best matches of a full-text search first. Used alone it searches, too; beside a `FullTextSearchFilter` it
 * only orders. An order that the client asks for by `?ordering=` wins.
 */
export class SearchRankOrderingFilter extends BaseFilter {
  declare readonly asks?: 'search'
  override readonly ordersByExpression = true
  readonly statementTimeout: number

  constructor(options: FullTextOptions = {}) {
    super()
    takeOptions(this, options)
    this.statementTimeout = options.statementTimeout ?? 5_000
  }

  override read(query: QueryParameters, view: FilterView): FilterPart | null {
    const { search } = fullTextOf(view)
    const text = search && searchText(query, view)
    if (!search || text === null) return null
    const matches = isAlone(view)
    const orders = view.backends.every((backend) => backend.ordering(query, view) === null)
    return {
      // what ORDER BY binds comes after the conditions of all backends
      shape: null,
      values: [...(matches ? search.values(text) : []), ...(orders ? search.values(text) : [])],
      guarded: this.statementTimeout,
      apply(builder) {
        const start = new PathStart(builder)
        if (matches) {
          const { sql, bindings } = search.matches(start, text)
          void builder.whereRaw(sql, bindings)
        }
        if (orders) {
          const { sql, bindings } = search.rank(start, text)
          void builder.orderBy(builder.modelClass().raw(sql, bindings), 'desc')
        }
      },
    }
  }

  override parameters(view: FilterView): readonly ParameterDescription[] {
    return isAlone(view) && fullTextOf(view).search ? [searchParameter(view)] : []
  }

  override check(view: FilterView, knex: Queryable | undefined): Promise<void> {
    return checkFullText(view, knex)
  }
}

takesOptions<FullTextOptions>(SearchRankOrderingFilter, { statementTimeout: 'size' })

function isAlone({ backends }: FilterView): boolean {
  return !backends.some((backend) => backend instanceof FullTextSearchFilter)
}
