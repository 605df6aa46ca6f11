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
  #wake: AbortController | undefined
  #isWoken = false
  #isNotifying = false
  #tryAt = 0

  constructor(knex: Knex) {
    this.#knex = knex
    this.#channel = new NotificationChannel(knex, {
      name: 'changes',
      channel: CHANNEL,
      notified: () => this.wake(),
      // the wait that has begun is too long
      lost: () => this.wake(),
    })
  }

  /** There may be new changes. */
  wake(): void {
    this.#isWoken = true
    this.#wake?.abort()
  }

  /** The same, for all processes. Never within a transaction: notifications make all commits wait for each other. */
  tell(): void {
    this.wake()
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
    const milliseconds = this.#channel.isListening ? PATIENCE.told : PATIENCE.untold
    await this.sleep(milliseconds)
    this.#isWoken = false
  }

  /** So many milliseconds, unless it is woken. */
  async sleep(milliseconds: number): Promise<void> {
    if (this.#isWoken) return
    const stop = new AbortController()
    this.#wake = stop
    await delay(milliseconds, undefined, { signal: stop.signal, ref: false }).catch(() => {})
    this.#wake = undefined
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
