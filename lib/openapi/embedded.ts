/** JSON Schema documents of other libraries, put among the components of an OpenAPI document. */
import type { Schema } from './types.js'

/** A schema that stands on its own, and what it defines, by the names of their components. */
export interface EmbeddedSchema {
  readonly schema: Schema
  readonly definitions: ReadonlyMap<string, Schema>
}

/**
 * A JSON Schema as the component of this name: what it defines in `$defs` becomes components called after it, and references
 * (`#`, `#/$defs/Node`) lead there.
 */
export function embedded(described: Schema, name: string): EmbeddedSchema {
  const { $defs = {}, $id: _id, ...own } = described
  const names = new Map(Object.keys($defs as object).map((key) => [key, `${name}.${key.replace(ODD, '_')}`]))
  const definitions = Object.entries($defs as Record<string, Schema>).map(([key, schema]): [string, Schema] => [
    names.get(key) as string,
    pointed(schema, name, names) as Schema,
  ])
  return { schema: pointed(own, name, names) as Schema, definitions: new Map(definitions) }
}

/** What the name of a component cannot have. */
const ODD = /[^A-Za-z0-9._-]/g
const DEFINITION = /^#\/\$defs\/(?<key>[^/]+)/

function pointed(value: unknown, name: string, names: ReadonlyMap<string, string>): unknown {
  if (Array.isArray(value)) return value.map((item) => pointed(item, name, names))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([keyword, inner]: [string, unknown]) => {
      const isReference = keyword === '$ref' && typeof inner === 'string' && inner.startsWith('#')
      return [keyword, isReference ? target(inner, name, names) : pointed(inner, name, names)]
    }),
  )
}

function target(reference: string, name: string, names: ReadonlyMap<string, string>): string {
  const escaped = DEFINITION.exec(reference)?.groups?.['key']
  if (escaped === undefined) return reference.replace('#', `#/components/schemas/${name}`)
  const key = decodeURIComponent(escaped).replaceAll('~1', '/').replaceAll('~0', '~')
  return reference.replace(DEFINITION, () => `#/components/schemas/${names.get(key) ?? key}`)
}
