/** The bytes of a request body, decompressed and counted while they arrive (spec section 4.9). */
import { finished } from 'node:stream'
import { createBrotliDecompress, createUnzip } from 'node:zlib'
import rawBody from 'raw-body'
import type { Context } from '../context.js'
import { ApiError, BadRequest, UnsupportedMediaType } from '../errors.js'

export interface ReadBodyOptions {
  /** The most bytes after decompression; also the most that `Content-Length` may announce. */
  readonly limit: number
  /** The `detail` of the 400 for a compressed stream that is corrupt. */
  readonly malformed: string
}

/** By content coding. `x-gzip` is an old name (RFC 9110 section 8.4.1.3). */
const DECODERS = new Map([
  ['gzip', () => createUnzip()],
  ['x-gzip', () => createUnzip()],
  ['deflate', () => createUnzip()],
  ['br', () => createBrotliDecompress()],
])

/**
 * Reads the body. What a refused request still sends is thrown away as it arrives, so the connection stays usable.
 * @throws ApiError 413 beyond the limit, 415 for a content coding that is unknown or one of several,
 * 400 when the stream is corrupt or the client went away
 */
export async function readBody(ctx: Context, options: ReadBodyOptions): Promise<Buffer> {
  const { req } = ctx
  const coding = (req.headers['content-encoding'] ?? '').trim().toLowerCase()
  const createDecoder = DECODERS.get(coding)
  if (createDecoder === undefined && coding !== '' && coding !== 'identity') {
    throw new UnsupportedMediaType({ 'Accept-Encoding': 'gzip, deflate, br' })
  }
  if (Number(req.headers['content-length']) > options.limit) throw tooLarge()
  if (createDecoder === undefined) return collect(req, req, options)

  const decoder = createDecoder()
  // It may still fail when nobody reads it any more.
  decoder.on('error', () => {})
  // A pipe does not tell its target that the source broke off: the target would wait for ever.
  const forget = finished(req, (error) => error && decoder.destroy(error))
  try {
    return await collect(req, req.pipe(decoder), options)
  } finally {
    forget()
    decoder.destroy()
  }
}

async function collect(
  req: Context['req'],
  stream: NodeJS.ReadableStream,
  { limit, malformed }: ReadBodyOptions,
): Promise<Buffer> {
  try {
    return await rawBody(stream, { limit })
  } catch (error) {
    req.unpipe()
    req.resume()
    const { type, status } = error as Partial<rawBody.RawBodyError>
    if (type === 'entity.too.large') throw tooLarge()
    if (isAborted(req)) throw new BadRequest('Request aborted', { cause: error })
    if (status !== undefined && status >= 500) throw error
    throw new BadRequest(malformed, { cause: error })
  }
}

/** True when the client went away before it had sent the whole body. */
export function isAborted(req: Context['req']): boolean {
  return req.destroyed && !req.complete
}

function tooLarge(): ApiError {
  return new ApiError(413, 'Request body too large')
}
