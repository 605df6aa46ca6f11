/** Reads lists and objects as rows of raw text, for views whose output needs no model instances. */

import type { SerializerContext } from '../fields/field.js'
import type { FilterPart, FilterView } from '../filters/filter.js'
import { noneOf } from '../kernel/none-of.js'
import { type Column, describeModel } from '../models/describe-model.js'
import { hasPlainExecution } from '../models/model-traits.js'
import type { AnyQueryBuilder, ModelClass } from '../models/objection.js'
import type { Recipient } from '../postgres/abandoned-statements.js'
import type { Queryable } from '../postgres/pg-types.js'
import { type RawRow, runStatement, statementOf } from '../postgres/run-statement.js'
import { exactTypes } from '../queryset/read-exactly.js'
import { readsWholeRows } from '../queryset/reads-whole-rows.js'
import { schemaOf } from '../queryset/schema-of.js'
import type { OrderTerm } from '../queryset/total-order.js'
import { JsonText, jsonList } from '../renderers/json-text.js'
import { leftOut } from '../serializers/write-rows.js'
import { writerOf } from './fetched-rows.js'
import { compileInsert, compileInserts, compileListInsert, listColumns } from './insert-sql.js'
import { compileNativeRow, isNative } from './native-sql.js'
import { KeptLists, type ListShape, MOST_SHAPES, RowList, type RowListOptions } from './row-list.js'
import type { CellScope, RowPlan } from './row-plan.js'
import { compileRows } from './row-sql.js'

export interface RowReaderOptions {
  readonly model: ModelClass
  readonly plan: RowPlan
  readonly knex: Queryable
  readonly context: () => SerializerContext
  /** Whoever the rows are for. */
  readonly recipient: Recipient
  /** PostgreSQL writes the JSON, where it can. */
  readonly native: boolean
}

/** What a path names. */
export interface Lookup {
  readonly column: Column
  readonly value: unknown
  /** The condition that the object belongs to the one before it on the path. */
  readonly scope: FilterPart | undefined
  /** The query is the same for every request but for the values: those of the scope, then this one. */
  readonly plain: boolean
  query(): AnyQueryBuilder
}

/** One object that was read. */
export interface FoundRow {
  readonly text: JsonText
  /** The texts of the columns that were asked for besides. */
  readonly position: readonly (string | null)[]
}

/** By the database's configuration (it may rename identifiers), and by output. */
const keptLists = new WeakMap<object, WeakMap<RowPlan, KeptLists>>()
const NO_VALUES = noneOf<unknown>('')

/** Reads lists and objects, and inserts, by kept statements. */
export class RowReader {
  readonly model: ModelClass
  readonly #options: RowReaderOptions
  readonly #native: boolean

  constructor(options: RowReaderOptions) {
    this.model = options.model
    this.#options = options
    this.#native = options.native && isNative(options.plan)
  }

  get knex(): Queryable {
    return this.#options.knex
  }

  /** PostgreSQL writes the JSON. */
  get isNative(): boolean {
    return this.#native
  }

  /** True when code of the application takes part in what is written. */
  get runsFields(): boolean {
    return this.#options.plan.runsFields
  }

  /** True when what an insert returns of related objects may be what they were before it. */
  get showsStale(): boolean {
    const { joins } = this.#options.plan
    if (joins.length === 0) return false
    const { hasInsertTriggers, table } = describeModel(this.model)
    const related = joins.map(({ relation }) => describeModel(relation.model))
    return hasInsertTriggers || related.some((joined) => joined.isView || joined.table === table)
  }

  /** True when the query can be read as rows: conditions and an order of ours, no hooks, no grouping. */
  canRead(query: AnyQueryBuilder): boolean {
    const { plan, knex } = this.#options
    const joined = plan.joins.length > 0
    return (
      query.knex() === (knex as unknown) &&
      readsWholeRows(query) &&
      hasPlainExecution(query) &&
      // tables are joined by their models' names
      !(joined && (query.has(/^orderBy/) || schemaOf(query) !== undefined))
    )
  }

  /** The shape of a list that the filter parts describe. */
  shapeOf(view: FilterView, parts: readonly FilterPart[]): ListShape {
    let key = view.name
    let values: readonly unknown[] = NO_VALUES
    let expensive = false
    for (const part of parts) {
      if (part.expensive) expensive = true
      key += `|${part.shape}`
      values = values === NO_VALUES ? part.values : [...values, ...part.values]
    }
    return { key, values, expensive, kept: this.#kept() }
  }

  list({
    description,
    order,
    shape,
    query,
    statementMilliseconds,
  }: Pick<RowListOptions, 'description' | 'order' | 'shape' | 'query' | 'statementMilliseconds'>): RowList {
    const { plan, knex, recipient } = this.#options
    return new RowList({
      description,
      order,
      shape,
      query,
      statementMilliseconds,
      model: describeModel(this.model),
      plan,
      knex,
      recipient,
      scope: this.#scope(),
      native: this.#native,
    })
  }

  /** One object as JSON, with the texts of `terms`; undefined when there is none, null where its query needs instances. */
  async readOne(lookup: Lookup, terms: readonly OrderTerm[]): Promise<FoundRow | undefined | null> {
    const { plan, knex, recipient } = this.#options
    const cache = this.#kept().statements
    const { scope } = lookup
    const named = terms.map(({ property }) => property).join()
    const key = `one|${this.#native}|${lookup.column.property}|${named}|${scope?.shape ?? ''}`
    const kept = lookup.plain ? cache.get(key) : undefined
    if (kept) {
      const values = scope ? [...scope.values, lookup.value] : [lookup.value]
      return this.#write(await runStatement(knex, kept, values, recipient), terms.length)
    }
    const query = lookup.query()
    if (!lookup.plain && !this.canRead(query)) return null
    const { text, values } = (this.#native ? compileNativeRow : compileRows)(query, {
      plan,
      model: describeModel(this.model),
      order: [],
      backwards: false,
      positions: terms.length > 0 ? terms : undefined,
      limit: lookup.column.unique ? undefined : 1,
      offset: 0,
      counting: undefined,
    })
    const statement = statementOf(text)
    if (lookup.plain) cache.set(key, statement)
    return this.#write(await runStatement(knex, statement, values, recipient), terms.length)
  }

  /** Inserts a row by one statement, and returns its key and its JSON. */
  insert(key: Column, values: ReadonlyMap<string, unknown>): Promise<{ key: unknown; text: JsonText }> {
    const { plan, knex } = this.#options
    const cache = this.#kept().statements
    const shape = `insert|${key.column}|${[...values.keys()].join()}`
    let statement = cache.get(shape)
    if (!statement) {
      statement = statementOf(compileInsert(knex, { plan, model: describeModel(this.model), values, key }).text)
      if (cache.size < MOST_SHAPES) cache.set(shape, statement)
    }
    const found = statement
    const insert = (trx: Queryable) =>
      runStatement(trx, found, [...values.values()]).then((rows) => {
        const row = rows[0]
        // what a trigger has done in its place is undone
        if (!row) throw leftOut()
        return { key: row[0], text: new JsonText(writerOf(plan, 1)(row, this.#scope())) }
      })
    return describeModel(this.model).filtersInserts ? knex.transaction(insert) : insert(knex)
  }

  /** Inserts rows by one statement, all or none, and returns them as a JSON list. */
  async insertAll(rows: readonly ReadonlyMap<string, unknown>[]): Promise<JsonText> {
    if (rows.length === 0) return new JsonText('[]')
    const { plan, knex } = this.#options
    const write = writerOf(plan, 0)
    const scope = this.#scope()
    const insert = async (trx: Queryable) => {
      const inserted = await this.#insertAll(rows, trx)
      if (inserted.length < rows.length) throw leftOut()
      return inserted
    }
    const found = await (describeModel(this.model).filtersInserts ? knex.transaction(insert) : insert(knex))
    return jsonList(0, found.length, (index) => write(found[index] as RawRow, scope))
  }

  async #insertAll(rows: readonly ReadonlyMap<string, unknown>[], knex: Queryable): Promise<RawRow[]> {
    const selection = { plan: this.#options.plan, model: describeModel(this.model), rows }
    const columns = listColumns(selection)
    if (!columns) {
      const { text, values } = compileInserts(knex, selection)
      return runStatement(knex, { text, name: undefined }, values)
    }
    const cache = this.#kept().statements
    const shape = `inserts|${columns.map(({ column }) => column).join()}`
    let statement = cache.get(shape)
    if (!statement) {
      statement = statementOf(compileListInsert(knex, selection))
      if (cache.size < MOST_SHAPES) cache.set(shape, statement)
    }
    const lists = columns.map(({ column }) => rows.map((row) => row.get(column)))
    return runStatement(knex, statement, lists)
  }

  #write(rows: readonly RawRow[], first: number): FoundRow | undefined {
    const row = rows[0]
    if (!row) return undefined
    const text = this.#native ? (row[first] as string) : writerOf(this.#options.plan, first)(row, this.#scope())
    return { text: new JsonText(text), position: row.slice(0, first) }
  }

  #kept(): KeptLists {
    const { plan, knex } = this.#options
    const { config } = knex.client as { config: object }
    let byPlan = keptLists.get(config)
    if (!byPlan) {
      byPlan = new WeakMap()
      keptLists.set(config, byPlan)
    }
    let kept = byPlan.get(plan)
    if (!kept) {
      kept = new KeptLists()
      byPlan.set(plan, kept)
    }
    return kept
  }

  #scope(): CellScope {
    return new RequestScope(this.#options)
  }
}

/** A class: what a getter in an object literal closes over, such as a request's rows, stays until a full garbage collection. */
class RequestScope implements CellScope {
  readonly #options: RowReaderOptions
  #context: SerializerContext | undefined

  constructor(options: RowReaderOptions) {
    this.#options = options
  }

  get context(): SerializerContext {
    this.#context ??= this.#options.context()
    return this.#context
  }

  parse(oid: number, text: string): unknown {
    return exactTypes(this.#options.knex).getTypeParser(oid, 'text')(text)
  }
}
