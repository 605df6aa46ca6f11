/** Hashes of content, as names and versions show them (wire format, sections 7 and 8). */
import { createHash } from 'node:crypto'

/** SHA-256 in hexadecimal. */
export function sha256(content: string | Uint8Array): string {
  return createHash('sha256').update(content).digest('hex')
}

/** The first 12 hexadecimal digits of SHA-256. */
export function contentHash(content: string | Uint8Array): string {
  return sha256(content).slice(0, 12)
}
