/** Batches: items that come while a batch is worked on make the next batch. */

interface Batch<Item> {
  readonly items: Item[]
  readonly done: Promise<void>
}

/** Works on one batch at a time; the next one has all items that have come meanwhile. A first item does not wait for others. */
export class Gathered<Item> {
  readonly #work: (items: readonly Item[]) => Promise<void>
  #next: Batch<Item> | undefined
  #last: Promise<void> = Promise.resolve()

  constructor(work: (items: readonly Item[]) => Promise<void>) {
    this.#work = work
  }

  /** Adds an item to the next batch. Resolves once that is done. @throws what the work throws, for all items of the batch */
  add(item: Item): Promise<void> {
    this.#next ??= this.#open()
    this.#next.items.push(item)
    return this.#next.done
  }

  #open(): Batch<Item> {
    const items: Item[] = []
    const done = this.#last.then(() => {
      this.#next = undefined
      return this.#work(items)
    })
    this.#last = done.catch(() => {})
    return { items, done }
  }
}
