/** The scheme that knew the caller: whose users it knows, and what it asks for where credentials lack scopes (RFC 6750 section 3.1). */
import { type Context, RequestSlot } from './context.js'

/** What has found a caller. */
interface Finder {
  /** Whose ids its users have. */
  readonly userKind?: string
  readonly keyword?: string
  readonly issuer?: string
  /** The request header by which it finds them. */
  readonly vary?: string
  /** The challenge of a 403. */
  scopeChallenge?(scopes: readonly string[]): string
}

const FOUND_BY = new RequestSlot<Finder>('the scheme that knew the caller')
const ASKED = new RequestSlot<readonly Finder[]>('the schemes that were asked for the caller')

/**
 * Remembers the scheme that has set `ctx.state.user`.
 * @param schemes all that might have
 */
export function rememberFinder(ctx: Context, scheme: Finder, schemes: readonly Finder[]): void {
  FOUND_BY.set(ctx, scheme)
  ASKED.set(ctx, schemes)
}

/** The scheme that has set `ctx.state.user`; undefined when the application did, or nobody. */
export function finderOf(ctx: Context): Finder | undefined {
  return FOUND_BY.get(ctx)
}

/**
 * Whose ids the caller's is one of: users of one id are one caller where this is the same. Empty where the application itself
 * has set the user.
 */
export function callersKind(ctx: Context): string {
  const scheme = FOUND_BY.get(ctx)
  if (!scheme) return ''
  if (scheme.userKind !== undefined) return scheme.userKind
  const name = nameOf(scheme)
  // of several that have one name, each is the first, second, … of its list
  const alike = (ASKED.get(ctx) ?? []).filter((one) => one.userKind === undefined && nameOf(one) === name)
  const position = alike.indexOf(scheme)
  return position > 0 ? `${name} ${position + 1}` : name
}

function nameOf({ constructor: made, keyword, issuer }: Finder): string {
  return [made.name, keyword, issuer].filter((part) => part !== undefined).join(' ')
}

/** False where a request can only be of users of one kind, which nobody has named. */
export function isOneKindOfSeveral(ctx: Context): boolean {
  return FOUND_BY.get(ctx)?.userKind !== undefined || (ASKED.get(ctx) ?? []).length > 1
}

/** The challenge of a 403 where the caller's credentials lack scopes; undefined where their scheme has none. */
export function scopeChallengeOf(ctx: Context, scopes: readonly string[]): string | undefined {
  return scopes.length === 0 ? undefined : finderOf(ctx)?.scopeChallenge?.(scopes)
}
