/** New ids for the column `public_id`: random strings, and UUIDs that grow with time (wire format, section 4). */
import { randomBytes } from 'node:crypto'

export const RANDOM_ALPHABET = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const MOST = 2n ** 128n - 1n

/**
 * 16 random bytes as one number in an alphabet, as wide as the largest: 22 characters for 62.
 * @example randomId() // '000SYW7RiJxkEgOGusQGwp'
 */
export function randomId(alphabet = RANDOM_ALPHABET, bytes: Uint8Array = randomBytes(16)): string {
  return write(BigInt(`0x${Buffer.from(bytes).toString('hex')}`), alphabet).padStart(
    randomWidth(alphabet),
    alphabet.charAt(0),
  )
}

/** The characters of a random id. */
export function randomWidth(alphabet = RANDOM_ALPHABET): number {
  return write(MOST, alphabet).length
}

function write(value: bigint, alphabet: string): string {
  const base = BigInt(alphabet.length)
  let text = ''
  for (let rest = value; rest > 0n; rest /= base) text = alphabet.charAt(Number(rest % base)) + text
  return text
}

/** The random bits of a UUID of version 7. */
const RANDOM_BITS = 74n
const LOW_BITS = 62n
/** Within one millisecond, or when the clock steps back, the random part grows by up to this much. */
const STEP_BYTES = 4

/** What a generator of UUIDs draws on. */
export interface Uuid7Sources {
  /** The time in milliseconds. */
  readonly now: () => number
  readonly random: (bytes: number) => Uint8Array
}

/** Makes UUIDs of version 7 (RFC 9562 section 5.7) that never decrease, by the method of section 6.2, "monotonic random". */
export class Uuid7 {
  readonly #sources: Uuid7Sources
  #time = 0
  #random = 0n

  constructor(sources: Uuid7Sources = { now: Date.now, random: randomBytes }) {
    this.#sources = sources
  }

  next(): string {
    const { now, random } = this.#sources
    const time = now()
    if (time > this.#time) {
      this.#time = time
      this.#random = randomBits(random(10))
    } else {
      this.#random += toNumber(random(STEP_BYTES)) + 1n
      if (this.#random >> RANDOM_BITS > 0n) {
        this.#time++
        this.#random = randomBits(random(10))
      }
    }
    const high = (BigInt(this.#time) << 16n) | (7n << 12n) | (this.#random >> LOW_BITS)
    const low = (2n << LOW_BITS) | (this.#random & ((1n << LOW_BITS) - 1n))
    const hex = ((high << 64n) | low).toString(16).padStart(32, '0')
    return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
  }
}

/** Two bytes for the 12 bits behind the version, eight for the 62 behind the variant. */
function randomBits(bytes: Uint8Array): bigint {
  const high = toNumber(bytes.subarray(0, 2)) & 0xfffn
  const low = toNumber(bytes.subarray(2)) & ((1n << LOW_BITS) - 1n)
  return (high << LOW_BITS) | low
}

function toNumber(bytes: Uint8Array): bigint {
  return BigInt(`0x${Buffer.from(bytes).toString('hex')}`)
}
