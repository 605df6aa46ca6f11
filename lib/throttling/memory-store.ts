/**
 * Throttle store in the memory of this process (promises H2, H7, H9). Not by rate-limiter-flexible: it keeps every key, each
 * with a timer, and reads a clock that can be set back.
 */
import { getOrInsert } from '../kernel/maps.js'
import { checkKinds } from '../kernel/option-kinds.js'
import { BoundedMap } from './bounded-map.js'
import type { Rate, ThrottleCount, ThrottleLimiter, ThrottleStore } from './store.js'

/** Options of `MemoryStore`. */
export interface MemoryStoreOptions {
  /** Callers remembered for each throttle and rate; then the one whose window began first is forgotten. @default 50000 */
  readonly maxKeys?: number
  /** Milliseconds of a clock. @default one that nobody can set back */
  readonly now?: () => number
}

interface Window {
  used: number
  end: number
}

/** Keeps counts in this process. Several processes count each for itself. */
export class MemoryStore implements ThrottleStore {
  readonly #options: Required<MemoryStoreOptions>
  readonly #limiters = new Map<string, MemoryLimiter>()

  /** @throws {ConfigurationError} an option is wrong */
  constructor(options: MemoryStoreOptions = {}) {
    checkKinds('MemoryStore', options, { kinds: { maxKeys: 'size', now: 'function' } })
    const { maxKeys = 50_000, now = () => performance.now() } = options
    this.#options = { maxKeys, now }
  }

  limiter(budget: string, rate: Rate): MemoryLimiter {
    return getOrInsert(this.#limiters, budget, () => new MemoryLimiter(rate, this.#options))
  }

  /** How many callers are remembered. */
  get size(): number {
    return [...this.#limiters.values()].reduce((sum, limiter) => sum + limiter.size, 0)
  }

  /** Forgets all counts. */
  clear(): void {
    this.#limiters.clear()
  }
}

class MemoryLimiter implements ThrottleLimiter {
  readonly #length: number
  readonly #now: () => number
  /** In the order in which they began, which is also that in which they end. */
  readonly #windows: BoundedMap<Window>

  constructor({ seconds }: Rate, { maxKeys, now }: Required<MemoryStoreOptions>) {
    this.#length = seconds * 1000
    this.#now = now
    this.#windows = new BoundedMap<Window>(
      maxKeys,
      () => ({ used: 0, end: 0 }),
      (window, at) => !this.#isOpen(window, at),
    )
  }

  get size(): number {
    return this.#windows.size
  }

  consume(key: string): ThrottleCount {
    // whole numbers, which adding and subtracting leaves exact
    const now = Math.floor(this.#now())
    const window = this.#windows.get(key)
    if (window && this.#isOpen(window, now)) {
      window.used += 1
      return { used: window.used, wait: window.end - now }
    }
    const begun = this.#windows.add(key, now)
    begun.used = 1
    begun.end = now + this.#length
    return { used: 1, wait: this.#length }
  }

  /** No window has more than its length to go: else the clock was set back, and it counts anew. */
  #isOpen({ end }: Window, now: number): boolean {
    return now < end && end - now <= this.#length
  }
}
