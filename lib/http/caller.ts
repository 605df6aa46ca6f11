/** Who sends a request, as counters and owners know it (wire format, section 10). */
import { firstTime } from '../kernel/once-per.js'
import { callersKind, finderOf, isOneKindOfSeveral } from './challenges.js'
import { canonicalAddress } from './client-address.js'
import { type Context, userId } from './context.js'

/** A logged-in user by kind and `id` (`userKey()`), or anybody else by address. Typed, so that no user's id can pass for an address. */
export type Caller = { readonly kind: 'user'; readonly id: string } | { readonly kind: 'ip'; readonly address: string }

const isFirst = firstTime()

/** The caller of a request: `ctx.state.user`, or where that has no `id` the address that Koa trusts (`ctx.ip`). */
export function callerOf(ctx: Context): Caller {
  const id = userKey(ctx)
  if (id !== undefined) return { kind: 'user', id }
  warnAboutProxy(ctx.app)
  return { kind: 'ip', address: canonicalAddress(ctx.ip) }
}

/**
 * What tells a logged-in user from all others: the `id` of `ctx.state.user`, with whose ids those are, as customer 1 is not
 * employee 1. Undefined for anybody else.
 */
export function userKey(ctx: Context, user: unknown = ctx.state['user']): string | undefined {
  const id = userId(user)
  if (id === undefined) return undefined
  const text = `${id as string | number}`
  const kind = callersKind(ctx)
  return kind === '' && !text.startsWith('[') ? text : JSON.stringify([kind, text])
}

/** The same for ids of each user: the bare `id`, and kind and id where the request may be of users of several kinds. */
export function userText(ctx: Context, user: unknown = ctx.state['user']): string | undefined {
  if (isOneKindOfSeveral(ctx)) return userKey(ctx, user)
  const id = userId(user)
  return id === undefined ? undefined : `${id as string | number}`
}

/** Whose account is charged: the bare `id`, and kind and id where the scheme that knew the user says which kind it is (`userKind`). */
export function accountOf(ctx: Context): string | undefined {
  if (finderOf(ctx)?.userKind !== undefined) return userKey(ctx)
  const id = userId(ctx.state['user'])
  return id === undefined ? undefined : `${id as string | number}`
}

/** Kind and name of a caller, to put into a frame. */
export function callerParts(caller: Caller): [kind: string, name: string] {
  return caller.kind === 'user' ? ['user', caller.id] : ['ip', caller.address]
}

/** Without `maxIpsCount` a proxied address is whatever the client wrote (promise D16). */
function warnAboutProxy(app: Context['app']): void {
  if (!app.proxy || app.maxIpsCount > 0 || !isFirst(app)) return
  process.emitWarning(
    'app.proxy is set without app.maxIpsCount: clients choose the address they are known by. ' +
      'Set maxIpsCount to the number of proxies in front of the application.',
    { code: 'KOA_VIEWSETS_PROXY' },
  )
}
