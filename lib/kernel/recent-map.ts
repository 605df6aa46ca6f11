/** Remembers what came last. */

/** A map of at most so many entries: a new one takes the place of the one that came first. */
export class RecentMap<Value> {
  readonly #most: number
  readonly #entries: Map<string, Value>

  constructor(most: number) {
    this.#most = most
    this.#entries = new Map()
  }

  get(key: string): Value | undefined {
    return this.#entries.get(key)
  }

  set(key: string, value: Value): void {
    const entries = this.#entries
    if (entries.size >= this.#most && !entries.has(key)) {
      const [first] = entries.keys()
      entries.delete(first as string)
    }
    entries.set(key, value)
  }
}
