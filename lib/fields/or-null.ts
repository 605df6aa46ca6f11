/** JSON Schema of values that may be null. */
import type { FieldSchema } from './field.js'

/** A schema that also allows null. */
export function orNull(schema: Readonly<Record<string, unknown>>): FieldSchema {
  const { type, enum: values, anyOf, ...rest } = schema
  const listed = Array.isArray(values) && { enum: values.includes(null) ? values : [...(values as unknown[]), null] }
  if (type !== undefined) {
    const types = [type].flat() as string[]
    const all = types.includes('null') ? types : [...types, 'null']
    return { type: all, ...listed, ...(anyOf !== undefined && { anyOf }), ...rest }
  }
  // an alternative more, rather than one around the others
  if (Array.isArray(anyOf) && !listed) return { anyOf: [...(anyOf as unknown[]), NULL], ...rest }
  return listed || 'allOf' in schema || '$ref' in schema ? { anyOf: [schema, NULL] } : schema
}

/** True for a schema of lists, which may be null, too. */
export function isListOrNull({ type, anyOf }: FieldSchema): boolean {
  const alternatives = (anyOf ?? []) as readonly FieldSchema[]
  const types = [type ?? alternatives.map((one) => one.type)].flat(2).filter((one) => one !== 'null')
  return types.length > 0 && types.every((one) => one === 'array')
}

const NULL = { type: 'null' } as const
