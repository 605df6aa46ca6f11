/** What a serializer class is called in OpenAPI (wire format, section 13). */
import type { SerializerClass } from './contract.js'

const SUFFIX = /Serializer$/

/** Its own `schemaName`, or its name without `Serializer`: `Book` for `BookSerializer`. */
export function schemaNameOf(serializer: SerializerClass): string {
  const own = Object.hasOwn(serializer, 'schemaName') ? serializer.schemaName : null
  return own ?? (serializer.name.replace(SUFFIX, '') || serializer.name)
}
