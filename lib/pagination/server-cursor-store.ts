/** The server cursors that one paginator keeps in this process: slots, owners, ages. */
import { ApiError, Conflict, NotFound, ServiceUnavailable } from '../kernel/errors.js'
import { oncePer } from '../kernel/once-per.js'
import type { ListPool, RowCursor } from './list-source.js'

export interface ServerCursorLimits {
  readonly maxPerUser: number
  /** Cursors in all, over one pool of connections; half the pool when undefined. */
  readonly maxTotal: number | undefined
  readonly idleMilliseconds: number
  readonly lifetimeMilliseconds: number
  /** Milliseconds from a clock that never goes back. */
  now(): number
}

/** A cursor and what it belongs to. */
export interface HeldCursor {
  readonly cursor: RowCursor
  /** What the first request filtered and ordered by. */
  readonly query: readonly string[]
  /** What rules let its caller read then. */
  readonly reads?: ReadonlyMap<string, unknown> | undefined
}

/** A place for one cursor, taken before there is a connection for it. */
interface Slot {
  readonly owner: string
  readonly id: string
  readonly pool: ListPool
  readonly openedAt: number
  usedAt: number
  held: HeldCursor | undefined
  /** What a request does with it now; nothing else touches the cursor meanwhile. */
  running: Promise<unknown> | undefined
  closing: Promise<void> | undefined
}

/** What a request made of a cursor. */
export interface Used<T> {
  readonly result: T
  /** True where nothing more is to be read, or nobody to read it. */
  readonly ended: boolean
}

/** How often expired cursors are looked for. */
const SWEEP_MILLISECONDS = 1000

/** Slots taken by all stores, by pool. */
const taken = oncePer(() => ({ count: 0 }))
/** The stores that hold cursors. */
const stores = new Set<ServerCursorStore>()
let sweeper: NodeJS.Timeout | undefined

/**
 * Closes all server cursors of this process that are past their idle time or lifetime. A timer of our own does so every
 * second; call it from a scheduler where timers are slow, or in tests.
 * @returns how many were closed
 */
export async function cleanupExpiredServerCursors(): Promise<number> {
  const counts = await Promise.all([...stores].map((store) => store.sweep()))
  return counts.reduce((sum, count) => sum + count, 0)
}

export class ServerCursorStore {
  readonly #limits: ServerCursorLimits
  readonly #slots = new Map<string, Slot>()

  constructor(limits: ServerCursorLimits) {
    this.#limits = limits
  }

  /**
   * Opens a cursor in a slot of its own, and reads from it.
   * @throws ApiError 429 the owner has as many as it may have; 503 all slots of the pool are taken
   */
  async open<T>(
    { owner, id, pool }: { owner: string; id: string; pool: ListPool },
    open: () => Promise<HeldCursor>,
    use: (held: HeldCursor) => Promise<Used<T>>,
  ): Promise<T> {
    if (this.#refusal(owner, pool)) await this.sweep()
    // from the check to the entry nothing is awaited: the caps are exact
    const refusal = this.#refusal(owner, pool)
    if (refusal) throw refusal
    const now = this.#limits.now()
    const slot: Slot = {
      owner,
      id,
      pool,
      openedAt: now,
      usedAt: now,
      held: undefined,
      running: undefined,
      closing: undefined,
    }
    this.#enter(slot)
    return this.#run(slot, async () => {
      const held = await open()
      slot.held = held
      held.cursor.onLost(() => {
        if (!slot.running) void this.#close(slot)
      })
      return use(held)
    })
  }

  /**
   * Reads from a cursor.
   * @param pool the connections that the request's list is read by
   * @param fits whether the request is one for this cursor
   * @throws NotFound there is none of this pool, or it has expired
   * @throws Conflict another request reads from it
   */
  async use<T>(
    { id, pool }: { id: string; pool: ListPool },
    fits: (held: HeldCursor) => boolean,
    use: (held: HeldCursor) => Promise<Used<T>>,
  ): Promise<T> {
    const slot = this.#slots.get(id)
    const isOwn = slot?.pool.key === pool.key && !slot.closing
    if (!isOwn || (slot.held && !fits(slot.held))) throw notFound()
    if (slot.running || !slot.held) {
      throw new Conflict('Cursor is in use by another request', { headers: { 'Retry-After': '1' } })
    }
    if (this.#isExpired(slot)) {
      await this.#close(slot)
      throw notFound()
    }
    const { held } = slot
    try {
      return await this.#run(slot, () => use(held))
    } catch (error) {
      throw held.cursor.lost ? notFound(error) : error
    }
  }

  /** Closes a cursor whose client went away, unless another request has come for it since. */
  async abandon(id: string, held: HeldCursor): Promise<void> {
    const slot = this.#slots.get(id)
    if (slot?.held === held && !slot.running) await this.#close(slot)
  }

  /** Closes what is expired and not in use. @returns how many */
  async sweep(): Promise<number> {
    const expired = [...this.#slots.values()].filter((slot) => !slot.running && !slot.closing && this.#isExpired(slot))
    await Promise.all(expired.map((slot) => this.#close(slot)))
    return expired.length
  }

  /** Closes all cursors, those in use once their requests are done. */
  async close(): Promise<void> {
    await Promise.all(
      [...this.#slots.values()].map(async (slot) => {
        await slot.running?.catch(() => {})
        await this.#close(slot)
      }),
    )
  }

  /** Keeps the slot for itself while it works; afterwards the cursor waits for the next request, or is closed. */
  async #run<T>(slot: Slot, work: () => Promise<Used<T>>): Promise<T> {
    const running = work()
    slot.running = running
    let ended = true
    try {
      const used = await running
      ended = used.ended
      return used.result
    } finally {
      slot.usedAt = this.#limits.now()
      slot.running = undefined
      if (ended || slot.held?.cursor.lost) await this.#close(slot)
    }
  }

  #close(slot: Slot): Promise<void> {
    slot.closing ??= (async () => {
      await slot.held?.cursor.close()
      this.#leave(slot)
    })()
    return slot.closing
  }

  #enter(slot: Slot): void {
    this.#slots.set(slot.id, slot)
    taken(slot.pool.key).count++
    stores.add(this)
    sweeper ??= setInterval(() => void cleanupExpiredServerCursors(), SWEEP_MILLISECONDS).unref()
  }

  #leave(slot: Slot): void {
    if (!this.#slots.delete(slot.id)) return
    taken(slot.pool.key).count--
    if (this.#slots.size === 0) stores.delete(this)
    if (stores.size === 0) {
      clearInterval(sweeper)
      sweeper = undefined
    }
  }

  #refusal(owner: string, pool: ListPool): ApiError | undefined {
    // a user's id may be one of each database
    const own = [...this.#slots.values()].filter((slot) => slot.owner === owner && slot.pool.key === pool.key)
    const { maxPerUser, maxTotal } = this.#limits
    if (own.length >= maxPerUser) {
      return new ApiError(429, `Maximum ${maxPerUser} concurrent server cursors per user`, {
        headers: { 'Retry-After': this.#retryAfter(own) },
      })
    }
    if (taken(pool.key).count >= (maxTotal ?? Math.floor(pool.size / 2))) {
      return new ServiceUnavailable(Number(this.#retryAfter([...this.#slots.values()])))
    }
    return undefined
  }

  /** Seconds until the first of these slots becomes free if nobody asks for it. */
  #retryAfter(slots: readonly Slot[]): string {
    const now = this.#limits.now()
    const waits = slots.map((slot) => this.#expiry(slot) - now)
    return String(Math.max(1, Math.ceil(Math.min(...waits, waits.length > 0 ? Number.POSITIVE_INFINITY : 0) / 1000)))
  }

  #expiry(slot: Slot): number {
    const { idleMilliseconds, lifetimeMilliseconds } = this.#limits
    return Math.min(slot.usedAt + idleMilliseconds, slot.openedAt + lifetimeMilliseconds)
  }

  #isExpired(slot: Slot): boolean {
    return this.#limits.now() >= this.#expiry(slot)
  }
}

/** The answer for whatever is no cursor of this caller here: what is wrong does not show. */
export function notFound(cause?: unknown): NotFound {
  return new NotFound('Cursor not found', cause === undefined ? {} : { cause })
}
