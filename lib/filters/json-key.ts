/** Declared names that lead to a key of a column of JSON: `meta__colour`, `meta__size__width`. */
import type { Column, ModelDescription } from '../models/model-description.js'

/** What stands between the names of a path, and before a lookup. */
export const SEPARATOR = '__'

/** A key of JSON. */
export interface JSONKey {
  /** What its values are compared as: texts. */
  readonly column: Column
  /** SQL for its text, with `??` for the column's name; NULL where there is none. */
  readonly sql: string
}

/** The key that a name leads to: the column's name, then keys, outer ones first; undefined where it is none. */
export function jsonKey({ columns }: ModelDescription, name: string): JSONKey | undefined {
  for (const column of columns.values()) {
    if (column.type !== 'json' && column.type !== 'jsonb') continue
    if (!name.startsWith(column.property + SEPARATOR)) continue
    const keys = name.slice(column.property.length + SEPARATOR.length).split(SEPARATOR)
    if (keys.includes('')) continue
    const last = keys.pop() as string
    const sql = `(??${keys.map((key) => ` -> ${literal(key)}`).join('')} ->> ${literal(last)})`
    return { column: { ...column, type: 'text', sqlType: 'text', oid: undefined, holdsNull: true, schema: {} }, sql }
  }
  return undefined
}

/** A declared name as a literal, so that an index on the expression serves. What is no word is written by its numbers. */
function literal(key: string): string {
  if (/^[\w-]*$/.test(key)) return `'${key}'`
  const units = Array.from({ length: key.length }, (_, at) => key.charCodeAt(at).toString(16).padStart(4, '0'))
  return `U&'${units.map((unit) => `\\${unit}`).join('')}'`
}
