/** Checks of a list of throttles before any request (promises H13 and I23). */
import { ConfigurationError } from '../kernel/errors.js'
import { type Policies, resolvePolicies } from '../kernel/policy.js'
import type { BaseThrottle, ThrottledView } from './throttle.js'

/**
 * The instances that a list stands for, ready to count.
 * @param where the list's place, for messages
 * @throws {ConfigurationError} an entry is no throttle, has a wrong rate or no store, or counts as another one does
 */
export function settleThrottles(
  where: string,
  list: Policies<BaseThrottle>,
  view: Pick<ThrottledView, 'throttleScope'> = {},
): readonly BaseThrottle[] {
  const throttles = resolvePolicies(where, list, 'check')
  const known = new Set<string>()
  for (const [position, throttle] of throttles.entries()) {
    throttle.settle(`${where}[${position}]`, view)
    const rate = throttle.rateFor(view)
    if (!rate) continue
    const text = JSON.stringify([rate.name, rate.limit, rate.seconds])
    if (known.has(text)) {
      throw new ConfigurationError(
        `${where}[${position}]: "${rate.name}" is there twice with one rate; give another rate, scope or class`,
      )
    }
    known.add(text)
  }
  return throttles
}
