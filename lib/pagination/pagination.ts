/** The contract of pagination. */

import type { ParameterDescription } from '../filters/filter.js'
import type { Context } from '../http/context.js'
import { described } from '../kernel/declarations.js'
import { ConfigurationError } from '../kernel/errors.js'
import type { ModelDescription } from '../models/model-description.js'
import type { OrderTerm } from '../queryset/total-order.js'

/** How a list is counted: exactly, by the planner's estimate, up to a limit, or not at all. */
export type CountKind = 'exact' | 'estimated' | 'capped' | 'none'

/** A place in a list: for each term of its order the value as PostgreSQL's text, or null. */
export type Position = readonly (string | null)[]

/** Which rows to read. */
export interface Slice {
  /** The most rows to read. */
  readonly limit: number
  /** Rows to skip before the first. @default 0 */
  readonly offset?: number
  /** Only rows beyond this position. */
  readonly after?: Position
  /** Read against the list's order. The rows come back against it, too. */
  readonly backwards?: boolean
  /** Also read the position of each row. */
  readonly positions?: boolean
  /**
   * Also count the whole list, if the page is full: one that is not says how many rows there are. With `exact` no rows are
   * read behind the end (promise D3).
   */
  readonly count?: CountKind
}

/** Rows that were read. */
export interface Rows {
  /** How many rows there are. */
  readonly length: number
  /** The count of the whole list, when the slice asked for it; undefined where it was not needed. */
  readonly count: number | undefined
  /** The position of a row, when the slice asked for positions. */
  position(index: number): Position
  /** The rows from `start` to before `end`, `backwards` in turned order, in their written form: the `results` of an envelope. */
  results(start: number, end: number, backwards?: boolean): unknown
  /** A row as JSON, where rows are read as strings. */
  json?(index: number): string
  /** A row as the cells of a table, where rows are read as strings: those of the serializer's readable fields. */
  cells?(index: number): readonly string[]
}

/** A list to cut pages from: its conditions and its order are settled. */
export interface ListSource {
  /** What a position is bound to: the view's route name, or its class name. */
  readonly name: string
  /** The model of the rows. */
  readonly model: ModelDescription
  /** The order of the list. It is total: the primary key is in it. */
  readonly order: readonly OrderTerm[]
  /** The parameters that the view's filter backends read. */
  readonly parameters: ReadonlySet<string>
  /** Columns that the output shows. */
  readonly shown: ReadonlySet<string>
  /** True where clients never see the primary keys, so that no token may show one. */
  readonly hidesKeys?: boolean
  /** The connections behind the list. */
  readonly pool: ListPool
  /** Counts the list. `limit` is where `capped` stops. */
  count(kind?: CountKind, limit?: number): Promise<number>
  /** Reads one slice of the list. */
  read(slice: Slice): Promise<Rows>
  /** Declares a cursor of the database for the whole list, on a connection of its own. */
  open(options: RowCursorOptions): Promise<RowCursor>
}

/** A pool of connections. */
export interface ListPool {
  /** What lists of the same pool have in common. */
  readonly key: object
  /** The most connections it opens. */
  readonly size: number
  /** The database role and settings that its statements run with: a list that is read later is read with the same. */
  readonly runsWith?: string | undefined
}

/** Options of a database cursor that a list is read through. */
export interface RowCursorOptions {
  /** The cursor's name in the database: lower-case letters, digits and `_`. */
  readonly name: string
  /** The database ends it by itself after this many milliseconds without a fetch. */
  readonly idleMilliseconds: number
}

/** A list that is read in portions, as it was when the cursor was opened. */
export interface RowCursor {
  /** True once the connection is gone. */
  readonly lost: boolean
  /** Calls back when the connection is lost. */
  onLost(listener: () => void): void
  /** The next rows; fewer than asked for at the end. */
  fetch(size: number): Promise<Rows>
  /** Stops the `fetch` that is running, which then fails. Never throws. */
  cancel?(): Promise<void>
  /** Gives the connection back. Never throws. */
  close(): Promise<void>
}

/**
 * The order of a paginator by position that is given none: the newest first. `id` stands for the primary key. It is known
 * by its identity from an order that an application has written.
 */
export const DEFAULT_ORDERING: readonly string[] = ['-id']

type JSONSchema = Readonly<Record<string, unknown>>

/** A page as OpenAPI describes it. */
export interface PageDescription {
  /** What its schema is called, after the serializer's name: `Page` for `BookPage`. */
  readonly suffix: string
  /** JSON Schema of the envelope. */
  readonly schema: JSONSchema
  /** Statuses of errors that only a page has. @default [] */
  readonly statuses?: readonly number[]
}

/** The schema of an envelope: all members are always there. */
export function envelopeSchema(properties: Readonly<Record<string, JSONSchema>>): JSONSchema {
  return { type: 'object', properties, required: Object.keys(properties) }
}

/** The schema of a link to another page. */
export function linkSchema(description: string): JSONSchema {
  return { type: ['string', 'null'], format: 'uri-reference', description }
}

/** Those of a paginator's options that were given. */
export type Named<Options, Name> = { readonly [N in Name & keyof Options]: Options[N] }

/** What a paginator reads of a request. */
export interface PageRequest {
  /** The request. */
  readonly ctx: Context
  /** The URL as the client sent it, to build links from. */
  readonly url: string
  /** The query parameters. */
  readonly query: Readonly<Record<string, string | readonly string[] | undefined>>
  /** The path parameters, in the order of the pattern. */
  readonly params: Readonly<Record<string, string>>
  /** The answer will have nothing of the page but its `results`; said to paginators that keep connections. */
  readonly resultsOnly?: boolean
}

/** What a paginator is checked against. */
export interface PagedView {
  /** The view's class name, for messages to the programmer. */
  readonly name: string
  /** The model of the list. */
  readonly model: ModelDescription
  /** The terms of the view's default order, and all others that a client may order by. */
  readonly order: readonly OrderTerm[]
  /** Those of them that only `orderingFields` names. */
  readonly orderingFields?: readonly OrderTerm[]
  /** The most connections of the pool behind the view; undefined where that depends on the request. */
  readonly poolSize?: number | undefined
  /** A filter backend orders by what is no column. */
  readonly ordersByExpression: boolean
}

/**
 * Cuts a list into pages. Immutable and shared by all requests.
 * @example
 * class Newest extends BasePagination {
 *   async paginate(source: ListSource) {
 *     const rows = await source.read({ limit: 10 })
 *     return { newest: rows.results(0, rows.length) }
 *   }
 * }
 */
export abstract class BasePagination {
  /** The order this paginator wants where nothing else says one. */
  readonly ordering: string | readonly string[] | undefined

  /** Reads one page and returns the response's body. @throws NotFound when there is no such page */
  abstract paginate(source: ListSource, request: PageRequest): Promise<object>

  /** True when it reads on connections that it keeps, in transactions of its own. */
  readonly keepsConnections: boolean = false

  /** The query parameters it reads. */
  parameters(): readonly ParameterDescription[] {
    return []
  }

  /**
   * A page of objects as OpenAPI describes it; undefined for any object.
   * @param item the schema of one object
   */
  describePage(_item: JSONSchema): PageDescription | undefined {
    return undefined
  }

  /** Checks it against a view, once, before any request. @throws {ConfigurationError} */
  check(_view: PagedView): void {}

  /** Gives back what it holds between requests; called by the router's `close()`. */
  async close(): Promise<void> {}
}

described(BasePagination)

/**
 * Checks a paginator's sizes: of an instance when it is made, of a subclass, whose attributes are set later, in `check()`.
 * @throws {ConfigurationError} naming class and attribute
 */
export function checkSizes<P extends BasePagination>(paginator: P, size: keyof P & string, maximum: keyof P & string) {
  const most = paginator[maximum] as number
  if (!(Number.isSafeInteger(most) && most >= 1 && most <= MOST)) {
    throw new ConfigurationError(`${paginator.constructor.name}: ${maximum} must be a whole number from 1 to ${MOST}`)
  }
  const usual = paginator[size] as number
  if (!(Number.isSafeInteger(usual) && usual >= 1 && usual <= most)) {
    throw new ConfigurationError(
      `${paginator.constructor.name}: ${size} must be a whole number from 1 to ${maximum} (${most})`,
    )
  }
}

/** No page is larger: beyond it offsets would not be exact. */
const MOST = 1_000_000

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

/** The parameter by which a client chooses the size of a page. */
export function sizeParameter(name: string, description: string, usual: number, most: number): ParameterDescription {
  return { name, description, schema: { type: 'integer', minimum: 1, maximum: most, default: usual } }
}
