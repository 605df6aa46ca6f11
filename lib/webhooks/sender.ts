/** Sends what endpoints are to be told. While a receiver answers, no connection and no row is held. */

import type { Knex } from 'knex'
import { runRaw } from '../postgres/type-parsers.js'
import { type ClaimedDelivery, claimDeliveries, endAttempt, giveBack, isPending } from './delivery-table.js'
import { type PostOptions, postWebhook, type WebhookAnswer } from './post-webhook.js'
import { outcomeOf, retryDelay } from './retry-schedule.js'
import { signWebhook } from './sign-webhook.js'

export interface SenderOptions {
  readonly knex: Knex
  /** The table of endpoints. */
  readonly endpoints: string
  /** The most attempts at a time, and of one endpoint. */
  readonly concurrency: number
  readonly perEndpoint: number
  readonly posting: Omit<PostOptions, 'signal'>
  /** An attempt has ended, and has made place for another. */
  readonly ended: () => void
  readonly onError: (error: unknown) => void
}

/** Seconds that a worker has a delivery for, besides those that the receiver has. */
const LEASE_BESIDE = 30
/** The longest time that an endpoint rests after failures, in seconds. */
const LONGEST_PAUSE = 60

export class Sender {
  readonly #options: SenderOptions
  readonly #stopping = new AbortController()
  readonly #attempts = new Set<Promise<unknown>>()

  constructor(options: SenderOptions) {
    this.#options = options
  }

  /** Begins with as many as there is place for. @returns false where nothing is due */
  async sendDue(): Promise<boolean> {
    const limit = this.#options.concurrency - this.#attempts.size
    if (limit <= 0) return false
    const claimed = await this.#claim({ limit })
    for (const delivery of claimed) {
      const attempt = this.#attempt(delivery).catch(this.#options.onError)
      this.#attempts.add(attempt)
      void attempt.finally(() => {
        this.#attempts.delete(attempt)
        this.#options.ended()
      })
    }
    return claimed.length > 0
  }

  /** Sends one, whenever it is due. @returns false where it is to be tried again, or its turn has not come */
  async sendOne(id: string): Promise<boolean> {
    const [delivery] = await this.#claim({ limit: 1, id })
    return delivery ? this.#attempt(delivery) : !(await isPending(this.#options.knex, id))
  }

  /** Waits for what is being sent, at most so many seconds. */
  async end(seconds: number): Promise<void> {
    const late = setTimeout(() => this.#stopping.abort(), seconds * 1_000)
    await Promise.all(this.#attempts)
    clearTimeout(late)
  }

  #claim(asked: { readonly limit: number; readonly id?: string }): Promise<readonly ClaimedDelivery[]> {
    const { knex, endpoints, perEndpoint, posting } = this.#options
    const lease = (posting.timeoutSeconds ?? 0) + LEASE_BESIDE
    return claimDeliveries(knex, { endpoints, perEndpoint, lease, ...asked })
  }

  /** @returns true where it is delivered */
  async #attempt(delivery: ClaimedDelivery): Promise<boolean> {
    const { knex, posting } = this.#options
    const { signal } = this.#stopping
    const { id, body, url, secrets } = delivery
    const headers = signWebhook({ id, body, secrets, timestamp: Math.floor(Date.now() / 1_000) })
    const answer = await postWebhook({ url, headers, body }, { ...posting, signal })
    if (signal.aborted && answer.status === undefined) {
      await giveBack(knex, delivery)
      return false
    }
    const outcome = outcomeOf(answer.status)
    await this.#end(delivery, answer, outcome === 'delivered')
    await this.#noteEndpoint(delivery.endpointId, outcome)
    return outcome === 'delivered'
  }

  async #end(delivery: ClaimedDelivery, answer: WebhookAnswer, isDelivered: boolean): Promise<void> {
    const retryAfterSeconds = answer.status === undefined ? undefined : answer.retryAfterSeconds
    const delay = isDelivered ? undefined : retryDelay(delivery.attempts, { retryAfterSeconds })
    await endAttempt(this.#options.knex, delivery, {
      state: isDelivered ? 'delivered' : delay === undefined ? 'dead' : 'pending',
      status: answer.status ?? null,
      problem: answer.status === undefined ? answer.problem : null,
      delay: delay ?? 0,
    })
  }

  /** An endpoint that fails rests, longer each time, and is tried with one at a time until it answers. */
  async #noteEndpoint(id: string, outcome: ReturnType<typeof outcomeOf>): Promise<void> {
    const { knex, endpoints } = this.#options
    const change =
      outcome === 'delivered'
        ? 'failures = 0, paused_until = null where failures > 0 and'
        : outcome === 'gone'
          ? "is_active = false, problem = 'it has answered 410' where"
          : `failures = failures + 1, paused_until = now() + make_interval(secs => least(${LONGEST_PAUSE}, 2 ^ least(failures, 10))) where`
    await runRaw(knex, `update ?? set ${change} id = ?`, [endpoints, id])
  }
}
