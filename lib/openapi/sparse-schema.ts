/** Schemas of answers to requests that leave fields out. */
import { isContainer } from '../kernel/json-numerals.js'
import type { Schema } from './types.js'

/** Names the member of an envelope that holds the objects. */
export const HOLDS = 'x-holds'
/** Marks what leaves fields out of an answer, a parameter or a member of a body. */
export const SELECTS_FIELDS = 'x-selects-fields'

/**
 * A schema whose objects may lack fields: the object itself, those of a list, of a page or in the envelope of a view.
 * @param resolve follows references
 */
export function sparseSchema(schema: Schema, resolve: (schema: Schema) => Schema, isItem = false): Schema {
  const found = resolve(schema)
  const { items, properties } = found as { items?: Schema; properties?: Readonly<Record<string, Schema>> }
  if (isContainer(items)) return { ...found, items: sparseSchema(items, resolve, true) }
  const holder = isItem ? undefined : holderOf(found, properties, resolve)
  const held = holder === undefined ? undefined : properties?.[holder]
  if (held) return { ...found, properties: { ...properties, [holder as string]: sparseSchema(held, resolve, true) } }
  const { required: _, ...loose } = found
  return loose
}

/** The member of an envelope, or of a page: an object may have results of its own. */
function holderOf(
  found: Schema,
  properties: Readonly<Record<string, Schema>> | undefined,
  resolve: (schema: Schema) => Schema,
): string | undefined {
  const named = found[HOLDS]
  if (typeof named === 'string') return named
  const results = properties?.['results']
  return results && 'items' in resolve(results) ? 'results' : undefined
}
