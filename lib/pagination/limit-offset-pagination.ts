/** Pagination by limit and offset: `?limit=25&offset=50`. */

import { lastValueOf, type ParameterDescription } from '../filters/filter.js'
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
import type { Named, PageRequest } from './pagination.js'

/** Options of `LimitOffsetPagination`. */
export interface LimitOffsetPaginationOptions extends CountOptions, LinkOptions {
  /** Items in a slice. @default 25 */
  readonly defaultLimit?: number
  /** The most a client may ask for. @default 100 */
  readonly maxLimit?: number
  /** The query parameter of the page size. @default 'limit' */
  readonly limitQueryParam?: string
  /** The query parameter of how many objects are left out. @default 'offset' */
  readonly offsetQueryParam?: string
}

/** Answers `{count, next, previous, results}`. A bad `limit` is the default, a bad `offset` is 0. */
export class LimitOffsetPagination<const Options extends LimitOffsetPaginationOptions = {}> extends CountedPagination {
  /** @internal What clients must know of its options: types only. */
  declare readonly named?: Named<Options, 'count' | 'countHeader' | 'limitQueryParam' | 'offsetQueryParam'>
  readonly defaultLimit: number
  readonly maxLimit: number
  readonly limitQueryParam: string
  readonly offsetQueryParam: string

  constructor(options: Options & LimitOffsetPaginationOptions = {} as Options) {
    super(options)
    this.defaultLimit = options.defaultLimit ?? 25
    this.maxLimit = options.maxLimit ?? Math.max(100, this.defaultLimit)
    this.limitQueryParam = options.limitQueryParam ?? 'limit'
    this.offsetQueryParam = options.offsetQueryParam ?? 'offset'
    checkSizes(this, 'defaultLimit', 'maxLimit')
  }

  override check(): void {
    checkSizes(this, 'defaultLimit', 'maxLimit')
    super.check()
  }

  override parameters(): readonly ParameterDescription[] {
    const description = 'The number of objects before the first.'
    return [
      sizeParameter(this.limitQueryParam, 'The most objects to return.', this.defaultLimit, this.maxLimit),
      { name: this.offsetQueryParam, description, schema: { type: 'integer', minimum: 0, default: 0 } },
    ]
  }

  async paginate(source: ListSource, request: PageRequest): Promise<object> {
    const limit = requestedSize(lastValueOf(request.query, this.limitQueryParam), this.maxLimit) ?? this.defaultLimit
    const offset = wholeNumber(lastValueOf(request.query, this.offsetQueryParam)) ?? 0
    const { count, countLimit } = this
    const found = await readCounted(source, { size: limit, offset, count, countLimit })
    const links = new PageLinks(request.url)
    return answerPage(this, request.ctx, found, {
      link: (start) => links.to([this.limitQueryParam, String(limit)], [this.offsetQueryParam, String(start)]),
      next: found.hasNext ? offset + limit : null,
      previous: offset > 0 ? Math.max(0, offset - limit) : null,
      first: 0,
      last: (counted) => lastOffset(counted, offset, limit),
    })
  }
}

takesOptions<LimitOffsetPaginationOptions>(LimitOffsetPagination, {
  defaultLimit: 'any',
  maxLimit: 'any',
  limitQueryParam: 'name',
  offsetQueryParam: 'name',
  ...COUNT_OPTIONS,
})

/** Where the slice begins that `next` leads to in the end, where it is known; behind the end, where the last full one does. */
function lastOffset(
  { hasNext, rows, count }: Pick<CountedPage, 'hasNext' | 'rows' | 'count'>,
  offset: number,
  limit: number,
) {
  if (!hasNext && rows) return offset
  if (count === null) return undefined
  const left = hasNext ? offset % limit : 0
  return Math.max(0, left + Math.floor((count - 1 - left) / limit) * limit)
}
