/** The part of a model's `jsonSchema` that fields are made from. */

/** One property of a model's `jsonSchema`. */
export interface PropertySchema {
  readonly type?: string | readonly string[]
  /** Takes null besides its type, as OpenAPI 3.0 says and Ajv reads it. */
  readonly nullable?: boolean
  readonly format?: string
  readonly title?: string
  readonly description?: string
  readonly enum?: readonly unknown[]
  readonly minLength?: number
  readonly maxLength?: number
  readonly minimum?: number
  readonly maximum?: number
  /** A boolean up to draft 4. */
  readonly exclusiveMinimum?: number | boolean
  readonly exclusiveMaximum?: number | boolean
  readonly items?: PropertySchema
  readonly anyOf?: readonly PropertySchema[]
  readonly oneOf?: readonly PropertySchema[]
  readonly default?: unknown
  readonly readOnly?: boolean
  readonly writeOnly?: boolean
}

/** A model's `jsonSchema`: the names it declares, and which of them an object must have. */
export interface ModelSchema {
  readonly properties: ReadonlyMap<string, PropertySchema>
  readonly required: ReadonlySet<string>
}

/** Reads the parts we use of a `jsonSchema`, whatever else it holds. */
export function readModelSchema(schema: unknown): ModelSchema {
  const { properties, required } = asRecord(schema)
  return {
    properties: new Map(Object.entries(asRecord(properties)).map(([name, property]) => [name, asRecord(property)])),
    required: new Set(Array.isArray(required) ? required.filter((name) => typeof name === 'string') : []),
  }
}

/** The types a property names; none means any. */
export function typesOf(property: PropertySchema | undefined): readonly string[] {
  const { type, nullable } = property ?? {}
  const types = type === undefined ? [] : typeof type === 'string' ? [type] : type
  return nullable === true && types.length > 0 && !types.includes('null') ? [...types, 'null'] : types
}

function asRecord(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {}
}
