/** Requests that wait for what another transaction holds. */
import type { Knex } from 'knex'
import { expect, vi } from 'vitest'

/** How many transactions of the database wait for a lock. */
export async function countWaiting(knex: Knex): Promise<number> {
  const { rows } = await knex.raw<{ rows: unknown[] }>(
    `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
  )
  return rows.length
}

/** Waits until so many of them do. */
export function untilWaiting(knex: Knex, count = 1): Promise<void> {
  return vi.waitFor(async () => expect(await countWaiting(knex)).toBeGreaterThanOrEqual(count), {
    timeout: 5_000,
    interval: 5,
  })
}

/** Sends a request that waits for what another transaction holds, has that commit then, and returns the answer. */
export async function whileHeld<Answer>(
  knex: Knex,
  hold: (holder: Knex.Transaction) => PromiseLike<unknown>,
  request: () => Promise<Answer>,
): Promise<Answer> {
  const holder = await knex.transaction()
  try {
    await hold(holder)
    const answer = request()
    await untilWaiting(knex)
    await holder.commit()
    return await answer
  } finally {
    if (!holder.isCompleted()) await holder.rollback()
  }
}
