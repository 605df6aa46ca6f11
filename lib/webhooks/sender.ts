/** Sends what endpoints are to be told. While a receiver answers, no connection and no row is held. */

import { setMaxListeners } from 'node:events'
import type { Knex } from 'knex'
import { Gathered } from '../kernel/gathered.js'
import { TooLate, within } from '../kernel/within.js'
import {
  type AttemptEnd,
  type ClaimedDelivery,
  type Claiming,
  claimDeliveries,
  claimDelivery,
  endAttempts,
  giveBack,
  isOpen,
} from './claimed-deliveries.js'
import { type ObjectQueue, promoteNext } from './delivery-table.js'
import { type PostOptions, postWebhook, type WebhookAnswer } from './post-webhook.js'
import { outcomeOf, retryDelay, type WebhookOutcome } from './retry-schedule.js'
import { signWebhook } from './sign-webhook.js'

export interface SenderOptions {
  readonly knex: Knex
  /** The table of endpoints. */
  readonly endpoints: string
  /** The most attempts at a time, and of one endpoint. */
  readonly concurrency: number
  readonly perEndpoint: number
  readonly posting: Omit<PostOptions, 'signal'>
  /** There is place for another attempt. */
  readonly ended: () => void
  readonly onError: (error: unknown) => void
}

/** Seconds that a worker has a delivery for, besides those that the receiver has. */
const LEASE_BESIDE = 30
/** Time limit of what is noted of attempts at the end, in milliseconds. */
const NOTES = 5_000
/** After which an attempt makes place for another, in milliseconds: who hangs keeps nobody else from being told. */
const SLOW = 250
/** Most attempts at once, slow ones included, as a multiple of `concurrency`. */
const MOST_SLOW = 10

/** One that has not ended. */
interface Attempt {
  readonly endpointId: string
  /** Until it is answered, or slow. */
  takesPlace: boolean
}

export class Sender {
  readonly #options: SenderOptions
  readonly #stopping = new AbortController()
  readonly #attempts = new Map<Attempt, Promise<unknown>>()
  readonly #ends: Gathered<AttemptEnd>
  #isEnding = false
  /** Endpoints whose last attempt was not in vain, and that let none wait. Others have one at a time. */
  readonly #proven = new Set<string>()
  /** Objects of which something has ended. */
  #queues: ObjectQueue[] = []

  constructor(options: SenderOptions) {
    this.#options = options
    this.#ends = new Gathered((ends) => endAttempts(options.knex, options.endpoints, ends))
    // each attempt listens to it
    setMaxListeners(0, this.#stopping.signal)
  }

  /** Begins with as many as there is place for. @returns false where nothing is due */
  async sendDue(): Promise<boolean> {
    await this.#promote()
    const { knex, perEndpoint } = this.#options
    const places = this.#places()
    if (places.limit <= 0) return false
    const proven = [...this.#proven]
    const claimed = await claimDeliveries(knex, { ...this.#leasing, ...places, perEndpoint, proven })
    if (this.#isEnding) {
      for (const delivery of claimed) await giveBack(knex, delivery)
      return false
    }
    for (const delivery of claimed) void this.#track(delivery).catch(this.#options.onError)
    return claimed.length > 0
  }

  /** Sends one, whenever it is due. @returns false where it is to be tried again, or its turn has not come */
  async sendOne(id: string): Promise<boolean> {
    const { knex, endpoints } = this.#options
    const delivery = await claimDelivery(knex, { ...this.#leasing, id })
    if (!delivery) return !(await isOpen(knex, endpoints, id))
    if (this.#isEnding) {
      await giveBack(knex, delivery)
      return false
    }
    const isDelivered = await this.#track(delivery)
    await this.#promote()
    return isDelivered
  }

  /**
   * Waits for what is being sent, at most so many seconds, and then for its notes, no longer than a database takes that is there.
   * @throws Error it does not take them, or fails
   */
  async end(seconds: number): Promise<void> {
    this.#isEnding = true
    const late = setTimeout(() => this.#stopping.abort(), seconds * 1_000).unref()
    try {
      await within(seconds * 1_000 + NOTES, this.#ended())
    } catch (cause) {
      if (!(cause instanceof TooLate)) throw cause
      throw new Error('stop(): the database does not take what became of attempts, which are made again', { cause })
    } finally {
      clearTimeout(late)
    }
  }

  async #ended(): Promise<void> {
    while (this.#attempts.size > 0) await Promise.allSettled(this.#attempts.values())
    await this.#promote()
  }

  /**
   * How many attempts there is place for. Half of the places are kept for endpoints that have proven that they answer:
   * however many hang, they do not wait for those.
   */
  #places(): Pick<Claiming, 'limit' | 'mostUnproven' | 'busy'> {
    const { concurrency } = this.#options
    const kept = Math.floor(concurrency / 2)
    const most = concurrency * MOST_SLOW
    const busy = new Map<string, number>()
    const quick = { all: 0, unproven: 0 }
    let unproven = 0
    for (const { endpointId, takesPlace } of this.#attempts.keys()) {
      busy.set(endpointId, (busy.get(endpointId) ?? 0) + 1)
      const isUnproven = !this.#proven.has(endpointId)
      if (isUnproven) unproven++
      if (!takesPlace) continue
      quick.all++
      if (isUnproven) quick.unproven++
    }
    return {
      limit: Math.min(concurrency - quick.all, most - this.#attempts.size),
      mostUnproven: Math.max(0, Math.min(concurrency - kept - quick.unproven, most - kept - unproven)),
      busy,
    }
  }

  get #leasing() {
    const { endpoints, posting } = this.#options
    return { endpoints, lease: (posting.timeoutSeconds ?? 0) + LEASE_BESIDE }
  }

  /** Lets those go on that have waited for what has ended. */
  async #promote(): Promise<void> {
    const queues = this.#queues
    this.#queues = []
    try {
      await promoteNext(this.#options.knex, queues)
    } catch (error) {
      this.#queues.push(...queues)
      throw error
    }
  }

  /** @returns true where it is delivered */
  async #track(delivery: ClaimedDelivery): Promise<boolean> {
    const tracked: Attempt = { endpointId: delivery.endpointId, takesPlace: true }
    const attempt = this.#attempt(delivery, tracked)
    this.#attempts.set(tracked, attempt)
    try {
      return await attempt
    } finally {
      this.#attempts.delete(tracked)
      this.#options.ended()
    }
  }

  async #attempt(delivery: ClaimedDelivery, tracked: Attempt): Promise<boolean> {
    const { knex } = this.#options
    const makePlace = () => {
      tracked.takesPlace = false
      this.#options.ended()
    }
    const slow = setTimeout(() => {
      this.#proven.delete(delivery.endpointId)
      makePlace()
    }, SLOW).unref()
    const answer = await this.#post(delivery)
    clearTimeout(slow)
    makePlace()
    if (this.#stopping.signal.aborted && answer.status === undefined) {
      await giveBack(knex, delivery)
      return false
    }
    const outcome = outcomeOf(answer.status)
    await this.#end(delivery, answer, outcome)
    return outcome === 'delivered'
  }

  /** What nobody can send is an attempt that has failed, too. */
  async #post({ id, body, url, secrets }: ClaimedDelivery): Promise<WebhookAnswer> {
    const { posting, onError } = this.#options
    try {
      const headers = signWebhook({ id, body, secrets, timestamp: Math.floor(Date.now() / 1_000) })
      return await postWebhook({ url, headers, body }, { ...posting, signal: this.#stopping.signal })
    } catch (error) {
      onError(error)
      return { status: undefined, problem: 'it could not be sent' }
    }
  }

  async #end(delivery: ClaimedDelivery, answer: WebhookAnswer, outcome: WebhookOutcome): Promise<void> {
    const retryAfterSeconds = answer.status === undefined ? undefined : answer.retryAfterSeconds
    const nextIn = outcome === 'delivered' ? undefined : retryDelay(delivery.attempts, { retryAfterSeconds })
    await this.#ends.add({
      id: delivery.id,
      attempts: delivery.attempts,
      outcome,
      status: answer.status ?? null,
      problem: answer.status === undefined ? answer.problem : null,
      delay: nextIn ?? null,
    })
    if (outcome === 'delivered') this.#proven.add(delivery.endpointId)
    else this.#proven.delete(delivery.endpointId)
    if (nextIn === undefined) this.#queues.push(delivery)
  }
}
