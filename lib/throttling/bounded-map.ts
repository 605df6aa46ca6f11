/** What a store remembers of callers, in memory that a flood of them cannot fill (promise H7). */

/**
 * A map of limited size, in the order in which its entries were added. Each entry that is added removes two that are over;
 * where there is no room, the oldest one.
 */
export class BoundedMap<Value extends object> {
  readonly #most: number
  readonly #isOver: (value: Value, now: number) => boolean
  readonly #entries = new Map<string, Value>()
  /** Goes on where it stopped: a new iterator would pass by the place of every entry that was removed before. */
  #iterator: Iterator<[string, Value]> | undefined
  /** The last entry that it gave. */
  #first: [string, Value] | undefined

  constructor(most: number, isOver: (value: Value, now: number) => boolean) {
    this.#most = most
    this.#isOver = isOver
  }

  get size(): number {
    return this.#entries.size
  }

  get(key: string): Value | undefined {
    return this.#entries.get(key)
  }

  delete(key: string): void {
    this.#entries.delete(key)
  }

  /** Adds an entry as the youngest one; the value is an object of its own. */
  add(key: string, value: Value, now: number): void {
    this.#entries.delete(key)
    this.#remove(now)
    this.#remove(now)
    this.#entries.set(key, value)
  }

  /** Removes the oldest entry, when it is over or in the way. */
  #remove(now: number): void {
    const oldest = this.#oldest()
    if (!oldest || (this.#entries.size < this.#most && !this.#isOver(oldest[1], now))) return
    this.#entries.delete(oldest[0])
  }

  #oldest(): [string, Value] | undefined {
    while (this.#entries.size > 0) {
      if (this.#first && this.#entries.get(this.#first[0]) === this.#first[1]) return this.#first
      this.#iterator ??= this.#entries.entries()
      const { done, value } = this.#iterator.next()
      this.#first = done ? undefined : value
      if (done) this.#iterator = undefined
    }
    return undefined
  }
}
