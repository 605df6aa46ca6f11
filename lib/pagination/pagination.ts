/** The contract of pagination (spec section 4.7). */
import type { AnyQueryBuilder } from '../models/objection.js'

/** What a paginator reads of a request. */
export interface PageRequest {
  /** The URL as the client sent it, to build links from. */
  readonly url: string
  /** The query parameters. */
  readonly query: Readonly<Record<string, string | readonly string[] | undefined>>
}

/** One page of a list. */
export interface Page {
  readonly items: readonly object[]
  /** The body around the page's items in their written form. */
  envelope(results: unknown): unknown
}

/** Cuts a list into pages. Immutable and shared by all requests. */
export abstract class BasePagination {
  /** Reads one page of an ordered query. @throws NotFound when there is no such page */
  abstract paginate(query: AnyQueryBuilder, request: PageRequest): Promise<Page>
}

/** The last value of a parameter, as repeated ones count (promise B14). */
export function lastValue(request: PageRequest, name: string): string | undefined {
  const value = request.query[name]
  return typeof value === 'string' ? value : value?.at(-1)
}

const DIGITS = /^[0-9]{1,16}$/

/** A whole number that a client wrote in plain digits; undefined for anything else (promise D1). */
export function wholeNumber(text: string | undefined): number | undefined {
  if (text === undefined || !DIGITS.test(text)) return undefined
  const number = Number(text)
  return Number.isSafeInteger(number) ? number : undefined
}

/** The size of a page: what the client asks for, at most `maximum`; undefined when it asks for nothing usable. */
export function requestedSize(text: string | undefined, maximum: number): number | undefined {
  const size = wholeNumber(text)
  return size === undefined || size === 0 ? undefined : Math.min(size, maximum)
}
