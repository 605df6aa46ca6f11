/**
 * In-process requests: asks the application's own routes on behalf of a request that is being answered: what answers cannot
 * tell the difference. Who asks, from where and with which credentials is as in the request that asks.
 */
import { type IncomingHttpHeaders, type IncomingMessage, ServerResponse } from 'node:http'
import { Readable, Writable } from 'node:stream'
import { toApiError } from '../postgres/database-errors.js'
import { answerError } from './answer-error.js'
import { type Context, mountOf, RequestSlot } from './context.js'
import { headerLines } from './header-lines.js'
import { type BodyPieces, piecesOf } from './response-body.js'

/** What is asked. */
export interface AskedRequest {
  /** In upper case. */
  readonly method: string
  /** Path and query, as the router sees them. */
  readonly url: string
  /** Headers that the request that asks does not decide; names in lower case. */
  readonly headers?: Readonly<Record<string, string>>
  /** A body of JSON. @default none */
  readonly body?: string | undefined
}

/** What was answered. */
export interface InProcessAnswer {
  readonly status: number
  /** A header, by its name; empty for none. */
  readonly header: (name: string) => string
  /** The body as a text; why there is none, where it has more bytes than there may be, or went past Koa. */
  readonly body: string | Unread
}

/** Why a body was not read. */
export enum Unread {
  tooLarge,
  pastKoa,
}

/** What belongs to one message and not to who sends it: its content, its conditions, and what it accepts. */
const OF_MESSAGE =
  /^(?::|content-|if-|mcp-|accept$|accept-encoding$|range$|prefer$|expect$|te$|trailer$|transfer-encoding$|upgrade$)/

const IS_ASKED = new RequestSlot<true>('the request is asked within the process')

/** True of a request that is asked on behalf of another: who has sent that one sees none of this one's headers and cookies. */
export function isAskedInProcess(ctx: Context): boolean {
  return IS_ASKED.get(ctx) === true
}

/** The context of a request that is asked on behalf of another. */
export function askedContext(outer: Context, { method, url, headers = {}, body }: AskedRequest): Context {
  const req = requestOf(outer, { method, url, headers: headersOf(outer, headers, body), body })
  const res = new ServerResponse(req)
  // by which a middleware has named the request, for whatever tells of it
  const id = outer.response.get('X-Request-Id')
  if (id) res.setHeader('X-Request-Id', id)
  const { app } = outer
  const originalUrl = (mountOf(outer) ?? '') + url
  const common = { app: own(app), req: own(req), res: own(res) }
  // what Koa remembers of the outer one, and what others have read of its body
  const unread = Object.fromEntries(REMEMBERED.map((name) => [name, own(undefined)]))
  const ctx = Object.create(outer, {
    ...common,
    state: own({ ...outer.state }),
    originalUrl: own(originalUrl),
    params: own({}),
    respond: own(undefined),
    // Koa 2 hears of a stream that fails by it, and would answer; whoever reads the body does
    onerror: own(() => {}),
    _matchedRoute: own(undefined),
    _matchedRouteName: own(undefined),
  }) as Context
  const request = Object.create(outer.request, { ...common, ...unread, ctx: own(ctx), originalUrl: own(originalUrl) })
  const response = Object.create(app.response, { ...common, ctx: own(ctx), request: own(request) }) as object
  Object.defineProperty(request, 'response', own(response))
  IS_ASKED.set(ctx, true)
  return Object.defineProperties(ctx, { request: own(request), response: own(response) })
}

const REMEMBERED = ['body', 'rawBody', 'files', 'memoizedURL', '_accept', '_querycache']

/**
 * Asks, and collects what is answered.
 * @param ctx as `askedContext()` makes it
 * @param answer what answers requests, such as the middleware of a router
 * @param limit the most bytes of a body
 */
export async function askInProcess(
  ctx: Context,
  answer: (ctx: Context, next: () => Promise<unknown>) => unknown,
  limit: number,
): Promise<InProcessAnswer> {
  const { res } = ctx
  // where nobody waits for the answer any more, nobody waits for this one
  const { res: awaited } = Object.getPrototypeOf(ctx) as Context
  const leave = () => void res.destroy()
  awaited.once('close', leave)
  let body: InProcessAnswer['body'] = ''
  try {
    await answer(ctx, async () => {})
    body = ctx.respond === false || res.headersSent ? Unread.pastKoa : await readBody(ctx, limit)
    const header = (name: string) => String(ctx.response.get(name) ?? '')
    return { status: ctx.status, header, body }
  } finally {
    awaited.removeListener('close', leave)
    await end(res, body)
  }
}

/** The end of a response, for those that wait for it: files of the request are removed, cursors given back, bytes counted. */
function end(res: ServerResponse, body: InProcessAnswer['body']): Promise<void> {
  return new Promise((resolve) => {
    const close = () => {
      res.emit('close')
      resolve()
    }
    if (res.destroyed) return close()
    res.assignSocket(new Writable({ write: (_chunk, _encoding, done) => done() }) as never)
    res.once('finish', close)
    if (!res.writableEnded) res.end(typeof body === 'string' ? body : '')
  })
}

/** What was answered; where it breaks off in the middle, why. */
async function readBody(ctx: Context, limit: number): Promise<InProcessAnswer['body']> {
  try {
    return await bodyOf(ctx, limit)
  } catch (error) {
    answerError(ctx, toApiError(error) ?? error)
    return bodyOf(ctx, limit)
  }
}

async function bodyOf({ body }: Context, limit: number): Promise<InProcessAnswer['body']> {
  if (body === undefined || body === null) return ''
  const pieces = piecesOf(body)
  if (pieces) return collect(pieces, limit)
  const text = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body)
  return Buffer.byteLength(text) > limit ? Unread.tooLarge : String(text)
}

async function collect(stream: BodyPieces, limit: number): Promise<InProcessAnswer['body']> {
  const pieces: Buffer[] = []
  let length = 0
  for await (const piece of stream) {
    const bytes = Buffer.from(piece)
    length += bytes.length
    // leaving the loop ends the stream
    if (length > limit) return Unread.tooLarge
    pieces.push(bytes)
  }
  return Buffer.concat(pieces).toString()
}

function own(value: unknown): PropertyDescriptor {
  return { value, writable: true, enumerable: true, configurable: true }
}

function headersOf(outer: Context, headers: Readonly<Record<string, string>>, body: string | undefined) {
  // by HTTP/2 the host has another name
  const { ':authority': host = outer.req.headers.host } = outer.req.headers
  const kept = Object.entries({ ...outer.req.headers, host }).filter(([name]) => !OF_MESSAGE.test(name))
  const content =
    body === undefined ? {} : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) }
  return { ...Object.fromEntries(kept), ...headers, ...content }
}

interface Framed {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  readonly body: string | undefined
}

/** A request as Node would have read it from the connection of the one that asks. */
function requestOf({ req }: Context, { method, url, headers, body }: Framed): IncomingMessage {
  const stream = Readable.from(body === undefined ? [] : [Buffer.from(body)], { objectMode: false })
  const { socket, httpVersion } = req
  return Object.assign(stream, {
    method,
    url,
    headers,
    rawHeaders: rawHeadersOf(req, headers),
    socket,
    connection: socket,
    httpVersion,
    httpVersionMajor: 1,
    httpVersionMinor: 1,
    complete: true,
    aborted: false,
  }) as unknown as IncomingMessage
}

/** As they have come, where they are those of the request that asks. */
function rawHeadersOf(outer: IncomingMessage, headers: IncomingHttpHeaders): string[] {
  return Object.entries(headers).flatMap(([name, value]) => {
    const lines = value === outer.headers[name] ? headerLines(outer, name) : [value].flat()
    return lines.flatMap((line) => [name, String(line)])
  })
}
