/** The contract of a parser: one kind of request body (spec section 4.9). */
import type { Context } from '../context.js'

/** A request body as data. */
export interface ParsedBody {
  readonly data: unknown
  /** True when all values are texts, as in forms: a field then reads them with `fromText`. */
  readonly textual: boolean
  /** Removes what the parser left on disk. The caller of `parseBody` calls it when the request is over, whatever the outcome. */
  dispose?(): Promise<void>
}

/**
 * Reads bodies of some media types. A parser is immutable and shared by all requests; its limits are its options.
 * `parseBody` has checked the media type and the charset before.
 */
export interface Parser {
  /** In lower case, without parameters: `application/json`. */
  readonly mediaTypes: readonly string[]
  /** Reads and checks the body. @throws ApiError 400, 413 or 415 */
  parse(ctx: Context): Promise<ParsedBody>
  /** Checks a body that the application's own middleware has read: `ctx.request.body`. @throws ApiError 400 or 413 */
  accept(ctx: Context, body: unknown): ParsedBody
}
