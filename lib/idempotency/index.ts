/** Writes that are done once for each `Idempotency-Key`: `koa-viewsets/idempotency`. */
export { ensureIdempotencyTable } from './ensure-table.js'
export type { IdempotencyScope, Idempotent } from './rule.js'
