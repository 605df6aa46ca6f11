/** Throttles that count in PostgreSQL, so that all processes share the counts. */
import type { Knex } from 'knex'
import { ConfigurationError } from '../kernel/errors.js'
import { takesOptions } from '../kernel/option-kinds.js'
import { isKnex } from '../postgres/pg-types.js'
import { DatabaseStore, ensureThrottleTable } from './database-store.js'
import { AnonRateThrottle, ScopedRateThrottle, UserRateThrottle } from './rate-throttles.js'
import type { ThrottleBackendOptions } from './shared-store.js'
import { SimpleRateThrottle } from './simple-rate-throttle.js'
import type { ThrottleStore } from './store.js'

let backend: DatabaseStore | undefined

/** @throws {ConfigurationError} there is none yet */
function getBackend(): DatabaseStore {
  if (backend) return backend
  throw new ConfigurationError(
    'database throttles have no backend; call DatabaseThrottle.setBackend(knex) before views and routes are registered',
  )
}

/** Counts in the backend of the moment. */
const database: ThrottleStore = { limiter: (budget, rate) => getBackend().limiter(budget, rate) }

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
   * Its counts are lost when the server crashes, and writing them costs no log.
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
    backend?.close()
    backend = new DatabaseStore(knex, options)
  }

  /**
   * Deletes the counts of windows that are over. A timer does so every minute while there is something to count.
   * @returns how many
   */
  static async cleanup(): Promise<number> {
    return getBackend().sweep()
  }

  /** Stops that timer, which does not keep the process alive, and forgets the backend: a request that is counted now is an error. */
  static close(): void {
    backend?.close()
    backend = undefined
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
