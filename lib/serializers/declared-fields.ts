/** The fields that a serializer class and those above it declare. */

import { SerializerField } from '../fields/field.js'
import { refuseOtherCopy } from '../kernel/declarations.js'
import { ConfigurationError } from '../kernel/errors.js'
import type { SerializerClass } from './contract.js'

/** The fields a class declares, its parents' first; a name declared again keeps its place. */
export function declaredFieldsOf(serializer: SerializerClass): Map<string, SerializerField> {
  const parent: unknown = Object.getPrototypeOf(serializer)
  const inherited = hasDeclaredFields(parent) ? declaredFieldsOf(parent) : new Map<string, SerializerField>()
  for (const [name, field] of Object.entries(serializer.declaredFields)) {
    if (!(field instanceof SerializerField)) {
      refuseOtherCopy((field as { constructor?: unknown } | null | undefined)?.constructor)
      throw new ConfigurationError(`${serializer.name}: declaredFields.${name} is not a field; write new SomeField(…)`)
    }
    inherited.set(name, field)
  }
  return inherited
}

function hasDeclaredFields(value: unknown): value is SerializerClass {
  return typeof value === 'function' && 'declaredFields' in value
}
