/** Maps SQLSTATEs to: replica down, cancelled by recovery, needs the primary. */
import { ApiError, ConfigurationError } from '../kernel/errors.js'
import { sqlStateOf, toApiError } from '../postgres/database-errors.js'

/**
 * `down`: it does not answer; `cancelled`: what its primary has done stood in the way; `primary`: only that can do it, as it
 * writes, or is about what a migration has made and the replica does not have yet.
 */
export type Trouble = 'down' | 'cancelled' | 'primary'

/** By SQLSTATE (PostgreSQL's documentation, appendix A), or its class. */
const TROUBLES: ReadonlyMap<string, Trouble> = new Map<string, Trouble>([
  ...['40001', '40P01'].map((code) => [code, 'cancelled'] as const),
  ...['25006', '0A000', '55000', '42P01', '42703', '42704', '42883'].map((code) => [code, 'primary'] as const),
  ...['08', '53', '58', '57P01', '57P02', '57P03', 'XX'].map((code) => [code, 'down'] as const),
])

const UNAVAILABLE = 503

/** Undefined for what would be the same on the primary. */
export function troubleOf(error: unknown): Trouble | undefined {
  const cause = error instanceof ApiError ? error.cause : error
  const state = sqlStateOf(cause)
  if (state !== undefined) return TROUBLES.get(state) ?? TROUBLES.get(state.slice(0, 2))
  // a connection whose settings would have values misread
  if (error instanceof ApiError && cause instanceof ConfigurationError) return 'down'
  // what the connection, its pool or the system has thrown
  return cause !== undefined && toApiError(cause)?.status === UNAVAILABLE ? 'down' : undefined
}
