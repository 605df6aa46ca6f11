/** What lists of instances and lists of rows have in common when they are read from a cursor of the database. */

import { ConfigurationError } from '../kernel/errors.js'
import type { ListPool, RowCursor, Rows } from '../pagination/list-source.js'
import type { CompiledSql, Queryable } from '../postgres/pg-types.js'
import { scopeOf } from '../postgres/scoped-knex.js'
import { DatabaseCursor, type DatabaseCursorOptions, poolSize } from '../queryset/database-cursor.js'

/** knex's own default. */
const USUAL_SIZE = 10

/** The pool behind a knex. */
export function listPoolOf(knex: unknown): ListPool {
  const { client } = knex as { client: { pool?: object } }
  const size = poolSize(knex as Queryable) ?? USUAL_SIZE
  const settings = scopeOf(knex as Queryable)?.settings
  return { key: client.pool ?? client, size, runsWith: settings && JSON.stringify(settings.values) }
}

/** Declares a cursor. @throws {ConfigurationError} the request runs in a transaction, which would end before the cursor */
export async function openCursor(
  { list, knex }: { readonly list: string; readonly knex: unknown },
  options: DatabaseCursorOptions,
  statement: CompiledSql,
): Promise<DatabaseCursor> {
  const queryable = knex as Queryable
  if (queryable.isTransaction) {
    throw new ConfigurationError(
      `${list}: getKnex() gives a transaction, which may end before a stream or a server cursor does; ` +
        'let it return super.getKnex() for lists that are read so',
    )
  }
  return DatabaseCursor.open(queryable, options, statement)
}

/**
 * A cursor of the database whose rows are read by `fetch`. A class: a getter in an object literal would keep what it closes over
 * until a full garbage collection.
 */
export class FetchedCursor implements RowCursor {
  readonly fetch: (size: number) => Promise<Rows>
  readonly #cursor: DatabaseCursor

  constructor(cursor: DatabaseCursor, fetch: (size: number) => Promise<Rows>) {
    this.#cursor = cursor
    this.fetch = fetch
  }

  get lost(): boolean {
    return this.#cursor.lost
  }

  onLost(listener: () => void): void {
    this.#cursor.onLost(listener)
  }

  cancel(): Promise<void> {
    return this.#cursor.cancel()
  }

  close(): Promise<void> {
    return this.#cursor.close()
  }
}
