/** Throttle checks, the fourth step of dispatch: 429 where one refuses. */

import { type Context, RequestSlot } from '../http/context.js'
import { ConfigurationError, Throttled } from '../kernel/errors.js'
import { isPromise } from '../kernel/realms.js'
import type { BaseThrottle, ThrottleAnswer, ThrottledView, ThrottleRate, ThrottleState } from './throttle.js'

/**
 * Asks each throttle in order and shows in the `RateLimit` headers what they said. The first that refuses answers;
 * those before it have counted, those after it are not asked (promise H10).
 * @throws Throttled
 */
export async function checkThrottles(
  ctx: Context,
  view: ThrottledView,
  throttles: readonly BaseThrottle[],
): Promise<void> {
  const lines: RateLimitLine[] = []
  let wait: number | undefined
  try {
    for (const throttle of throttles) {
      const rate = throttle.rateFor(view)
      if (wait !== undefined) {
        if (rate) lines.push({ rate, state: undefined, applies: await throttle.applies(ctx, view) })
        continue
      }
      const answer = throttle.check(ctx, view)
      const state = stateOf(throttle, isPromise(answer) ? await answer : answer)
      if (rate) lines.push({ rate, state, applies: state !== undefined })
      if (state?.allowed === false) wait = state.wait
    }
  } finally {
    setRateLimitHeaders(ctx, lines)
  }
  if (wait !== undefined) throw new Throttled(wait)
}

/** @throws {ConfigurationError} it is neither a state nor nothing, and would let everybody pass */
function stateOf({ constructor: made }: BaseThrottle, answer: ThrottleAnswer): ThrottleState | undefined {
  if (answer === undefined || answer === null) return undefined
  const { allowed, wait }: Partial<ThrottleState> = Object(answer)
  if (allowed === true || (allowed === false && Number.isFinite(wait))) return answer
  throw new ConfigurationError(
    `${made.name}: check() returned neither { allowed, remaining, wait } nor nothing; wait is in seconds`,
  )
}

/** What the headers say of one throttle. */
interface RateLimitLine {
  readonly rate: ThrottleRate
  /** Undefined: the caller is counted, but was not this time. */
  readonly state: ThrottleState | undefined
  /** False: the caller has no count; only the name is taken. */
  readonly applies: boolean
}

/** What earlier checks have found, a plugin's before a view's. */
const LINES = new RequestSlot<readonly RateLimitLine[]>('the lines of the RateLimit headers')

/** Shows what the throttles said, beside those that were asked earlier in the same request. */
function setRateLimitHeaders(ctx: Context, added: readonly RateLimitLine[]): void {
  if (added.length === 0) return
  const earlier = LINES.get(ctx)
  const all = earlier ? mergeLines(earlier, added) : added
  LINES.set(ctx, all)
  let policy = ''
  let limit = ''
  for (const { rate, state, applies } of all) {
    if (!applies) continue
    const name = nameOf(rate, all)
    policy += `${policy && ', '}${name};q=${rate.limit};w=${rate.seconds}`
    if (state) limit += `${limit && ', '}${name};r=${state.remaining};t=${Math.ceil(state.wait)}`
  }
  if (policy) ctx.set('RateLimit-Policy', policy)
  if (limit) ctx.set('RateLimit', limit)
}

/** Joins both, with one line for each throttle: it may have counted by address first, and by user later. */
function mergeLines(earlier: readonly RateLimitLine[], added: readonly RateLimitLine[]): readonly RateLimitLine[] {
  const merged = [...earlier]
  for (const line of added) {
    const at = merged.findIndex(({ rate }) => isSame(rate, line.rate))
    const known = merged[at]
    if (known) merged[at] = lineOfLess(known, line)
    else merged.push(line)
  }
  return merged
}

function isSame(one: ThrottleRate, other: ThrottleRate): boolean {
  return one.name === other.name && one.limit === other.limit && one.seconds === other.seconds
}

/** The line that leaves the caller less; of two that leave as much the later, which may be the one that refuses. */
function lineOfLess(known: RateLimitLine, line: RateLimitLine): RateLimitLine {
  if (!known.state || !line.state) return known.state || !line.applies ? known : line
  return line.state.remaining <= known.state.remaining ? line : known
}

/** The name as a structured string (RFC 9651); with its numbers where two have the same. */
function nameOf({ name, limit, seconds }: ThrottleRate, all: readonly RateLimitLine[]): string {
  const isShared = all.length > 1 && all.filter(({ rate }) => rate.name === name).length > 1
  const text = isShared ? `${name}-${limit}-${seconds}` : name
  return `"${text.replace(/["\\]/g, '\\$&')}"`
}
