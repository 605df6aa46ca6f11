/** Shared throttle stores: batches, a fallback to memory while the store is away, and as few questions as possible. */

import { Gate } from '../kernel/at-once.js'
import { ConfigurationError } from '../kernel/errors.js'
import type { Kind } from '../kernel/kinds.js'
import { getOrInsert } from '../kernel/maps.js'
import { checkKinds } from '../kernel/option-kinds.js'
import { escapeControls, oneLine, quote } from '../kernel/quote.js'
import { within } from '../kernel/within.js'
import { BoundedMap } from './bounded-map.js'
import { MemoryStore } from './memory-store.js'
import type { Rate, ThrottleCount, ThrottleLimiter, ThrottleStore } from './store.js'

/** How throttles use a store that processes share. */
export interface ThrottleBackendOptions {
  /** Milliseconds that one statement may take before the memory of the process counts instead. @default 1000 */
  readonly timeout?: number
  /** Milliseconds between attempts to reach a store that does not answer. @default 1000 */
  readonly retryAfter?: number
}

export interface SharedStoreOptions extends ThrottleBackendOptions {
  /** Milliseconds of a clock. @default one that nobody can set back */
  readonly now?: () => number
}

const KINDS = {
  timeout: 'milliseconds',
  retryAfter: 'count',
  now: 'function',
} as const satisfies Record<keyof SharedStoreOptions, Kind>

/** A caller who was refused is refused from memory for so many milliseconds, then the store is asked again. */
const REMEMBERED = 1000
/** Refused callers remembered for each budget. */
const MOST_REFUSED = 50_000

/** Counts so many requests of a key in the store; beyond the limit too. */
export type RequestCounter = (key: string, points: number) => Promise<ThrottleCount>

/** A store outside of the process. */
export abstract class SharedStore implements ThrottleStore {
  readonly options: Required<SharedStoreOptions>
  readonly outage: Outage
  /** The time that a request waits here is not the store's: a flood of them is no outage. */
  readonly gate: Gate
  /** Counts while the store does not (promise H8). */
  readonly memory: MemoryStore
  readonly #limiters = new Map<string, ThrottleLimiter>()

  /** @param places how many statements run at once @throws {ConfigurationError} an option is wrong */
  constructor(name: string, places: number, options: SharedStoreOptions) {
    checkKinds('setBackend()', options, { kinds: KINDS })
    const { timeout = 1000, retryAfter = 1000, now = () => performance.now() } = options
    this.options = { timeout, retryAfter, now }
    this.gate = new Gate(places)
    this.outage = new Outage({ store: name, retryAfter, now })
    this.memory = new MemoryStore({ now })
  }

  limiter(budget: string, rate: Rate): ThrottleLimiter {
    const make = () => new SharedLimiter(this, this.counterOf(rate), this.memory.limiter(budget, rate), rate)
    return getOrInsert(this.#limiters, budget, make)
  }

  /** Asked once for each budget. */
  protected abstract counterOf(rate: Rate): RequestCounter
}

/** The store that an application has set for all throttles of a kind, and counts are kept in at the moment. */
export class Backend<Store extends SharedStore> implements ThrottleStore {
  store: Store | undefined
  readonly #missing: string

  /** @param missing what is said where there is none yet */
  constructor(missing: string) {
    this.#missing = missing
  }

  /** @throws {ConfigurationError} there is none yet */
  get current(): Store {
    if (this.store) return this.store
    throw new ConfigurationError(`${this.#missing} before views and routes are registered`)
  }

  limiter(budget: string, rate: Rate): ThrottleLimiter {
    return this.current.limiter(budget, rate)
  }
}

/** Requests of one key that are counted in one statement. */
interface Batch {
  size: number
  /** What each of them got, by its place. */
  readonly counts: Promise<(place: number) => ThrottleCount>
}

interface Refusal {
  count: number
  end: number
  forgetAt: number
}

/**
 * Sends one statement at a time for each key: what comes while it runs is counted by the next one, together. So a caller holds
 * one connection at most, all callers together hold a few, and requests that come at once do not queue for one row.
 */
class SharedLimiter implements ThrottleLimiter {
  readonly #store: SharedStore
  readonly #counter: RequestCounter
  readonly #memory: ThrottleLimiter
  readonly #limit: number
  readonly #running = new Map<string, Promise<unknown>>()
  readonly #waiting = new Map<string, Batch>()
  readonly #refusals = new BoundedMap<Refusal>(
    MOST_REFUSED,
    () => ({ count: 0, end: 0, forgetAt: 0 }),
    ({ forgetAt }, now) => now >= forgetAt,
  )

  constructor(store: SharedStore, counter: RequestCounter, memory: ThrottleLimiter, { limit }: Rate) {
    this.#store = store
    this.#counter = counter
    this.#memory = memory
    this.#limit = limit
  }

  async consume(key: string): Promise<ThrottleCount> {
    const refused = this.#recallRefusal(key)
    if (refused) return refused
    // in an outage one request finds out whether it is over; the others do not wait for it
    const { outage } = this.#store
    if (outage.isOn && (this.#running.has(key) || !outage.isDue)) return this.#memory.consume(key)
    let batch = this.#waiting.get(key)
    const place = batch?.size ?? 0
    if (batch) batch.size += 1
    else batch = this.#begin(key)
    return (await batch.counts)(place)
  }

  #begin(key: string): Batch {
    const running = this.#running.get(key)
    const batch: Batch = {
      size: 1,
      counts: running
        ? running.then(() => {
            this.#waiting.delete(key)
            return this.#count(key, batch.size)
          })
        : this.#count(key, 1),
    }
    if (running) this.#waiting.set(key, batch)
    return batch
  }

  /** Counts so many requests; never rejects. */
  #count(key: string, size: number): Batch['counts'] {
    const counts = this.#ask(key, size)
    this.#running.set(key, counts)
    void counts.then(() => {
      if (this.#running.get(key) === counts) this.#running.delete(key)
    })
    return counts
  }

  async #ask(key: string, size: number): Batch['counts'] {
    const { outage, gate, options } = this.#store
    const remembered = this.#recallRefusal(key)
    if (remembered) return () => remembered
    await gate.enter()
    const isTrial = outage.isOn
    try {
      if (outage.mayAsk()) {
        const { used, wait } = await within(options.timeout, this.#consume(key, size))
        // not by an answer that was on its way when others failed: the state would change with every one of them
        if (isTrial) outage.end()
        if (used > this.#limit) this.#rememberRefusal(key, used, wait)
        return (place) => ({ used: used - size + 1 + place, wait })
      }
    } catch (error) {
      if (!isOfData(error)) outage.begin(error)
    } finally {
      gate.leave()
    }
    return () => this.#memory.consume(key) as ThrottleCount
  }

  async #consume(key: string, size: number): Promise<ThrottleCount> {
    const { used, wait } = await this.#counter(key, size)
    if (Number.isFinite(used) && Number.isFinite(wait)) return { used, wait: Math.ceil(wait) }
    throw new Error('the answer is no count')
  }

  #recallRefusal(key: string): ThrottleCount | undefined {
    const refusal = this.#refusals.get(key)
    if (!refusal) return undefined
    const now = this.#now()
    if (now < refusal.forgetAt) return { used: refusal.count, wait: refusal.end - now }
    this.#refusals.delete(key)
    return undefined
  }

  #rememberRefusal(key: string, count: number, wait: number): void {
    const now = this.#now()
    const refusal = this.#refusals.add(key, now)
    refusal.count = count
    refusal.end = now + wait
    refusal.forgetAt = now + Math.min(wait, REMEMBERED)
  }

  #now(): number {
    return Math.ceil(this.#store.options.now())
  }
}

/** Errors about one value (SQLSTATE class 22): the store answers, this key is none for it. */
function isOfData(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: unknown }
  return typeof code === 'string' && code.length === 5 && code.startsWith('22')
}

interface OutageOptions {
  /** What the store is, for the warning. */
  readonly store: string
  /** Milliseconds from one attempt to the next. */
  readonly retryAfter: number
  /** Milliseconds of a clock. */
  readonly now: () => number
}

/** The state of one store, shared by all its limiters. */
class Outage {
  readonly #options: OutageOptions
  /** When the next attempt is due; undefined while the store answers. */
  #retryAt: number | undefined

  constructor(options: OutageOptions) {
    this.#options = options
  }

  /** True from the first failure to the next answer. */
  get isOn(): boolean {
    return this.#retryAt !== undefined
  }

  /** Whether an attempt is due: always, and during an outage once in a while. */
  get isDue(): boolean {
    return this.#retryAt === undefined || this.#options.now() >= this.#retryAt
  }

  /** Whether to ask the store now; during an outage true means that this is the attempt. */
  mayAsk(): boolean {
    if (!this.isDue) return false
    if (this.isOn) this.#retryAt = this.#options.now() + this.#options.retryAfter
    return true
  }

  /** The store has answered an attempt. */
  end(): void {
    this.#retryAt = undefined
  }

  /** The store has not answered, or with an error. */
  begin(error: unknown): void {
    const { store, retryAfter, now } = this.#options
    const { isOn } = this
    this.#retryAt = now() + retryAfter
    if (isOn) return
    process.emitWarning(
      `throttles: ${store} does not count (${reasonOf(error)}); each process counts in its memory until it does again`,
      { code: 'KOA_VIEWSETS_THROTTLE_STORE' },
    )
  }
}

function reasonOf(error: unknown): string {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown }
  return typeof code === 'string' ? oneLine(code) : escapeControls(quote(message ?? error))
}
