/** Which credentials a 401 asks for: one challenge for each scheme that was tried (RFC 9110 section 11.6.1; wire format, section 6). */
import type { Context } from './context.js'
import { RequestSlot } from './request-slot.js'

/** What can name a challenge, such as `Token realm="api"`. */
interface Challenger {
  readonly challenge?: string
}

const CHALLENGERS = new RequestSlot<readonly Challenger[]>('the schemes that were tried')

/** Remembers the schemes that a step tries, so that whoever answers 401 later, on whatever route, names their challenges. */
export function rememberChallengers(ctx: Context, schemes: readonly Challenger[]): void {
  const before = CHALLENGERS.get(ctx)
  CHALLENGERS.set(ctx, before ? [...before, ...schemes] : schemes)
}

/** The value of `WWW-Authenticate`: the challenges of all schemes tried so far, each once; a session where none has one. */
export function challengeOf(ctx: Context): string {
  const schemes = CHALLENGERS.get(ctx) ?? []
  const challenges = new Set(schemes.flatMap(({ challenge }) => challenge ?? []))
  return challenges.size > 0 ? [...challenges].join(', ') : 'Session realm="api"'
}
