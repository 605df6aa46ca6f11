/** Memoization: once for each object (`oncePer`), once for all (`firstTime`), and maps of limited size. */

/** The function `make`, called once for each key. What it returns is kept, also undefined; what it throws is not. */
export function oncePer<K extends object, T>(make: (key: K) => T): (key: K) => T {
  const made = new WeakMap<K, T>()
  return (key) => {
    const known = made.get(key)
    if (known !== undefined || made.has(key)) return known as T
    const value = make(key)
    made.set(key, value)
    return value
  }
}

/** Makes a promise once for each key: all who ask while it is pending share it. One that is rejected is not kept. */
export function oncePerUntilFailed<K extends object, T>(make: (key: K) => Promise<T>): (key: K) => Promise<T> {
  const runningFor = oncePer((_key: K): { promise?: Promise<T> | undefined } => ({}))
  return (key) => {
    const running = runningFor(key)
    running.promise ??= make(key).catch((error: unknown) => {
      running.promise = undefined
      throw error
    })
    return running.promise
  }
}

/**
 * Puts a value in the place of the getter that has found it: from then on it is a property like any other.
 * @example get lookup(): ObjectKey { return decided(this, 'lookup', findLookup(this.view)) }
 */
export function decided<T>(object: object, name: string, value: T): T {
  Object.defineProperty(object, name, { value, enumerable: true })
  return value
}

/** Makes a function that returns true at its first call with an object, and false at later ones with the same. */
export function firstTime(): (key: object) => boolean {
  const known = new WeakSet()
  return (key) => {
    if (known.has(key)) return false
    known.add(key)
    return true
  }
}

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

  delete(key: string): void {
    this.#entries.delete(key)
  }
}

/**
 * A list without items that is to V8 of the same kind as one with such an item. `[]` is one of small integers, and code that
 * was compiled for it is thrown away when a list of other things comes: with the first filter each step of a list.
 * @param item anything that such lists hold; it is not kept
 * @example const NO_TEXTS = emptyListOf('')
 */
export function emptyListOf<T>(item: T): readonly T[] {
  return [item].slice(1)
}
