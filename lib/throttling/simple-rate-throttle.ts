/** The base of all throttles with a rate and a key. */

import { createHash } from 'node:crypto'
import { type Caller, callerParts } from '../http/caller.js'
import { type Context, RequestSlot } from '../http/context.js'
import { described } from '../kernel/declarations.js'
import { ConfigurationError } from '../kernel/errors.js'
import { takeOptions, takesOptions } from '../kernel/option-kinds.js'
import { isPromise } from '../kernel/realms.js'
import { frame } from '../kernel/signing.js'
import { MemoryStore } from './memory-store.js'
import { parseRate, type Rate, type ThrottleCount, type ThrottleLimiter, type ThrottleStore } from './store.js'
import { BaseThrottle, type ThrottledView, type ThrottleRate, type ThrottleState } from './throttle.js'

/** Options of throttles by a rate. */
export interface RateThrottleOptions {
  /** `N/period`; the period is second, minute, hour, day, s, m, h or d. @default the class's `rate` */
  readonly rate?: string
  /** What keeps the counts. @default the class's own: the memory of the process, PostgreSQL or Redis */
  readonly store?: ThrottleStore
}

/** Who is counted: a user or address, a string of the application's own, or nobody. */
export type CacheKey = Caller | string | number | null | undefined

/** What is settled of a throttle on views of one scope. */
interface Budget {
  readonly rate: Rate
  /** What its keys begin with. */
  readonly prefix: string
  readonly description: ThrottleRate
}

/** A count of one request. */
interface Counted {
  readonly limiter: ThrottleLimiter
  readonly key: string
  readonly state: ThrottleState | Promise<ThrottleState>
}

const COUNTED = new RequestSlot<readonly Counted[]>('the throttles that have counted this request')

const PRINTABLE_ASCII = /^[\x20-\x7e]+$/

/**
 * A rate for each key, in fixed windows that begin with a key's first request: no window admits more than the rate says,
 * though across the edge of two windows twice as many are possible. The same class and rate is one budget per caller on
 * all views, and a request counts in it once, however often it is checked.
 *
 * Counts are kept in the memory of the process; several processes count each for itself. For counts that they share
 * extend `DatabaseThrottle` or `RedisThrottle`.
 * @example
 * class TenantThrottle extends SimpleRateThrottle {
 *   override rate = '600/minute'
 *   getCacheKey(ctx: Context) { return ctx.get('X-Tenant') || null }
 * }
 */
export abstract class SimpleRateThrottle extends BaseThrottle {
  /** The name of the budget, in keys and headers, for the class that sets it itself. @default the name of the class */
  static budget = ''
  /** The counts of this process. `SimpleRateThrottle.memory.clear()` forgets them, as a test may want to. */
  static readonly memory = new MemoryStore()

  /** `N/period`. */
  rate = ''
  /** What keeps the counts. */
  store: ThrottleStore = SimpleRateThrottle.memory
  /** Options win over the attributes, which a subclass sets after this constructor. */
  readonly #options: RateThrottleOptions
  readonly #budgets = new Map<string | undefined, Budget>()

  constructor(options: RateThrottleOptions = {}) {
    super()
    takeOptions(this, options)
    this.#options = options
  }

  /** Who is counted; null or undefined lets the request pass uncounted. */
  abstract getCacheKey(ctx: Context, view: ThrottledView): CacheKey | Promise<CacheKey>

  /** A second part of the budget's name, which splits it. */
  protected getScope(_view: Pick<ThrottledView, 'throttleScope'>): string | undefined {
    return undefined
  }

  check(ctx: Context, view: ThrottledView): ThrottleState | undefined | Promise<ThrottleState | undefined> {
    const caller = this.getCacheKey(ctx, view)
    return isPromise(caller)
      ? caller.then((settled) => this.#count(ctx, view, settled))
      : this.#count(ctx, view, caller)
  }

  override async applies(ctx: Context, view: ThrottledView): Promise<boolean> {
    return this.#partsOf(await this.getCacheKey(ctx, view)) !== undefined
  }

  override rateFor(view: Pick<ThrottledView, 'throttleScope'>): ThrottleRate {
    return this.#budgetFor(view).description
  }

  override settle(where: string, view: Pick<ThrottledView, 'throttleScope'> = {}): void {
    const named = `${where}: ${this.constructor.name}`
    const budget = this.#budgetFor(view, named)
    try {
      this.#limiterOf(budget)
    } catch (error) {
      throw error instanceof ConfigurationError ? new ConfigurationError(`${named}: ${error.message}`) : error
    }
  }

  #limiterOf({ prefix, rate }: Budget): ThrottleLimiter {
    return (this.#options.store ?? this.store).limiter(prefix, rate)
  }

  #count(
    ctx: Context,
    view: ThrottledView,
    caller: CacheKey,
  ): ThrottleState | undefined | Promise<ThrottleState | undefined> {
    const parts = this.#partsOf(caller)
    if (!parts) return undefined
    const budget = this.#budgetFor(view)
    const { rate } = budget
    const limiter = this.#limiterOf(budget)
    const key = counterKey(budget.prefix, ...parts)
    const counted = COUNTED.get(ctx)
    const known = counted?.find((one) => one.limiter === limiter && one.key === key)
    if (known) return known.state
    const count = limiter.consume(key)
    const state = isPromise(count) ? count.then((one) => this.#stateOf(one, rate)) : this.#stateOf(count, rate)
    COUNTED.set(ctx, [...(counted ?? []), { limiter, key, state }])
    return state
  }

  /** @throws {ConfigurationError} the store is the application's, and answers something else */
  #stateOf(count: ThrottleCount, { limit }: Rate): ThrottleState {
    const { used, wait }: Partial<ThrottleCount> = Object(count)
    if (Number.isFinite(used) && Number.isFinite(wait)) return stateOf(count, limit)
    throw new ConfigurationError(
      `${this.constructor.name}: consume() of its store returned no { used, wait }, wait in milliseconds; throw what it rejects with`,
    )
  }

  #partsOf(caller: CacheKey): [kind: string, caller: string] | undefined {
    if (caller === undefined || caller === null) return undefined
    if (typeof caller === 'string' || typeof caller === 'number') return ['key', String(caller)]
    if (caller.kind === 'user' || caller.kind === 'ip') return callerParts(caller)
    throw new TypeError(`${this.constructor.name}.getCacheKey() returned neither a text nor null`)
  }

  #budgetFor(view: Pick<ThrottledView, 'throttleScope'>, where = this.constructor.name): Budget {
    const scope = this.getScope(view)
    let budget = this.#budgets.get(scope)
    if (!budget) {
      const own = Object.hasOwn(this.constructor, 'budget')
      const className = own ? (this.constructor as typeof SimpleRateThrottle).budget : this.constructor.name
      const name = scope ?? className
      for (const text of [className, name]) {
        if (typeof text === 'string' && PRINTABLE_ASCII.test(text)) continue
        throw new ConfigurationError(
          `${where}: the name of the class, which static budget replaces, and the scope must be printable ASCII characters`,
        )
      }
      const rate = parseRate(this.#options.rate ?? this.rate, where)
      const prefix = budgetOf(scope === undefined ? [className] : [className, scope], rate)
      budget = { rate, prefix, description: { name, ...rate } }
      this.#budgets.set(scope, budget)
    }
    return budget
  }
}

described(SimpleRateThrottle, { budget: 'text' })
takesOptions<RateThrottleOptions>(SimpleRateThrottle, { rate: 'text', store: 'record' })

function stateOf({ used, wait }: ThrottleCount, limit: number): ThrottleState {
  return { allowed: used <= limit, remaining: Math.max(0, limit - used), wait: Math.max(0, wait) / 1000 }
}

/** Longer frames are hashed. */
const MOST_BYTES = 200

/** What all keys of one budget begin with: its name and its rate. */
export function budgetOf(name: readonly string[], { limit, seconds }: Rate): string {
  return frame(...name, `${limit}/${seconds}`).toString()
}

/**
 * The key of one caller in a budget. Each part says how long it is, so no two callers share a key; a long frame is
 * replaced by its hash, and so is one with a NUL, which PostgreSQL's text cannot hold.
 * @example keyOf(budgetOf(['anon'], rate), 'ip', '203.0.113.7') // 'throttle:4:anon,8:100/3600,2:ip,11:203.0.113.7,'
 */
export function counterKey(budget: string, kind: string, caller: string): string {
  const text = `${budget}${kind.length}:${kind},${Buffer.byteLength(caller)}:${caller},`
  if (Buffer.byteLength(text) <= MOST_BYTES && !text.includes('\0')) return `throttle:${text}`
  return `throttle:sha256:${createHash('sha256').update(text).digest('hex')}`
}
