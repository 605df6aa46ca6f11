/** Bodies of answers that are streams, or are read as such. */
import { AsyncResource } from 'node:async_hooks'
import { Readable, Stream } from 'node:stream'
import { ConfigurationError } from '../kernel/errors.js'
import type { Context } from './context.js'

/** True for a body that can be read only once, as it is sent. */
export function isStreamed(body: unknown): boolean {
  if (typeof body !== 'object' || body === null) return false
  const { pipe, [Symbol.toStringTag]: tag } = body as {
    readonly pipe?: unknown
    readonly [Symbol.toStringTag]?: unknown
  }
  return typeof pipe === 'function' || (tag !== undefined && READ_ONCE.has(tag))
}

/** Tags of classes: comparing them is cheaper than `instanceof`, as Node loads some of the classes when they are first named. */
const READ_ONCE: ReadonlySet<unknown> = new Set(['Blob', 'File', 'ReadableStream', 'Response'])

export type BodyPieces = AsyncIterable<Uint8Array | string>

/** The chunks of a body that is read as it is sent; undefined for any other body. */
export function piecesOf(body: unknown): BodyPieces | undefined {
  if (body instanceof Readable) return body
  if (body instanceof Response) return piecesOf(body.body)
  const stream = body instanceof Blob ? body.stream() : body
  return stream instanceof ReadableStream ? (stream as BodyPieces) : undefined
}

/**
 * Reads a body of the web as one of Node's: Koa tells HEAD a length of any other, and ends none that nobody reads. One of
 * objects is told by its own error: what Koa reads would end the process.
 */
function readByNode(ctx: Context): void {
  if (!isStreamed(ctx.body)) return
  const stream: unknown = ctx.body instanceof Response ? ctx.body.body : ctx.body
  const read = stream instanceof ReadableStream ? Readable.from(stream) : stream
  if (!(read instanceof Readable)) return
  const body = read.readableObjectMode ? bytesOf(read) : read
  if (body === ctx.body) return
  const length = ctx.res.getHeader('Content-Length')
  ctx.body = body
  if (length !== undefined) ctx.res.setHeader('Content-Length', length)
}

/** The same pieces, read when somebody asks for them: a stream that nobody has read is ended at once. */
function bytesOf(stream: Readable): Readable {
  bindReads(stream)
  const body = Readable.from(onlyBytes(stream))
  stream.once('error', (error) => body.destroy(error))
  body.once('close', () => stream.destroy())
  return body
}

async function* onlyBytes(stream: Readable): AsyncGenerator<string | Uint8Array> {
  for await (const piece of stream) {
    if (!(typeof piece === 'string' || piece instanceof Uint8Array)) throw notSent(piece)
    yield piece
  }
}

function notSent(piece: unknown): ConfigurationError {
  return new ConfigurationError(
    `a body is a stream of values of the type ${typeof piece}; give it texts or bytes, such as a line of JSON for each`,
  )
}

/**
 * Lets a streamed body be read as one of Node's, and by its request: Koa reads it outside of all middleware, where no
 * `AsyncLocalStorage` knows who asks.
 */
export function readByRequest(ctx: Context): void {
  readByNode(ctx)
  if (!(ctx.body instanceof Readable)) return
  bindReads(ctx.body)
}

function bindReads(stream: { _read: (size: number) => void }): void {
  const read = AsyncResource.bind(stream._read)
  stream._read = read
}

/** The status that an answer brings with it: a `Response` of the web has one. */
export function statusOf(answer: unknown): number | undefined {
  const { [Symbol.toStringTag]: tag, status } = Object(answer) as { [Symbol.toStringTag]?: unknown; status?: unknown }
  return tag === 'Response' && typeof status === 'number' ? status : undefined
}

/**
 * Lets a stream fail before it is sent, as while a transaction is committed: Koa 3 hears of that only as it sends, and not
 * at all for HEAD, and an `error` event that nobody hears ends the process.
 */
export function mayFail(body: unknown): void {
  if (body instanceof Stream) body.on('error', () => {})
}

/** Calls `mayFail()` with the body of an answer that is not sent at once. */
export function mayFailUnsent({ body }: Context): void {
  mayFail(body)
}
