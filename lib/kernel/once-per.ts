/** Keeps what is made of an object for as long as the object lives. */

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

/** The same of a promise: all who ask while it is pending share it. One that is rejected is not kept. */
export function oncePerUntilFailed<K extends object, T>(make: (key: K) => Promise<T>): (key: K) => Promise<T> {
  const made = new WeakMap<K, Promise<T>>()
  return (key) => {
    let running = made.get(key)
    if (!running) {
      running = make(key).catch((error: unknown) => {
        made.delete(key)
        throw error
      })
      made.set(key, running)
    }
    return running
  }
}

/** A function that gives true when it is first asked about an object, and false from then on. */
export function firstTime(): (key: object) => boolean {
  const known = new WeakSet()
  return (key) => {
    if (known.has(key)) return false
    known.add(key)
    return true
  }
}
