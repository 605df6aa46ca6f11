/** What pg's standard parsers make of values, by PostgreSQL's names of types, in words of TypeScript. All others are strings. */
const PARSED_TYPES: Readonly<Record<string, string>> = {
  int2: 'number',
  int4: 'number',
  oid: 'number',
  // a string where the application has set no parser for it
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
  // objects, which are shown as strings
  point: 'unknown',
  circle: 'unknown',
}

export function parsedType(type: string): string {
  return Object.hasOwn(PARSED_TYPES, type) ? (PARSED_TYPES[type] as string) : 'string'
}
