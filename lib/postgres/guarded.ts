/** Statement timeouts for reads that the database may be slow at (promises R4 and C11). */

import type { Knex } from 'knex'
import { isError } from '../kernel/realms.js'
import { localSettings } from './local-settings.js'
import { nativeError } from './native-error.js'
import type { Queryable } from './pg-types.js'
import { readsRawRows } from './run-statement.js'
import { scopedKnex, scopeOf } from './scoped-knex.js'

/** Limits and session settings that statements run with. */
export interface StatementLimits {
  /** The milliseconds that one of them may take; what the connection is set to counts where that is less. */
  readonly timeout?: number | undefined
  /** The error of one that takes longer. @default that of PostgreSQL */
  readonly exceeded?: (() => Error | undefined) | undefined
  /** False where compiling them would cost more than they do: PostgreSQL compiles each of many sub-queries. */
  readonly jit?: boolean
}

/**
 * Runs reads whose statements are bounded; where their time is, they cannot write. Each goes with its settings in one message, so that it takes
 * one round trip as without, and can be stopped when its client has gone. Inside a transaction of the caller's the bounds
 * hold to its end.
 */
export async function runBounded<T>(
  knex: Queryable,
  bounds: StatementLimits,
  work: (bounded: Queryable) => Promise<T>,
): Promise<T> {
  const calls = callsOf(bounds).join(', ')
  // what takes long is a search; a list that is bounded for its form alone may lock its rows
  const readOnly = bounds.timeout !== undefined
  if (knex.isTransaction || !readsRawRows(knex)) {
    return knex.transaction(
      async (trx) => {
        await trx.raw(`select ${calls}`)
        return work(trx)
      },
      { readOnly },
    )
  }
  const own = { base: knex as Knex, settings: localSettings({ readOnly }) }
  const { base, settings } = scopeOf(knex) ?? own
  return work(scopedKnex(base, { ...settings, text: `${settings.text}, ${calls}` }))
}

/** SQL that sets bounds until the end of the transaction. */
export function callsOf({ timeout, jit }: StatementLimits): readonly string[] {
  return [
    ...(timeout === undefined ? [] : [boundedSetting('statement_timeout', timeout)]),
    ...(jit === false ? [`set_config('jit', 'off', true)`] : []),
  ]
}

const LONGEST_TIMEOUT = 2 ** 31 - 1

/** SQL that sets a timeout until the end of the transaction, unless one that is stricter holds: an operator's own. */
export function boundedSetting(name: string, milliseconds: number): string {
  const most = Math.min(Math.max(1, Math.ceil(milliseconds)), LONGEST_TIMEOUT)
  const set = `nullif(current_setting('${name}'), '0')::interval`
  return `set_config('${name}', (extract(epoch from least(${set}, '${most} ms')) * 1000)::int::text, true)`
}

/** The error of a statement that ran with bounds, as they have it. */
export function errorWithin({ exceeded }: StatementLimits, error: unknown): unknown {
  return (isTimeout(error) ? exceeded?.() : undefined) ?? error
}

/** True for the error of a statement that PostgreSQL has ended since it took too long. */
export function isTimeout(error: unknown): boolean {
  return isError(error) && nativeError(error).code === '57014'
}
