/** The request's body as data: picks the parser by media type. */
import contentType from 'content-type'
import type { Context } from '../http/context.js'
import { BadRequest, UnsupportedMediaType } from '../kernel/errors.js'
import type { MediaType, ParsedBody, Parser, TakenFiles } from './parser.js'
import { isAborted } from './read-body.js'

/**
 * Reads the body with the parser for its media type; a request without a body counts as `{}`.
 * A body that the application's own parser has read before (koa-body, @koa/bodyparser) is taken from `ctx.request.body` and checked.
 * @param files those that the view asks for; without it, all are kept
 * @throws UnsupportedMediaType no parser reads the media type, it is missing or malformed, or the charset is not UTF-8
 * @throws ApiError what the parser throws: 400, 413 or 415
 */
export function parseBody(
  ctx: Context,
  parsers: readonly Parser[],
  files?: TakenFiles,
): ParsedBody | Promise<ParsedBody> {
  if (!hasBody(ctx)) return { data: {}, textual: false }
  const mediaType = mediaTypeOf(ctx)
  const parser = mediaType && parserOf(mediaType, parsers)
  if (!mediaType || !parser) throw unsupported(ctx, parsers)
  if (!isRead(ctx)) return parser.parse(ctx, mediaType, files)
  if (isAborted(ctx.req)) throw new BadRequest('Request aborted')
  const { body } = ctx.request as { body?: unknown }
  if (body === undefined) throw new Error('Something has read the request body and left no ctx.request.body')
  return parser.accept(ctx, body)
}

/** Whether the request brings a body, from its framing alone: `ctx.request.body` may be an empty object without one. */
function hasBody({ req }: Context): boolean {
  if (req.headers['transfer-encoding'] !== undefined) return true
  const length = req.headers['content-length']
  if (length !== undefined) return Number(length) > 0
  // HTTP/2 frames a body without either header.
  const { stream } = req as { stream?: { endAfterHeaders?: boolean } }
  return req.httpVersionMajor >= 2 && stream?.endAfterHeaders === false
}

function isRead({ req }: Context): boolean {
  return req.readableDidRead || !req.readable
}

function parserOf(mediaType: MediaType, parsers: readonly Parser[]): Parser | undefined {
  const parser = parsers.find(({ mediaTypes }) => mediaTypes.includes(mediaType.type))
  return parser?.reads?.(mediaType) === false ? undefined : parser
}

function unsupported({ method }: Context, parsers: readonly Parser[]): UnsupportedMediaType {
  const header = method === 'PATCH' ? 'Accept-Patch' : 'Accept-Post'
  return new UnsupportedMediaType({ [header]: parsers.flatMap(({ mediaTypes }) => mediaTypes).join(', ') })
}

const JSON_TYPE: MediaType = { type: 'application/json', parameters: {} }

/** Undefined when it is missing, malformed, or in a charset other than UTF-8. */
function mediaTypeOf({ req }: Context): MediaType | undefined {
  const header = (req.headers['content-type'] ?? '').trim()
  if (header === JSON_TYPE.type) return JSON_TYPE
  try {
    // The package refuses the empty parameter of `application/json;`.
    const mediaType = contentType.parse(header.endsWith(';') ? header.slice(0, -1) : header)
    return isUtf8Name(mediaType.parameters['charset'] ?? 'utf-8') ? mediaType : undefined
  } catch {
    return undefined
  }
}

function isUtf8Name(charset: string): boolean {
  return UTF_8.has(charset.toLowerCase())
}

const UTF_8: ReadonlySet<string> = new Set(['utf-8', 'utf8'])
