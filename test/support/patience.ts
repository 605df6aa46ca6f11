/** How long `vi.waitFor()` and `vi.waitUntil()` wait where a test does not say: as long as `expect.poll()`, not one second. */
import { vi } from 'vitest'

const PATIENCE = 15_000
const patient = Symbol.for('koa-viewsets.tests.patient')

/** Options of vitest, a timeout alone, or nothing. */
type Patience = Parameters<typeof vi.waitFor>[1]

function withPatience(options: Patience): Patience {
  return typeof options === 'number' ? options : { timeout: PATIENCE, ...options }
}

// files that share a process share its vi
if (!(patient in vi)) {
  const { waitFor, waitUntil } = vi
  Object.assign(vi, {
    [patient]: true,
    waitFor: ((callback, options) => waitFor(callback, withPatience(options))) satisfies typeof waitFor,
    waitUntil: ((callback, options) => waitUntil(callback, withPatience(options))) satisfies typeof waitUntil,
  })
}
