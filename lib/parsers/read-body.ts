/** The bytes of a request body, decompressed and counted while they arrive. */
import type { Readable } from 'node:stream'
import type { Context } from '../http/context.js'
import { ApiError, BadRequest, UnsupportedMediaType } from '../kernel/errors.js'
import { checkRatio, decoderOf, feed } from './decoder.js'
import { GrowingBuffer } from './growing-buffer.js'
import { tooLarge } from './too-large.js'

export interface BodyLimits {
  /** The most bytes after decompression; also the most that `Content-Length` may announce. */
  readonly limit: number
  /** How many bytes one compressed byte may stand for, on the whole. */
  readonly ratio: number
}

export interface ReadBodyOptions extends BodyLimits {
  /** The `detail` of the 400 for a compressed stream that is corrupt. */
  readonly malformed: string
}

/** A body as it arrives, decompressed. */
export interface OpenBody {
  readonly stream: Readable
  /** Told how many bytes have come of it so far. @throws ApiError 413 they are too many for what was sent */
  readonly check: (bytes: number) => void
  /** Throws away what still arrives, so that the connection stays usable. */
  readonly release: () => void
}

/**
 * Reads the body. What a refused request still sends is thrown away as it arrives, so the connection stays usable.
 * @throws ApiError 413 beyond the limits, 415 for a content coding that is unknown or one of several,
 * 400 when the stream is corrupt or the client went away
 */
export async function readBody(ctx: Context, options: ReadBodyOptions): Promise<Buffer> {
  const body = openBody(ctx, options)
  try {
    return await collect(body, options.limit)
  } catch (error) {
    throw toReadError(ctx, error, options.malformed)
  } finally {
    body.release()
  }
}

/**
 * Opens the body. The caller releases it, whatever the outcome.
 * @throws ApiError 413, or 415 for a content coding that is unknown or one of several
 */
export function openBody(ctx: Context, { limit, ratio }: BodyLimits): OpenBody {
  const { req } = ctx
  const coding = (req.headers['content-encoding'] ?? '').trim().toLowerCase()
  const createDecoder = decoderOf(coding)
  if (createDecoder === undefined && coding !== '' && coding !== 'identity') {
    throw new UnsupportedMediaType({ 'Accept-Encoding': 'gzip, deflate, br' })
  }
  if (Number(req.headers['content-length']) > limit) throw tooLarge()
  if (createDecoder === undefined) return { stream: req, check: passes, release: () => req.resume() }

  const decoder = createDecoder()
  // It may still fail when nobody reads it any more.
  decoder.on('error', () => {})
  const stop = feed(ctx, decoder)
  return {
    stream: decoder,
    check: (bytes) => checkRatio(decoder, bytes, ratio),
    release() {
      stop()
      req.resume()
      decoder.destroy()
    },
  }
}

/** What was sent as it is cannot swell. */
function passes(): void {}

/** Reads all of the body into one buffer. */
function collect({ stream, check }: OpenBody, limit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const collected = new GrowingBuffer(limit)
    const take = (piece: Buffer | string) => {
      try {
        // the application has called setEncoding()
        if (typeof piece === 'string') throw new EncodedBody('Something has set an encoding for the request body')
        collected.add(piece)
        check(collected.length)
      } catch (error) {
        fail(error as Error)
      }
    }
    const fail = (error: Error) => {
      forget()
      reject(error)
    }
    const end = () => {
      forget()
      resolve(collected.bytes())
    }
    const breakOff = () => fail(new Error('The request body broke off'))
    const forget = () => {
      stream.off('data', take).off('end', end).off('error', fail).off('close', breakOff)
    }
    stream.on('data', take).on('end', end).on('error', fail).on('close', breakOff)
  })
}

/** The answer for an error of a body's stream. */
export function toReadError({ req }: Context, error: unknown, malformed: string): unknown {
  if (error instanceof ApiError) return error
  if (isAborted(req)) return new BadRequest('Request aborted', { cause: error })
  if ((error as { status?: unknown }).status === 500) return error
  return new BadRequest(malformed, { cause: error })
}

/** True when the client went away before it had sent the whole body. */
export function isAborted(req: Context['req']): boolean {
  return req.destroyed && !req.complete
}

/** Answered 500: it is none of the client's doing. */
class EncodedBody extends Error {
  readonly status = 500
}
