/** Writes that are done once for each `Idempotency-Key`: `koa-viewsets/idempotency`. */

export type { IdempotencyScope, Idempotent } from './rule.js'
export { ensureIdempotencyTable } from './table.js'
