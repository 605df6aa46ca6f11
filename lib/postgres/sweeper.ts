/** Sweeper of expired rows: once a minute while their table is used, beside other processes that do. */

const INTERVAL = 60_000
const MOST_SWEPT = 10_000

/** Deletes at most so many rows that nobody else deletes at the moment. @returns how many */
export type SweepOnce = (most: number) => Promise<number>

export class Sweeper {
  readonly #sweepOnce: SweepOnce
  #timer: NodeJS.Timeout | undefined
  #isUsed = false

  constructor(sweepOnce: SweepOnce) {
    this.#sweepOnce = sweepOnce
  }

  /** The table has got a row that will be over. */
  use(): void {
    this.#isUsed = true
    this.#timer ??= setInterval(() => void this.#tick(), INTERVAL).unref()
  }

  /** Deletes all that is over. @returns how many rows */
  async sweep(): Promise<number> {
    let swept = 0
    for (;;) {
      const count = await this.#sweepOnce(MOST_SWEPT)
      swept += count
      if (count < MOST_SWEPT) return swept
    }
  }

  /** The next use starts it again. */
  stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  async #tick(): Promise<void> {
    if (!this.#isUsed) this.stop()
    this.#isUsed = false
    // the next one will do what this one could not
    await this.sweep().catch(() => {})
  }
}
