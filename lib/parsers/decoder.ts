/** Content codings of request bodies (RFC 9110 section 8.4): the decoders, and how far a body may swell in them. */
import { finished } from 'node:stream'
import { type BrotliDecompress, createBrotliDecompress, createUnzip, type Unzip } from 'node:zlib'
import type { Context } from '../http/context.js'
import { ApiError } from '../kernel/errors.js'
import { GrowingBuffer } from './growing-buffer.js'

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
    if (waiting.length + chunk.length > SMALL) flush()
    if (chunk.length >= SMALL) {
      if (!decoder.write(chunk)) req.pause()
      return
    }
    waiting.add(chunk)
    if (isScheduled) return
    isScheduled = true
    setImmediate(flush)
  }
  const resume = () => void req.resume()
  const end = () => {
    flush()
    decoder.end()
  }
  req.on('data', take).on('end', end)
  decoder.on('drain', resume)
  // that the source broke off must be reported: the decoder would wait for ever
  const forget = finished(req, (error) => error && decoder.destroy(error))
  return () => {
    forget()
    req.off('data', take).off('end', end)
    decoder.off('drain', resume)
  }
}
