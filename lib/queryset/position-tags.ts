/** The types of columns that a position in a list can be made of, and what they are called in tokens. */

/** Tag of a position's value in a cursor token. */
export type PositionTag = 'int' | 'float' | 'decimal' | 'datetime' | 'date' | 'uuid' | 'bool' | 'str'

/** By the name of PostgreSQL's type. */
export const POSITION_TAGS: ReadonlyMap<string, PositionTag> = new Map([
  ['int2', 'int'],
  ['int4', 'int'],
  ['int8', 'int'],
  ['float4', 'float'],
  ['float8', 'float'],
  ['numeric', 'decimal'],
  ['timestamptz', 'datetime'],
  ['timestamp', 'datetime'],
  ['date', 'date'],
  ['uuid', 'uuid'],
  ['bool', 'bool'],
  ['text', 'str'],
  ['varchar', 'str'],
  ['bpchar', 'str'],
  ['citext', 'str'],
  ['enum', 'str'],
  ['time', 'str'],
  ['inet', 'str'],
])
