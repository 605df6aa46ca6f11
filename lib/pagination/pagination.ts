/** The contract of pagination. */

import type { ParameterDescription } from '../filters/filter.js'
import type { Context } from '../http/context.js'
import { described, insteadOf } from '../kernel/declarations.js'
import type { ModelDescription } from '../models/model-description.js'
import type { OrderTerm } from '../queryset/total-order.js'
import type { ListSource } from './list-source.js'

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
  /** Its links are sent as `Link`, too. @default false */
  readonly hasLinks?: boolean
  /** The header that says how many objects there are. @default none */
  readonly countHeader?: string
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
  /** What rules let the caller read of what the list has asked them about, or of what `held` tells, likewise: the same values for those who may read the same. */
  readonly reads?: ((held?: ReadonlyMap<string, unknown>) => ReadonlyMap<string, unknown>) | undefined
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
  declare readonly ordering: string | readonly string[] | undefined

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

insteadOf(BasePagination, {
  paginateQueryset: 'override paginate(source, request)',
  getPaginatedResponse: 'override paginate(source, request)',
  getPaginatedResponseSchema: 'override describePage(item)',
  getPageSize: 'set pageSize and maxPageSize',
})
