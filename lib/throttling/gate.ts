/** How many statements of throttles run at once. */

/** Lets so many through at once; the others wait in order. */
export class Gate {
  #free: number
  readonly #waiting: (() => void)[] = []

  constructor(places: number) {
    this.#free = places
  }

  /** Returns when there is a place. */
  async enter(): Promise<void> {
    if (this.#free > 0) {
      this.#free -= 1
      return
    }
    await new Promise<void>((resolve) => {
      this.#waiting.push(resolve)
    })
  }

  /** Gives the place to the next one. */
  leave(): void {
    const next = this.#waiting.shift()
    if (next) next()
    else this.#free += 1
  }
}
