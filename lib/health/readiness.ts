/** Readiness of an API: what it tells of itself to a probe. */

import type { PreparedDatabase } from '../models/describe-model.js'

export interface Readiness {
  /** `prepare()` was done. */
  readonly isPrepared: boolean
  /** `close()` was called. */
  readonly isClosing: boolean
  /** Those whose catalogue was read. */
  readonly databases: readonly PreparedDatabase[]
}

/** A router, as probes ask it. */
export interface ProbedAPI {
  /** @internal */
  readonly readiness: Readiness
  prepare(): Promise<void>
}
