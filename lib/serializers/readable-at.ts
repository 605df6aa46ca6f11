/** Whether a caller may read a field of an object, where the object's row decides on it. */

import type { BoundField } from './contract.js'

/** Of objects, the properties that were found to be readable. */
const READABLE = new WeakMap<object, ReadonlySet<string>>()

/** True where the caller may read a field of an object. Of an object that nobody has asked about the value stays hidden. */
export function isReadableAt({ access }: BoundField, object: object): boolean {
  if (!access || access.read === 'all') return true
  if (access.read === 'none') return false
  const readable = READABLE.get(object)
  return readable !== undefined && access.properties.every((property) => readable.has(property))
}

/** True for an object of which that was asked. */
export function isNoted(object: object): boolean {
  return READABLE.has(object)
}

/** Notes what of an object the caller may read, of the fields that its row decides on. */
export function noteReadable(object: object, properties: ReadonlySet<string>): void {
  READABLE.set(object, properties)
}
