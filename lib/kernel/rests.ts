/** Backoff after failures: who is left alone for a while, longer each time. */

/** Durations, the first time and at most, in milliseconds. */
const REST = { first: 1_000, longest: 60_000 }

interface Rest {
  readonly failures: number
  readonly until: number
}

export class Rests {
  /** The longest unchanged come first. */
  readonly #rests = new Map<string, Rest>()

  /** How long one is to be left alone still, in milliseconds. */
  left(key: string): number {
    return Math.max(0, (this.#rests.get(key)?.until ?? 0) - performance.now())
  }

  /** True for one that has failed, and has not been well since. */
  isKnown(key: string): boolean {
    return this.#rests.has(key)
  }

  note(key: string, isWell: boolean): void {
    const { failures = 0 } = this.#rests.get(key) ?? {}
    this.#rests.delete(key)
    if (isWell) return
    const now = performance.now()
    this.#rests.set(key, { failures: failures + 1, until: now + Math.min(REST.longest, REST.first * 2 ** failures) })
    // those who have not come back
    for (const [old, { until }] of this.#rests) {
      if (until + REST.longest > now) break
      this.#rests.delete(old)
    }
  }
}
