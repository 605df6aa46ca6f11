/** Queries as PostgreSQL takes them. */

/** A text in PostgreSQL's notation, with the values it binds. */
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
