/** The contract of a filter backend (spec section 4.8). */
import type { Context } from '../context.js'
import type { AnyQueryBuilder } from '../models/objection.js'

/** Narrows or orders a list by what the request asks. Immutable and shared by all requests. */
export abstract class BaseFilter {
  /** The query with this backend's conditions; the next backend gets what this one returns. */
  abstract filterQueryset(ctx: Context, query: AnyQueryBuilder, view: object): AnyQueryBuilder
}
