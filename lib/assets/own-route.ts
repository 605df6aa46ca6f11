/** Routes that a plugin answers itself: path, methods and JSON. */
import { type Context, pathOf } from '../http/context.js'
import { MethodNotAllowed } from '../kernel/errors.js'

/** True for this path, with or without a slash at its end. */
export function isPath(ctx: Context, path: string): boolean {
  const requested = pathOf(ctx)
  return requested === path || requested === `${path}/`
}

/**
 * True for a method that the route answers. OPTIONS is answered here.
 * @param methods in the order of `Allow`, OPTIONS not among them
 * @throws MethodNotAllowed
 */
export function acceptsMethod(ctx: Context, methods: readonly string[]): boolean {
  const allowed = [...methods, 'OPTIONS']
  if (ctx.method === 'OPTIONS') {
    ctx.status = 204
    ctx.set('Allow', allowed.join(', '))
    return false
  }
  if (methods.includes(ctx.method)) return true
  throw new MethodNotAllowed(ctx.method, allowed)
}

/** Answers with JSON that is not kept. */
export function answerJson(ctx: Context, body: object): void {
  ctx.set({ 'Cache-Control': 'no-store', 'X-Content-Type-Options': 'nosniff' })
  ctx.body = body
}
