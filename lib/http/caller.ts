/** The caller of a request, by user or by address, as counters and owners know it (wire format, section 10). */

import { isIP } from 'node:net'
import { ConfigurationError } from '../kernel/errors.js'
import { firstTime } from '../kernel/once-per.js'
import { callersKind, finderOf, isOneKindOfSeveral } from './challenges.js'
import { type Context, userId } from './context.js'

/** A logged-in user by kind and `id` (`userKey()`), or anybody else by address. Typed, so that no user's id can pass for an address. */
export type Caller = { readonly kind: 'user'; readonly id: string } | { readonly kind: 'ip'; readonly address: string }

const isFirst = firstTime()

/** The caller of a request: `ctx.state.user`, or where that has no `id` the address that Koa trusts (`ctx.ip`). */
export function callerOf(ctx: Context): Caller {
  const id = userKey(ctx)
  if (id !== undefined) return { kind: 'user', id }
  warnAboutProxy(ctx)
  return { kind: 'ip', address: canonicalAddress(ctx.ip) }
}

/**
 * A key that is unique for a logged-in user: the `id` of `ctx.state.user`, with the kind of user where a scheme says one
 * (`userKind`), as customer 1 is not employee 1. Undefined for anybody else.
 */
export function userKey(ctx: Context, user: unknown = ctx.state['user']): string | undefined {
  const text = textOfUser(user)
  if (text === undefined) return undefined
  const kind = callersKind(ctx)
  return kind === '' && !text.startsWith('[') ? text : JSON.stringify([kind, text])
}

/** The same for ids of each user: the bare `id`, and kind and id where the request may be of users of several kinds. */
export function userText(ctx: Context, user: unknown = ctx.state['user']): string | undefined {
  return isOneKindOfSeveral(ctx) ? userKey(ctx, user) : textOfUser(user)
}

/** Whose account is charged: the bare `id`, and kind and id where the scheme that knew the user says which kind it is (`userKind`). */
export function accountOf(ctx: Context): string | undefined {
  return finderOf(ctx)?.userKind !== undefined ? userKey(ctx) : textOfUser(ctx.state['user'])
}

/** The `id` of a user as a text; undefined for anybody else. @throws {ConfigurationError} others may have the same text */
function textOfUser(user: unknown): string | undefined {
  return tellingText(userId(user), 'ctx.state.user: its id')
}

/**
 * The id of a caller as a text; undefined for an empty one.
 * @throws {ConfigurationError} others may have the same text; `what` names it
 */
export function tellingText(id: unknown, what: string): string | undefined {
  if (id === undefined || id === null || id === '') return undefined
  if (typeof id === 'string' || typeof id === 'bigint') return `${id}`
  // texts of their own that others have, too: bytes that are no UTF-8, and parts with a comma
  if (id instanceof Uint8Array && id.length > 0) return Buffer.from(id).toString('hex')
  if (Array.isArray(id) && id.length > 0) return JSON.stringify(id.map((part) => tellingText(part, what) ?? null))
  const hasText = typeof id === 'number' || (typeof id === 'object' && 'toString' in id)
  const text = hasText ? `${id as number}` : ''
  const isRounded = typeof id === 'number' && !(Math.abs(id) <= Number.MAX_SAFE_INTEGER)
  if (text !== '' && !isRounded && !text.startsWith('[object ')) return text
  const kind = typeof id === 'object' ? 'an object' : text || `a ${typeof id}`
  throw new ConfigurationError(
    `${what} is ${kind}, by which no caller is told from another one; give a string, a number that JavaScript does not round, or an object with a toString() of its own`,
  )
}

/** Kind and name of a caller, to put into a frame. */
export function callerParts(caller: Caller): [kind: string, name: string] {
  return caller.kind === 'user' ? ['user', caller.id] : ['ip', caller.address]
}

const FIX = 'Set app.proxy, and app.maxIpsCount to the number of proxies in front of the application'

/** Without `maxIpsCount` a proxied address is whatever the client wrote (promise D16); without `proxy` it is the proxy's. */
function warnAboutProxy({ app, headers }: Context): void {
  const isBehindOne = app.proxy || headers['x-forwarded-for'] !== undefined
  if (!isBehindOne || (app.proxy && app.maxIpsCount > 0) || !isFirst(app)) return
  process.emitWarning(
    app.proxy
      ? `app.proxy is set without app.maxIpsCount: clients choose the address they are known by. ${FIX}.`
      : `A request has X-Forwarded-For, and app.proxy is not set: all that come through a proxy are one caller. ${FIX}, if there are any.`,
    { code: 'KOA_VIEWSETS_PROXY' },
  )
}

/**
 * The address of a caller in one spelling: a port (as some proxies write it) and a zone are dropped, an IPv4-mapped address is IPv4, and
 * IPv6 is cut to its /64, which is what one subscriber has.
 * @example canonicalAddress('::ffff:203.0.113.7') // '203.0.113.7'
 * @example canonicalAddress('2001:DB8:1:2:3:4:5:6') // '2001:db8:1:2::/64'
 */
export function canonicalAddress(text: string | undefined): string {
  const [address = ''] = withoutPort(text ?? '').split('%', 1)
  if (isIP(address) !== 6) return address
  // as Node writes IPv4 on a socket that takes both
  const mapped = address.startsWith('::ffff:') ? address.slice(7) : ''
  if (isIP(mapped) === 4) return mapped
  const groups = groupsOf(address)
  const [high = 0, low = 0] = groups.slice(6)
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff) {
    return [high >> 8, high & 255, low >> 8, low & 255].join('.')
  }
  const network = groups.slice(0, 4)
  while (network.at(-1) === 0) network.pop()
  return `${network.map((group) => group.toString(16)).join(':')}::/64`
}

/** Without `:port`, which is another one for each connection of the same caller. */
function withoutPort(text: string): string {
  return text.replace(/^\[(.*)\](?::\d+)?$|^(\d+(?:\.\d+){3}):\d+$/, '$1$2')
}

/** The eight groups of an IPv6 address. */
function groupsOf(address: string): number[] {
  const [left = '', right = ''] = address.split('::', 2)
  const head = readGroups(left)
  const tail = readGroups(right)
  return [...head, ...Array.from({ length: 8 - head.length - tail.length }, () => 0), ...tail]
}

/** The groups between colons; the last four bytes may be written as IPv4. */
function readGroups(part: string): number[] {
  if (part === '') return []
  return part.split(':').flatMap((group) => {
    if (!group.includes('.')) return [Number.parseInt(group, 16)]
    const [first = 0, second = 0, third = 0, fourth = 0] = group.split('.').map(Number)
    return [first * 256 + second, third * 256 + fourth]
  })
}
