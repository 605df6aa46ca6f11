/** The functions over columns: of which types, their SQL, and the type of what they give. */

import { DurationField } from '../fields/date-time-fields.js'
import { DecimalField } from '../fields/decimal-field.js'
import type { SerializerField } from '../fields/field.js'
import { FloatField } from '../fields/float-field.js'
import { BigIntegerField, IntegerField } from '../fields/integer-fields.js'
import type { Column } from '../models/model-description.js'
import type { AggregateName } from './aggregate.js'

/** A type that functions give. */
interface Result {
  /** PostgreSQL's number of it. */
  readonly oid: number
  readonly field: SerializerField
}

const INT8: Result = { oid: 20, field: new BigIntegerField() }
/** The sum of `int8` is `numeric`, and still whole. */
const WHOLE: Result = { oid: 1700, field: INT8.field }
const NUMERIC: Result = { oid: 1700, field: new DecimalField() }
const FLOAT4: Result = { oid: 700, field: new FloatField() }
const FLOAT8: Result = { oid: 701, field: new FloatField() }
const INTERVAL: Result = { oid: 1186, field: new DurationField() }
/** There are no more rows than a number can count. */
const COUNT: Result = { oid: 20, field: new IntegerField({ schema: { format: 'int64' } }) }

const SUMS: Readonly<Record<string, Result>> = {
  int2: INT8,
  int4: INT8,
  int8: WHOLE,
  numeric: NUMERIC,
  float4: FLOAT4,
  float8: FLOAT8,
  interval: INTERVAL,
}

const AVERAGES: Readonly<Record<string, Result>> = {
  int2: NUMERIC,
  int4: NUMERIC,
  int8: NUMERIC,
  numeric: NUMERIC,
  float4: FLOAT8,
  float8: FLOAT8,
  interval: INTERVAL,
}

/** Types that PostgreSQL has `min` and `max` of, in all of its versions. */
const RANKED: ReadonlySet<string> = new Set([
  ...['int2', 'int4', 'int8', 'float4', 'float8', 'numeric', 'interval', 'inet', 'enum'],
  ...['text', 'varchar', 'bpchar', 'citext', 'date', 'time', 'timetz', 'timestamp', 'timestamptz'],
])

/** What a function is. */
export interface AggregateFunction {
  /** SQL of it, of the column's. */
  readonly sql: (value: string) => string
  /** What it gives of a column; `same` for one of the column's own values, undefined where it takes no such column. */
  readonly result: (column: Column) => Result | 'same' | undefined
  /** What columns it takes, for the message. */
  readonly takes: string
  /** It gives null of no values. */
  readonly mayBeNull: boolean
  /** It tells nothing of what the values are. */
  readonly counts: boolean
}

const numbers = { takes: 'numbers and intervals', mayBeNull: true, counts: false } as const
const ends = { takes: 'numbers, texts, dates, times, intervals, addresses and enums', mayBeNull: true, counts: false }
const ofRanked = ({ type }: Column) => (RANKED.has(type) ? 'same' : undefined)

export const FUNCTIONS: Readonly<Record<Exclude<AggregateName, 'count'>, AggregateFunction>> = {
  sum: { sql: (value) => `sum(${value})`, result: ({ type }) => SUMS[type], ...numbers },
  avg: { sql: (value) => `avg(${value})`, result: ({ type }) => AVERAGES[type], ...numbers },
  min: { sql: (value) => `min(${value})`, result: ofRanked, ...ends },
  max: { sql: (value) => `max(${value})`, result: ofRanked, ...ends },
  countDistinct: {
    sql: (value) => `count(distinct ${value})`,
    result: (column) => (column.isOrdered ? COUNT : undefined),
    takes: 'values that have an order',
    mayBeNull: false,
    counts: true,
  },
}

/** `count()`, which is of no column. */
export const COUNTING = { ...COUNT, mayBeNull: false, wrap: () => 'count(*)' } as const
