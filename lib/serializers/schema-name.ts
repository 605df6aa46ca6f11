/** What a serializer class is called in OpenAPI (wire format, section 13). */
import type { SerializerClass } from './contract.js'

const inline = new WeakSet<object>()

/** Marks a class that has no name of its own: OpenAPI names it after the operation that takes it. */
export function markInline<Class extends object>(serializer: Class): Class {
  inline.add(serializer)
  return serializer
}

/** True for a class without a name of its own. */
export function isInline(serializer: object): boolean {
  return inline.has(serializer)
}

const SUFFIX = /Serializer$/

/** What no name of a component holds, though names of classes may. */
const FOREIGN = /[^\w.-]/gu

/** Its own `schemaName`, or its name without `Serializer`: `Book` for `BookSerializer`, `_e9cole` for `écoleSerializer`. */
export function schemaNameOf(serializer: SerializerClass): string {
  const own = Object.hasOwn(serializer, 'schemaName') ? serializer.schemaName : null
  const name = serializer.name.replace(SUFFIX, '') || serializer.name
  return own ?? name.replace(FOREIGN, (character) => `_${character.codePointAt(0)?.toString(16)}`)
}
