/** The rows of a model as a request reads and inserts them: by which plan, on which connection, for whom. */

import type { SerializerContext } from '../fields/field.js'
import { describeModel } from '../models/describe-model.js'
import type { ModelDescription } from '../models/model-description.js'
import { hasPlainExecution } from '../models/model-traits.js'
import type { AnyQueryBuilder, ModelClass } from '../models/objection.js'
import type { StatementClient } from '../postgres/abandoned-statements.js'
import type { Queryable } from '../postgres/pg-types.js'
import { exactTypes } from '../queryset/read-exactly.js'
import { readsWholeRows } from '../queryset/reads-whole-rows.js'
import { schemaOf } from '../queryset/schema-of.js'
import { isNative } from './native-sql.js'
import type { CellScope, RowPlan } from './row-plan.js'
import { type StatementCache, statementCache } from './statement-cache.js'

export interface RowAccessOptions {
  readonly model: ModelClass
  readonly plan: RowPlan
  readonly knex: Queryable
  readonly context: () => SerializerContext
  /** Whoever the rows are for. */
  readonly client: StatementClient
  /** PostgreSQL writes the JSON, where it can. */
  readonly native: boolean
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
  readonly #makeContext: () => SerializerContext
  #context: SerializerContext | undefined

  constructor({ model, plan, knex, client, native, context }: RowAccessOptions) {
    this.model = describeModel(model)
    this.plan = plan
    this.knex = knex
    this.client = client
    this.native = native && isNative(plan)
    this.statements = statementCache(knex, plan)
    this.#makeContext = context
    this.#context = undefined
  }

  /** What fields know of the request; made when the first of them asks. */
  get context(): SerializerContext {
    this.#context ??= this.#makeContext()
    return this.#context
  }

  /** The value that pg makes of a column's text. */
  parse(oid: number, text: string): unknown {
    return exactTypes(this.knex).getTypeParser(oid, 'text')(text)
  }

  /** True when the query can be read as rows: conditions and an order of ours, no hooks, no grouping. */
  canRead(query: AnyQueryBuilder): boolean {
    const joined = this.plan.joins.length > 0
    return (
      query.knex() === (this.knex as unknown) &&
      readsWholeRows(query) &&
      hasPlainExecution(query) &&
      // tables are joined by their models' names
      !(joined && (query.has(/^orderBy/) || schemaOf(query) !== undefined))
    )
  }
}
