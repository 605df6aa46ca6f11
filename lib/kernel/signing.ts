/** Keys, signatures and the text they are written in, shared by everything a client hands back to us (wire format, section 1). */
import { hash, hkdfSync, timingSafeEqual } from 'node:crypto'
import { oncePer } from './once-per.js'

/** Text counts as its UTF-8 bytes. */
export type Bytes = string | Uint8Array

/** Derived keys by secret and label. Both are of the application's making, so there are few. */
const keys = new Map<string, Map<string, Buffer>>()
const hmacs = oncePer((key: Buffer) => new Hmac(key))

/**
 * Joins parts as netstrings, so that no two lists of parts give the same bytes. Frames nest.
 * @example frame('a', '').toString() // '1:a,0:,'
 */
export function frame(...parts: readonly Bytes[]): Buffer {
  if (parts.every((part) => typeof part === 'string')) return Buffer.from(frameText(parts))
  return Buffer.concat(
    parts.flatMap((part) => {
      const bytes = toBuffer(part)
      return [Buffer.from(`${bytes.length}:`), bytes, Buffer.from(',')]
    }),
  )
}

/** The frame of texts as a text. */
export function frameText(parts: readonly string[]): string {
  let text = ''
  for (const part of parts) text += `${Buffer.byteLength(part)}:${part},`
  return text
}

/**
 * The key of 32 bytes for one use of a secret, by HKDF-SHA256 (RFC 5869).
 * The label names the use: what is signed for one is not valid for another.
 */
export function derive(secret: string, label: string): Buffer {
  const labels = keys.get(secret) ?? new Map<string, Buffer>()
  const key = labels.get(label) ?? Buffer.from(hkdfSync('sha256', secret, '', `koa-viewsets/${label}`, 32))
  keys.set(secret, labels.set(label, key))
  return key
}

/** HMAC-SHA256 over the frame of these parts, with the derived key, cut to its first bytes (all 32 by default). */
export function mac(secret: string, label: string, parts: readonly Bytes[], bytes = 32): Buffer {
  return Buffer.from(hmacOf(secret, label).hex(frame(...parts)), 'hex').subarray(0, bytes)
}

/** HMAC-SHA256 with the derived key. */
export function hmacOf(secret: string, label: string): Hmac {
  return hmacs(derive(secret, label))
}

/** The block of SHA-256, in bytes. */
const BLOCK = 64
/** Room for what is usually signed. */
const ROOM = 512

/**
 * HMAC-SHA256 with one key (RFC 2104): two digests, each beginning with a block that is always the same. Both blocks are
 * kept, which takes half the time of Node's `createHmac`; a list may have hundreds of signed ids.
 */
export class Hmac {
  readonly #inner: Buffer
  readonly #outer: Buffer
  /** Where the message goes on behind the block and the prefix. */
  readonly #start: number

  /**
   * @param key up to 64 bytes
   * @param prefix what all messages begin with
   */
  constructor(key: Buffer, prefix = '') {
    this.#start = BLOCK + Buffer.byteLength(prefix)
    this.#inner = Buffer.alloc(this.#start + ROOM)
    this.#outer = Buffer.alloc(BLOCK + 32)
    for (let index = 0; index < BLOCK; index++) {
      this.#inner[index] = (key[index] ?? 0) ^ 0x36
      this.#outer[index] = (key[index] ?? 0) ^ 0x5c
    }
    this.#inner.write(prefix, BLOCK)
  }

  /** The signature of prefix and message: 64 hexadecimal digits. */
  hex(message: Bytes): string {
    this.#outer.write(hash('sha256', this.#firstOf(message), 'binary'), BLOCK, 'latin1')
    return hash('sha256', this.#outer, 'hex')
  }

  #firstOf(message: Bytes): Buffer {
    // a character is at most three bytes of UTF-8
    if (typeof message === 'string' && message.length * 3 <= ROOM) {
      return this.#inner.subarray(0, this.#start + this.#inner.write(message, this.#start))
    }
    return Buffer.concat([this.#inner.subarray(0, this.#start), toBuffer(message)])
  }
}

/** base64url without padding (RFC 4648 section 5). */
export function encodeBase64Url(bytes: Bytes): string {
  return toBuffer(bytes).toString('base64url')
}

/** Reads exactly what `encodeBase64Url` writes; null for the rest: padding, other alphabets, unused bits that are set. */
export function decodeBase64Url(text: string): Buffer | null {
  const bytes = Buffer.from(text, 'base64url')
  return bytes.toString('base64url') === text ? bytes : null
}

/** Compares signatures in a time that does not depend on where they differ. */
export function equalBytes(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && timingSafeEqual(left, right)
}

function toBuffer(part: Bytes): Buffer {
  return typeof part === 'string'
    ? Buffer.from(part, 'utf8')
    : Buffer.from(part.buffer, part.byteOffset, part.byteLength)
}
