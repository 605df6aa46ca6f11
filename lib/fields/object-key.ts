/** The key that objects are named by in paths: read as a value of its column and written (promises B1, B2), and told apart from others whatever its spelling (promise B17). */

import type { IDContext, IDValue } from '../ids/codec.js'
import { type ExternalIds, externalIds, externalKey } from '../ids/external-ids.js'
import { ConfigurationError, ValidationError } from '../kernel/errors.js'
import { getOrInsert } from '../kernel/maps.js'
import { oncePer } from '../kernel/once-per.js'
import { settled } from '../kernel/settled.js'
import { describeModel, oncePerCatalogue } from '../models/describe-model.js'
import { type Column, comparedSql } from '../models/model-description.js'
import { type ModelClass, modelName } from '../models/objection.js'
import { readFar, writeDateOf, writeDateTime, writeDateTimeOf } from './date-time-text.js'
import { readDecimal, writeDecimal } from './decimal-field.js'
import { writeDuration, writeDurationText } from './duration-text.js'
import type { SerializerField } from './field.js'
import { fieldForColumn } from './field-for-column.js'

/** The values of a key, in the order of its columns. */
export type KeyValues = readonly unknown[]

/** Reads and writes the keys of a model's objects, by one column or by several. */
export interface ObjectKey {
  /** The columns that hold the key: not the primary key where external ids are stored. */
  readonly columns: readonly Column[]
  /** The names of its properties, with commas between them. */
  readonly name: string
  /** No two rows have the same. */
  readonly unique: boolean
  /** What reads and writes each column. */
  readonly parts: readonly ColumnKey[]
  readonly ids: ExternalIds | undefined
  /** An object has other texts for other users, or later. */
  readonly isPassing: boolean
  /** Why objects cannot be named by it; undefined where they can. */
  readonly problem: string | undefined
  /** What the columns hold for a string of a path; undefined when no row can, so that no query need be sent. */
  fromText(text: string, context: IDContext): KeyValues | undefined
  /** What the columns hold for a value of a JSON body; undefined when no row can. */
  fromJson(value: unknown, context: IDContext): KeyValues | undefined
  /** The key as paths name it, for what the columns hold. @throws {AuthenticationFailed} ids are per user, and there is none */
  toText(values: KeyValues, context: IDContext): unknown
  /** What the key was written as before keys that sign ids were replaced. Of keys that are for everybody, and do not pass. */
  formerTexts(values: KeyValues): readonly string[]
}

/** The key of objects that one column names. */
export class ColumnKey implements ObjectKey {
  readonly column: Column
  readonly columns: readonly [Column]
  readonly parts: readonly [ColumnKey]
  readonly name: string
  readonly unique: boolean
  readonly ids: ExternalIds | undefined
  readonly isPassing: boolean
  readonly problem: string | undefined
  /** The ids are those of another model, which this column leads to. */
  readonly #isForeign: boolean

  constructor(column: Column, ids: ExternalIds | undefined, { isForeign = false, problem }: ColumnKeyOptions = {}) {
    this.column = column
    this.columns = [column]
    this.parts = [this]
    this.name = column.property
    this.unique = column.unique
    this.ids = ids
    this.isPassing = ids?.perUser === true || ids?.expire === true
    this.problem = problem
    this.#isForeign = isForeign
  }

  fromText(text: string, context: IDContext): KeyValues | undefined {
    this.#check()
    const value = this.ids ? this.#decode(text, context) : parseLookup(this.column, text)
    return value === undefined ? undefined : [value]
  }

  fromJson(value: unknown, context: IDContext): KeyValues | undefined {
    this.#check()
    const held = this.ids ? this.#decode(value, context) : parseValue(this.column, value)
    return held === undefined ? undefined : [held]
  }

  toText([value]: KeyValues, context: IDContext): unknown {
    this.#check()
    if (value === null || value === undefined) return value
    return this.ids ? this.ids.encode(value as IDValue, context) : writeLookup(this.column, value)
  }

  formerTexts([value]: KeyValues): readonly string[] {
    return this.ids?.former(value as IDValue) ?? []
  }

  #decode(value: unknown, context: IDContext): unknown {
    if (!this.#isForeign) return this.ids?.decode(value, context)
    // raw ids of other models may be numbers; and this column may hold less than theirs
    const id = this.ids?.decode(Number.isSafeInteger(value) ? String(value) : value, context)
    return id === undefined ? undefined : parseLookup(this.column, String(id))
  }

  #check(): void {
    if (this.problem !== undefined) throw new ConfigurationError(this.problem)
  }
}

interface ColumnKeyOptions {
  readonly isForeign?: boolean
  readonly problem?: string | undefined
}

const keysOf = oncePerCatalogue((_model: ModelClass) => new Map<Column, ColumnKey>())

/**
 * The key of a model's objects by one of its properties: the primary key stands for the external id, where there is one,
 * and a foreign key for that of the model it leads to. Undefined when there is no such column.
 */
export function objectKey(model: ModelClass, property: string): ColumnKey | undefined {
  const own = externalIds(model)
  const isOwn = own?.names(property) === true
  const column = isOwn ? own.column : describeModel(model).columns.get(property)
  if (!column) return undefined
  return getOrInsert(keysOf(model), column, () => (isOwn ? new ColumnKey(column, own) : foreignKey(model, column)))
}

/** Types of JSON, which has no one string for each value, and rows, whose strings PostgreSQL compares with none. */
const UNNAMED_TYPES = new Set(['json', 'jsonb', 'jsonpath', 'composite'])

/** Why no value of the column is the name of an object; undefined where each is one. */
export function notAKey(column: Pick<Column, 'type' | 'sqlType' | 'isDomain' | 'isEquated'>): string | undefined {
  const { type, sqlType, isEquated } = column
  if (comparedSql(column) !== '??') return `is of a domain over ${sqlType}, which PostgreSQL compares with nothing`
  if (type !== 'array' && !UNNAMED_TYPES.has(type) && isEquated) return undefined
  const elsewhere = sqlType?.includes('.') ? ', as long as its schema is not on the search path' : ''
  return `is of type ${sqlType ?? type}, whose values name no object${elsewhere}`
}

function foreignKey(model: ModelClass, column: Column): ColumnKey {
  const unfit = notAKey(column)
  if (unfit !== undefined) {
    const problem = `${modelName(model)}: objects cannot be looked up by "${column.property}": it ${unfit}; use another lookupField`
    return new ColumnKey(column, undefined, { problem })
  }
  const foreign = externalKey(describeModel(model), [column.property])
  if (!foreign) return new ColumnKey(column, undefined)
  if (foreign.path.length === 1) return new ColumnKey(column, foreign.ids, { isForeign: true })
  return new ColumnKey(column, undefined, {
    problem: `${modelName(model)}: objects cannot be looked up by "${column.property}", whose external ids are stored in another table; use another lookupField`,
  })
}

/** How the values of a column are read and written as keys. */
const formatOf = oncePer((column: Column) => ({
  field: fieldForColumn({ ...column, schema: {} }, {}),
  // of most types a value has one text, which fields read
  isPlain: !SPELT_TYPES.has(column.type),
}))

/** The value that a string of a path stands for; undefined when no row can have it, so that no query need be sent. */
export function parseLookup(column: Column, text: string): unknown {
  return tried(column, text, readText)
}

/** A key without the zeros, or spaces, that only a column of another type would show. */
export function shortKey({ type, maxLength }: Column, value: unknown): unknown {
  if (typeof value !== 'string') return value
  if (type === 'numeric') return decimalText(value)
  return type === 'bpchar' && maxLength !== undefined && value.length > maxLength ? withoutPadding(value) : value
}

/** A `char(n)` without the spaces at its end, which are none of its value; other white space is. */
function withoutPadding(text: string): string {
  return withoutLast(text, ' ')
}

/** By no regular expression, which would look for the end from each of them. */
function withoutLast(text: string, character: string): string {
  let end = text.length
  while (text[end - 1] === character) end--
  return text.slice(0, end)
}

/** PostgreSQL's text of a key that rows may have and fields refuse, such as `NaN` or a day of the year 10000; else undefined. */
export function rareKey({ type }: Column, value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined
  return NUMBER_TYPES.has(type) && NO_NUMBER.test(value) ? value : readFar(type, value)
}

const NO_NUMBER = /^(?:NaN|-?Infinity)$/
const NUMBER_TYPES = new Set(['float4', 'float8', 'numeric'])
const SPELT_TYPES = new Set([...NUMBER_TYPES, 'bpchar', 'date', 'timestamp', 'timestamptz'])

/** The value that a JSON value stands for, such as a key of a bulk request; undefined when no row can have it. */
export function parseValue(column: Column, value: unknown): unknown {
  if (value === null || value === undefined) return undefined
  return tried(column, value)
}

/** What a path has for a value of the column: the same that is read of it. */
export function writeLookup(column: Column, value: unknown): unknown {
  // a row that was just written holds PostgreSQL's own text
  const isText = column.type === 'bool' && (value === 't' || value === 'f')
  return formatOf(column).field.toRepresentation(isText ? value === 't' : value, {})
}

function readText(field: SerializerField, text: unknown): unknown {
  return field.fromText(text as string)
}

/**
 * @param read makes a value of JSON of what was given, where it is none
 * @throws {ConfigurationError} the column's values are none that a key can be
 */
function tried(column: Column, given: unknown, read?: (field: SerializerField, given: unknown) => unknown): unknown {
  const { field, isPlain } = formatOf(column)
  const rare = isPlain ? undefined : rareKey(column, given)
  if (rare !== undefined) return rare
  const short = isPlain ? given : shortKey(column, given)
  try {
    const value = field.toInternalValue(read ? read(field, short) : short, {})
    return settled(value, `objects cannot be named by "${column.property}", whose values are lists`)
  } catch (error) {
    if (error instanceof ValidationError) return undefined
    throw error
  }
}

/**
 * The canonical text of a key: one for all spellings of a value, of clients and of the column. Values that SQL calls equal may
 * have different ones: see `namesOfKeys()`.
 */
export function keyText({ type }: Column, value: unknown): string {
  switch (type) {
    case 'bpchar':
      return withoutPadding(String(value))
    case 'date':
      return value instanceof Date ? writeDateOf(value) : String(value)
    case 'timestamp':
    case 'timestamptz':
      return value instanceof Date ? writeDateTimeOf(value) : writeDateTime(String(value))
    case 'numeric':
      return decimalText(value)
    case 'interval':
      return value instanceof Object ? writeDuration(value) : writeDurationText(String(value))
    default:
      return String(value)
  }
}

/** `12.5` for `12.50`, too. */
function decimalText(value: unknown): string {
  const decimal = typeof value === 'string' || typeof value === 'number' ? readDecimal(value) : undefined
  return decimal === undefined
    ? String(value)
    : writeDecimal({ ...decimal, fraction: withoutLast(decimal.fraction, '0') })
}

const WHOLE_TYPES = new Set(['int2', 'int4', 'int8'])

/** A key as a column that refers to it holds it, which may be of another type; undefined where it can hold no such key. */
export function referenceTo(key: Column | undefined, column: Column | undefined, value: unknown): unknown {
  if (!key || !column || value === null || value === undefined) return value
  if (key.type === 'bpchar' && column.type !== 'bpchar')
    return typeof value === 'string' ? withoutPadding(value) : value
  if (!WHOLE_TYPES.has(column.type) || WHOLE_TYPES.has(key.type)) return value
  const text = decimalText(value)
  return text.includes('.') ? undefined : text
}
