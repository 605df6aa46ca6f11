/** Throttles that count in PostgreSQL, so that all processes share the counts. */
import type { Knex } from 'knex'
import { ConfigurationError } from '../kernel/errors.js'
import { takesOptions } from '../kernel/option-kinds.js'
import { cancelStatement } from '../postgres/cancel-statement.js'
import { createTable } from '../postgres/create-table.js'
import { clientOf, isKnex } from '../postgres/pg-types.js'
import { Sweeper } from '../postgres/sweeper.js'
import { standardTypes } from '../postgres/type-parsers.js'
import { AnonRateThrottle, ScopedRateThrottle, UserRateThrottle } from './rate-throttles.js'
import {
  Backend,
  type RequestCounter,
  SharedStore,
  type SharedStoreOptions,
  type ThrottleBackendOptions,
} from './shared-store.js'
import { SimpleRateThrottle } from './simple-rate-throttle.js'
import type { Rate, ThrottleStore } from './store.js'

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

  protected override counterOf({ limit, seconds }: Rate): RequestCounter {
    const knex = this.#knex
    const client = clientOf(knex)
    return async (key, points) => {
      this.#sweeper.use()
      const connection = await client.acquireConnection()
      const counting = knex.raw(COUNT, { key, points, limit, length: seconds * 1000 }).connection(connection)
      try {
        // some time after we have, knex gives up the connection of a statement that hangs
        const { rows } = (await counting.options({ types: standardTypes }).timeout(2 * this.options.timeout)) as {
          rows: readonly { readonly points: number; readonly wait: unknown }[]
        }
        return { used: Number(rows[0]?.points), wait: Math.max(Number(rows[0]?.wait), 0) }
      } catch (error) {
        // where it waits for a lock, PostgreSQL does not notice that, and each attempt would keep a connection of the server's
        if (connection.__knex__disposed !== undefined) cancelStatement(knex, connection).catch(() => {})
        throw error
      } finally {
        await client.releaseConnection(connection)
      }
    }
  }
}

const database = new Backend<DatabaseStore>(
  'database throttles have no backend; call DatabaseThrottle.setBackend(knex)',
)

/**
 * The base of an application's own throttles that count in PostgreSQL: one statement for each check, exact over all
 * processes. While the database does not count, the memory of each process does.
 * @example
 * await DatabaseThrottle.ensureTable(knex)
 * DatabaseThrottle.setBackend(knex)
 */
export abstract class DatabaseThrottle extends SimpleRateThrottle {
  /**
   * Creates the unlogged table `koa_viewsets_throttles` where it is missing; several processes may do so at once.
   * Its counts are lost when the server crashes, and writing them costs no log. Only its owner may read and write it,
   * whatever default privileges say.
   */
  static async ensureTable(knex: Knex): Promise<void> {
    await ensureThrottleTable(knex)
  }

  /**
   * Says where to count, before views and routes are registered. Opens no connection. The knex may have a pool of its own,
   * so that throttles do not wait for queries.
   * @throws {ConfigurationError} it is no knex
   */
  static setBackend(knex: Knex, options?: ThrottleBackendOptions): void {
    if (!isKnex(knex)) {
      throw new ConfigurationError('DatabaseThrottle.setBackend(knex): give a knex instance')
    }
    database.store?.close()
    database.store = new DatabaseStore(knex, options)
  }

  /**
   * Deletes the counts of windows that are over. A timer does so every minute while there is something to count.
   * @returns how many
   */
  static async cleanup(): Promise<number> {
    return database.current.sweep()
  }

  /** Stops that timer, which does not keep the process alive, and forgets the backend: a request that is counted now is an error. */
  static close(): void {
    database.store?.close()
    database.store = undefined
  }

  override store: ThrottleStore = database
}

/** `AnonRateThrottle` with counts in PostgreSQL. */
export class DatabaseAnonThrottle extends AnonRateThrottle {
  static override budget = 'anon'
  override store: ThrottleStore = database
}

/** `UserRateThrottle` with counts in PostgreSQL. */
export class DatabaseUserThrottle extends UserRateThrottle {
  static override budget = 'user'
  override store: ThrottleStore = database
}

/** `ScopedRateThrottle` with counts in PostgreSQL. */
export class DatabaseScopedThrottle extends ScopedRateThrottle {
  static override budget = 'scope'
  override store: ThrottleStore = database
}

for (const made of [DatabaseAnonThrottle, DatabaseUserThrottle, DatabaseScopedThrottle]) takesOptions(made, {})
