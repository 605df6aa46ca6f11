/** A wait that ends early when there is something to do. */

import { setTimeout as delay } from 'node:timers/promises'

export class Alarm {
  #isRung = false
  #waiting: AbortController | undefined

  /** There is something to do: ends the wait that is on, or the next one. */
  ring(): void {
    this.#isRung = true
    this.#waiting?.abort()
  }

  /** Forgets that it has rung. */
  reset(): void {
    this.#isRung = false
  }

  /** Waits so many milliseconds, unless it rings, or has rung since the last wait. @returns whether it has */
  async wait(milliseconds: number): Promise<boolean> {
    if (!this.#isRung) {
      this.#waiting = new AbortController()
      await delay(milliseconds, undefined, { signal: this.#waiting.signal, ref: false }).catch(() => {})
      this.#waiting = undefined
    }
    const isRung = this.#isRung
    this.#isRung = false
    return isRung
  }
}
