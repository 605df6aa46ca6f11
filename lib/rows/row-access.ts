/** The rows of a model as a request reads and inserts them: by which plan, on which connection, for whom. */

import type { SerializerContext } from '../fields/field.js'
import { oncePer, RecentMap } from '../kernel/once-per.js'
import { configOf, oncePerCatalogue } from '../models/describe-model.js'
import { standardExact } from '../models/exact-types.js'
import type { ModelDescription } from '../models/model-description.js'
import { hasPlainExecution } from '../models/model-traits.js'
import type { AnyQueryBuilder } from '../models/objection.js'
import type { Queryable } from '../postgres/pg-types.js'
import { type Statement, type StatementClient, statementOf } from '../postgres/run-statement.js'
import type { ConditionKey } from '../queryset/condition-key.js'
import { readsWholeRows } from '../queryset/reads-whole-rows.js'
import { schemaOf } from '../queryset/schema-of.js'
import type { VisibleRows } from '../queryset/visible-rows.js'
import type { SerializerClass } from '../serializers/contract.js'
import type { CountSql } from './list-sql.js'
import type { CellScope, RowPlan } from './row-shape.js'
import { isWrapped } from './row-sql.js'
import { type KeptStatement, type SeenConditions, seenConditions, WHOLE_TABLES } from './seen-conditions.js'

/** The conditions of a list whose statement is kept. */
export interface ListKey extends ConditionKey {
  /** The conditions take longer than to keep a row. */
  readonly expensive: boolean
}

/** The key under which the length of a list is remembered. */
export function lengthKey({ text, values }: ListKey): string {
  return `${text}|${values.join('\0')}`
}

/** Statements of one output: a new one takes the place of the one that came first. */
const MOST_STATEMENTS = 500
/** Most lists whose counts are cached. */
const MOST_COUNTS = 128

/** Caches for the lists and objects of one output. */
export class StatementCache {
  /** Last counts of lists, by their conditions and values. */
  readonly counts = new RecentMap<number>(MOST_COUNTS)
  /** Last counts of lists by their conditions alone, where these are expensive. */
  readonly lengths = new RecentMap<number>(MOST_COUNTS)
  readonly #statements = new RecentMap<KeptStatement>(MOST_STATEMENTS)

  get(key: string): KeptStatement | undefined {
    return this.#statements.get(key)
  }

  /** The statement of this key, compiled where it is not known; under no key it is compiled each time. */
  keep(key: string | undefined, compile: () => string): Statement {
    if (key === undefined) return { text: compile(), name: undefined }
    const known = this.#statements.get(key)
    if (known) return known
    const statement = statementOf(compile())
    this.set(key, { places: undefined, ...statement })
    return statement
  }

  set(key: string, statement: KeptStatement): void {
    this.#statements.set(key, statement)
  }
}

/**
 * The statements of a serializer class's output, by the configuration of a database, which may rename identifiers; the same for
 * as long as the catalogue is.
 */
export const statementsOf = oncePerCatalogue((_shown: SerializerClass) =>
  oncePer((_config: object) => new StatementCache()),
)

export type Statements = ReturnType<typeof statementsOf>

export interface RowAccessOptions {
  readonly model: ModelDescription
  readonly plan: RowPlan
  readonly knex: Queryable
  /** Those of the output. */
  readonly statements: Statements
  readonly context: () => SerializerContext
  /** The client that the rows are for. */
  readonly client: StatementClient
  /** PostgreSQL writes the JSON. */
  readonly native: boolean
  /** Counts related objects, where the plan shows their number. */
  readonly countSql: CountSql | undefined
  /** Conditions on related rows, where the caller does not see all. */
  readonly visible: VisibleRows | undefined
  /** Queries of other view sets stand in the place of related tables. */
  readonly readsQueries: boolean
}

/**
 * What the readers and the inserter of rows share. A class: what a getter in an object literal closes over, such as a
 * request's rows, stays until a full garbage collection.
 */
export class RowAccess implements CellScope {
  readonly model: ModelDescription
  readonly plan: RowPlan
  readonly knex: Queryable
  readonly client: StatementClient
  /** PostgreSQL writes the JSON. */
  readonly native: boolean
  readonly statements: StatementCache
  readonly countSql: CountSql | undefined
  readonly #visible: VisibleRows | undefined
  readonly #readsQueries: boolean
  #seen: SeenConditions | undefined
  readonly #makeContext: () => SerializerContext
  #context: SerializerContext | undefined

  constructor(options: RowAccessOptions) {
    const { model, plan, knex, statements, client, native, countSql, context } = options
    this.model = model
    this.plan = plan
    this.knex = knex
    this.client = client
    this.native = native
    this.statements = statements(configOf(knex))
    this.countSql = countSql
    this.#visible = isWrapped(plan) ? options.visible : undefined
    this.#readsQueries = options.readsQueries
    this.#seen = undefined
    this.#makeContext = context
    this.#context = undefined
  }

  /** Serializer context; made when the first field asks. */
  get context(): SerializerContext {
    this.#context ??= this.#makeContext()
    return this.#context
  }

  /** Why a statement that writes a row cannot return it as it is shown, as a sentence; undefined where it can. */
  obstacleTo(write: 'insert' | 'update'): string | undefined {
    const { insertObstacle, updateObstacle } = this.plan
    const isSeen = this.plan.varies || this.#visible !== undefined
    const seen = isSeen ? 'what it shows of related objects is what the caller sees' : undefined
    return (write === 'insert' ? insertObstacle : updateObstacle) ?? seen
  }

  /** Conditions on related rows; undefined where their SQL is known only once it is built. */
  get seen(): SeenConditions | undefined {
    if (this.plan.varies) return undefined
    if (!this.#visible) return WHOLE_TABLES
    if (this.#readsQueries) return undefined
    this.#seen ??= seenConditions(this.plan, this.#visible)
    return this.#seen
  }

  /** The value that pg's standard parser makes of a column's text. */
  parse(oid: number, text: string): unknown {
    return standardExact.getTypeParser(oid, 'text')(text)
  }

  /** Why the rows of a query cannot be read as they are, as a sentence; null where it has conditions and an order of ours, no more. */
  obstacleOf(query: AnyQueryBuilder): string | null {
    if (query.knex() !== (this.knex as unknown)) return 'its query is sent by another knex than the view has'
    if (!readsWholeRows(query)) return 'its query has hooks, selects, a graph or groups of its own'
    if (!hasPlainExecution(query)) return 'its query is executed in its own way'
    // tables are joined by their models' names
    if (!isWrapped(this.plan)) return null
    if (query.has(/^orderBy/)) return 'its query has an order of its own, and related objects are joined to its rows'
    return schemaOf(query) === undefined ? null : 'its query names a schema, and related objects are joined to its rows'
  }
}
