/**
 * Connections of knex's own pool. Where all of them are in use, one goes from the statement that has ended to the next that
 * waits: the way through the pool takes several promises and two timers, which cost as much as sending a statement.
 */

import { oncePer } from '../kernel/once-per.js'

/** knex's pool, as far as we read it. */
interface Pool {
  readonly max?: number
  numUsed(): number
  numFree(): number
  numPendingAcquires(): number
}

/** What knex gives connections out by; a transaction has no pool. */
export interface ConnectionSource<Connection> {
  readonly pool?: Pool | undefined
  acquireConnection(): Promise<Connection>
  releaseConnection(connection: Connection): Promise<void>
}

interface Waiting<Connection> {
  readonly since: number
  readonly resolve: (connection: Connection | Promise<Connection>) => void
}

/** How often we look after those who wait, in milliseconds. */
const INTERVAL = 10
/** Who waits longer, in milliseconds, goes on waiting in the pool's own queue, by its rules and its time limit. */
const LONGEST = 200
/** After so many hand-overs a connection goes through the pool, which looks at its age and state. */
const MOST_HANDED = 64

const queues = oncePer((source: ConnectionSource<unknown>) => new ConnectionQueue(source))

/** The queue for the connections of a knex client. */
export function queueOf<Connection>(source: ConnectionSource<Connection>): ConnectionQueue<Connection> {
  return queues(source) as ConnectionQueue<Connection>
}

/**
 * Those who wait for a connection that a statement of ours has. Whoever is in the pool's own queue comes first, and where
 * others than us are, all of us wait there, too.
 */
export class ConnectionQueue<Connection> {
  readonly #source: ConnectionSource<Connection>
  #waiting: Waiting<Connection>[] = []
  #isLooking = false
  /** Connections that statements of ours have. */
  #used = 0
  /** How many of us are in the pool's queue. */
  #asking = 0
  #handed = 0

  constructor(source: ConnectionSource<Connection>) {
    this.#source = source
  }

  /** Undefined for a transaction, and for a pool of the application's own (knex's option `connectionPool`), which has no such queue. */
  get #pool(): Pool | undefined {
    const { pool } = this.#source
    return pool && 'numUsed' in pool ? pool : undefined
  }

  /** A connection; `begin()` is to be called once it is there. @throws what knex throws, such as `KnexTimeoutError` */
  acquire(): Promise<Connection> {
    if (!this.#mayWait()) return this.#ask()
    if (!this.#isLooking) this.#lookLater()
    return new Promise((resolve) => {
      this.#waiting.push({ since: performance.now(), resolve })
    })
  }

  /** The connection is in use, until `end()`. */
  begin(): void {
    this.#used++
  }

  /** @param isReusable the connection is in order: the next may have it as it is */
  end(connection: Connection, isReusable: boolean): Promise<void> {
    this.#used--
    const next = this.#isPoolAsked() ? undefined : this.#waiting.shift()
    if (!next) return this.#source.releaseConnection(connection)
    if (isReusable && ++this.#handed < MOST_HANDED) {
      next.resolve(connection)
      return DONE
    }
    this.#handed = 0
    const released = this.#source.releaseConnection(connection)
    next.resolve(this.#ask())
    return released
  }

  async #ask(): Promise<Connection> {
    this.#asking++
    try {
      return await this.#source.acquireConnection()
    } finally {
      this.#asking--
    }
  }

  /** True where a connection comes from us at the soonest. */
  #mayWait(): boolean {
    const pool = this.#pool
    return (
      this.#used > 0 &&
      pool !== undefined &&
      pool.numUsed() >= (pool.max ?? Number.POSITIVE_INFINITY) &&
      pool.numFree() === 0 &&
      pool.numPendingAcquires() <= this.#asking
    )
  }

  #isPoolAsked(): boolean {
    const pool = this.#pool
    return pool !== undefined && pool.numPendingAcquires() > 0
  }

  #lookLater(): void {
    this.#isLooking = true
    setTimeout(() => this.#look(), INTERVAL).unref()
  }

  /** Sends those to the pool who have waited too long or wait for nothing. */
  #look(): void {
    this.#isLooking = false
    const waiting = this.#waiting
    const last = this.#mayWait() ? performance.now() - LONGEST : Number.POSITIVE_INFINITY
    const staying = waiting.findIndex(({ since }) => since > last)
    const leaving = waiting.splice(0, staying === -1 ? waiting.length : staying)
    for (const { resolve } of leaving) resolve(this.#ask())
    if (waiting.length > 0) this.#lookLater()
  }
}

const DONE = Promise.resolve()
