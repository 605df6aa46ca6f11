/** Pieces of SQL with their bindings, of which statements are composed. */

/** A piece of SQL with its bindings, in knex's notation. */
export interface SqlPart {
  readonly sql: string
  readonly bindings: readonly unknown[]
}

/** Pieces one after another, with the separator between them. */
export function joinSql(parts: readonly SqlPart[], separator = ''): SqlPart {
  return { sql: parts.map(({ sql }) => sql).join(separator), bindings: parts.flatMap(({ bindings }) => bindings) }
}
