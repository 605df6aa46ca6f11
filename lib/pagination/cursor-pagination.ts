/** Keyset pagination: `?cursor=…` (wire format, section 2). */

import { lastValueOf, type ParameterDescription } from '../filters/filter.js'
import { preferencesOf } from '../http/prefer.js'
import { BadRequest, ConfigurationError, ValidationError } from '../kernel/errors.js'
import { didYouMean } from '../kernel/near-miss.js'
import { oncePer } from '../kernel/once-per.js'
import { takeOptions, takesOptions } from '../kernel/option-kinds.js'
import { currentSettings, getCursorSecret } from '../kernel/settings.js'
import type { ModelDescription } from '../models/model-description.js'
import { modelName } from '../models/objection.js'
import { keysetTerms, positionProblem, positionTag } from '../queryset/keyset.js'
import { type OrderTerm, orderText } from '../queryset/total-order.js'
import { type Cursor, type CursorScope, type CursorTerm, CursorTokens } from './cursor-token.js'
import { addLinks, type LinkOptions, PageLinks } from './links.js'
import type { ListSource } from './list-source.js'
import { checkSizes, requestedSize, sizeParameter } from './page-sizes.js'
import {
  BasePagination,
  DEFAULT_ORDERING,
  envelopeSchema,
  linkSchema,
  type Named,
  type PageDescription,
  type PagedView,
  type PageRequest,
} from './pagination.js'
import { requestFrame } from './request-frame.js'

/** Options of `CursorPagination`. */
export interface CursorPaginationOptions extends LinkOptions {
  /** Items on a page. @default 25 */
  readonly pageSize?: number
  /** The most a client may ask for. @default 100 */
  readonly maxPageSize?: number
  /**
   * The order, unless the view has an `OrderingFilter`. `id` stands for the primary key, whatever its name.
   * @default the view's `ordering`, else '-id'
   */
  readonly ordering?: string | readonly string[]
  /** The query parameter of the token. @default 'cursor' */
  readonly cursorQueryParam?: string
  /** The query parameter of the page size. @default 'page_size' */
  readonly pageSizeQueryParam?: string
}

/**
 * Answers `{next, previous, results}`. A page starts behind the last row of the one before, by the values it is ordered by:
 * page 5,000 costs what page 1 costs, and a row that stays is seen exactly once, whatever is inserted or deleted meanwhile.
 * No count and no offset. An invalid token is the first page, and 400 to a
 * client that prefers `handling=strict`.
 *
 * Tokens are signed with `SERVICE_CURSOR_SECRET` or `SERVICE_SECRET_KEY`, and are valid for one view, order and set of
 * filters. Where the output does not show what the list is ordered by, or hides its primary keys, they are encrypted too.
 * An index on the ordering columns and the primary key, all in the same or all in the opposite direction, serves all pages.
 * @example static override paginationClass = new CursorPagination({ ordering: '-created_at' })
 * @throws BadRequest a string that the list is ordered by is too long for a token
 * @throws ValidationError the token is invalid, and the client prefers `handling=strict`
 */
export class CursorPagination<const Options extends CursorPaginationOptions = {}> extends BasePagination {
  /** @internal What clients must know of its options: types only. */
  declare readonly named?: Named<Options, 'cursorQueryParam' | 'pageSizeQueryParam'>
  override readonly ordering: string | readonly string[]
  readonly pageSize: number
  readonly maxPageSize: number
  readonly cursorQueryParam: string
  readonly pageSizeQueryParam: string
  readonly linkHeader: boolean

  constructor(options: Options & CursorPaginationOptions = {} as Options) {
    super()
    takeOptions(this, options)
    this.ordering = options.ordering ?? DEFAULT_ORDERING
    this.pageSize = options.pageSize ?? 25
    this.maxPageSize = options.maxPageSize ?? Math.max(100, this.pageSize)
    this.cursorQueryParam = options.cursorQueryParam ?? 'cursor'
    this.pageSizeQueryParam = options.pageSizeQueryParam ?? 'page_size'
    this.linkHeader = options.linkHeader ?? false
  }

  override check({ name, model, order, orderingFields = [], ordersByExpression }: PagedView): void {
    const where = `${name}: ${this.constructor.name}`
    checkSizes(this, 'pageSize', 'maxPageSize')
    if (ordersByExpression) {
      throw new ConfigurationError(
        `${where}: a filter backend orders by a rank, and a cursor carries columns only; page by number, or take the backend out`,
      )
    }
    for (const term of order) {
      const attribute = orderingFields.includes(term) ? 'orderingFields' : 'ordering'
      const named = `${where}: ${attribute} names "${term.property}"`
      const column = term.related?.column ?? model.columns.get(term.property)
      if (!column) {
        const fix = didYouMean(term.property, model.columns.keys())
        throw new ConfigurationError(`${named}, which is no column of ${modelName(model.model)}${fix}`)
      }
      const problem = positionProblem(column)
      if (problem !== undefined) throw new ConfigurationError(`${named}: ${problem}`)
    }
    getCursorSecret()
  }

  override parameters(): readonly ParameterDescription[] {
    const description = 'Where the page begins; from the links of another page.'
    return [
      { name: this.cursorQueryParam, description, schema: { type: 'string' } },
      sizeParameter(this.pageSizeQueryParam, 'Objects on a page.', this.pageSize, this.maxPageSize),
    ]
  }

  override describePage(item: Readonly<Record<string, unknown>>): PageDescription {
    const schema = envelopeSchema({
      next: linkSchema('The path of the next page; null on the last.'),
      previous: linkSchema('The path of the page before; null on the first.'),
      results: { type: 'array', items: item },
    })
    return { suffix: 'CursorPage', schema, hasLinks: this.linkHeader }
  }

  async paginate(source: ListSource, request: PageRequest): Promise<object> {
    const asked = requestedSize(lastValueOf(request.query, this.pageSizeQueryParam), this.maxPageSize)
    const size = asked ?? this.pageSize
    const tokens = tokensOf(source, request)
    const token = lastValueOf(request.query, this.cursorQueryParam)
    const cursor = tokens.read(token)
    if (cursor === null && token && preferencesOf(request.ctx).strict) {
      throw new ValidationError({ [this.cursorQueryParam]: ['Invalid value.'] })
    }
    const backwards = cursor?.direction === 'prev'
    const limit = size + 1
    const rows = await source.read(
      cursor ? { limit, positions: true, after: cursor.position, backwards } : { limit, positions: true },
    )
    const length = Math.min(rows.length, size)
    const hasMore = rows.length > size
    const hasNext = backwards || hasMore
    const hasPrevious = backwards ? hasMore : cursor !== null
    const first = backwards ? length - 1 : 0
    const last = backwards ? 0 : length - 1
    const links = new PageLinks(request.url)
    const sizeText = asked === undefined ? null : String(asked)
    const linkTo = (direction: Cursor['direction'], index: number) => {
      const token = length === 0 ? null : tokens.write({ direction, position: rows.position(index) })
      if (token === null && length > 0) throw new BadRequest('Ordering value too long for a cursor')
      return links.to([this.cursorQueryParam, token], [this.pageSizeQueryParam, sizeText])
    }
    const next = hasNext ? linkTo('next', last) : null
    const previous = hasPrevious ? linkTo('prev', first) : null
    if (this.linkHeader) {
      const start = links.to([this.cursorQueryParam, null], [this.pageSizeQueryParam, sizeText])
      addLinks(request.ctx, { next, prev: previous, first: start })
    }
    return { next, previous, results: rows.results(0, length, backwards) }
  }
}

takesOptions<CursorPaginationOptions>(CursorPagination, {
  pageSize: 'any',
  maxPageSize: 'any',
  ordering: 'name or names',
  cursorQueryParam: 'name',
  pageSizeQueryParam: 'name',
  linkHeader: 'boolean',
})

interface Kept {
  readonly model: ModelDescription
  /** What the secret was read from. */
  readonly settings: object
  readonly scope: CursorScope
  readonly tokens: CursorTokens
}

/** The tokens of lists that nothing narrows. Kept, as views order by one array. */
const kept = oncePer((_order: readonly OrderTerm[]): { last?: Kept } => ({}))

/** The tokens of this list. */
function tokensOf(source: ListSource, request: PageRequest): CursorTokens {
  const { name, order, model, shown } = source
  if (order.length === 0) {
    throw new ConfigurationError(
      `${name}: a list without a total order has no cursors; take distinct(), distinctOn() and groupBy() out of its query, or choose another paginator`,
    )
  }
  const settings = currentSettings()
  const filters = requestFrame(source, request)
  const sealed = source.hidesKeys === true || order.some(({ property }) => !shown.has(property))
  const known = kept(order).last
  if (known?.model === model && known.settings === settings) {
    const { scope } = known
    if (scope.view === name && scope.filters === filters && scope.sealed === sealed) return known.tokens
  }
  const secret = getCursorSecret()
  const scope = { secret, view: name, ordering: orderText(order), filters, terms: cursorTerms(model, order), sealed }
  const tokens = new CursorTokens(scope)
  if (filters === '') kept(order).last = { model, settings, scope, tokens }
  return tokens
}

/** What the values of an order are, for tokens. */
function cursorTerms(model: ModelDescription, order: readonly OrderTerm[]): readonly CursorTerm[] {
  return keysetTerms(model, order).map(({ column }) => ({ tag: positionTag(column), nullable: column.holdsNull }))
}
