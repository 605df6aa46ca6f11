/** Keys, signatures and the text they are written in, shared by everything a client hands back to us (wire format, section 1). */
import { createHmac, createSecretKey, hkdfSync, type KeyObject, timingSafeEqual } from 'node:crypto'

/** Text counts as its UTF-8 bytes. */
export type Bytes = string | Uint8Array

const BASE64URL = /^[A-Za-z0-9_-]*$/

/** Derived keys by secret and label. Both are of the application's making, so there are few. */
const keys = new Map<string, Map<string, Buffer>>()
const objects = new WeakMap<Buffer, KeyObject>()

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

/** The derived key as an object, which a signature takes half the time with. */
function keyOf(secret: string, label: string): KeyObject {
  const key = derive(secret, label)
  let object = objects.get(key)
  if (!object) {
    object = createSecretKey(key)
    objects.set(key, object)
  }
  return object
}

/** HMAC-SHA256 over the frame of these parts, with the derived key, cut to its first bytes (all 32 by default). */
export function mac(secret: string, label: string, parts: readonly Bytes[], bytes = 32): Buffer {
  return hmac(secret, label, parts).digest().subarray(0, bytes)
}

/** The same in hexadecimal digits, which takes less time. */
export function macHex(secret: string, label: string, parts: readonly Bytes[], bytes = 32): string {
  return hmac(secret, label, parts)
    .digest('hex')
    .slice(0, 2 * bytes)
}

function hmac(secret: string, label: string, parts: readonly Bytes[]): ReturnType<typeof createHmac> {
  const isText = parts.every((part) => typeof part === 'string')
  return createHmac('sha256', keyOf(secret, label)).update(isText ? frameText(parts) : frame(...parts))
}

/** base64url without padding (RFC 4648 section 5). */
export function encodeBase64Url(bytes: Bytes): string {
  return toBuffer(bytes).toString('base64url')
}

/** Reads exactly what `encodeBase64Url` writes; null for the rest: padding, other alphabets, unused bits that are set. */
export function decodeBase64Url(text: string): Buffer | null {
  if (!BASE64URL.test(text)) return null
  const bytes = Buffer.from(text, 'base64url')
  return bytes.toString('base64url') === text ? bytes : null
}

/** Compares signatures in a time that tells nothing of where they differ. */
export function equalBytes(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && timingSafeEqual(left, right)
}

function toBuffer(part: Bytes): Buffer {
  return typeof part === 'string'
    ? Buffer.from(part, 'utf8')
    : Buffer.from(part.buffer, part.byteOffset, part.byteLength)
}
