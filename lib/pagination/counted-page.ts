/** Counts of lists and their pages: exact, estimated, capped, or none. */

import type { Context } from '../http/context.js'
import { ConfigurationError } from '../kernel/errors.js'
import { isToken } from '../kernel/kinds.js'
import { takeOptions } from '../kernel/option-kinds.js'
import { addLinks, type LinkOptions } from './links.js'
import type { CountKind, ListSource, Rows } from './list-source.js'
import { BasePagination, envelopeSchema, linkSchema, type PageDescription } from './pagination.js'

/** How a paginator counts the whole list. */
export interface CountOptions {
  /**
   * `exact` counts all rows, in the statement that reads the page where the list is known to reach so far. `estimated`
   * asks PostgreSQL's planner for all rows of a table, whose guess may be far off; what a request, a queryset, a role or row
   * level security narrows is counted as by `capped`, since a guess would tell of rows that the caller does not see. `capped` stops at `countLimit`, which then means that many or
   * more. `none` answers null. But for `exact`, a last page gives the exact number.
   * @default 'exact'
   */
  readonly count?: CountKind
  /** The most rows that `capped` counts. @default 10000 */
  readonly countLimit?: number
  /**
   * Answers the bare list, as clients of other APIs want it: its count stands in this header, such as `X-Total-Count`, and where
   * other pages are in `Link`. `Content-Range` says which objects they are, too: `items 0-9/30`. @default none; an object with `count`, `next`, `previous` and `results`
   */
  readonly countHeader?: string
}

export interface CountedPage {
  /** How many objects are before it, and on it. */
  readonly offset: number
  readonly length: number
  /** The rows; undefined where the list ends before the page. */
  readonly rows: Rows | undefined
  readonly count: number | null
  readonly hasNext: boolean
  /** The rows in the form of `results`. */
  results(): unknown
}

const KINDS: readonly string[] = ['exact', 'estimated', 'capped', 'none'] satisfies CountKind[]

/** Kinds of the options that counted pages have. */
export const COUNT_OPTIONS = { count: 'any', countLimit: 'any', countHeader: 'name', linkHeader: 'boolean' } as const

/** The base of paginators whose pages say how long the list is. */
export abstract class CountedPagination extends BasePagination {
  /** How the list is counted; typed so that a subclass may set it. */
  readonly count: string
  readonly countLimit: number
  readonly countHeader: string | undefined
  readonly linkHeader: boolean

  constructor(options: CountOptions & LinkOptions) {
    super()
    takeOptions(this, options)
    this.count = options.count ?? 'exact'
    this.countLimit = options.countLimit ?? 10_000
    this.countHeader = options.countHeader
    this.linkHeader = options.linkHeader ?? options.countHeader !== undefined
  }

  override check(): void {
    const { count, countLimit, countHeader } = this
    const { name } = this.constructor
    if (!KINDS.includes(count)) {
      throw new ConfigurationError(`${name}: count "${count}" must be one of ${KINDS.join(', ')}`)
    }
    if (!(Number.isSafeInteger(countLimit) && countLimit >= 1)) {
      throw new ConfigurationError(`${name}: countLimit must be a whole number of at least 1`)
    }
    if (countHeader !== undefined && !isToken(countHeader)) {
      throw new ConfigurationError(
        `${name}: countHeader "${countHeader}" is no name of a header; write 'X-Total-Count'`,
      )
    }
  }

  override describePage(item: Readonly<Record<string, unknown>>): PageDescription {
    return { ...describeCounted(item, this), hasLinks: this.linkHeader }
  }
}

/** A counted page as OpenAPI describes it. */
function describeCounted(
  item: Readonly<Record<string, unknown>>,
  { count, countHeader }: { readonly count: string; readonly countHeader: string | undefined },
): Pick<PageDescription, 'suffix' | 'schema' | 'countHeader'> {
  const isCounted = count !== 'none'
  if (countHeader !== undefined) {
    const isSent = isCounted || isRange(countHeader)
    return { suffix: 'List', schema: { type: 'array', items: item }, ...(isSent && { countHeader }) }
  }
  const schema = envelopeSchema({
    count: isCounted
      ? { type: 'integer', minimum: 0, description: 'The number of objects on all pages.' }
      : { type: 'null', description: 'The list is not counted.' },
    next: linkSchema('The path of the next page; null on the last.'),
    previous: linkSchema('The path of the page before; null on the first.'),
    results: { type: 'array', items: item },
  })
  return { suffix: isCounted ? 'Page' : 'UncountedPage', schema }
}

/** Where pages are, by numbers or offsets; null where there is none. */
interface Places {
  readonly link: (place: number) => string
  readonly next: number | null
  readonly previous: number | null
  readonly first: number
  /** Undefined where nobody knows. @param found its count is null unless it is exact */
  readonly last: (found: CountedPage) => number | undefined
}

/** The body of a page: an object, or the bare list with its count in a header; with its links in another. */
export function answerPage(
  paginator: { readonly count: string; readonly countHeader: string | undefined; readonly linkHeader: boolean },
  ctx: Context,
  found: CountedPage,
  places: Places,
): object {
  const { countHeader, linkHeader } = paginator
  const link = (place: number | null) => (place === null ? null : places.link(place))
  const next = link(places.next)
  const previous = link(places.previous)
  if (linkHeader) {
    const last = places.last(paginator.count === 'exact' ? found : { ...found, count: null })
    addLinks(ctx, { next, prev: previous, first: places.link(places.first), last: link(last ?? null) ?? undefined })
  }
  const { count, offset, length } = found
  const results = found.results()
  if (countHeader === undefined) return { count, next, previous, results }
  if (isRange(countHeader)) ctx.set(countHeader, rangeOf(offset, length, count))
  else if (count !== null) ctx.set(countHeader, String(count))
  return results as object
}

/** True of the header that says which objects of how many these are (RFC 9110 section 14.4). */
export function isRange(countHeader: string): boolean {
  return countHeader.toLowerCase() === 'content-range'
}

function rangeOf(offset: number, length: number, count: number | null): string {
  return `items ${length === 0 ? '*' : `${offset}-${offset + length - 1}`}/${count ?? '*'}`
}

/** Which page to read, and how the list is counted. */
export interface AskedPage {
  readonly size: number
  readonly offset: number
  readonly count: string
  readonly countLimit: number
}

/** Reads and counts. */
export function readCounted(source: ListSource, page: AskedPage): Promise<CountedPage> {
  return page.count === 'exact' ? readExact(source, page) : readAhead(source, page)
}

async function readExact(source: ListSource, { size, offset }: AskedPage): Promise<CountedPage> {
  const rows = await source.read({ limit: size, offset, count: 'exact' })
  const count = rows.count ?? offset + rows.length
  const isPast = offset > 0 && rows.length === 0
  return {
    rows: isPast ? undefined : rows,
    count,
    offset,
    length: rows.length,
    hasNext: offset + size < count,
    results: () => rows.results(0, rows.length),
  }
}

/** Reads one row more than the page has, which says whether there is a next one. */
async function readAhead(source: ListSource, page: AskedPage): Promise<CountedPage> {
  const { size, offset } = page
  const rows = await source.read({ limit: size + 1, offset })
  const hasNext = rows.length > size
  const isPast = offset > 0 && rows.length === 0
  const length = Math.min(rows.length, size)
  return {
    rows: isPast ? undefined : rows,
    count: await countBy(source, { ...page, hasNext, isPast, length }),
    offset,
    length,
    hasNext,
    results: () => rows.results(0, length),
  }
}

async function countBy(
  source: ListSource,
  page: AskedPage & { readonly length: number; readonly hasNext: boolean; readonly isPast: boolean },
): Promise<number | null> {
  const { offset, length, hasNext, isPast, count, countLimit } = page
  if (count === 'none') return null
  const limit = count === 'capped' ? countLimit : Number.POSITIVE_INFINITY
  const seen = offset + length
  if (!hasNext && !isPast) return Math.min(seen, limit)
  const found = await source.count(count as CountKind, countLimit)
  // what this page has shown is more certain than an estimate
  return Math.min(hasNext ? Math.max(found, seen + 1) : Math.min(found, offset), limit)
}
