/** Throttle store in PostgreSQL, shared by all processes (wire format, section 10). */
import type { Knex } from 'knex'
import { createTable } from '../postgres/create-table.js'
import { Sweeper } from '../postgres/sweeper.js'
import { standardTypes } from '../postgres/type-parsers.js'
import type { Rate } from './rate.js'
import { type Counter, SharedStore, type SharedStoreOptions } from './shared-store.js'

const TABLE = 'koa_viewsets_throttles'

const CREATE_TABLE = `
  CREATE UNLOGGED TABLE IF NOT EXISTS ${TABLE} (
    key varchar(255) PRIMARY KEY, points integer NOT NULL DEFAULT 0, expire bigint)`

const CREATE_INDEX = `CREATE INDEX IF NOT EXISTS ${TABLE}_expire ON ${TABLE} (expire)`

const NOW = '(extract(epoch from clock_timestamp()) * 1000)::bigint'

/**
 * Counts in one statement, by the clock of the database: the one that all processes share, read once the row is locked.
 * A window has never more to go than its length, else that clock was set back; then it begins anew (promise H9). Beyond
 * the limit the number stays small, so that it never runs over.
 */
const COUNT = `
  INSERT INTO ${TABLE} AS t (key, points, expire) VALUES (:key, :points, ${NOW} + :length)
  ON CONFLICT (key) DO UPDATE SET (points, expire) = (
    SELECT CASE WHEN begins THEN excluded.points ELSE least(t.points, :limit) + excluded.points END,
           CASE WHEN begins THEN now + :length ELSE t.expire END
    FROM (SELECT now, coalesce(t.expire <= now OR t.expire > now + :length, true) AS begins
          FROM (SELECT ${NOW} AS now) AS clock) AS state)
  RETURNING t.points AS points, t.expire - ${NOW} AS wait`

/** Rows that are over, and that nobody counts in at the moment. */
const SWEEP = `
  DELETE FROM ${TABLE} WHERE key IN (
    SELECT key FROM ${TABLE} WHERE expire <= ${NOW} ORDER BY expire LIMIT :most FOR UPDATE SKIP LOCKED)`

/** Throttles leave the rest of the pool to the application. */
const MOST_CONNECTIONS = 5

/** Creates the unlogged table where it is missing; every process may do so at its start. */
export async function ensureThrottleTable(knex: Knex): Promise<void> {
  await createTable(knex, TABLE, async (trx) => {
    await trx.raw(CREATE_TABLE)
    await trx.raw(CREATE_INDEX)
  })
}

/** Keeps counts in a table, through a knex of the application's. */
export class DatabaseStore extends SharedStore {
  readonly #knex: Knex
  readonly #sweeper: Sweeper

  constructor(knex: Knex, options: SharedStoreOptions = {}) {
    super('the database', MOST_CONNECTIONS, options)
    this.#knex = knex
    this.#sweeper = new Sweeper(async (most) => {
      const { rowCount } = (await knex.raw(SWEEP, { most })) as { rowCount: number }
      return rowCount
    })
  }

  /** Deletes the counts of windows that are over. @returns how many */
  sweep(): Promise<number> {
    return this.#sweeper.sweep()
  }

  /** Stops the sweeper; the next count starts it again. */
  close(): void {
    this.#sweeper.stop()
  }

  protected override counterOf({ limit, seconds }: Rate): Counter {
    return async (key, points) => {
      this.#sweeper.use()
      const counting = this.#knex.raw(COUNT, { key, points, limit, length: seconds * 1000 })
      // some time after we have, knex gives up the connection of a statement that hangs
      const { rows } = (await counting.options({ types: standardTypes }).timeout(2 * this.options.timeout)) as {
        rows: readonly { readonly points: number; readonly wait: unknown }[]
      }
      return { used: Number(rows[0]?.points), wait: Math.max(Number(rows[0]?.wait), 0) }
    }
  }
}
