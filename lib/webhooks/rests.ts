/** Backoff after failures: who is left alone for a while, longer each time. */

/** Durations, the first time and at most, in milliseconds. */
const REST = { first: 1_000, longest: 60_000 }

interface Rest {
  readonly failures: number
  readonly until: number
}

export class Rests {
  readonly #rests = new Map<string, Rest>()

  /** True for one that is to be left alone now. */
  has(key: string): boolean {
    return (this.#rests.get(key)?.until ?? 0) > performance.now()
  }

  note(key: string, isWell: boolean): void {
    const { failures = 0 } = this.#rests.get(key) ?? {}
    const until = performance.now() + Math.min(REST.longest, REST.first * 2 ** failures)
    if (isWell) this.#rests.delete(key)
    else this.#rests.set(key, { failures: failures + 1, until })
  }
}
