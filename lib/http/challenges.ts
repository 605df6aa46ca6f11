/** The scheme that knew the caller, and what it asks for where the caller's credentials lack scopes (RFC 6750 section 3.1). */
import { type Context, RequestSlot } from './context.js'

/** What can name a challenge of a 403. */
interface Finder {
  scopeChallenge?(scopes: readonly string[]): string
}

const FOUND_BY = new RequestSlot<Finder>('the scheme that knew the caller')

/** Remembers the scheme that has set `ctx.state.user`. */
export function rememberFinder(ctx: Context, scheme: Finder): void {
  FOUND_BY.set(ctx, scheme)
}

/** The scheme that has set `ctx.state.user`; undefined when the application did, or nobody. */
export function finderOf(ctx: Context): Finder | undefined {
  return FOUND_BY.get(ctx)
}

/** The challenge of a 403 where the caller's credentials lack scopes; undefined where their scheme has none. */
export function scopeChallengeOf(ctx: Context, scopes: readonly string[]): string | undefined {
  return scopes.length === 0 ? undefined : finderOf(ctx)?.scopeChallenge?.(scopes)
}
