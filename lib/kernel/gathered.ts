/** What comes while something is done is done together, next. */

interface Batch<Item> {
  readonly items: Item[]
  readonly done: Promise<void>
}

/** Does one thing at a time, with all that has come meanwhile: nothing waits for more to come. */
export class Gathered<Item> {
  readonly #work: (items: readonly Item[]) => Promise<void>
  #next: Batch<Item> | undefined
  #last: Promise<void> = Promise.resolve()

  constructor(work: (items: readonly Item[]) => Promise<void>) {
    this.#work = work
  }

  /** @returns once it is done, with others; its errors are those of all of them */
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
