/** Bytes that arrive in pieces of any length, in one buffer: a body in one-byte chunks costs no object for each. */
import { tooLarge } from './too-large.js'

/** The least that is taken at a time. */
const LEAST = 1024
const EMPTY = Buffer.alloc(0)

/** Collects pieces. It holds at most twice what has arrived, and never more than the limit. */
export class GrowingBuffer {
  readonly #limit: number
  #room: Buffer = EMPTY
  #length = 0

  /** @param limit the most bytes */
  constructor(limit: number) {
    this.#limit = limit
  }

  /** How many bytes have arrived. */
  get length(): number {
    return this.#length
  }

  /** @throws ApiError 413 these are more than the limit */
  add(piece: Buffer): void {
    const length = this.#length + piece.length
    if (length > this.#limit) throw tooLarge()
    // most bodies are one piece, which is not copied
    if (this.#length === 0) this.#room = piece
    else {
      if (length > this.#room.length) this.#grow(length)
      piece.copy(this.#room, this.#length)
    }
    this.#length = length
  }

  /** All that has arrived; what is added later may stand behind it, and changes nothing of it. */
  bytes(): Buffer {
    return this.#room.subarray(0, this.#length)
  }

  #grow(needed: number): void {
    const length = Math.min(Math.max(needed, 2 * this.#room.length, LEAST), this.#limit)
    // none of the pool's, which small pieces would keep alive
    const room = Buffer.allocUnsafeSlow(length)
    this.#room.copy(room, 0, 0, this.#length)
    this.#room = room
  }
}
