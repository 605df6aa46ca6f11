/** Full-text search, `?search="lazy dog" -cat`, and the order of what it finds by how well it matches. */
import { takeOptions, takesOptions } from '../kernel/option-kinds.js'
import type { AnyQueryBuilder } from '../models/objection.js'
import type { Queryable } from '../postgres/pg-types.js'
import type { SqlPart } from '../queryset/sql-part.js'
import { PathStart } from './field-path.js'
import {
  BaseFilter,
  type FilterCondition,
  type FilterSettings,
  type ParameterDescription,
  type QueryParameters,
} from './filter.js'
import { askedSearch, checkFullText, type FullTextOptions, fullTextOf, searchParameter } from './full-text.js'

/** What both of them have: the parameter, the time that a search may take, and what is checked. */
abstract class FullTextFilter extends BaseFilter {
  declare readonly asks?: 'search'
  readonly statementTimeout: number

  constructor(options: FullTextOptions = {}) {
    super()
    takeOptions(this, options)
    this.statementTimeout = options.statementTimeout ?? 5_000
  }

  override parameters(settings: FilterSettings): readonly ParameterDescription[] {
    return fullTextOf(settings).search ? [searchParameter(settings)] : []
  }

  override check(settings: FilterSettings, knex: Queryable | undefined): Promise<void> {
    return checkFullText(settings, knex)
  }
}

takesOptions<FullTextOptions>(FullTextFilter, { statementTimeout: 'size' })

/**
 * Searches the view's `searchFields` with PostgreSQL's full-text search: `searchConfig` is its configuration,
 * `searchType` says how the query is written (`websearch` takes any string), `searchParam` names the parameter.
 * Fields may be those of relations to one object. An index for fields of the model itself is one on
 * `to_tsvector('english', left(coalesce(title, '') || ' ' || coalesce(body, ''), 250000))`. A column of type `tsvector` is
 * searched as it is, with the weights that it has; named alone it needs an index on itself, and rows where it is null match nothing.
 * @example
 * static override filterBackends = [FullTextSearchFilter, SearchRankOrderingFilter]
 * static override searchFields = ['title', 'body']
 */
export class FullTextSearchFilter extends FullTextFilter {
  override read(query: QueryParameters, settings: FilterSettings): FilterCondition | null {
    const asked = askedSearch(query, settings)
    return asked && { where: asked.matches, guarded: this.statementTimeout }
  }
}

takesOptions(FullTextSearchFilter, {})

/**
 * Puts the best matches of a full-text search first. Used alone it searches, too; beside a `FullTextSearchFilter` it
 * only orders. An order that the client asks for by `?ordering=` wins.
 */
export class SearchRankOrderingFilter extends FullTextFilter {
  override readonly ordersByExpression = true

  override read(query: QueryParameters, settings: FilterSettings): FilterCondition | null {
    const asked = askedSearch(query, settings)
    if (!asked) return null
    const orders = settings.backends.every((backend) => backend.ordering(query, settings) === null)
    return {
      where: isAlone(settings) ? asked.matches : undefined,
      change: orders ? (builder) => orderByRank(builder, asked.rank(PathStart.of(builder))) : undefined,
      guarded: this.statementTimeout,
    }
  }

  override parameters(settings: FilterSettings): readonly ParameterDescription[] {
    return isAlone(settings) ? super.parameters(settings) : []
  }
}

takesOptions(SearchRankOrderingFilter, {})

/** PostgreSQL orders rows that are made distinct by nothing but what they show. */
function orderByRank(query: AnyQueryBuilder, { sql, bindings }: SqlPart): void {
  if (!query.has(/^distinct/)) void query.orderBy(query.modelClass().raw(sql, bindings), 'desc')
}

function isAlone({ backends }: FilterSettings): boolean {
  return !backends.some((backend) => backend instanceof FullTextSearchFilter)
}
