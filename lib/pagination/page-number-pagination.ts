/** Pagination by page number: `?page=2&page_size=50`. */

import { lastValueOf, type ParameterDescription } from '../filters/filter.js'
import { NotFound } from '../kernel/errors.js'
import { takesOptions } from '../kernel/option-kinds.js'
import {
  answerPage,
  COUNT_OPTIONS,
  type CountedPage,
  CountedPagination,
  type CountOptions,
  readCounted,
} from './counted-page.js'
import { type LinkOptions, PageLinks } from './links.js'
import type { ListSource } from './list-source.js'
import { checkSizes, requestedSize, sizeParameter, wholeNumber } from './page-sizes.js'
import type { Named, PageDescription, PageRequest } from './pagination.js'

/** Options of `PageNumberPagination`. */
export interface PageNumberPaginationOptions extends CountOptions, LinkOptions {
  /** Items on a page. @default 25 */
  readonly pageSize?: number
  /** The most a client may ask for. @default 100 */
  readonly maxPageSize?: number
  /** The query parameter of the number of the page, from 1. @default 'page' */
  readonly pageQueryParam?: string
  /** The query parameter of the page size. @default 'page_size' */
  readonly pageSizeQueryParam?: string
}

/**
 * Answers `{count, next, previous, results}`. A `page` that is not a positive whole number, or past the end, is 404
 * `Invalid page`; page 1 of nothing is empty. A bad `page_size` is the default.
 * @example static override paginationClass = new PageNumberPagination({ pageSize: 50 })
 */
export class PageNumberPagination<const Options extends PageNumberPaginationOptions = {}> extends CountedPagination {
  /** @internal What clients must know of its options: types only. */
  declare readonly named?: Named<Options, 'count' | 'countHeader' | 'pageQueryParam' | 'pageSizeQueryParam'>
  readonly pageSize: number
  readonly maxPageSize: number
  readonly pageQueryParam: string
  readonly pageSizeQueryParam: string

  constructor(options: Options & PageNumberPaginationOptions = {} as Options) {
    super(options)
    this.pageSize = options.pageSize ?? 25
    this.maxPageSize = options.maxPageSize ?? Math.max(100, this.pageSize)
    this.pageQueryParam = options.pageQueryParam ?? 'page'
    this.pageSizeQueryParam = options.pageSizeQueryParam ?? 'page_size'
    checkSizes(this, 'pageSize', 'maxPageSize')
  }

  override check(): void {
    checkSizes(this, 'pageSize', 'maxPageSize')
    super.check()
  }

  override parameters(): readonly ParameterDescription[] {
    return [
      { name: this.pageQueryParam, description: 'The number of the page.', schema: { type: 'integer', minimum: 1 } },
      sizeParameter(this.pageSizeQueryParam, 'Objects on a page.', this.pageSize, this.maxPageSize),
    ]
  }

  override describePage(item: Readonly<Record<string, unknown>>): PageDescription {
    return { ...super.describePage(item), statuses: [404] }
  }

  async paginate(source: ListSource, request: PageRequest): Promise<object> {
    const page = this.#page(request)
    const asked = requestedSize(lastValueOf(request.query, this.pageSizeQueryParam), this.maxPageSize)
    const size = asked ?? this.pageSize
    const { count, countLimit } = this
    const found = await readCounted(source, { size, offset: (page - 1) * size, count, countLimit })
    if (!found.rows) throw new NotFound('Invalid page')
    const pageSize = asked === undefined ? null : String(asked)
    const links = new PageLinks(request.url)
    return answerPage(this, request.ctx, found, {
      link: (place) => links.to([this.pageQueryParam, String(place)], [this.pageSizeQueryParam, pageSize]),
      next: found.hasNext ? page + 1 : null,
      previous: page > 1 ? page - 1 : null,
      first: 1,
      last: (counted) => lastPage(counted, page, size),
    })
  }

  #page(request: PageRequest): number {
    const text = lastValueOf(request.query, this.pageQueryParam)
    if (text === undefined) return 1
    const page = wholeNumber(text)
    if (page === undefined || page === 0 || !Number.isSafeInteger(page * this.maxPageSize)) {
      throw new NotFound('Invalid page')
    }
    return page
  }
}

takesOptions<PageNumberPaginationOptions>(PageNumberPagination, {
  pageSize: 'any',
  maxPageSize: 'any',
  pageQueryParam: 'name',
  pageSizeQueryParam: 'name',
  ...COUNT_OPTIONS,
})

/** The number of the last page, where it is known. */
function lastPage({ hasNext, count }: Pick<CountedPage, 'hasNext' | 'count'>, page: number, size: number) {
  if (!hasNext) return page
  return count === null ? undefined : Math.ceil(count / size)
}
