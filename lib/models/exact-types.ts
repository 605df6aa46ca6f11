/**
 * Type parsers that keep PostgreSQL's own text beside values that cannot hold it (promise B15), and beside those
 * that parsers of the application have made. What is shown is what pg's standard parsers make of the text.
 */
import { isDeepStrictEqual } from 'node:util'
import { keepSpelling, Numeral } from '../kernel/json-numerals.js'
import { ownCopy } from '../kernel/own-copy.js'
import { keepItemNumerals, keepNumerals } from '../kernel/parse-json.js'
import { beginWork } from '../kernel/turns.js'
import type { AnswerField, Queryable, TypeParsers } from '../postgres/pg-types.js'
import { hasOwnParser, ownTypes, standardTypes } from '../postgres/type-parsers.js'
import { isJsonAttribute } from './build-model.js'
import { exactValue, keepItemTexts, keepText } from './database-text.js'
import { describeModel, oncePerCatalogue } from './describe-model.js'
import { inPostgresStyle } from './interval-text.js'
import type { Column } from './model-description.js'
import { type ModelClass, propertyName } from './objection.js'

type Parse = (text: string) => unknown

/** Characters that are read in a few milliseconds. */
const LONG = 131_072
const TEXT_ARRAY = 1009
const NUMERIC_ARRAY = 1231
const INTERVAL = 1186
const INTERVAL_ARRAY = 1187
const DATES = new Set([1082, 1114, 1184])
const JSONS = new Set([114, 3802])
const JSON_ARRAYS = new Set([199, 3807])
/** Arrays of dates, by the type of their elements. */
const DATE_ARRAYS = new Map([
  [1115, 1114],
  [1182, 1082],
  [1185, 1184],
])

const readTextArray = standardTypes.getTypeParser(TEXT_ARRAY, 'text')

/** The parsers of the application's own queries, with the text kept for dates. */
export function exactTypes(knex: Queryable): TypeParsers {
  return keepingText(ownTypes(knex))
}

function keepingText(own: TypeParsers): TypeParsers {
  return {
    getTypeParser(oid, format) {
      const parse = own.getTypeParser(oid, format)
      if (format === 'binary') return parse
      if (DATES.has(oid)) return (text) => keepText(parse(text), text)
      // pg makes no time at all of infinities, nor of any style but one
      if (oid === INTERVAL) return (text) => (text.endsWith('infinity') ? text : parse(inPostgresStyle(text)))
      if (oid === INTERVAL_ARRAY) return (text) => readIntervals(readTextArray(text), parse)
      if (JSONS.has(oid)) return (text) => spelled(parse(begin(text)), text)
      if (JSON_ARRAYS.has(oid)) return (text) => keepItemNumerals(parse(text), readTextArray(text))
      if (oid === NUMERIC_ARRAY) return (text) => keepItemTexts(parse(text), readTextArray(text))
      if (!DATE_ARRAYS.has(oid)) return parse
      return (text) => keepTexts(parse(text), readTextArray(text))
    },
  }
}

/** What rows of ours are read by, where no code of the application sees the values. */
export const standardExact: TypeParsers = keepingText(standardTypes)

/** The value of a `json` or `jsonb` column. */
export function storedJson(text: string): unknown {
  return spelled(JSON.parse(begin(text)), text)
}

/** JSON as PostgreSQL has written it, with all digits of its numbers. */
function spelled(value: unknown, text: string): unknown {
  keepSpelling(value, text)
  const kept = keepNumerals(value, text)
  return typeof kept === 'number' && String(kept) !== text ? new Numeral(text) : kept
}

/** A long text of JSON is read at once, and what is made of it is written after it. */
function begin(text: string): string {
  if (text.length > LONG) beginWork()
  return text
}

/** What a parser makes of intervals in its style, and infinities as they are. */
function readIntervals(texts: unknown, parse: Parse): unknown {
  const written = (value: unknown): string => {
    if (Array.isArray(value)) return `{${value.map(written).join()}}`
    return typeof value === 'string' ? `"${inPostgresStyle(value)}"` : 'NULL'
  }
  const restored = (value: unknown, text: unknown): unknown => {
    if (Array.isArray(value) && Array.isArray(text)) return value.map((item, index) => restored(item, text[index]))
    return typeof text === 'string' && text.endsWith('infinity') ? text : value
  }
  return restored(parse(written(texts)), texts)
}

/** Keeps the microseconds of all dates of a list, and of lists in it. */
function keepTexts(value: unknown, text: unknown): unknown {
  if (!Array.isArray(value)) return typeof text === 'string' ? keepText(value, text) : value
  return value.map((item, index) => keepTexts(item, Array.isArray(text) ? text[index] : undefined))
}

/** A value that a parser of the application's has made. */
interface OwnValue {
  readonly value: unknown
  /** As it was, where the application may change it in its place. */
  readonly copy: unknown
  readonly text: string
  readonly oid: number
}

type OwnValues = Map<string, OwnValue>

/** By object and property. */
const ownValues = new WeakMap<object, OwnValues>()
let hasOwnValues = false

/** The value of a property as pg's standard parsers make it, where it is what was read. */
export function standardValue(object: object, property: string, value: unknown): unknown {
  const own = unchanged(object, property, value)
  return own ? standardExact.getTypeParser(own.oid, 'text')(own.text) : value
}

/** The value of a property as PostgreSQL takes it back: its own text where the value has not all of it. */
export function exactAt(object: object, property: string): unknown {
  const value = (object as Readonly<Record<string, unknown>>)[property]
  return unchanged(object, property, value)?.text ?? exactValue(value)
}

function unchanged(object: object, property: string, value: unknown): OwnValue | undefined {
  if (!hasOwnValues) return undefined
  const own = ownValues.get(object)?.get(property)
  if (!own) return undefined
  if (Object.is(value, own.value)) return isDeepStrictEqual(value, own.copy) ? own : undefined
  // Objection parses JSON that the application's parser has left as text
  if (!JSONS.has(own.oid)) return undefined
  return isDeepStrictEqual(value, standardExact.getTypeParser(own.oid, 'text')(own.text)) ? own : undefined
}

/** Gives an object the texts of another one, whose values it was given. */
export function copyTexts(from: object, to: object): void {
  const values = ownValues.get(from)
  if (values) ownValues.set(to, new Map([...(ownValues.get(to) ?? []), ...values]))
}

/** The exact values that an object has of some columns. */
export function exactValues(object: object, columns: readonly Column[]): readonly unknown[] {
  return columns.map(({ property }) => exactAt(object, property))
}

/** The values that an object has of some columns, as pg's standard parsers make them. */
export function standardValues(object: object, columns: readonly Column[]): readonly unknown[] {
  const held = object as Readonly<Record<string, unknown>>
  return columns.map(({ property }) => standardValue(object, property, held[property]))
}

/** The parsers for one statement, which remember the texts of what those of the application make. */
export class RememberingTypes implements TypeParsers {
  readonly #own: TypeParsers
  readonly #exact: TypeParsers
  /** What was read of each column of the answer; undefined for those of the standard parsers. */
  readonly #columns: (OwnValue[] | undefined)[] = []
  #remembers = false

  constructor(knex: Queryable) {
    this.#own = ownTypes(knex)
    this.#exact = keepingText(this.#own)
  }

  /** Called by pg for each column, in order. */
  getTypeParser(oid: number, format?: string): Parse {
    const parse = this.#exact.getTypeParser(oid, format)
    if (format === 'binary' || !hasOwnParser(this.#own, oid)) {
      this.#columns.push(undefined)
      return parse
    }
    const read: OwnValue[] = []
    this.#columns.push(read)
    this.#remembers = true
    return (text) => {
      const value = parse(text)
      read.push({ value, copy: ownCopy(value), text, oid })
      return value
    }
  }

  /**
   * Remembers the texts for the objects that are made of rows; undefined where there is nothing to remember.
   * @param rows with the values that the parsers have made
   */
  of(
    model: ModelClass,
    rows: unknown,
    fields: readonly AnswerField[] = [],
  ): ((objects: readonly unknown[]) => void) | undefined {
    if (!(this.#remembers && Array.isArray(rows))) return undefined
    const found = rows.map((): OwnValues => new Map())
    const columns = new Map([...describeModel(model).columns.values()].map((column) => [column.nativeName, column]))
    for (const [index, { name }] of fields.entries()) {
      const read = this.#columns[index]
      // of several of one name the last counts
      if (!read || fields.findLastIndex((field) => field.name === name) !== index) continue
      const { column, property } = columns.get(name) ?? { column: name, property: propertyName(model, name) }
      const cells = (rows as Record<string, unknown>[]).map((row) => row[column])
      for (const [row, value] of align(cells, read)) found[row]?.set(property, value)
    }
    hasOwnValues = true
    return (objects) => {
      for (const [row, values] of found.entries()) {
        const object = objects[row]
        if (values.size > 0 && typeof object === 'object' && object !== null) ownValues.set(object, values)
      }
    }
  }
}

/** Which of the values that were read stand in which row. Parsers are not called for NULL, and may make null of anything. */
function* align(cells: readonly unknown[], read: readonly OwnValue[]): Generator<[row: number, value: OwnValue]> {
  const isWhole = cells.length === read.length
  let next = 0
  for (const [row, cell] of cells.entries()) {
    if (!isWhole) {
      if (cell === null || cell === undefined) continue
      while (next < read.length && (read[next]?.value ?? null) === null) next++
    }
    const value = read[next++]
    // what the application has put in its place since is its own
    if (value && Object.is(value.value, cell)) yield [row, value]
  }
}

const JSON_OIDS: Readonly<Record<string, number>> = { json: 114, jsonb: 3802 }

const OIDS = new Set(Object.values(JSON_OIDS))

/** The json columns that Objection parses by itself. */
const parsedTwice = oncePerCatalogue((model: ModelClass): readonly Column[] =>
  [...describeModel(model).columns.values()].filter(
    (column) => JSON_OIDS[column.type] !== undefined && isJsonAttribute(model, column),
  ),
)

/**
 * Writes strings in json columns as JSON again, in rows that the driver has parsed: from `"1"` Objection would make a number.
 * @param types the parsers that the rows were read with; an application's own may leave JSON as it is
 * @param fields the columns of the answer, which may have other values under a column's name
 */
export function keepJsonTexts(
  model: ModelClass,
  rows: unknown,
  types: TypeParsers,
  fields?: readonly AnswerField[],
): void {
  if (!Array.isArray(rows)) return
  const columns = parsedTwice(model).filter(({ type, nativeName }) => {
    // of several of one name the last counts
    const oid = fields ? fields.findLast(({ name }) => name === nativeName)?.dataTypeID : JSON_OIDS[type]
    return oid !== undefined && OIDS.has(oid) && types.getTypeParser(oid, 'text')('"1"') === '1'
  })
  if (columns.length === 0) return
  for (const row of rows as Record<string, unknown>[]) {
    for (const { column } of columns) {
      const value = row[column]
      if (typeof value === 'string') row[column] = JSON.stringify(value)
    }
  }
}
