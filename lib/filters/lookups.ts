/** The lookups of field filters, each a way to compare a column with the text of a parameter. */

import { ArrayField } from '../fields/array-field.js'
import { readFar } from '../fields/date-time-text.js'
import { ExternalIdField } from '../fields/external-id-field.js'
import type { FieldSchema, SerializerField } from '../fields/field.js'
import { fieldForColumn } from '../fields/field-for-column.js'
import { JSONField } from '../fields/json-field.js'
import { checkedText } from '../fields/string-field.js'
import type { IDContext } from '../ids/codec.js'
import type { ExternalIds } from '../ids/external-ids.js'
import { ValidationError } from '../kernel/errors.js'
import { type Column, comparedSql } from '../models/model-description.js'
import { escaped } from '../models/table-reference.js'
import { escapeLike, matchedSql } from './text-match.js'

/** The most values that a list takes. */
export const MOST_VALUES = 1_000

/**
 * The most characters that a client looks for within texts: PostgreSQL may compare all of them at each place of a text, and
 * writes them small again for each row.
 */
export const LONGEST_PATTERN = 200

/** Types of ranges, and of sets of them. */
export const RANGES: ReadonlySet<string> = new Set(
  ['date', 'ts', 'tstz', 'int4', 'int8', 'num'].flatMap((ends) => [`${ends}range`, `${ends}multirange`]),
)

/** Types whose values are compared as such. */
const TYPES = new Set([
  ...['int2', 'int4', 'int8', 'float4', 'float8', 'numeric', 'bool', 'uuid', 'enum', 'bytea', 'inet'],
  ...['text', 'varchar', 'bpchar', 'citext', 'name', 'date', 'time', 'timestamptz', 'timestamp', 'interval'],
  ...RANGES,
])
/** Types that a `jsonSchema` alone can give. */
const DECLARED = new Set(['int4', 'float8', 'bool', 'timestamptz', 'date', 'time', 'uuid'])

/** What a filter compares with: a column, and how its values are read. */
export class Operand {
  readonly column: Column
  /** Values of the column are compared; JSON and lists only with NULL. */
  readonly comparable: boolean
  /** Values of the column have an order. Any other type of PostgreSQL is compared as a string. */
  readonly ordered: boolean
  /** SQL for the column, with `??` for its name. */
  readonly sql: string
  /** Values are external ids. */
  readonly ids: ExternalIds | undefined
  /** It is the text at a key of JSON, not the column itself. */
  readonly isKey: boolean
  readonly #field: SerializerField

  constructor(column: Column, { ids, isKey = false }: { ids?: ExternalIds | undefined; isKey?: boolean } = {}) {
    this.column = column
    this.ids = ids
    this.isKey = isKey
    // a value beyond a serializer's limits is in no row, but it is not a wrong one
    this.#field = ids ? new ExternalIdField(ids) : fieldForColumn({ ...column, schema: {}, maxLength: undefined }, {})
    this.comparable = !(this.#field instanceof ArrayField || this.#field instanceof JSONField)
    // numbers would be compared as texts
    this.ordered = TYPES.has(column.type) && !isKey
    this.sql = TYPES.has(column.type) ? comparedSql(column) : '??::text'
  }

  /** True for lookups of LOOKUPS that fit the column. Any but equality would give away the digits of a hidden key. */
  takes({ ordered, equal, several }: Lookup): boolean {
    if (this.ids) return equal === true
    // a range has a comma of its own
    if (several && this.column.type.endsWith('range')) return false
    return this.comparable && (this.ordered || !ordered)
  }

  /** The value that an external id stands for: null, which equals nothing, where it is none (promise E13). */
  decode(text: string, caller: IDContext): number | string | null {
    return this.ids?.decode(text, caller) ?? null
  }

  /** The value that a string stands for. @throws ValidationError */
  read(text: string): unknown {
    // the field's own message would repeat what the client has sent
    const { type, labels } = this.column
    if (type === 'enum' && labels && !labels.includes(checkedText(text)))
      throw new ValidationError('Not a valid choice.')
    return readFar(type, text) ?? this.#field.toInternalValue(this.#field.fromText(checkedText(text)), {})
  }

  schema(): FieldSchema {
    return this.#field.schema()
  }

  /** SQL for `column = any(list)`; one parameter, however many values (promise R3). */
  anyOf(): string {
    const { sqlType, type } = this.column
    if (TYPES.has(type) && sqlType !== undefined) return `${this.sql} = any(?::${escaped(sqlType)}[])`
    return DECLARED.has(type) ? `?? = any(?::${type}[])` : '??::text = any(?::text[])'
  }
}

/** A way to filter. */
export interface Lookup {
  /** What it asks of the column, to follow its name. */
  readonly description: string
  /** The lookup is for columns whose values have an order. */
  readonly ordered?: true
  /** The lookup takes whole values, and is true where they are equal. */
  readonly equal?: true
  /** It is true exactly where the SQL is not, so also where there is no value. */
  readonly negated?: true
  /** The lookup takes several values, with commas between them. */
  readonly several?: true
  /** The lookup searches a string for a pattern. */
  readonly isPattern?: true
  /** The lookup takes a list, of values that are read as those of the elements. */
  readonly elements?: Operand
  /** The values to bind. @throws ValidationError the text stands for none */
  values(text: string, operand: Operand, caller: IDContext): readonly unknown[]
  /** SQL with `??` for the column's name, and a `?` for each value. */
  sql(operand: Operand): string
  readonly parameter: (operand: Operand) => { readonly schema: FieldSchema; readonly explode?: false }
}

const ofColumn: Lookup['parameter'] = (operand) => ({ schema: operand.schema() })
const ofText: Lookup['parameter'] = () => ({ schema: { type: 'string' } })

const exact: Lookup = {
  description: 'is this value',
  equal: true,
  values: (text, operand, caller) => [operand.ids ? operand.decode(text, caller) : operand.read(text)],
  sql: (operand) => `${operand.sql} = ?`,
  parameter: ofColumn,
}

function compare(operator: string, description: string): Lookup {
  return {
    description,
    ordered: true,
    values: (text, operand) => [operand.read(text)],
    sql: (operand) => `${operand.sql} ${operator} ?`,
    parameter: ofColumn,
  }
}

function matchPattern(operator: 'like' | 'ilike', pattern: (escaped: string) => string, description: string): Lookup {
  return {
    description,
    isPattern: true,
    values: (text) => [pattern(escapeLike(checkedText(text)))],
    sql: ({ column }) => `${matchedSql(column)} ${operator} ?`,
    parameter: () => ({ schema: { type: 'string', maxLength: LONGEST_PATTERN } }),
  }
}

const contains = (escaped: string) => `%${escaped}%`
const startsWith = (escaped: string) => `${escaped}%`
const endsWith = (escaped: string) => `%${escaped}`

const iexact: Lookup = {
  description: 'is this text in any case',
  values: (text) => [checkedText(text)],
  sql: ({ column }) => `lower(${matchedSql(column)}) = lower(?)`,
  parameter: ofText,
}

const anyOf: Lookup = {
  description: 'is one of these values',
  equal: true,
  several: true,
  // nothing is no value: it matches nothing
  values: (text, operand, caller) => [
    readCommaList(text, (item) => (operand.ids ? operand.decode(item, caller) : operand.read(item))),
  ],
  sql: (operand) => operand.anyOf(),
  parameter: (operand) => ({
    schema: { type: 'array', items: operand.schema(), maxItems: MOST_VALUES },
    explode: false,
  }),
}

const ne: Lookup = { ...exact, description: 'is not this value, or has none', negated: true }
const nin: Lookup = { ...anyOf, description: 'is none of these values, or has none', negated: true }

const range: Lookup = {
  description: 'lies between two values, or is one of them',
  ordered: true,
  several: true,
  values: (text, operand) => {
    const ends = text.split(',', 3)
    if (ends.length !== 2) throw new ValidationError('Give two values, separated by a comma.')
    return ends.map((end) => operand.read(end))
  },
  sql: (operand) => `${operand.sql} between ? and ?`,
  parameter: (operand) => ({
    schema: { type: 'array', items: operand.schema(), minItems: 2, maxItems: 2 },
    explode: false,
  }),
}

/** The values between commas. @throws ValidationError there are too many, or one is missing */
export function readCommaList(text: string, read: (item: string) => unknown): unknown[] {
  if (text === '') return []
  const items = text.split(',', MOST_VALUES + 1)
  if (items.length > MOST_VALUES) throw new ValidationError(`Give at most ${MOST_VALUES} values.`)
  return items.map((item) => {
    if (item === '') throw new ValidationError('Give a value before and after each comma.')
    return read(item)
  })
}

/** What columns of most types have, but for `isnull`, by the name that follows a field. */
export const LOOKUPS: ReadonlyMap<string, Lookup> = new Map([
  ['exact', exact],
  ['ne', ne],
  ['iexact', iexact],
  ['gt', compare('>', 'is greater than this value')],
  ['gte', compare('>=', 'is this value or greater')],
  ['lt', compare('<', 'is less than this value')],
  ['lte', compare('<=', 'is this value or less')],
  ['contains', matchPattern('like', contains, 'contains this text')],
  ['icontains', matchPattern('ilike', contains, 'contains this text in any case')],
  ['startswith', matchPattern('like', startsWith, 'starts with this text')],
  ['istartswith', matchPattern('ilike', startsWith, 'starts with this text in any case')],
  ['endswith', matchPattern('like', endsWith, 'ends with this text')],
  ['iendswith', matchPattern('ilike', endsWith, 'ends with this text in any case')],
  ['in', anyOf],
  ['nin', nin],
  ['range', range],
])
