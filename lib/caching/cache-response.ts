/** Caching of an answer: its `ETag`, who may keep it (`Cache-Control`), and 304 for who has it already; lists of entity tags in conditions. */
import { hash } from 'node:crypto'
import { finderOf } from '../http/challenges.js'
import { type Context, isAnonymous, isSafeMethod, RequestSlot } from '../http/context.js'
import { matchesWeakly, namesTag } from '../http/entity-tags.js'
import { keepCookiesPrivate } from '../http/private-cookies.js'
import { isStreamed } from '../http/response-body.js'
import { renderPending } from '../http/response-end.js'
import { writeJson } from '../kernel/json-numerals.js'
import { frame } from '../kernel/signing.js'

const DIGITS = 16

/** The version of the row that a request is about, once it was read: it becomes part of the answer's tag. */
export const ROW_VERSION = new RequestSlot<string>('the version of the row')

/** The first 16 hex of SHA-256 of a body's bytes; text counts as UTF-8. */
export function contentDigest(body: string | Uint8Array): string {
  return hash('sha256', body, 'hex').slice(0, DIGITS)
}

/**
 * What distinguishes the versions of a row: the table, its key, and the strings of the columns that every write changes.
 * @example rowDigest('books', ['42'], ['2026-03-28T15:30:00.123456']) // '4c6838f21712be35'
 */
export function rowDigest(table: string, key: readonly string[], texts: readonly (string | null)[]): string {
  const parts = [table, ...key, ...texts.map((text) => text ?? '')]
  return hash('sha256', frame(...parts), 'hex').slice(0, DIGITS)
}

/** The weak tag of a representation. @example weakTag('b94d27b9934d3e08') // 'W/"b94d27b9934d3e08"' */
export function weakTag(content: string): string {
  return `W/"${content}"`
}

/** The strong tag of an object's representation: the version of its row, and the content. */
export function strongTag(row: string, content: string): string {
  return `"${row}-${content}"`
}

/** Whether `If-Match` names this version of a row. Weak tags never do; without a version only `*` does. */
export function matchesRow(field: string, row: string | undefined): boolean {
  return namesTag(field, ({ weak, text }) => row !== undefined && !weak && rowOf(text) === row)
}

/** Whether `If-None-Match` names this version of a row, in whatever representation. */
export function namesRowVersion(field: string, row: string | undefined): boolean {
  return namesTag(field, ({ text }) => row !== undefined && rowOf(text) === row)
}

const STRONG = /^([0-9a-f]{16})-[0-9a-f]{16}$/

function rowOf(text: string): string | undefined {
  return STRONG.exec(text)?.[1]
}

/** Fields that describe a body, which a 304 has not (RFC 9110 section 15.4.5). */
const OF_THE_BODY = ['Content-Disposition', 'Content-Encoding', 'Content-Language', 'Last-Modified']

/** A scheme that recognises callers by a header of the request. */
export interface VaryingScheme {
  readonly vary?: string
}

export interface CacheResponseOptions {
  /** The version of the object's row, for a strong tag. */
  readonly row?: string | undefined
  /** Leave a `Cache-Control` that the handler has set. @default false */
  readonly keep?: boolean
}

/**
 * Adds `Cache-Control` and `ETag` to a finished 200 answer of GET, HEAD or QUERY, and makes it a 304 when `If-None-Match` names
 * it. A body that is an object is rendered here, once: as `contentNegotiation()` would, or else as JSON. A stream gets no
 * tag, nor does what can be had only once. An answer of 400 and more is never kept and has no tag.
 */
export function cacheResponse(ctx: Context, control: string, { row, keep = false }: CacheResponseOptions = {}): void {
  if (isSent(ctx)) return
  if (ctx.status >= 400) {
    ctx.remove('ETag')
    if (!ctx.res.hasHeader('Cache-Control')) ctx.set('Cache-Control', 'no-store')
    return
  }
  if (ctx.status !== 200 || !isReading(ctx) || ONLY_ONCE.get(ctx)) return
  if (!keep) ctx.set('Cache-Control', control)
  keepCookiesPrivate(ctx, control)
  addETag(ctx, row)
}

const ONLY_ONCE = new RequestSlot<true>('the next answer to the request will be another one')

/**
 * Says that the next answer to the same request will be another one, such as the next page of a cursor of the database: it
 * is stored nowhere, has no tag, and is never left out with 304.
 */
export function preventCaching(ctx: Context): void {
  ONLY_ONCE.set(ctx, true)
  ctx.set('Cache-Control', 'no-store')
}

/** Adds the tag of the body's bytes, if the answer has none yet, and makes it a 304 when `If-None-Match` names it. */
export function addETag(ctx: Context, row?: string): void {
  if (isSent(ctx) || ctx.status >= 300) return
  renderPending(ctx)
  let tag = ctx.res.getHeader('ETag') as string | undefined
  if (tag === undefined) {
    const body = bytesOf(ctx)
    if (body === undefined) return
    const content = contentDigest(body)
    tag = row === undefined ? weakTag(content) : strongTag(row, content)
    ctx.set('ETag', tag)
  }
  const known = ctx.headers['if-none-match']
  if (known === undefined || ctx.status !== 200 || !isReading(ctx) || !matchesWeakly(known, tag)) return
  for (const name of OF_THE_BODY) ctx.remove(name)
  ctx.status = 304
  ctx.body = null
}

/** Where credentials may be, of a caller found by whom does not say. */
const ANY_CREDENTIALS = 'Authorization, Cookie'
const SOMEHOW_KNOWN = new RequestSlot<true>('a scheme was asked that does not say where its credentials are')

/**
 * Keeps the answers of several callers apart: `Vary` names the headers that the schemes read, also to nobody, and what
 * a known caller gets is stored nowhere, unless the answer says otherwise itself.
 */
export function keepPrivate(ctx: Context, schemes: readonly VaryingScheme[] = []): void {
  if (isSent(ctx)) return
  const isKept = ctx.res.hasHeader('Cache-Control')
  for (const { vary } of schemes) {
    if (vary === undefined) SOMEHOW_KNOWN.set(ctx, true)
    else ctx.vary(vary)
  }
  if (isKept && SOMEHOW_KNOWN.get(ctx)) ctx.vary(ANY_CREDENTIALS)
  if (isAnonymous(ctx.state['user'])) return
  if (!isKept) ctx.set('Cache-Control', 'no-store')
  // the application itself has found the user, or a scheme that does not say how: by which of the two headers, we cannot know
  else if (finderOf(ctx)?.vary === undefined) ctx.vary(ANY_CREDENTIALS)
}

/** True when the handler has written the response itself. */
function isSent(ctx: Context): boolean {
  return ctx.res.headersSent || ctx.respond === false
}

function isReading({ method }: Context): boolean {
  return isSafeMethod(method) && method !== 'OPTIONS'
}

/** The body as it will be sent; undefined for a stream, and where there is none. */
function bytesOf(ctx: Context): string | Uint8Array | undefined {
  const { body } = ctx
  if (typeof body === 'string' || body instanceof Uint8Array) return body
  if (typeof body !== 'object' || body === null || isStreamed(body)) return undefined
  const text = writeJson(body)
  if (text === undefined) return undefined
  ctx.body = text
  return text
}
