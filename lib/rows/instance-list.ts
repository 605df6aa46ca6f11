/** A list of model instances to cut pages from. */

import type { Knex } from 'knex'
import type { Model } from 'objection'
import { ConfigurationError } from '../kernel/errors.js'
import { describeModel } from '../models/describe-model.js'
import { hasPlainExecution } from '../models/model-traits.js'
import { type AnyQueryBuilder, type ModelClass, modelName } from '../models/objection.js'
import type {
  CountKind,
  ListPool,
  ListSource,
  Position,
  RowCursor,
  RowCursorOptions,
  Rows,
  Slice,
} from '../pagination/list-source.js'
import type { StatementLimits } from '../postgres/guarded.js'
import { nativeSql, type Queryable } from '../postgres/pg-types.js'
import { beforeHooks } from '../queryset/before-hooks.js'
import { countRows } from '../queryset/count-rows.js'
import { keysetTerms, positionOf, rangesBeyond } from '../queryset/keyset.js'
import { instancesOf } from '../queryset/one-row.js'
import { readExactly } from '../queryset/read-exactly.js'
import { joinOrder, type OrderTerm, orderBy, rawOf } from '../queryset/total-order.js'
import { whereBeyond } from '../queryset/where-beyond.js'
import { checkSlice, countedBy, DescribedList, type ListDescription } from './described-list.js'
import { FetchedCursor, listPoolOf, openCursor } from './row-cursor.js'

export interface InstanceListOptions {
  readonly description: ListDescription
  /** The list with its conditions, without its order. */
  readonly query: AnyQueryBuilder
  readonly order: readonly OrderTerm[]
  /** Limits of a cursor's statements, where the conditions may be slow. */
  readonly bounds?: StatementLimits | undefined
  /** Loads what the output shows of related objects. */
  load(items: readonly Model[], knex?: Queryable): Promise<void>
  /** Instances in their written form. */
  represent(items: readonly Model[]): unknown
}

/** Reads instances through the model's own query builder: what hooks and method fields need. */
export class InstanceList extends DescribedList implements ListSource {
  readonly #options: InstanceListOptions

  constructor(options: InstanceListOptions) {
    super(options.description, describeModel(options.query.modelClass() as ModelClass), options.order)
    this.#options = options
  }

  get pool(): ListPool {
    return listPoolOf(this.#options.query.knex())
  }

  async count(kind: CountKind = 'exact', limit?: number): Promise<number> {
    return countRows(this.#options.query, kind, limit)
  }

  async read(slice: Slice): Promise<Rows> {
    checkSlice(slice)
    const { offset = 0, count: kind } = slice
    const known = kind === 'exact' && offset > 0 ? await this.count() : undefined
    if (known !== undefined && offset >= known) return this.#rows([], known)
    const { found, shown } = await findAll(readExactly(this.#query(slice)))
    const positions = slice.positions ? found.map((item) => takePosition(item, this.order.length)) : []
    await this.#options.load(shown)
    const rows = (count: number | undefined) => this.#rows(found, count, { positions, shown })
    if (kind === undefined || known !== undefined) return rows(known)
    return rows(countedBy(found.length, slice) ?? (await this.count(kind)))
  }

  async open(options: RowCursorOptions): Promise<RowCursor> {
    const { query, bounds } = this.#options
    const model = query.modelClass()
    if (!hasPlainExecution(query)) {
      throw new ConfigurationError(
        `${modelName(model)}: its QueryBuilder executes in its own way, which a cursor of the database does not; ` +
          'add conditions in onBuild(), or choose another paginator',
      )
    }
    const all = this.#query({ limit: Number.POSITIVE_INFINITY })
    const limits = { ...options, bounds }
    const cursor = await openCursor({ list: this.name, knex: query.knex() }, limits, nativeSql(all.toKnexQuery()))
    return new FetchedCursor(cursor, async (size) => {
      const rows = instancesOf(model as ModelClass, await cursor.fetch(size), cursor.trx)
      // find hooks, as if the query itself had found the rows
      const left = (await query
        .clone()
        .transacting(cursor.trx)
        .resolve([...rows])) as Model[]
      const { found, shown } = foundBy(rows, left)
      await this.#options.load(shown, cursor.trx)
      return this.#rows(found, undefined, { shown })
    })
  }

  #rows(
    items: readonly Model[],
    count: number | undefined,
    { positions = [], shown = items }: { positions?: readonly FoundPosition[]; shown?: readonly Model[] } = {},
  ): Rows {
    const left = shown === items ? undefined : new Set(shown)
    return {
      length: items.length,
      count,
      position: (index) => this.#known(positions[index]),
      results: (start, end, backwards) => {
        const page = items.slice(start, end).filter((item) => left?.has(item) !== false)
        return this.#options.represent(backwards ? page.reverse() : page)
      },
    }
  }

  /** @throws {ConfigurationError} the model has dropped it, so that nobody could go on from the row */
  #known(position: FoundPosition = [undefined]): Position {
    if (position.every((value) => value !== undefined)) return position
    const { model } = this.model
    throw new ConfigurationError(
      `${modelName(model)}: its instances have lost what the list is ordered by, which a cursor selects under names of its own; ` +
        'let $parseDatabaseJson, and hooks that find rows, keep all properties they do not know',
    )
  }

  #query({ limit, offset = 0, after, backwards = false, positions }: Slice): AnyQueryBuilder {
    const query = joinOrder(this.#options.query.clone(), this.order)
    const table = query.tableRefFor(query.modelClass())
    const terms = after || positions ? keysetTerms(this.model, this.order) : []
    if (after) {
      const ranges = rangesBeyond({ terms, table, query, position: after, backwards })
      whereBeyond(query, { ranges, model: this.model, order: this.order, backwards, limit })
    }
    if (positions) {
      if (!query.hasSelects()) void query.select(`${table}.*`)
      for (const [index, term] of terms.entries()) {
        void query.select(rawOf(query, positionOf(term, query), positionName(index)))
      }
    }
    orderBy(query, this.model, this.order, backwards)
    if (limit !== Number.POSITIVE_INFINITY) void query.limit(limit)
    if (offset > 0) void query.offset(offset)
    return query
  }
}

interface Found {
  readonly found: readonly Model[]
  /** What hooks have left of them, which must not end a list before its last page. */
  readonly shown: readonly Model[]
}

async function findAll(query: AnyQueryBuilder): Promise<Found> {
  let rows: readonly Model[] = []
  void query.onBuildKnex((knexQuery: Knex.QueryBuilder, builder: AnyQueryBuilder) => {
    // Objection makes instances in this very list
    void knexQuery.on('query-response', (found: readonly Model[]) => {
      beforeHooks(builder, () => {
        rows = [...found]
      })
    })
  })
  const shown = (await query) as readonly Model[]
  return foundBy(rows, shown)
}

function foundBy(rows: readonly Model[], shown: readonly Model[]): Found {
  const isPart = shown.length < rows.length && new Set([...rows, ...shown]).size === rows.length
  return { found: isPart ? rows : shown, shown }
}

/** One lower-case word, so that no mapper of names changes it. */
function positionName(index: number): string {
  return `ofcursor${String.fromCodePoint(...[...String(index)].map((digit) => 97 + Number(digit)))}`
}

/** The values of a position that were there to be taken. */
type FoundPosition = readonly (string | null | undefined)[]

/** Takes the position that was selected with an instance away from it: the application has no such properties. */
function takePosition(item: Model, length: number): FoundPosition {
  const values = item as unknown as Record<string, string | null | undefined>
  const position: (string | null | undefined)[] = []
  // the last property first: V8 then keeps the shape of the object
  for (let index = length - 1; index >= 0; index--) {
    const name = positionName(index)
    position[index] = values[name]
    delete values[name]
  }
  return position
}
