/** Errors of an application's own body parser (koa-body, @koa/bodyparser, @koa/multer) as the answers that our parsers give. */

import { ApiError, BadRequest, UnsupportedMediaType } from '../kernel/errors.js'
import { isError } from '../kernel/realms.js'
import type { Context } from './context.js'

/** The parts of such an error that we look at. */
interface ParserError {
  readonly status?: unknown
  /** raw-body and body-parser: what has gone wrong. */
  readonly type?: unknown
  /** co-body: the text that is no JSON. */
  readonly body?: unknown
  /** formidable. */
  readonly httpCode?: unknown
  /** formidable: a number from 1000 on; multer and zlib: a string. */
  readonly code?: unknown
}

const CODINGS = { 'Accept-Encoding': 'gzip, deflate, br' }
/** formidable's and multer's codes that are the client's doing: what is no multipart, what is broken, what is too much. */
const MULTIPART: ReadonlyMap<unknown, 400 | 413 | 415> = new Map<unknown, 400 | 413 | 415>([
  [1002, 400],
  [1006, 413],
  [1007, 413],
  [1008, 400],
  [1009, 413],
  [1010, 400],
  [1011, 415],
  [1012, 400],
  [1013, 415],
  [1014, 400],
  [1015, 413],
  [1016, 413],
  ['LIMIT_UNEXPECTED_FILE', 400],
  ['MISSING_FIELD_NAME', 400],
  ['INVALID_FIELD_NAME', 400],
  ['LIMIT_PART_COUNT', 413],
  ['LIMIT_FILE_SIZE', 413],
  ['LIMIT_FILE_COUNT', 413],
  ['LIMIT_FIELD_KEY', 413],
  ['LIMIT_FIELD_VALUE', 413],
  ['LIMIT_FIELD_COUNT', 413],
  ['LIMIT_FIELD_NESTING', 413],
  ['LIMIT_FIELD_ARRAY_INDEX', 413],
])
/** What busboy, by which multer reads, says of a body that is broken; it has no codes. */
const BUSBOY: ReadonlyMap<string, 400 | 415> = new Map([
  ['Multipart: Boundary not found', 415],
  ['Malformed part header', 400],
  ['Unexpected end of form', 400],
  ['Unexpected end of file', 400],
])
/** zlib's own codes, and those that brotli's have in Node. */
const CORRUPT = /^(?:Z_[A-Z_]+|ERR_(?:_ERROR|BROTLI|ZSTD)\w*)$/

/**
 * The answer for an error of a parser in front of us: 400, 413 or 415, without its message, which may repeat the body.
 * Null for all else.
 */
export function toParserError(error: unknown, ctx: Context): ApiError | null {
  if (!isError(error) || error instanceof ApiError) return null
  const { status, type, body, httpCode, code } = error as ParserError
  const broken = BUSBOY.get(error.message)
  if (broken && ctx.request.is('multipart')) return MULTIPART_ANSWERS[broken](error)
  if (typeof httpCode === 'number' || error.name === 'MulterError') {
    const kind = MULTIPART.get(code)
    return kind ? MULTIPART_ANSWERS[kind](error) : null
  }
  if (status === 413) return new ApiError(413, 'Request body too large', { cause: error })
  if (status === 415) return new UnsupportedMediaType(ctx.headers['content-encoding'] === undefined ? {} : CODINGS)
  if (status === 400 && (typeof body === 'string' || type === 'entity.parse.failed')) {
    return new BadRequest(ctx.request.is('urlencoded') ? 'Malformed form' : 'Malformed JSON', { cause: error })
  }
  // a compressed body that is none; elsewhere such an error is the application's own
  const isBody = ctx.headers['content-encoding'] !== undefined && typeof code === 'string' && CORRUPT.test(code)
  return isBody ? new BadRequest('Malformed body', { cause: error }) : null
}

const MULTIPART_ANSWERS: Readonly<Record<400 | 413 | 415, (cause: Error) => ApiError>> = {
  400: (cause) => new BadRequest('Malformed multipart body', { cause }),
  413: (cause) => new ApiError(413, 'Request body too large', { cause }),
  415: () => new UnsupportedMediaType(),
}
