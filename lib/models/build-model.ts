/** Model instances for writing, made from validated values through the model's own validation. */
import { isDeepStrictEqual } from 'node:util'
import { Model } from 'objection'
import { copyNumerals, hasNumerals, memberOf, Numeral, writeJson } from '../kernel/json-numerals.js'
import { type PropertySchema, typesOf } from '../kernel/json-schema.js'
import { describeModel, oncePerCatalogue } from './describe-model.js'
import type { Column } from './model-description.js'
import { type ModelClass, modelOf } from './objection.js'
import { knexProblem } from './table-reference.js'

/** What the name of a column must not be besides, and why. */
const UNFIT: readonly (readonly [RegExp, string])[] = [
  // a reference of Objection
  [/^\[/, 'Objection can carry no name that begins with a bracket'],
  // it sets the prototype of an object
  [/^__proto__$/, 'pg and Objection lose the values of this name'],
]

/** Why no column of this name can be read or written; undefined for one that can. */
export function nameProblem(column: string): string | undefined {
  return knexProblem(column) ?? UNFIT.find(([pattern]) => pattern.test(column))?.[1]
}

/** Why a column of a model can be neither read nor written, after its field; undefined for one that can. */
export function columnProblem({ column, nativeName, writtenName }: Column): string | undefined {
  const problem = nameProblem(column)
  if (problem !== undefined) return `is the column "${column}", and ${problem}`
  if (writtenName === nativeName) return undefined
  return (
    `is the column "${nativeName}", which the mappers of knex write to as "${writtenName}"; correct them ` +
    '(knexSnakeCaseMappers has the option underscoreBeforeDigits)'
  )
}

const LOST: ReadonlySet<string> = new Set(['constructor', 'prototype'])

/** True for a column that knex leaves out of its updates, without a word. */
export function isLostOnUpdate(column: string): boolean {
  return LOST.has(column)
}

/** Why no property of a model can have the name of the column; undefined where one can. */
export function propertyProblem(column: string): string | undefined {
  const problem = nameProblem(column)
  if (problem !== undefined) return problem
  if (column === 'constructor') return 'instances of Objection cannot hold it'
  if (column.includes('.')) return 'what stands before a dot is taken for a table or a relation'
  if (column.startsWith('$') || column.includes(':')) {
    return 'Objection does not write properties that begin with "$" or have a colon'
  }
  return column in Model.prototype || column === 'QueryBuilderType'
    ? 'all models of Objection have a member of this name'
    : undefined
}

/** True for a property that hides what is called of all instances, such as `$set()`, or of those of one model. */
export function hidesMember(property: string, model: ModelClass = Model): boolean {
  return property === 'constructor' || (property.startsWith('$') && property in model.prototype)
}

/** What makes a row of an instance. */
export const FORMATTING = ['$formatDatabaseJson', '$toDatabaseJson'] as const

const JSON_TYPES = new Set(['json', 'jsonb'])

/**
 * An instance to insert, or with `patch` to update with. `values` are by property and already checked field by field;
 * the model's `jsonSchema`, `$parseJson` and `$beforeValidate` run as they do for `fromJson`.
 * @throws Objection's ValidationError when the model's own schema refuses a value, or Objection would take it for a query
 */
export function buildModel(
  model: ModelClass,
  values: Readonly<Record<string, unknown>>,
  options: { patch?: boolean } = {},
): Model {
  const { columns } = describeModel(model)
  const json: Record<string, unknown> = {}
  for (const [property, value] of Object.entries(values)) {
    if (value === undefined) continue
    if (typeof value === 'object' && looksLikeQuery(value)) throw refusal(model, property)
    const column = columns.get(property)
    json[property] = column?.schema.type === undefined ? value : forSchema(column, value)
  }
  // a $parseJson may change what it gets
  const given = { ...json }
  const instance = model.fromJson(json, options) as Model & Record<string, unknown>
  if (options.patch) leaveOutInitial(instance, given)
  const texts = jsonTexts(model)
  for (const property of Object.keys(instance)) {
    if (Object.hasOwn(given, property) && instance[property] === given[property]) instance[property] = values[property]
    const value = instance[property]
    // most values are no objects, and as they are
    if (typeof value !== 'object' || value === null) continue
    // a schema with defaults copies what it checks
    copyNumerals(values[property], value)
  }
  if (texts.length > 0) {
    keepStrings(instance, texts)
    formatLast(instance)
  }
  return instance
}

/** Columns that the class gives a value to in each instance, as a field of the class does: values of new objects. */
const initialColumns = oncePerCatalogue((model: ModelClass): readonly string[] => {
  const { columns } = describeModel(model)
  return Object.entries(new model()).flatMap(([name, value]) => (value !== undefined && columns.has(name) ? name : []))
})

/** A change has what it was given, and what hooks have added: else each would put initial values back. */
function leaveOutInitial(instance: Model & Record<string, unknown>, given: Readonly<Record<string, unknown>>): void {
  const model = modelOf(instance)
  const names = initialColumns(model).filter((name) => !Object.hasOwn(given, name))
  if (names.length === 0) return
  const initial = new model() as typeof instance
  for (const name of names) if (isDeepStrictEqual(instance[name], initial[name])) delete instance[name]
}

/**
 * True for an object that Objection and knex tell from data by its properties alone. A client may send such a thing as a
 * JSON value; what application code passes (`raw`, `ref`, a query) has methods and is let through.
 */
function looksLikeQuery(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const { isRawInstance, isObjectionQueryBuilderBase, toSQL, toKnexQuery } = value as Record<string, unknown>
  if (typeof toSQL === 'function' || typeof toKnexQuery === 'function') return false
  return Boolean(isRawInstance) || Boolean(isObjectionQueryBuilderBase)
}

function refusal(model: ModelClass, property: string): Error {
  const failure = { keyword: 'type', message: 'is no data', params: {} }
  return model.createValidationError({ type: 'ModelValidation', data: { [property]: [failure] } })
}

/** True for SQL of the application's in the place of a value, such as `raw('now()')`. */
export function isExpression(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const { toSQL, toKnexQuery, toKnexRaw } = value as Record<string, unknown>
  return [toSQL, toKnexQuery, toKnexRaw].some((method) => typeof method === 'function')
}

/** What an instance made by `buildModel` puts into its columns, by column name: what Objection would send. */
export function databaseValues(model: ModelClass, instance: Model): Map<string, unknown> {
  const { columns } = describeModel(model)
  const values = new Map<string, unknown>()
  const { jsonSchema, pickJsonSchemaProperties } = model as Partial<ModelClass>
  const kept = pickJsonSchemaProperties ? jsonSchema?.properties : undefined
  for (const [property, value] of Object.entries(instance)) {
    const column = columns.get(property)
    const isKept = kept === undefined || property in kept
    if (column && isKept && value !== undefined) values.set(column.column, sentValue(model, column, value, instance))
  }
  return values
}

/**
 * The column of a property, for a model whose instances hold just the values they are made of (`traitsOf(model).plainInput`): its values
 * are sent without making an instance.
 */
export class PlainColumn {
  readonly name: string
  /** A value that is no object is sent as it is. */
  readonly isPlain: boolean
  readonly #model: ModelClass
  readonly #column: Column

  constructor(model: ModelClass, column: Column) {
    this.name = column.column
    this.#model = model
    this.#column = column
    this.isPlain = !isJsonAttribute(model, column) && !JSON_TYPES.has(column.type) && column.type !== 'array'
  }

  /** What `databaseValues` would have of an instance. @throws Objection's ValidationError as `buildModel` does */
  sent(value: unknown): unknown {
    if (looksLikeQuery(value)) throw refusal(this.#model, this.#column.property)
    return this.isPlain ? value : sentValue(this.#model, this.#column, value)
  }
}

/** @param instance what has the value, where hooks may have changed it */
function sentValue(model: ModelClass, column: Column, value: unknown, instance?: object): unknown {
  if (value === null) return value
  if (isJsonAttribute(model, column)) return writeJson(value)
  if (!holdsJson(column)) return value
  return instance ? jsonText(column, value, (text) => isJsonString(instance, text)) : jsonText(column, value)
}

/** The value in the type that the model's schema asks for: decimals are strings to us, and numbers to many schemas. */
function forSchema(column: Column | undefined, value: unknown): unknown {
  const types = typesOf(column?.schema)
  if (types.length === 0) return value
  if (value instanceof Numeral) return Number(value)
  const takesNumber = types.includes('number') || types.includes('integer')
  if (typeof value === 'string' && takesNumber && !types.includes('string') && value !== '') {
    const number = Number(value)
    return Number.isNaN(number) ? value : number
  }
  if (!types.includes('string')) return value
  if (typeof value === 'number' && !takesNumber) return String(value)
  return Buffer.isBuffer(value) ? `\\x${value.toString('hex')}` : value
}

/** The columns that are sent as JSON, or as lists of it. */
const jsonTexts = oncePerCatalogue((model: ModelClass): readonly Column[] =>
  [...describeModel(model).columns.values()].filter((column) => isJsonAttribute(model, column) || holdsJson(column)),
)

/** True for a column whose JSON Objection does not write itself, but by `jsonAttributes`: pg would make a PostgreSQL array of a list. */
function holdsJson({ type, element }: Column): boolean {
  return JSON_TYPES.has(type === 'array' ? (element ?? '') : type)
}

/** Strings that are JSON values, by instance: any other is text that the application itself has made, as for Objection alone. */
const jsonStrings = new WeakMap<object, ReadonlySet<unknown>>()

function keepStrings(instance: Model & Record<string, unknown>, columns: readonly Column[]): void {
  const values = columns.flatMap(({ property, type }) => (type === 'array' ? instance[property] : [instance[property]]))
  const strings = values.filter((value) => typeof value === 'string')
  if (strings.length > 0) jsonStrings.set(instance, new Set(strings))
}

/** JSON as text, for a column that holds it. */
function jsonText(column: Column, value: unknown, isValue: (text: string) => boolean = () => true): unknown {
  const textOf = (one: unknown) =>
    one === null || one === undefined || isExpression(one) || (typeof one === 'string' && !isValue(one))
      ? one
      : writeJson(one)
  if (column.type !== 'array') return textOf(value)
  return Array.isArray(value) ? value.map((_, position) => textOf(memberOf(value, position))) : value
}

/** True for JSON with numbers of which JavaScript's lack digits; a list may have been made of values that have them. */
function isInexact(value: unknown): boolean {
  return value instanceof Numeral || hasNumerals(value) || (Array.isArray(value) && value.some(isInexact))
}

/**
 * Has Objection send JSON as text, once all hooks have seen the values themselves, and with all the digits that its own
 * `JSON.stringify` would leave out. It copies what it sends: of JSON, however large, only where the application formats it.
 */
function formatLast(instance: Model & Record<string, unknown>): void {
  const isOurs = FORMATTING.every((name) => Object.is(instance[name], Model.prototype[name]))
  const [name, value] = isOurs ? ['$toDatabaseJson', toSentRow] : ['$formatDatabaseJson', formatRow]
  Object.defineProperty(instance, name, { configurable: true, value })
}

/** Objection's own way to make a row of an instance; a query builder is not in its types. */
export interface RowMaker {
  $toDatabaseJson(builder?: unknown): Record<string, unknown>
}

/** JSON is left out while Objection makes the row. */
function toSentRow(this: Model & Record<string, unknown>, builder?: unknown): Record<string, unknown> {
  const model = modelOf(this)
  const sent = jsonTexts(model).flatMap((column) => {
    const value = Object.hasOwn(this, column.property) ? this[column.property] : undefined
    return value === undefined || value === null || isExpression(value) ? [] : [{ column, value }]
  })
  try {
    for (const { column } of sent) this[column.property] = null
    const row = (Model.prototype as unknown as RowMaker).$toDatabaseJson.call(this, builder)
    for (const { column, value } of sent)
      if (Object.hasOwn(row, column.column)) row[column.column] = sentValue(model, column, value, this)
    return row
  } finally {
    for (const { column, value } of sent) this[column.property] = value
  }
}

function formatRow(this: Model & Record<string, unknown>, json: Record<string, unknown>): Record<string, unknown> {
  const model = modelOf(this)
  const prototype = Object.getPrototypeOf(this) as Model
  const formatted: Record<string, unknown> = prototype.$formatDatabaseJson.call(this, json)
  for (const column of jsonTexts(model)) {
    if (!Object.hasOwn(formatted, column.column)) continue
    const value = formatted[column.column]
    const own = this[column.property]
    if (isJsonAttribute(model, column)) {
      if (isInexact(own) && typeof value === 'string') formatted[column.column] = writeJson(own)
      continue
    }
    // what Objection has copied has lost the digits of the numbers in lists
    const whole = isInexact(own) && JSON.stringify(own) === JSON.stringify(value)
    formatted[column.column] = jsonText(column, whole ? own : value, (text) => isJsonString(this, text))
  }
  return formatted
}

function isJsonString(instance: object, text: string): boolean {
  return jsonStrings.get(instance)?.has(text) === true
}

/** True when Objection itself turns the property into JSON text: named in `jsonAttributes`, or object or array by schema. */
export function isJsonAttribute(model: ModelClass, column: Column): boolean {
  const named = model.jsonAttributes as string[] | undefined
  if (Array.isArray(named)) return named.includes(column.property)
  const types = possibleTypes(column.schema)
  return types.includes('object') || types.includes('array')
}

/** The types a property names, or those of its alternatives. */
function possibleTypes(schema: PropertySchema): readonly string[] {
  const types = typesOf(schema)
  if (types.length > 0) return types
  return (schema.anyOf ?? schema.oneOf ?? []).flatMap((alternative) => typesOf(alternative))
}
