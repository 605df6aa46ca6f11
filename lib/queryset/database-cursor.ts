/** A cursor of PostgreSQL's own, in a transaction on a connection that is kept for it. */

import type { Knex } from 'knex'
import { RememberingTypes } from '../models/exact-types.js'
import { cancelStatement } from '../postgres/cancel-statement.js'
import { boundedSetting, callsOf, errorWithin, type StatementLimits } from '../postgres/guarded.js'
import { type AnswerField, clientOf, type PgConnection, poolOf, type Queryable } from '../postgres/pg-types.js'
import { type RawRow, runStatement } from '../postgres/run-statement.js'
import { isLost } from '../postgres/statement.js'

export interface DatabaseCursorOptions {
  /** A name of lower-case letters, digits and `_`. */
  readonly name: string
  /** PostgreSQL ends the transaction by itself after this many milliseconds without a statement. */
  readonly idleMilliseconds: number
  /** Limits of its statements. @default those of the connection */
  readonly bounds?: StatementLimits | undefined
}

/** Rows, their columns as pg describes them, and what they were read by. */
export interface FetchedRows {
  readonly types: RememberingTypes
  readonly rows: Record<string, unknown>[]
  readonly fields: readonly AnswerField[]
}

/** The part of pg's connection that reports its end. */
interface Connection extends PgConnection {
  removeListener(event: 'error' | 'end', listener: () => void): void
}

/** Reads a query in portions. One statement at a time. */
export class DatabaseCursor {
  /** The transaction, for queries that belong to the rows. */
  readonly trx: Knex.Transaction
  readonly #name: string
  readonly #connection: Connection
  readonly #knex: Queryable
  readonly #bounds: StatementLimits
  readonly #lostListener: () => void
  #lost = false
  #running = false
  #cancelling: Promise<unknown> | undefined
  #closed = false
  #onLost: (() => void) | undefined

  private constructor(
    knex: Queryable,
    trx: Knex.Transaction,
    { name, bounds = {} }: DatabaseCursorOptions,
    connection: Connection,
  ) {
    this.#knex = knex
    this.trx = trx
    this.#name = name
    this.#bounds = bounds
    this.#connection = connection
    const lose = () => {
      this.#lost = true
      this.#onLost?.()
    }
    this.#lostListener = lose
    // a killed backend is an event of the connection, and one that nobody hears ends the process
    connection.on('error', this.#lostListener)
    connection.on('end', this.#lostListener)
  }

  /**
   * Declares a cursor for a statement in PostgreSQL's notation. Its rows, and those of other queries in its transaction,
   * are as of now.
   */
  static async open(
    knex: Queryable,
    options: DatabaseCursorOptions,
    statement: { readonly text: string; readonly values: readonly unknown[] },
  ): Promise<DatabaseCursor> {
    const trx = await knex.transaction({ readOnly: true, isolationLevel: 'repeatable read' } as never)
    try {
      // knex hands out transactions that have failed to begin
      if (trx.isCompleted()) await trx.executionPromise
      const connection = (await clientOf(trx).acquireConnection()) as Connection
      const cursor = new DatabaseCursor(knex, trx, options, connection)
      try {
        const idle = boundedSetting('idle_in_transaction_session_timeout', options.idleMilliseconds)
        const calls = callsOf(cursor.#bounds)
        await trx.raw(`select ${[idle, ...calls].join(', ')}`)
        await runStatement(
          trx,
          { text: `declare ${options.name} no scroll cursor for ${statement.text}`, name: undefined },
          statement.values,
        )
      } catch (error) {
        await cursor.close()
        throw error
      }
      return cursor
    } catch (error) {
      if (!trx.isCompleted()) await trx.rollback().catch(() => {})
      throw error
    }
  }

  /** True once the connection is gone: there is nothing to fetch any more. */
  get lost(): boolean {
    return this.#lost
  }

  /** Calls back when the connection is lost between two statements. */
  onLost(listener: () => void): void {
    this.#onLost = listener
    if (this.#lost) listener()
  }

  /** The next rows, as objects with the values that the application's own parsers make. */
  async fetch(size: number): Promise<FetchedRows> {
    return this.#run(async () => {
      const query = this.trx.raw(this.#fetchText(size)) as {
        options(options: object): PromiseLike<Omit<FetchedRows, 'types'>>
      }
      const types = new RememberingTypes(this.trx)
      const { rows, fields } = await query.options({ types })
      return { rows, fields, types }
    })
  }

  /** The next rows as strings. */
  async fetchRaw(size: number): Promise<RawRow[]> {
    return this.#run(() => runStatement(this.trx, { text: this.#fetchText(size), name: undefined }, []))
  }

  /** Stops the statement that is running. Never throws: what cannot be stopped ends by itself. */
  async cancel(): Promise<void> {
    if (!this.#running || this.#lost) return
    this.#cancelling ??= cancelStatement(this.#knex, this.#connection).catch((error: unknown) => {
      // what is on its way may stop what others run on it
      this.#connection.__knex__disposed ??= error
    })
    await this.#cancelling
  }

  /** Ends the transaction and gives the connection back. Never throws. */
  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    this.#onLost = undefined
    // it stops whatever the connection does: nobody else may have it before
    await this.#cancelling
    try {
      await (this.#lost ? this.trx.rollback() : this.trx.commit())
      await this.trx.executionPromise
    } catch {
      // the connection is lost; the pool drops it when it is next asked for
    }
    this.#connection.removeListener('error', this.#lostListener)
    this.#connection.removeListener('end', this.#lostListener)
  }

  #fetchText(size: number): string {
    return `fetch forward ${Math.trunc(size)} from ${this.#name}`
  }

  async #run<T>(statement: () => Promise<T>): Promise<T> {
    this.#running = true
    try {
      return await statement()
    } catch (error) {
      if (isLost(error)) this.#lost = true
      throw errorWithin(this.#bounds, error)
    } finally {
      this.#running = false
    }
  }
}

/** The most connections that a pool opens; undefined where it does not say. */
export function poolSize(knex: Queryable): number | undefined {
  return poolOf(clientOf(knex))?.max
}
