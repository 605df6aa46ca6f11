/** Polling and notifications of a change feed: when it looks for new changes, told by this process, by another one through PostgreSQL, or else from time to time. */

import type { Knex } from 'knex'
import { Alarm } from '../kernel/alarm.js'
import { ConfigurationError } from '../kernel/errors.js'
import { NotificationChannel, notify } from '../postgres/notification-channel.js'

const CHANNEL = 'koa_viewsets_changes'
/** The least time between two notifications, in milliseconds. */
const PACE = 20
/** Poll intervals: while notifications tell of changes, and where they do not, in milliseconds. */
const PATIENCE = { told: 1_000, untold: 200 }
/** After a change of which nobody has told, for how long more of these are expected, in milliseconds. */
const EXPECTED = 60_000
/** Delay before a connection is tried again, in milliseconds. */
const RETRY = 30_000

/** The signal of one database. */
export class ChangeSignal {
  readonly #knex: Knex
  readonly #channel: NotificationChannel
  /** There may be new changes. */
  readonly #news = new Alarm()
  /** Somebody wants an end of it, whatever is waited for. */
  readonly #call = new Alarm()
  #isNotifying = false
  #tryAt = 0
  #isTold = true
  #untoldUntil = 0

  constructor(knex: Knex) {
    this.#knex = knex
    this.#channel = new NotificationChannel(knex, {
      name: 'changes',
      channel: CHANNEL,
      notified: () => this.#news.ring(),
      // the wait that has begun is too long
      lost: () => this.#news.ring(),
    })
  }

  /** Ends what waits, and what sleeps. */
  wake(): void {
    this.#call.ring()
    this.#news.ring()
  }

  /** There may be new changes, for all processes. Never within a transaction: notifications make all commits wait for each other. */
  tell(): void {
    this.#news.ring()
    if (this.#isNotifying) return
    this.#isNotifying = true
    setTimeout(() => {
      this.#isNotifying = false
      // others look by themselves, too
      notify(this.#knex, CHANNEL).catch(() => {})
    }, PACE).unref()
  }

  /** Until there may be new changes. */
  async wait(): Promise<void> {
    await this.#listen()
    const isTold = this.#channel.isListening && performance.now() > this.#untoldUntil
    this.#isTold = await this.#news.wait(isTold ? PATIENCE.told : PATIENCE.untold)
    this.#call.reset()
  }

  /** There were new changes. Processes in which nobody waits tell nobody of what they write: it costs them nothing. */
  found(): void {
    if (!this.#isTold) this.#untoldUntil = performance.now() + EXPECTED
  }

  /** So many milliseconds, whatever changes meanwhile: what has failed is not tried again for each of them. */
  async sleep(milliseconds: number): Promise<void> {
    await this.#call.wait(milliseconds)
  }

  /** Nobody waits any more. */
  close(): Promise<void> {
    if (this.#tryAt !== Number.POSITIVE_INFINITY) this.#tryAt = 0
    return this.#channel.close()
  }

  async #listen(): Promise<void> {
    if (this.#channel.isListening || performance.now() < this.#tryAt) return
    this.#tryAt = performance.now() + RETRY
    await this.#channel.listen().catch((error: unknown) => {
      // behind a pooler nobody is told
      if (error instanceof ConfigurationError) this.#tryAt = Number.POSITIVE_INFINITY
    })
  }
}
