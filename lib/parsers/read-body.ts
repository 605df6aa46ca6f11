/** The bytes of a request body, decompressed and counted while they arrive (spec section 4.9). */
import { finished, type Readable } from 'node:stream'
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

/** Bytes that are decompressed at once: each piece waits for a turn of the event loop. Node has 16 kB. */
const PIECE = { chunkSize: 65_536 }

/** By content coding. `x-gzip` is an old name (RFC 9110 section 8.4.1.3). */
const DECODERS = new Map([
  ['gzip', () => createUnzip(PIECE)],
  ['x-gzip', () => createUnzip(PIECE)],
  ['deflate', () => createUnzip(PIECE)],
  ['br', () => createBrotliDecompress(PIECE)],
])

/** A body as it arrives, decompressed. */
export interface OpenBody {
  readonly stream: Readable
  /** Throws away what still arrives, so that the connection stays usable. */
  readonly release: () => void
}

/**
 * Reads the body. What a refused request still sends is thrown away as it arrives, so the connection stays usable.
 * @throws ApiError 413 beyond the limit, 415 for a content coding that is unknown or one of several,
 * 400 when the stream is corrupt or the client went away
 */
export async function readBody(ctx: Context, options: ReadBodyOptions): Promise<Buffer> {
  const { stream, release } = openBody(ctx, options.limit)
  try {
    return await rawBody(stream, { limit: options.limit })
  } catch (error) {
    throw toReadError(ctx, error, options.malformed)
  } finally {
    release()
  }
}

/**
 * Opens the body. The caller releases it, whatever the outcome.
 * @param limit the most bytes that `Content-Length` may announce
 * @throws ApiError 413, or 415 for a content coding that is unknown or one of several
 */
export function openBody(ctx: Context, limit: number): OpenBody {
  const { req } = ctx
  const coding = (req.headers['content-encoding'] ?? '').trim().toLowerCase()
  const createDecoder = DECODERS.get(coding)
  if (createDecoder === undefined && coding !== '' && coding !== 'identity') {
    throw new UnsupportedMediaType({ 'Accept-Encoding': 'gzip, deflate, br' })
  }
  if (Number(req.headers['content-length']) > limit) throw tooLarge()
  if (createDecoder === undefined) return { stream: req, release: () => req.resume() }

  const decoder = createDecoder()
  // It may still fail when nobody reads it any more.
  decoder.on('error', () => {})
  // A pipe does not tell its target that the source broke off: the target would wait for ever.
  const forget = finished(req, (error) => error && decoder.destroy(error))
  return {
    stream: req.pipe(decoder),
    release() {
      forget()
      req.unpipe()
      req.resume()
      decoder.destroy()
    },
  }
}

/** The answer for an error of a body's stream. */
export function toReadError({ req }: Context, error: unknown, malformed: string): unknown {
  if (error instanceof ApiError) return error
  const { type, status } = error as Partial<rawBody.RawBodyError>
  if (type === 'entity.too.large') return tooLarge()
  if (isAborted(req)) return new BadRequest('Request aborted', { cause: error })
  if (status !== undefined && status >= 500) return error
  return new BadRequest(malformed, { cause: error })
}

/** True when the client went away before it had sent the whole body. */
export function isAborted(req: Context['req']): boolean {
  return req.destroyed && !req.complete
}

/** 413. */
export function tooLarge(): ApiError {
  return new ApiError(413, 'Request body too large')
}
