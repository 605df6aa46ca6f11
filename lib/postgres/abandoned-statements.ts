/** Stops statements whose rows nobody waits for any more (promise I10). */

import { type CancellableConnection, cancelStatement } from './cancel-statement.js'
import type { Queryable } from './pg-types.js'

/** Whoever waits for the rows of a statement: the socket of a request. */
export interface StatementClient {
  readonly destroyed: boolean
}

/** How often we look, in milliseconds: a statement that is shorter costs no more than being noted. */
const INTERVAL = 100

const running = new Set<RunningStatement>()
let isLooking = false

/** A statement while it runs. */
export class RunningStatement {
  readonly #knex: Queryable
  readonly #connection: CancellableConnection
  readonly #client: StatementClient
  #stopping: Promise<void> | undefined

  /** Notes the statement; `end()` is to be called when it has ended. */
  constructor(knex: Queryable, connection: CancellableConnection, client: StatementClient) {
    this.#knex = knex
    this.#connection = connection
    this.#client = client
    this.#stopping = undefined
    running.add(this)
    if (!isLooking) look()
  }

  /** What still stops the connection: nobody else may have it before that is settled. Undefined where nothing does. */
  end(): Promise<void> | undefined {
    running.delete(this)
    return this.#stopping
  }

  stopIfAbandoned(): void {
    if (!this.#client.destroyed || this.#stopping) return
    this.#stopping = cancelStatement(this.#knex, this.#connection)
    // heard by whoever ends the statement
    this.#stopping.catch(() => {})
  }
}

function look(): void {
  isLooking = running.size > 0
  for (const statement of running) statement.stopIfAbandoned()
  if (isLooking) setTimeout(look, INTERVAL).unref()
}
