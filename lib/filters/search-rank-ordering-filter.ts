/** Orders the results of a full-text search by how well they match. */

import { takeOptions, takesOptions } from '../kernel/option-kinds.js'
import type { AnyQueryBuilder } from '../models/objection.js'
import type { Queryable } from '../postgres/pg-types.js'
import type { SqlPart } from '../queryset/keyset.js'
import { PathStart } from './field-path.js'
import {
  BaseFilter,
  type FilterCondition,
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

  override read(query: QueryParameters, view: FilterView): FilterCondition | null {
    const { search } = fullTextOf(view)
    const text = search && searchText(query, view)
    if (!search || text === null) return null
    const matches = isAlone(view)
    const orders = view.backends.every((backend) => backend.ordering(query, view) === null)
    return {
      where: matches ? (start) => search.matches(start, text) : undefined,
      change: orders ? (builder) => orderByRank(builder, search.rank(PathStart.of(builder), text)) : undefined,
      guarded: this.statementTimeout,
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

function orderByRank(query: AnyQueryBuilder, { sql, bindings }: SqlPart): void {
  void query.orderBy(query.modelClass().raw(sql, bindings), 'desc')
}

function isAlone({ backends }: FilterView): boolean {
  return !backends.some((backend) => backend instanceof FullTextSearchFilter)
}
