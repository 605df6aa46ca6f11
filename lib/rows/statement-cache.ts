/** Keeps the compiled statements of each output, so that a list of a known shape is not compiled again. */
import { oncePer } from '../kernel/once-per.js'
import { RecentMap } from '../kernel/recent-map.js'
import type { Queryable } from '../postgres/pg-types.js'
import type { Statement } from '../postgres/run-statement.js'
import type { RowPlan } from './row-plan.js'

/** Statements of one output; a client that asks for more shapes has its lists compiled each time. */
const MOST_STATEMENTS = 500
/** How many lists are remembered by their length. */
const MOST_COUNTS = 128

/** What is kept of the lists and objects of one output. */
export class StatementCache {
  /** How many rows the lists had that were counted last, by their conditions and values. */
  readonly counts = new RecentMap<number>(MOST_COUNTS)
  /** The same by conditions alone, where these are expensive. */
  readonly lengths = new RecentMap<number>(MOST_COUNTS)
  readonly #statements = new Map<string, Statement>()

  get(key: string): Statement | undefined {
    return this.#statements.get(key)
  }

  /** Keeps a statement, unless there are too many. */
  set(key: string, statement: Statement): void {
    if (this.#statements.size < MOST_STATEMENTS) this.#statements.set(key, statement)
  }
}

/** By the database's configuration (it may rename identifiers), and by output. */
const caches = oncePer<object, (plan: RowPlan) => StatementCache>(() => oncePer(() => new StatementCache()))

/** The cache of an output on a database. */
export function statementCache(knex: Queryable, plan: RowPlan): StatementCache {
  const { config } = knex.client as { config: object }
  return caches(config)(plan)
}
