/** The contract of a parser: one kind of request body (spec section 4.9). */
import type { Context } from '../context.js'
import type { UploadedFile } from './uploaded-file.js'

/** A media type, read once for all who ask (promise F3). */
export interface MediaType {
  /** In lower case: `multipart/form-data`. */
  readonly type: string
  /** By name in lower case. */
  readonly parameters: Readonly<Record<string, string>>
}

/** A request body as data. */
export interface ParsedBody {
  readonly data: unknown
  /** True when all values are texts, as in forms: a field then reads them with `fromText`. */
  readonly textual: boolean
  /** The files among `data`, by name, as `ctx.request.files` has them. */
  readonly files?: Readonly<Record<string, UploadedFile | readonly UploadedFile[]>>
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
  /** False for a media type whose parameters it cannot work with: the request is answered 415. @default all are read */
  reads?(mediaType: MediaType): boolean
  /** The parser for a view whose largest upload has this many bytes. @default itself */
  fitting?(largestUpload: number): Parser
  /** Reads and checks the body. @throws ApiError 400, 413 or 415 */
  parse(ctx: Context, mediaType: MediaType): Promise<ParsedBody>
  /** Checks a body that the application's own middleware has read: `ctx.request.body`. @throws ApiError 400 or 413 */
  accept(ctx: Context, body: unknown): ParsedBody
}
