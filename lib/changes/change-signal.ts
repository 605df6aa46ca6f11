/** When to look for new changes: told by this process, by another one through PostgreSQL, or else from time to time. */

import { setTimeout as delay } from 'node:timers/promises'
import type { Knex } from 'knex'
import { ConfigurationError } from '../kernel/errors.js'
import { NotificationChannel, notify } from '../postgres/notification-channel.js'

const CHANNEL = 'koa_viewsets_changes'
/** The least time between two notifications, in milliseconds. */
const PACE = 20
/** How long to wait where others tell of their changes, and where nobody could, in milliseconds. */
const PATIENCE = { told: 5_000, untold: 200 }
/** How long to wait before a connection is tried again, in milliseconds. */
const RETRY = 30_000

/** The signal of one database. */
export class ChangeSignal {
  readonly #knex: Knex
  readonly #channel: NotificationChannel
  #ringing: AbortController | undefined
  #calling: AbortController | undefined
  #isRung = false
  #isCalled = false
  #isNotifying = false
  #tryAt = 0

  constructor(knex: Knex) {
    this.#knex = knex
    this.#channel = new NotificationChannel(knex, {
      name: 'changes',
      channel: CHANNEL,
      notified: () => this.#ring(),
      // the wait that has begun is too long
      lost: () => this.#ring(),
    })
  }

  /** Ends what waits, and what sleeps. */
  wake(): void {
    this.#isCalled = true
    this.#calling?.abort()
    this.#ring()
  }

  /** There may be new changes, for all processes. Never within a transaction: notifications make all commits wait for each other. */
  tell(): void {
    this.#ring()
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
    if (!this.#isRung) {
      const stop = new AbortController()
      this.#ringing = stop
      await quiet(this.#channel.isListening ? PATIENCE.told : PATIENCE.untold, stop)
      this.#ringing = undefined
    }
    this.#isRung = false
    this.#isCalled = false
  }

  /** So many milliseconds, whatever changes meanwhile: what has failed is not tried again for each of them. */
  async sleep(milliseconds: number): Promise<void> {
    if (!this.#isCalled) {
      const stop = new AbortController()
      this.#calling = stop
      await quiet(milliseconds, stop)
      this.#calling = undefined
    }
    this.#isCalled = false
  }

  #ring(): void {
    this.#isRung = true
    this.#ringing?.abort()
  }

  /** Nobody waits any more. */
  close(): Promise<void> {
    if (this.#tryAt !== Number.POSITIVE_INFINITY) this.#tryAt = 0
    return this.#channel.close()
  }

  async #listen(): Promise<void> {
    if (this.#channel.isListening || Date.now() < this.#tryAt) return
    this.#tryAt = Date.now() + RETRY
    await this.#channel.listen().catch((error: unknown) => {
      // behind a pooler nobody is told
      if (error instanceof ConfigurationError) this.#tryAt = Number.POSITIVE_INFINITY
    })
  }
}

async function quiet(milliseconds: number, { signal }: AbortController): Promise<void> {
  await delay(milliseconds, undefined, { signal, ref: false }).catch(() => {})
}
