/** The TypeScript type of a column: what instances of its model hold, from which the factories infer what JSON shows. */
import type { CatalogueColumn } from '../../models/catalogue.js'
import type { EnumTypes } from './enum-types.js'

/** The types of values by PostgreSQL's names. All others are strings, as PostgreSQL writes them. */
const TYPES: Readonly<Record<string, string>> = {
  int2: 'number',
  int4: 'number',
  int8: 'number | string',
  float4: 'number',
  float8: 'number',
  bool: 'boolean',
  date: 'Date',
  timestamp: 'Date',
  timestamptz: 'Date',
  interval: 'Interval',
  bytea: 'Buffer',
  json: 'unknown',
  jsonb: 'unknown',
  // pg makes objects of these, which are shown as strings
  point: 'unknown',
  circle: 'unknown',
}

/** Types that are strings to pg, too, and nothing else. */
const TEXTS = new Set(
  [
    'text varchar bpchar char name citext uuid numeric money time timetz xml enum inet cidr macaddr macaddr8',
    'bit varbit tsvector tsquery int4range int8range numrange daterange tsrange tstzrange int4multirange',
    'int8multirange nummultirange datemultirange tsmultirange tstzmultirange line lseg box path polygon',
    'pg_lsn ltree lquery jsonpath',
  ].flatMap((line) => line.split(' ')),
)

/** The type of a column's values. */
export function columnType(column: CatalogueColumn, enums: EnumTypes): string {
  const { type, element, notNull } = column
  const item = typeOf(element ?? type, column, enums)
  // PostgreSQL takes a null in any array
  const whole = type === 'array' ? (item === 'unknown' ? 'unknown[]' : `(${item} | null)[]`) : item
  return notNull || whole === 'unknown' ? whole : `${whole} | null`
}

function typeOf(type: string, column: CatalogueColumn, enums: EnumTypes): string {
  if (type === 'enum') return enums.nameOf(column)
  return Object.hasOwn(TYPES, type) ? (TYPES[type] as string) : 'string'
}

/** True for a type of which we know nothing, but that PostgreSQL writes it as a string. */
export function isForeignType({ type, element }: CatalogueColumn): boolean {
  const name = element ?? type
  return !TEXTS.has(name) && (!Object.hasOwn(TYPES, name) || name === 'point' || name === 'circle')
}
