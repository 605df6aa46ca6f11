/** Keys, signatures and the text they are written in, shared by everything a client hands back to us (wire format, section 1). */
import { hkdfSync, timingSafeEqual } from 'node:crypto'
import { type Bytes, Hmac, toBuffer } from './hmac.js'

interface DerivedKey {
  readonly key: Buffer
  readonly hmac: Hmac
}

/** Derived keys by secret and label. Both are of the application's making, so there are few. */
const keys = new Map<string, Map<string, DerivedKey>>()

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
  return derivedKey(secret, label).key
}

/** HMAC-SHA256 with the derived key. */
export function hmacOf(secret: string, label: string): Hmac {
  return derivedKey(secret, label).hmac
}

function derivedKey(secret: string, label: string): DerivedKey {
  const known = keys.get(secret)?.get(label)
  if (known) return known
  const key = Buffer.from(hkdfSync('sha256', secret, '', `koa-viewsets/${label}`, 32))
  const made = { key, hmac: new Hmac(key) }
  keys.set(secret, (keys.get(secret) ?? new Map<string, DerivedKey>()).set(label, made))
  return made
}

/** HMAC-SHA256 over the frame of these parts, with the derived key, cut to its first bytes (all 32 by default). */
export function mac(secret: string, label: string, parts: readonly Bytes[], bytes = 32): Buffer {
  return Buffer.from(hmacOf(secret, label).hex(frame(...parts)), 'hex').subarray(0, bytes)
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
