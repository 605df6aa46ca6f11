/** LISTEN and NOTIFY: a channel of PostgreSQL by which the processes of an application tell each other something. */
import type { Knex } from 'knex'
import { ConfigurationError } from '../kernel/errors.js'
import { within } from '../kernel/within.js'
import { clientOf, openBeside, type PgConnection, type Queryable } from './pg-types.js'

/** Delays before reconnecting, after the first failure and at most, in milliseconds. */
const RETRY_MILLISECONDS = { first: 1_000, longest: 30_000 }
/** Interval of checks that a silent connection is alive, in milliseconds. */
const HEARTBEAT_MILLISECONDS = 30_000
/** Timeout of such a check, and of closing a connection, in milliseconds. */
const ANSWER_MILLISECONDS = 5_000

/** The part of pg's connection that is used here. */
interface Connection extends Omit<PgConnection, 'query' | 'on'> {
  query(sql: string): Promise<{ readonly rows: readonly Record<string, unknown>[] }>
  on(event: 'notification' | 'end', listener: () => void): void
  removeListener(event: 'notification' | 'end', listener: () => void): void
}

export interface ChannelOptions {
  /** Name of the listener, for messages. */
  readonly name: string
  /** The channel's name in the database. */
  readonly channel: string
  /** Something was told, or may have been while nobody listened. */
  readonly notified: () => void
  /** The connection is lost; it is opened anew. */
  readonly lost?: () => void
}

/** Tells all processes that listen; through any connection of the pool, once whatever transaction it is in is committed. */
export async function notify(knex: Queryable, channel: string): Promise<void> {
  await knex.raw(`notify ${channel}`)
}

/**
 * Keeps one connection of its own, beside knex's pool, from `listen()` to `close()`. The knex must reach PostgreSQL itself:
 * through a pooler that shares connections, notifications get lost.
 */
export class NotificationChannel {
  readonly #knex: Knex
  readonly #options: ChannelOptions
  #connection: Connection | undefined
  #timer: NodeJS.Timeout | undefined
  /** Queue of the steps that change the connection. */
  #work: Promise<unknown> = Promise.resolve()
  #closed = true
  #isListening = false
  #retryMilliseconds = RETRY_MILLISECONDS.first
  readonly #onEnd = () => {
    if (this.#closed || !this.#connection) return
    this.#options.lost?.()
    void this.#inTurn(() => this.#disconnect()).then(() => this.#retry())
  }

  constructor(knex: Knex, options: ChannelOptions) {
    this.#knex = knex
    this.#options = options
  }

  /** True while what is told is heard. */
  get isListening(): boolean {
    return this.#isListening
  }

  /**
   * Begins to listen.
   * @throws ConfigurationError a pooler stands between
   */
  async listen(): Promise<void> {
    await this.#inTurn(async () => {
      this.#closed = false
      if (this.#connection) return
      try {
        await this.#connect()
      } catch (error) {
        this.#closed = true
        throw error
      }
    })
  }

  /** Stops listening and closes the connection. */
  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    await this.#inTurn(() => this.#disconnect())
  }

  async #connect(): Promise<void> {
    const connection = (await openBeside(clientOf(this.#knex))) as Connection
    this.#connection = connection
    try {
      connection.on('notification', this.#options.notified)
      connection.on('end', this.#onEnd)
      const { rows } = await within(ANSWER_MILLISECONDS, connection.query('select pg_backend_pid() as pid'))
      // what PostgreSQL, or who stands in front of it, has called itself when the connection began
      if (rows[0]?.['pid'] !== connection.processID) {
        throw new ConfigurationError(
          `${this.#options.name}: a pooler answers in place of PostgreSQL, and notifications get lost on connections that are shared; give a knex that connects to PostgreSQL itself`,
        )
      }
      await within(ANSWER_MILLISECONDS, connection.query(`listen ${this.#options.channel}`))
      this.#isListening = true
    } catch (error) {
      await this.#disconnect()
      throw error
    }
    this.#retryMilliseconds = RETRY_MILLISECONDS.first
    this.#schedule(HEARTBEAT_MILLISECONDS, () => this.#beat(connection))
  }

  async #disconnect(): Promise<void> {
    const connection = this.#connection
    if (!connection) return
    this.#connection = undefined
    this.#isListening = false
    clearTimeout(this.#timer)
    connection.removeListener('end', this.#onEnd)
    connection.removeListener('notification', this.#options.notified)
    // a server that has gone silent holds up neither us nor the process
    await within(ANSWER_MILLISECONDS, clientOf(this.#knex).destroyRawConnection(connection as PgConnection)).catch(
      () => {
        connection.connection?.stream?.destroy()
      },
    )
  }

  async #beat(connection: Connection): Promise<void> {
    try {
      await within(ANSWER_MILLISECONDS, connection.query('select 1'))
      this.#schedule(HEARTBEAT_MILLISECONDS, () => this.#beat(connection))
    } catch {
      if (this.#connection === connection) this.#onEnd()
    }
  }

  async #retry(): Promise<void> {
    await this.#inTurn(async () => {
      if (this.#closed || this.#connection) return
      try {
        await this.#connect()
        this.#options.notified()
      } catch {
        this.#schedule(this.#retryMilliseconds, () => this.#retry())
        this.#retryMilliseconds = Math.min(this.#retryMilliseconds * 2, RETRY_MILLISECONDS.longest)
      }
    })
  }

  #schedule(milliseconds: number, work: () => Promise<void>): void {
    clearTimeout(this.#timer)
    if (this.#closed) return
    this.#timer = setTimeout(() => void work(), milliseconds).unref()
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#work.then(work)
    this.#work = done.catch(() => {})
    return done
  }
}
