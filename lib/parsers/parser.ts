/** The contract of a parser: one kind of request body. */
import type { Context } from '../http/context.js'
import type { UploadedFile } from './uploaded-file.js'

/** A media type, read once for all who ask (promise F3). */
export interface MediaType {
  /** In lower case: `multipart/form-data`. */
  readonly type: string
  /** By name in lower case. */
  readonly parameters: Readonly<Record<string, string>>
}

/** The files that a view asks for. */
export interface TakenFiles {
  /** The names of its fields that take files; `all` where the serializer depends on the request. */
  readonly names: ReadonlySet<string> | 'all'
  /** The most bytes that one of them may have; undefined where no field says. */
  readonly largest: number | undefined
}

/** A request body as data. */
export interface ParsedBody {
  /** The value that the body stands for. */
  readonly data: unknown
  /** True when all values are strings, as in forms: a field then reads them with `fromText`. */
  readonly textual: boolean
  /** The files among `data` that are kept, by name, as `ctx.request.files` has them. */
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
  /**
   * Reads and checks the body. A parser of forms keeps no file but those that `files` names; without it, all.
   * @throws ApiError 400, 413 or 415
   */
  parse(ctx: Context, mediaType: MediaType, files?: TakenFiles): Promise<ParsedBody>
  /** Checks a body that the application's own middleware has read: `ctx.request.body`. @throws ApiError 400 or 413 */
  accept(ctx: Context, body: unknown): ParsedBody
}
