/** The keys of stored files: random, with nothing of what a client has sent but the extension (promise F10). */
import { randomBytes } from 'node:crypto'

const KEY = /^[0-9a-f]{32}\.[a-z0-9]{1,16}$/

/** A new key: 128 random bits and an extension. @throws {TypeError} what is given is no extension */
export function newKey(extension: string): string {
  const key = `${randomBytes(16).toString('hex')}.${extension}`
  if (isStorageKey(key)) return key
  throw new TypeError(`"${extension}" is no extension of a stored file`)
}

/** True for what `newKey` makes. */
export function isStorageKey(text: string): boolean {
  return KEY.test(text)
}

/** The URL of what is stored under a key. */
export function urlOf(baseUrl: string, key: string): string {
  return `${baseUrl.replace(/\/$/, '')}/${key.split('/').map(encodeURIComponent).join('/')}`
}
