/** What a request brings with it: Koa's context, its method, path and query, and what the steps of dispatch leave with it for later ones. */

import { parse } from 'node:querystring'
import type Koa from 'koa'
import { BadRequest } from '../kernel/errors.js'
import { ALL_METHODS } from '../kernel/methods.js'

/** Koa's context, with the body that a parser leaves. Our steps write `ctx.state.user`, `auth`, `version` and `validatedData`. */
export type Context = Koa.Context & { request: { body?: unknown } }
/** Middleware of Koa. */
export type Middleware = Koa.Middleware

const SAFE: ReadonlySet<string> = new Set(ALL_METHODS.filter(({ does }) => does === 'read').map(({ name }) => name))
/** The methods whose requests have content. */
export const WITH_CONTENT: ReadonlySet<string> = new Set(
  ALL_METHODS.filter(({ hasContent }) => hasContent).map(({ name }) => name),
)

/** What policies on a hand-written route take for the view's action: the method in lower case, `get` for HEAD. */
export function routeAction(ctx: Context): string {
  return ctx.method === 'HEAD' ? 'get' : ctx.method.toLowerCase()
}

/** True when nobody is logged in: no user, or one that says so itself (`isAnonymous`, `isAuthenticated: false`). */
export function isAnonymous(user: unknown): boolean {
  if (!user) return true
  if (typeof user !== 'object') return false
  const said = user as { isAnonymous?: unknown; isAuthenticated?: unknown }
  return said.isAnonymous === true || said.isAuthenticated === false
}

/** The `id` of a logged-in user; undefined for an anonymous caller or a user without one. */
export function userId(user: unknown): unknown {
  if (isAnonymous(user) || typeof user !== 'object') return undefined
  return (user as { id?: unknown }).id ?? undefined
}

const ORIGINAL = Symbol('the request that a copy is of')

/** The request that was sent, of a copy for what is asked on behalf of it. */
export function originalRequest(ctx: Context & { readonly [ORIGINAL]?: Context }): Context {
  return ctx[ORIGINAL] ?? ctx
}

function copyOf(ctx: Context, own: PropertyDescriptorMap): Context {
  return Object.create(ctx, { ...own, [ORIGINAL]: { value: originalRequest(ctx) } }) as Context
}

/** A copy of a request with another method, for what is asked on behalf of it. */
export function withMethod(ctx: Context, method: string): Context {
  const own = { method: { value: method } }
  return copyOf(ctx, { ...own, request: { value: Object.create(ctx.request, own) } })
}

/** A copy of a request with other parameters of its query, for what is asked on behalf of it. */
export function withParameters(ctx: Context, query: QueryParameters): Context {
  const own = { query: { value: query } }
  const copy = copyOf(ctx, { ...own, request: { value: Object.create(ctx.request, own) } })
  ASKED.set(copy, query)
  return copy
}

/** A copy of a request as a GET without parameters in path and query, for what is asked on behalf of it. */
export function withoutParameters(ctx: Context): Context {
  const none = { query: { value: {} }, querystring: { value: '' }, search: { value: '' }, method: { value: 'GET' } }
  const own = { ...none, params: { value: {} }, request: { value: Object.create(ctx.request, none) } }
  const copy = copyOf(ctx, own)
  // nor what a body has asked of the other
  ASKED.set(copy, undefined)
  return copy
}

/** True while an answer may be written. Over HTTP/2 the stream of a HEAD has ended before it is answered, which is for Koa as if its client had gone. */
export function isWritable(ctx: Context): boolean {
  return ctx.writable || (ctx.method === 'HEAD' && !ctx.res.writableEnded)
}

/** True when no middleware has answered: Koa would send its `Not Found` text. */
export function isUnanswered(ctx: Context): boolean {
  const untouched = ctx.body === undefined || ctx.body === null
  return ctx.status === 404 && untouched && isWritable(ctx) && !ctx.headerSent && ctx.respond !== false
}

export interface DescribedRequest {
  /** In upper case. */
  readonly method: string
  /** @default '/' */
  readonly path?: string
  /** The path parameters. @default none */
  readonly params?: Readonly<Record<string, string>>
  /** The API version that is asked for. */
  readonly version?: string | undefined
}

/** A request without headers, query and body, from nobody, with as much of Koa's context as views read before they answer. */
export function describingContext(asked: DescribedRequest): Context {
  const ctx = madeContext(asked)
  DESCRIBING.add(ctx)
  return ctx
}

/** A request that nobody has sent, in the name of a user: for reads on his behalf. */
export function contextForUser(user: unknown, asked: DescribedRequest): Context {
  const ctx = madeContext(asked)
  ctx.state['user'] = user
  return ctx
}

function madeContext({ method, path = '/', params = {}, version }: DescribedRequest): Context {
  const get = () => ''
  const ignore = () => {}
  const req = { method, url: path, headers: {}, socket: { destroyed: false } }
  const res = { headersSent: false, statusCode: 200, getHeaders: () => ({}), getHeaderNames: () => [] }
  const request = { method, url: path, headers: {}, get }
  const own = { method, path, url: path, originalUrl: path, query: {}, querystring: '', params, headers: {}, get }
  return { ...own, append: ignore, set: ignore, state: { version }, req, res, request } as unknown as Context
}

const DESCRIBING = new WeakSet<object>()

/** True for a request of `describingContext()`, in whose answer all is open that depends on callers. */
export function isDescribing(ctx: Context): boolean {
  return DESCRIBING.has(ctx)
}

/** True for a method that only reads (RFC 9110 section 9.2.1), in upper case. */
export function isSafeMethod(method: string): boolean {
  return SAFE.has(method)
}

/** True for a method whose requests have content, in upper case. */
export function hasContent(method: string): boolean {
  return WITH_CONTENT.has(method)
}

/**
 * One thing to remember of a request. It is kept on the context itself: `ctx.state` is the application's, and may be replaced.
 * @example
 * const FORMAT = new RequestSlot<string>('the format that the path asks for')
 * FORMAT.set(ctx, 'csv')
 * FORMAT.get(ctx) // 'csv'
 */
export class RequestSlot<Value> {
  readonly #key: symbol

  /** @param description what is remembered, for whoever looks at a context in a debugger */
  constructor(description: string) {
    this.#key = Symbol(description)
  }

  get(ctx: Context): Value | undefined {
    return (ctx as { [key: symbol]: Value | undefined })[this.#key]
  }

  set(ctx: Context, value: Value | undefined): void {
    ;(ctx as { [key: symbol]: Value | undefined })[this.#key] = value
  }
}

/** The format that the path asks for, as a router of ours has found it. */
export const FORMAT = new RequestSlot<string>('the format that the path asks for')
/** The namespace of the route that a request has taken, as its cursors know it (wire format, section 2.1). */
export const NAMESPACE = new RequestSlot<string>('the namespace of the route')

/** The path of a request; undefined for a target that is no URL, such as `http://[`: Koa throws where one reads the path of that. */
export function pathOf(ctx: Context): string | undefined {
  try {
    const path: string | null = ctx.path
    return path ?? undefined
  } catch {
    return undefined
  }
}

/** True for the error that Koa throws since the request's target is no URL, and for no other `ERR_INVALID_URL`. */
export function isTargetError(ctx: Context, error: unknown): boolean {
  if ((error as { code?: unknown } | null | undefined)?.code !== 'ERR_INVALID_URL') return false
  try {
    void ctx.path
    return false
  } catch {
    return true
  }
}

/** A path without its suffix, if it ends in one of these formats: `/books.json` is `/books` asked for as JSON. */
export function splitSuffix(path: string, formats: ReadonlySet<string>): { path: string; format: string } | undefined {
  const dot = path.lastIndexOf('.')
  if (dot <= path.lastIndexOf('/') + 1) return undefined
  const format = path.slice(dot + 1)
  return formats.has(format) ? { path: path.slice(0, dot), format } : undefined
}

/**
 * The path of an object whose key ends in a format by chance, which is none where its dot is encoded: `a.json` is
 * `/files/a%2Ejson`. Any other path is returned as it is.
 */
export function guardSuffix(path: string, formats: ReadonlySet<string>): string {
  const suffix = splitSuffix(path, formats)
  return suffix ? `${suffix.path}%2E${suffix.format}` : path
}

/** The format that the path asks for, whoever has routed it: the one found, or else that of these which the path ends in. */
export function requestedFormat(ctx: Context, formats: ReadonlySet<string>): string | undefined {
  return FORMAT.get(ctx) ?? splitSuffix(pathOf(ctx) ?? '', formats)?.format
}

/** Query parameters of a request, as Koa reads them; of repeated ones the last counts. */
export type QueryParameters = Readonly<Record<string, string | readonly string[] | undefined>>

const ASKED = new RequestSlot<QueryParameters>('the parameters of a QUERY, those of its body among them')

/** Remembers what a QUERY asks: the parameters of its URL and of its body. */
export function setQuery(ctx: Context, parameters: QueryParameters): void {
  ASKED.set(ctx, parameters)
}

/** Koa 2 leaves out what comes after so many parameters, and Koa 3 reads a name again for each time that it stands there. */
const MOST_PARAMETERS = 1_000

/**
 * The parameters of a request: those of its URL, and of a QUERY those of its body, too. Where the application has given Koa
 * another reader of queries (koa-qs), `?a[b]=1` may be an object: then the text is read as Koa itself would, in which `a[b]`
 * is a name like any other.
 * @throws BadRequest there are too many
 */
export function queryOf(ctx: Context): QueryParameters {
  const asked = ASKED.get(ctx)
  if (asked !== undefined) return asked
  const { querystring } = ctx
  if (querystring.length > MOST_PARAMETERS && querystring.split('&').length > MOST_PARAMETERS)
    throw new BadRequest(`Give at most ${MOST_PARAMETERS} parameters.`)
  const { query } = ctx as { query: Readonly<Record<string, unknown>> }
  for (const name in query) if (!isPlain(query[name])) return parse(querystring)
  return query as QueryParameters
}

function isPlain(value: unknown): boolean {
  return typeof value === 'string' || (Array.isArray(value) && value.every((item) => typeof item === 'string'))
}

/** A name with the request's namespace before it, if there is one: `v1:book`. */
export function qualifiedName(ctx: Context, name: string): string {
  const namespace = NAMESPACE.get(ctx)
  return namespace === undefined ? name : `${namespace}:${name}`
}

const AUTHORITY = /^[a-z][a-z0-9+.-]*:\/\/[^/?#\\]*/i

/** The path of a request, as links have it. */
export function requestPath(originalUrl: string): string {
  return splitTarget(originalUrl).path
}

/** What stands before the paths of an application that is mounted in another, by koa-mount at any depth; undefined where the path is another. */
export function mountOf({ originalUrl, path }: Context): string | undefined {
  const whole = requestPath(originalUrl)
  return whole.endsWith(path) ? whole.slice(0, whole.length - path.length) : undefined
}

/** Path and query of a request's URL, as links have them. */
export function splitTarget(originalUrl: string): { path: string; search: string } {
  const hash = originalUrl.indexOf('#')
  const whole = hash === -1 ? originalUrl : originalUrl.slice(0, hash)
  const target = whole.startsWith('/') ? whole : whole.replace(AUTHORITY, '')
  const mark = target.indexOf('?')
  const path = mark === -1 ? target : target.slice(0, mark)
  return { path: safePath(path), search: mark === -1 ? '' : target.slice(mark + 1) }
}

/** With one slash first, and none that a browser would make of a backslash. */
function safePath(path: string): string {
  if (path.startsWith('/') && path[1] !== '/' && !path.includes('\\')) return path
  return `/${path.replace(/^\/+/, '').replaceAll('\\', '%5C')}`
}
