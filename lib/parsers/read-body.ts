/** Reads a request's body: decoded (RFC 9110 section 8.4), in one buffer, and no more than a limit of bytes. */

import { finished, type Readable } from 'node:stream'
import { type BrotliDecompress, createBrotliDecompress, createUnzip, type Unzip } from 'node:zlib'
import type { Context } from '../http/context.js'
import { whenConnectionEnds } from '../http/response-end.js'
import { ApiError, BadRequest, UnsupportedMediaType } from '../kernel/errors.js'
import { atTurnsEnd } from '../kernel/turns.js'

/** 413. */
export function tooLarge(): ApiError {
  return new ApiError(413, 'Request body too large')
}

/** The least that is taken at a time. */
const LEAST = 1024
const EMPTY = Buffer.alloc(0)

/** Collects pieces. It holds at most twice what has arrived, and never more than the limit. */
export class GrowingBuffer {
  readonly #limit: number
  #room: Buffer = EMPTY
  #length = 0

  /** @param limit the most bytes */
  constructor(limit: number) {
    this.#limit = limit
  }

  /** How many bytes have arrived. */
  get length(): number {
    return this.#length
  }

  /** @throws ApiError 413 these are more than the limit */
  add(piece: Buffer): void {
    const length = this.#length + piece.length
    if (length > this.#limit) throw tooLarge()
    // most bodies are one piece, which is not copied
    if (this.#length === 0) this.#room = piece
    else {
      if (length > this.#room.length) this.#grow(length)
      piece.copy(this.#room, this.#length)
    }
    this.#length = length
  }

  /** All that has arrived; what is added later may stand behind it, and changes nothing of it. */
  bytes(): Buffer {
    return this.#room.subarray(0, this.#length)
  }

  #grow(needed: number): void {
    const length = Math.min(Math.max(needed, 2 * this.#room.length, LEAST), this.#limit)
    // none of the pool's, which small pieces would keep alive
    const room = Buffer.allocUnsafeSlow(length)
    this.#room.copy(room, 0, 0, this.#length)
    this.#room = room
  }
}

export type Decoder = Unzip | BrotliDecompress

/** Bytes that are decompressed at once: each piece waits for a turn of the event loop. Node has 16 kB. */
const PIECE = { chunkSize: 65_536 }
/** Chunks below this length are collected before they are decompressed: each takes its way through a thread. */
const SMALL = 4_096
/** Bytes that a body may always have after decompression, however small it was sent. */
const ALWAYS = 65_536

/** By content coding. `x-gzip` is an old name (RFC 9110 section 8.4.1.3). */
const DECODERS: ReadonlyMap<string, () => Decoder> = new Map([
  ['gzip', () => createUnzip(PIECE)],
  ['x-gzip', () => createUnzip(PIECE)],
  ['deflate', () => createUnzip(PIECE)],
  ['br', () => createBrotliDecompress(PIECE)],
])

/** Makes the decoder of a coding; undefined for one that is not known. */
export function decoderOf(coding: string): (() => Decoder) | undefined {
  return DECODERS.get(coding)
}

/** @throws ApiError 413 the bytes are more than `ratio` times those that were sent for them */
export function checkRatio(decoder: Decoder, bytes: number, ratio: number): void {
  if (bytes <= ALWAYS || bytes <= ratio * decoder.bytesWritten) return
  throw new ApiError(413, `Request body is compressed more than ${ratio} times`)
}

/**
 * Lets a request's body run into its decoder, small chunks together: a body in one-byte chunks would else take its way
 * through a thread for each byte. Returns what stops it.
 */
export function feed({ req }: Context, decoder: Decoder): () => void {
  let waiting = new GrowingBuffer(SMALL)
  let isScheduled = false
  const flush = () => {
    isScheduled = false
    if (waiting.length === 0 || decoder.destroyed) return
    const bytes = waiting.bytes()
    waiting = new GrowingBuffer(SMALL)
    if (!decoder.write(bytes)) req.pause()
  }
  const take = (chunk: Buffer) => {
    // it has failed, and whoever reads it is still at work on a piece from before
    if (decoder.destroyed) return
    if (waiting.length + chunk.length > SMALL) flush()
    if (chunk.length >= SMALL) {
      if (!decoder.write(chunk)) req.pause()
      return
    }
    waiting.add(chunk)
    if (isScheduled) return
    isScheduled = true
    atTurnsEnd(flush)
  }
  const resume = () => void req.resume()
  const end = () => {
    flush()
    decoder.end()
  }
  req.on('data', take).on('end', end).resume()
  decoder.on('drain', resume)
  // that the source broke off must be reported: the decoder would wait for ever
  const forget = finished(req, (error) => error && decoder.destroy(error))
  return () => {
    forget()
    req.off('data', take).off('end', end)
    decoder.off('drain', resume)
  }
}

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
  /** Checks the number of decompressed bytes so far; undefined for a body that is not compressed. @throws ApiError 413 */
  readonly check?: (bytes: number) => void
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
  // Node does not break off a request that was answered before it came
  const stopWatching = whenConnectionEnds(req, () => void req.destroy())
  if (createDecoder === undefined) {
    return {
      stream: req,
      release() {
        stopWatching()
        req.resume()
      },
    }
  }

  const decoder = createDecoder()
  // It may still fail when nobody reads it any more.
  decoder.on('error', () => {})
  const stop = feed(ctx, decoder)
  return {
    stream: decoder,
    check: (bytes) => checkRatio(decoder, bytes, ratio),
    release() {
      stopWatching()
      stop()
      req.resume()
      decoder.destroy()
    },
  }
}

/** Reads all of the body into one buffer. */
function collect({ stream, check }: OpenBody, limit: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const collected = new GrowingBuffer(limit)
    const take = (piece: Buffer | string) => {
      try {
        // the application has called setEncoding()
        if (typeof piece === 'string') throw new EncodedBody('Something has set an encoding for the request body')
        collected.add(piece)
        check?.(collected.length)
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
    // the application may have paused it
    stream.on('data', take).on('end', end).on('error', fail).on('close', breakOff).resume()
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
