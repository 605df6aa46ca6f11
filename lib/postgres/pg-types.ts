/** What we use of knex, of its pool and of pg's connections: all of it is described here. */

import type { Knex } from 'knex'

/** @internal What a query runs on: a pool or a transaction. */
export type Queryable = Knex | Knex.Transaction

/** True for a knex instance. */
export function isKnex(value: unknown): value is Knex {
  return typeof (value as Partial<Knex> | null | undefined)?.raw === 'function'
}

/** pg's readers of values, by the numbers of types. */
export interface TypeParsers {
  getTypeParser(oid: number, format?: string): (text: string) => unknown
}

/** A connection of pg's own JavaScript client, as knex hands it out. */
export interface PgConnection {
  /** The name that knex gives it. */
  readonly __knexUid?: string
  /** Why the pool is to make another in its place. */
  __knex__disposed?: unknown
  /** pg's own pipelining, which refuses queries that it has not made. */
  readonly pipeline?: boolean
  readonly processID?: number | null
  readonly secretKey?: unknown
  readonly host?: string
  readonly port?: number
  readonly connectionParameters?: unknown
  /** The protocol below it. */
  readonly connection?: { readonly stream?: { destroy(): void } }
  query<Row>(query: object | string, done?: (error: Error | null, result?: { readonly rows: Row[] }) => void): unknown
}

/** knex's own pool, which is tarn's. */
export interface KnexPool {
  readonly max?: number
  readonly free?: readonly { readonly resource: PgConnection }[]
  readonly used?: readonly { readonly resource: PgConnection }[]
  /** Makes a connection. */
  creator?: () => Promise<PgConnection>
  numUsed(): number
  numFree(): number
  numPendingAcquires(): number
  numPendingCreates(): number
  acquire(): { readonly promise: Promise<PgConnection>; abort(): void }
  release(connection: PgConnection): boolean
  on(event: 'createSuccess' | 'destroySuccess', listener: (id: number, connection: PgConnection) => void): void
}

/** What knex gives connections out by. */
export interface KnexClient {
  readonly driverName?: string
  /** What a pool and its transactions have in common. */
  readonly config: object
  /** A pool of the application's own (`connectionPool`) has less; a transaction has none. */
  readonly pool?: KnexPool | Readonly<Record<string, never>> | undefined
  readonly driver?: { readonly types: TypeParsers; readonly Client?: new (settings: unknown) => PgConnection }
  readonly connectionSettings?: { readonly types?: TypeParsers }
  acquireConnection(): Promise<PgConnection>
  releaseConnection(connection: PgConnection): Promise<void>
  /** Opens one beside the pool. */
  acquireRawConnection(): Promise<PgConnection>
  destroyRawConnection(connection: PgConnection): Promise<void>
  cancelQuery?(connection: Partial<PgConnection>): Promise<unknown>
  emit(event: string, ...values: unknown[]): void
  on(event: 'query-error', listener: (error: unknown) => void): void
}

/** The client behind a knex or a transaction. */
export function clientOf({ client }: Queryable): KnexClient {
  return client as KnexClient
}

/** The pool behind a knex; undefined for a transaction, and for one of the application's own, which tells nothing of itself. */
export function poolOf({ pool }: Pick<KnexClient, 'pool'>): KnexPool | undefined {
  return pool && 'numUsed' in pool ? (pool as KnexPool) : undefined
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
