/**
 * Keys of queries that an application takes part in: what is called on them says what their SQL is, so that a statement can be
 * kept for all requests that call the same, with the values of each.
 */

import { isPlain, isRecord } from '../kernel/records.js'
import { hasPlainExecution, traitsOf } from '../models/model-traits.js'
import type { AnyQueryBuilder, ModelClass } from '../models/objection.js'
import type { Queryable } from '../postgres/pg-types.js'
import { type ConditionKey, conditionKey, mapValues } from './condition-key.js'
import { hasContextHooks } from './context-hooks.js'
import { hookKind } from './group-conditions.js'

/** The place of a value of such a query in a statement that is compiled to see which it binds where. */
export class OwnPlace {
  readonly index: number

  constructor(index: number) {
    this.index = index
  }
}

/** Reads the arguments of a method into a cache key, and replaces their values by placeholders. */
interface Method {
  /** @returns false where they may be SQL, or anything else */
  read(key: Growing, args: readonly unknown[], query: AnyQueryBuilder): boolean
  mark(args: readonly unknown[], numbers: Numbering, query: AnyQueryBuilder): readonly unknown[]
}

/** Numbers places in the order of their values. */
class Numbering {
  #next: number

  constructor(first = 0) {
    this.#next = first
  }

  /** @returns the first of so many */
  take(count: number): number {
    this.#next += count
    return this.#next - count
  }

  /** NULL is SQL of its own, and has none. */
  placeOf = (value: unknown): OwnPlace | null => (value === null ? null : new OwnPlace(this.take(1)))
}

const COMPARISON: Method = { read: readComparison, mark: markComparison }
const LIST: Method = {
  read: readList,
  mark: ([name, list], numbers) => [name, (list as unknown[]).map(numbers.placeOf)],
}
const NAMES: Method = { read: readNames, mark: (args) => args }
const RAW: Method = { read: readRaw, mark: markRaw }

/** Methods; `and` and `or` may stand before those of conditions. */
const METHODS: ReadonlyMap<string, Method> = new Map([
  ['orderBy', NAMES],
  ...Object.entries({
    where: COMPARISON,
    whereNot: COMPARISON,
    whereLike: COMPARISON,
    whereILike: COMPARISON,
    whereIn: LIST,
    whereNotIn: LIST,
    whereBetween: LIST,
    whereNotBetween: LIST,
    whereNull: NAMES,
    whereNotNull: NAMES,
    whereColumn: NAMES,
    whereRaw: RAW,
  }).flatMap(([name, method]) =>
    ['w', 'andW', 'orW'].map((begin): [string, Method] => [begin + name.slice(1), method]),
  ),
])

/** A list of more values is another statement too often. */
const LONGEST_LIST = 20

/** A key, as far as it was read. */
interface Growing {
  text: string
  readonly values: unknown[]
}

/** Operation of Objection: one recorded call. */
interface Operation {
  readonly name: string
  args?: readonly unknown[]
  readonly func?: object
}

interface Internals {
  internalContext(): {
    readonly aliasMap: unknown
    readonly tableMap: unknown
    readonly options: { readonly schema?: unknown }
  }
  isPartial(partial: true): this
  subqueryOf(query: AnyQueryBuilder): this
}

/**
 * The key of a query that compares columns of its own table with values and does nothing else, by Objection's own methods;
 * undefined for any other, of which the SQL is known only once it is built.
 * @param knex where it is to be read
 */
export function queryKey(query: AnyQueryBuilder, model: ModelClass, knex: Queryable): ConditionKey | undefined {
  if (query.modelClass() !== model || query.knex() !== (knex as unknown)) return undefined
  const { aliasMap, tableMap, options } = (query as unknown as Internals).internalContext()
  if (aliasMap || tableMap || options.schema !== undefined || hasContextHooks(query)) return undefined
  if (!traitsOf(model).plainQueries || !hasPlainExecution(query)) return undefined
  const key: Growing = { text: '', values: [] }
  const { values } = key
  return readCalls(key, query) ? { text: model.tableName + key.text, values, begun: values.length } : undefined
}

/** A copy of a query. @param isMarked of one that has a key: with a place in place of each value of it */
export function copyOf(query: AnyQueryBuilder, isMarked = false): AnyQueryBuilder {
  const copy = query.clone()
  if (isMarked) markCalls(copy, new Numbering())
  return copy
}

function markCalls(query: AnyQueryBuilder, numbers: Numbering): void {
  query.has(((call: Operation) => {
    if (call.args) call.args = METHODS.get(call.name)?.mark(call.args, numbers, query) ?? call.args
    return false
  }) as never)
}

function readCalls(key: Growing, query: AnyQueryBuilder): boolean {
  let isKnown = true
  // Objection takes a function, which sees each of them; it is not in its types
  query.has(((call: Operation) => {
    isKnown &&= readCall(key, call, query)
    return !isKnown
  }) as never)
  return isKnown
}

function readCall(key: Growing, { name, args, func }: Operation, query: AnyQueryBuilder): boolean {
  const hook = func && hookKind(func)
  if (hook !== undefined) {
    key.text += `#${hook}`
    return true
  }
  const method = args && METHODS.get(name)
  if (!method) return false
  key.text += `.${name}(`
  const isKnown = method.read(key, args, query)
  key.text += ')'
  return isKnown
}

function readComparison(key: Growing, args: readonly unknown[], query: AnyQueryBuilder): boolean {
  const [first, second, third] = args
  if (args.length === 1) {
    if (typeof first === 'function') return readGroup(key, first, query)
    return (
      isRecord(first) &&
      isPlain(first) &&
      Object.entries(first).every(([name, value]) => addName(key, name) && addValue(key, value))
    )
  }
  if (args.length === 2) return addName(key, first) && addValue(key, second)
  return args.length === 3 && addName(key, first) && addName(key, second) && addValue(key, third)
}

function markComparison(args: readonly unknown[], numbers: Numbering, query: AnyQueryBuilder): readonly unknown[] {
  const [first] = args
  const { placeOf } = numbers
  if (args.length > 1) return [...args.slice(0, -1), placeOf(args.at(-1))]
  if (typeof first !== 'function') {
    return [Object.fromEntries(Object.entries(first as object).map(([name, value]) => [name, placeOf(value)]))]
  }
  const { values } = groupOf(first, query) ?? { values: [] }
  const start = numbers.take(values.length)
  // knex calls it each time it writes the SQL
  const add = (inner: AnyQueryBuilder) => {
    first.call(inner, inner)
    markCalls(inner, new Numbering(start))
  }
  return [add]
}

function markRaw([sql, bindings = []]: readonly unknown[], numbers: Numbering): readonly unknown[] {
  const part = { sql: sql as string, bindings: Array.isArray(bindings) ? bindings : [bindings] }
  return [sql, mapValues(part, () => new OwnPlace(numbers.take(1))).bindings]
}

function readGroup(key: Growing, add: Function, query: AnyQueryBuilder): boolean {
  const own = groupOf(add, query)
  if (!own) return false
  key.text += own.text
  key.values.push(...own.values)
  return true
}

/** Calls of such a function, recorded on a builder of the same kind as Objection gives it. */
function groupOf(add: Function, query: AnyQueryBuilder): Growing | undefined {
  const { constructor: builder } = query as unknown as {
    constructor: { forClass(model: unknown): AnyQueryBuilder & Internals }
  }
  const inner = builder.forClass(query.modelClass()).isPartial(true).subqueryOf(query)
  add.call(inner, inner)
  const key: Growing = { text: '', values: [] }
  return readCalls(key, inner) ? key : undefined
}

function readList(key: Growing, [name, list, ...more]: readonly unknown[]): boolean {
  if (more.length > 0 || !Array.isArray(list) || list.length > LONGEST_LIST || !addName(key, name)) return false
  return list.every((value) => addValue(key, value))
}

function readNames(key: Growing, args: readonly unknown[]): boolean {
  return args.every((name) => addName(key, name))
}

function readRaw(key: Growing, [sql, bindings = [], ...more]: readonly unknown[]): boolean {
  if (typeof sql !== 'string' || more.length > 0) return false
  const values = Array.isArray(bindings) ? (bindings as readonly unknown[]) : [bindings]
  if (!values.flat().every((value) => isValue(value) || value === null)) return false
  const read = conditionKey([{ sql, bindings: values }])
  if (!read) return false
  addName(key, read.text)
  key.values.push(...read.values)
  return true
}

/** With its length, so that no other names make the same text. */
function addName(key: Growing, name: unknown): boolean {
  if (typeof name !== 'string') return false
  key.text += `${name.length}:${name}`
  return true
}

function addValue(key: Growing, value: unknown): boolean {
  if (value === null) {
    key.text += '0'
    return true
  }
  if (!isValue(value)) return false
  key.text += '?'
  key.values.push(value)
  return true
}

function isValue(value: unknown): boolean {
  if (typeof value === 'object') return value instanceof Date || Buffer.isBuffer(value)
  return (
    typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint'
  )
}
