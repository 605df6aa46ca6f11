/** Slices of a list: `?limit=25&offset=50` (spec section 4.7). */
import { pageLink } from './links.js'
import {
  BasePagination,
  checkSizes,
  type ListSource,
  lastValue,
  type PageRequest,
  requestedSize,
  wholeNumber,
} from './pagination.js'

export interface LimitOffsetPaginationOptions {
  /** Items in a slice. @default 25 */
  readonly defaultLimit?: number
  /** The most a client may ask for. @default 100 */
  readonly maxLimit?: number
  /** @default 'limit' */
  readonly limitQueryParam?: string
  /** @default 'offset' */
  readonly offsetQueryParam?: string
}

/** Answers `{count, next, previous, results}`. A bad `limit` is the default, a bad `offset` is 0. */
export class LimitOffsetPagination extends BasePagination {
  readonly defaultLimit: number
  readonly maxLimit: number
  readonly limitQueryParam: string
  readonly offsetQueryParam: string

  constructor(options: LimitOffsetPaginationOptions = {}) {
    super()
    this.defaultLimit = options.defaultLimit ?? 25
    this.maxLimit = options.maxLimit ?? Math.max(100, this.defaultLimit)
    this.limitQueryParam = options.limitQueryParam ?? 'limit'
    this.offsetQueryParam = options.offsetQueryParam ?? 'offset'
    checkSizes(this, 'defaultLimit', 'maxLimit')
  }

  override check(): void {
    checkSizes(this, 'defaultLimit', 'maxLimit')
  }

  async paginate(source: ListSource, request: PageRequest): Promise<object> {
    const limit = requestedSize(lastValue(request, this.limitQueryParam), this.maxLimit) ?? this.defaultLimit
    const offset = wholeNumber(lastValue(request, this.offsetQueryParam)) ?? 0
    const known = offset === 0 ? undefined : await source.count()
    const isPast = known !== undefined && offset >= known
    const rows = isPast
      ? undefined
      : await source.read(known === undefined ? { limit, count: 'exact' } : { limit, offset })
    const count = known ?? (rows?.count as number)
    const link = (start: number) =>
      pageLink(request.url, { [this.limitQueryParam]: String(limit), [this.offsetQueryParam]: String(start) })
    const next = offset + limit < count ? link(offset + limit) : null
    const previous = offset > 0 ? link(Math.max(0, offset - limit)) : null
    return { count, next, previous, results: rows ? rows.results(0, rows.length) : [] }
  }
}
