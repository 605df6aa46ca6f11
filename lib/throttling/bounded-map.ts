/** A map of limited size, for callers that a store remembers: a flood of them cannot fill the memory (promise H7). */
import { randomBytes } from 'node:crypto'

/** Keeps clients from knowing which keys share a chain. */
const SEED = randomBytes(4).readInt32LE()
/** The multiplier of MurmurHash2. */
const FACTOR = 0x5bd1e995
/** Places at first; then always twice as many. */
const PLACES = 64

/**
 * A map of limited size, in the order in which its entries were added. Each entry that is added removes two that are over;
 * where there is no room, the oldest one.
 *
 * It keeps places that are used again, and finds them through chains of its own: a `Map` in which entries come and go
 * is copied again and again, and its copies and values grow old before they are garbage (70 MB for 1,000,000 callers
 * against 6).
 */
export class BoundedMap<Value extends object> {
  readonly #most: number
  readonly #create: () => Value
  readonly #isOver: (value: Value, now: number) => boolean
  /** Keys by place. Place 0 is the head of the list. */
  readonly #keys: string[] = ['']
  readonly #values: (Value | undefined)[] = [undefined]
  /** The places before and after each place, by age. Place 0 is none: after it is the oldest, before it the youngest. */
  #older = new Uint32Array(PLACES)
  #younger = new Uint32Array(PLACES)
  /** The first place of each chain, and after each place the next of its chain, or the next free one. */
  #chains = new Uint32Array(2 * PLACES)
  #next = new Uint32Array(PLACES)
  #free = 0
  #size = 0

  /** @param create makes an empty value: as many as there ever are entries at a time */
  constructor(most: number, create: () => Value, isOver: (value: Value, now: number) => boolean) {
    this.#most = most
    this.#create = create
    this.#isOver = isOver
  }

  get size(): number {
    return this.#size
  }

  /** The value as long as its entry is there; afterwards it is another entry's. */
  get(key: string): Value | undefined {
    let place = this.#chains[this.#chainOf(key)] as number
    while (place !== 0 && this.#keys[place] !== key) place = this.#next[place] as number
    return this.#values[place]
  }

  delete(key: string): void {
    const chain = this.#chainOf(key)
    let before = 0
    let place = this.#chains[chain] as number
    while (place !== 0 && this.#keys[place] !== key) {
      before = place
      place = this.#next[place] as number
    }
    if (place === 0) return
    const next = this.#next[place] as number
    if (before === 0) this.#chains[chain] = next
    else this.#next[before] = next
    this.#join(this.#older[place] as number, this.#younger[place] as number)
    this.#keys[place] = ''
    this.#next[place] = this.#free
    this.#free = place
    this.#size -= 1
  }

  /** Adds an entry as the youngest one, and returns its value, to be filled: what it holds is of an entry that is gone. */
  add(key: string, now: number): Value {
    this.delete(key)
    this.#removeOldest(now)
    this.#removeOldest(now)
    const place = this.#take()
    this.#keys[place] = key
    this.#chain(place)
    this.#join(this.#older[0] as number, place)
    this.#join(place, 0)
    this.#size += 1
    const value = this.#values[place] ?? this.#create()
    this.#values[place] = value
    return value
  }

  /** A place that no entry has. */
  #take(): number {
    const place = this.#free
    if (place === 0) {
      if (this.#keys.length === this.#next.length) this.#grow()
      return this.#keys.length
    }
    this.#free = this.#next[place] as number
    return place
  }

  /** When all places are taken. */
  #grow(): void {
    const places = 2 * this.#next.length
    this.#older = enlarge(this.#older, places)
    this.#younger = enlarge(this.#younger, places)
    this.#next = new Uint32Array(places)
    this.#chains = new Uint32Array(2 * places)
    for (let place = 1; place < this.#keys.length; place += 1) this.#chain(place)
  }

  /** Makes a place the first of the chain of its key. */
  #chain(place: number): void {
    const chain = this.#chainOf(this.#keys[place] as string)
    this.#next[place] = this.#chains[chain] as number
    this.#chains[chain] = place
  }

  /** When it is over or in the way. */
  #removeOldest(now: number): void {
    const oldest = this.#younger[0] as number
    if (oldest === 0) return
    if (this.#size < this.#most && !this.#isOver(this.#values[oldest] as Value, now)) return
    this.delete(this.#keys[oldest] as string)
  }

  #join(older: number, younger: number): void {
    this.#younger[older] = younger
    this.#older[younger] = older
  }

  #chainOf(key: string): number {
    let hash = SEED
    for (let at = 0; at < key.length; at += 1) {
      hash = Math.imul(hash ^ key.charCodeAt(at), FACTOR)
      hash ^= hash >>> 15
    }
    return hash & (this.#chains.length - 1)
  }
}

function enlarge(numbers: Uint32Array, length: number): Uint32Array<ArrayBuffer> {
  const enlarged = new Uint32Array(length)
  enlarged.set(numbers)
  return enlarged
}
