/** Whether a caller may read a field of an object, where the object's row decides on it. */

import type { SerializerContext } from '../fields/field.js'
import type { BoundField } from './contract.js'

/** By property, whether it may be read. */
type Readable = ReadonlyMap<string, boolean>

const NOTED = Symbol('which properties of objects may be read')

/** What is known of objects for one request, as a property of its view: an application may show an object in several. */
interface Noting {
  [NOTED]?: WeakMap<object, Readable>
}

function notedFor({ view }: SerializerContext, object: object): Readable | undefined {
  return (view as Noting | null | undefined)?.[NOTED]?.get(object)
}

/** True where the caller may read a field of an object. Of an object that nobody has asked about the value stays hidden. */
export function isReadableAt({ access }: BoundField, object: object, context: SerializerContext): boolean {
  if (!access || access.read === 'all') return true
  if (access.read === 'none') return false
  const known = notedFor(context, object)
  return known !== undefined && access.properties.every((property) => known.get(property) === true)
}

/** True for an object of which all of these properties were asked about. */
export function isNoted(object: object, properties: readonly string[], context: SerializerContext): boolean {
  const known = notedFor(context, object)
  return known !== undefined && properties.every((property) => known.has(property))
}

/** Notes which of the properties of an object the caller may read. */
export function noteReadable(
  object: object,
  answers: Readonly<Record<string, boolean>>,
  context: SerializerContext,
): void {
  const view = context.view as Noting | null | undefined
  if (!view) return
  view[NOTED] ??= new WeakMap()
  view[NOTED].set(object, new Map([...(notedFor(context, object) ?? []), ...Object.entries(answers)]))
}
