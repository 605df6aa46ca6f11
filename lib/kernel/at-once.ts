/** Bounds of how much runs at once. */

/** Runs work on all items, at most so many at once. The first error stops it once what runs has ended. */
export async function forEachAtOnce<Item>(
  items: Iterable<Item>,
  most: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const rest = items[Symbol.iterator]() as IterableIterator<Item>
  let failure: { readonly error: unknown } | undefined
  const worker = async () => {
    for (const item of rest) {
      if (failure) return
      await work(item).catch((error: unknown) => {
        failure ??= { error }
      })
    }
  }
  await Promise.all(Array.from({ length: most }, worker))
  if (failure) throw failure.error
}

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
