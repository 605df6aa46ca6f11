/** Whether a caller may read a field of an object, where the object's row decides on it. */

import type { SerializerContext } from '../fields/field.js'
import type { BoundField } from './contract.js'

/** What is known of an object, for one request: an application may show an object in several. */
interface Known {
  readonly view: unknown
  /** By property, whether it may be read. */
  readonly readable: Map<string, boolean>
}

const KNOWN = new WeakMap<object, Known>()

/** True where the caller may read a field of an object. Of an object that nobody has asked about the value stays hidden. */
export function isReadableAt({ access }: BoundField, object: object, { view }: SerializerContext): boolean {
  if (!access || access.read === 'all') return true
  if (access.read === 'none') return false
  const known = KNOWN.get(object)
  return known?.view === view && access.properties.every((property) => known?.readable.get(property) === true)
}

/** True for an object of which all of these properties were asked about. */
export function isNoted(object: object, properties: readonly string[], { view }: SerializerContext): boolean {
  const known = KNOWN.get(object)
  return known?.view === view && properties.every((property) => known?.readable.has(property))
}

/** Notes which of the properties of an object the caller may read. */
export function noteReadable(
  object: object,
  answers: Readonly<Record<string, boolean>>,
  { view }: SerializerContext,
): void {
  const known = KNOWN.get(object)
  const readable = known?.view === view ? known?.readable : undefined
  KNOWN.set(object, { view, readable: new Map([...(readable ?? []), ...Object.entries(answers)]) })
}
