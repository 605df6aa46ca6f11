/** Types of all that is used of knex, of its pool and of pg's connections. */

import type { Knex } from 'knex'
import { getOrInsert } from '../kernel/maps.js'
import { within } from '../kernel/within.js'

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
  on(event: 'error' | 'end', listener: (error?: Error) => void): void
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

/** Client of knex, which gives out connections. */
export interface KnexClient {
  readonly driverName?: string
  /** The database that SQL is compiled for. */
  readonly dialect?: string
  /** Object that a pool and its transactions share. */
  readonly config: object
  /** Of a pool of the application's own (`connectionPool`) knex has its own description; a transaction has none. */
  readonly pool?: KnexPool | Readonly<Record<string, never>> | undefined
  readonly driver?: { readonly types: TypeParsers; readonly Client?: new (settings: unknown) => PgConnection }
  readonly connectionSettings?: ConnectionOptions
  /** The application's function that returns connection settings. */
  connectionConfigProvider?(): ConnectionOptions | Promise<ConnectionOptions>
  readonly version?: string
  acquireConnection(): Promise<PgConnection>
  releaseConnection(connection: PgConnection): Promise<void>
  /** Opens one beside the pool. */
  acquireRawConnection(): Promise<PgConnection>
  destroyRawConnection(connection: PgConnection): Promise<void>
  cancelQuery?(connection: Partial<PgConnection>): Promise<unknown>
  emit(event: string, ...values: unknown[]): void
  on(event: 'query-error', listener: (error: unknown, query: { readonly __knexUid?: string }) => void): void
}

/** The client behind a knex or a transaction. */
export function clientOf({ client }: Queryable): KnexClient {
  return client as KnexClient
}

/** A `pg.Pool`, which an application may give to knex as `connectionPool`. */
interface NativePool {
  readonly options: ConnectionOptions & { readonly max: number }
  readonly Client: new (settings: unknown) => PgConnection & { connect(): Promise<void> }
  readonly totalCount: number
  readonly idleCount: number
  readonly waitingCount: number
  readonly _clients?: readonly PgConnection[]
  readonly _idle?: readonly { readonly client: PgConnection }[]
  on(event: 'connect' | 'remove', listener: (connection: PgConnection) => void): void
}

/** Connection settings that are read. */
interface ConnectionOptions {
  readonly types?: TypeParsers
  /** 0: pg waits for ever. */
  readonly connectionTimeoutMillis?: number
}

/** The pool behind a knex, pg's own included; undefined for a transaction, and for a pool that tells nothing of itself. */
export function poolOf(client: KnexClient): KnexPool | undefined {
  const { pool } = client
  if (!pool) return undefined
  if ('numUsed' in pool) return pool as KnexPool
  const native = nativePoolOf(client)
  return native && adapted(native, pool as unknown as GivenPool)
}

function nativePoolOf({ config }: KnexClient): NativePool | undefined {
  const { connectionPool } = config as { readonly connectionPool?: Partial<NativePool> }
  return typeof connectionPool?.totalCount === 'number' ? (connectionPool as NativePool) : undefined
}

/** Methods by which knex takes connections of another pool than its own. */
interface GivenPool {
  acquire(): { readonly promise: Promise<PgConnection> }
  release(connection: PgConnection): boolean
}

const adapters = new WeakMap<NativePool, KnexPool>()

/** pg's pool as knex's own tells of itself. */
function adapted(native: NativePool, given: GivenPool): KnexPool {
  return getOrInsert(adapters, native, () => {
    for (const connection of native._clients ?? []) hear(connection)
    native.on('connect', hear)
    return adapterOf(native, given)
  })
}

/** Hears of a connection that is lost while it is in use, as knex does of its own: the process would end. */
function hear(connection: PgConnection): void {
  connection.on('error', (error) => {
    connection.__knex__disposed ??= error
  })
}

function adapterOf(native: NativePool, given: GivenPool): KnexPool {
  return {
    max: native.options.max,
    get free() {
      return (native._idle ?? []).map(({ client }) => ({ resource: client }))
    },
    get used() {
      return (native._clients ?? []).map((resource) => ({ resource }))
    },
    numUsed: () => native.totalCount - native.idleCount,
    numFree: () => native.idleCount,
    numPendingAcquires: () => native.waitingCount,
    numPendingCreates: () => 0,
    acquire: () => ({ ...given.acquire(), abort() {} }),
    release: (connection) => given.release(connection),
    on(event, listener) {
      native.on(event === 'createSuccess' ? 'connect' : 'remove', (connection) => listener(0, connection))
    },
  }
}

/** Options by which connections are made: pg's own pool has some that knex does not know. */
export function connectionOptionsOf(client: KnexClient): ConnectionOptions | undefined {
  return nativePoolOf(client)?.options ?? client.connectionSettings
}

/** The longest that a connection of our own is opened where the application sets nothing, in milliseconds. */
const OPENING_MILLISECONDS = 5_000

/**
 * Opens a connection beside the pool, for `client.destroyRawConnection()` to close. Where a server takes it and says nothing, pg
 * gives its socket up.
 */
export async function openBeside(client: KnexClient): Promise<PgConnection> {
  const native = nativePoolOf(client)
  if (native) {
    const connection = new native.Client(inTime(native.options))
    hear(connection)
    await connection.connect()
    return connection
  }
  const provided = await within(OPENING_MILLISECONDS, Promise.resolve(client.connectionConfigProvider?.()))
  const connectionSettings = inTime(provided ?? client.connectionSettings ?? {})
  // what knex would ask and set behind the login is needed for nothing, and has no end of its own
  const connecting = { connectionSettings, version: client.version ?? '0', searchPath: undefined }
  return Object.assign(Object.create(client) as KnexClient, connecting).acquireRawConnection()
}

function inTime(given: ConnectionOptions): ConnectionOptions {
  const value = given.connectionTimeoutMillis || OPENING_MILLISECONDS
  // knex hides the password from those who copy
  const settings = Object.getOwnPropertyDescriptors(given)
  return Object.defineProperties({}, { ...settings, connectionTimeoutMillis: { value, enumerable: true } })
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
