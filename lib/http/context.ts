/** What a request brings with it: Koa's context, its method, and what the steps of dispatch leave with it for later ones. */

import type Koa from 'koa'

/** Koa's context. Our steps write `ctx.state.user`, `auth`, `version` and `validatedData`. */
export type Context = Koa.Context
/** Middleware of Koa. */
export type Middleware = Koa.Middleware

const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])
const WITH_CONTENT: ReadonlySet<string> = new Set(['POST', 'PUT', 'PATCH'])

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

/** A copy of a request with another method, for what is asked on behalf of it. */
export function withMethod(ctx: Context, method: string): Context {
  const own = { method: { value: method } }
  return Object.create(ctx, { ...own, request: { value: Object.create(ctx.request, own) } }) as Context
}

/**
 * Remembers one thing of a request. It is kept on the context itself: `ctx.state` is the application's, and may be replaced.
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
export function describingContext({ method, path = '/', params = {}, version }: DescribedRequest): Context {
  const get = () => ''
  const req = { method, url: path, headers: {}, socket: { destroyed: false } }
  const res = { headersSent: false, statusCode: 200 }
  const request = { method, url: path, headers: {}, get }
  const own = { method, path, url: path, originalUrl: path, query: {}, querystring: '', params, headers: {}, get }
  return { ...own, state: { version }, req, res, request } as unknown as Context
}

/** True for a method that only reads (RFC 9110 section 9.2.1), in upper case. `TRACE` is none of ours. */
export function isSafeMethod(method: string): boolean {
  return SAFE.has(method)
}

/** True for a method whose requests have content, in upper case; that of `DELETE` means nothing by itself (RFC 9110 section 9.3). */
export function hasContent(method: string): boolean {
  return WITH_CONTENT.has(method)
}
