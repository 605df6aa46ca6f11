/** The names that requests are counted under (wire format, section 10). */
import { createHash } from 'node:crypto'
import { frame } from '../kernel/signing.js'
import type { Rate } from './rate.js'

/** Longer frames are hashed. */
const MOST_BYTES = 200

/** What all keys of one budget begin with: its name and its rate. */
export function budgetOf(name: readonly string[], { limit, seconds }: Rate): string {
  return frame(...name, `${limit}/${seconds}`).toString()
}

/**
 * The key of one caller in a budget. Each part says how long it is, so no two callers share a key; a long frame is
 * replaced by its hash, and so is one with a NUL, which PostgreSQL's text cannot hold.
 * @example keyOf(budgetOf(['anon'], rate), 'ip', '203.0.113.7') // 'throttle:4:anon,8:100/3600,2:ip,11:203.0.113.7,'
 */
export function keyOf(budget: string, kind: string, caller: string): string {
  const text = `${budget}${kind.length}:${kind},${Buffer.byteLength(caller)}:${caller},`
  if (Buffer.byteLength(text) <= MOST_BYTES && !text.includes('\0')) return `throttle:${text}`
  return `throttle:sha256:${createHash('sha256').update(text).digest('hex')}`
}
