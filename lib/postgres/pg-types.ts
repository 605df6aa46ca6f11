/** What we use of knex and pg, by its documented surface only. */

import type { Knex } from 'knex'

/** @internal What a query runs on: a pool or a transaction. */
export type Queryable = Knex | Knex.Transaction

/** pg's readers of values, by the numbers of types. */
export interface TypeParsers {
  getTypeParser(oid: number, format?: string): (text: string) => unknown
}

/** A column of an answer, as pg describes it. */
export interface AnswerField {
  readonly name: string
  readonly dataTypeID: number
}

/** SQL in PostgreSQL's notation, with the values it binds. */
export interface CompiledSql {
  readonly text: string
  readonly values: readonly unknown[]
}

/** A knex query as PostgreSQL takes it. */
export function nativeSql(query: unknown): CompiledSql {
  const compilable = query as { toSQL(): { toNative(): { sql: string; bindings: readonly unknown[] } } }
  const { sql, bindings } = compilable.toSQL().toNative()
  return { text: sql, values: bindings }
}
