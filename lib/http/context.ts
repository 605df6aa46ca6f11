/** What a request brings with it: Koa's context, and what the steps of dispatch leave in `ctx.state`. */
import type Koa from 'koa'

/** Koa's context. Our steps write `ctx.state.user`, `auth`, `version` and `validatedData`. */
export type Context = Koa.Context
export type Middleware = Koa.Middleware

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

/** The same request with another method, for what is asked on behalf of it. */
export function withMethod(ctx: Context, method: string): Context {
  const own = { method: { value: method } }
  return Object.create(ctx, { ...own, request: { value: Object.create(ctx.request, own) } }) as Context
}
