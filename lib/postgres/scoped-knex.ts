/**
 * A knex whose statements run as a role, with settings of their own: each statement goes with them as one message, each
 * transaction begins with them. Whatever is given this knex cannot do without.
 *
 * The statements between two Syncs of PostgreSQL's protocol are one transaction, though nothing says BEGIN (its manual,
 * 55.2.4): settings that hold for a transaction hold to its Sync, an error takes them back with all else, and no connection
 * is given back before. So a statement takes one round trip, as it does without a role.
 */

import type { Readable } from 'node:stream'
import type { Knex } from 'knex'
import { ConfigurationError } from '../kernel/errors.js'
import { type LocalSettings, refusesSettings, SettingsRefused } from './local-settings.js'
import { clientOf, type PgConnection, type Queryable } from './pg-types.js'
import { sendsPlainly } from './plain-queries.js'
import { queryWithSettings } from './scoped-query.js'
import { statementsIn } from './sql-text.js'

/** Parts of a scoped knex. */
export interface KnexScope {
  /** The application's own, whose connections are used. */
  readonly base: Knex
  readonly settings: LocalSettings
}

const SCOPE = Symbol('scope')

interface Scoped {
  readonly [SCOPE]: KnexScope
}

/** The scope of a scoped knex; undefined for any other, transactions included: those have their settings already. */
export function scopeOf(knex: Queryable): KnexScope | undefined {
  return (knex as Partial<Scoped>)[SCOPE]
}

/** Client of knex, with which builders run. */
interface Client {
  readonly driverName?: unknown
  queryBuilder(): Knex.QueryBuilder & { table(table: string, options: unknown): Knex.QueryBuilder }
  _query(connection: object, query: KnexQuery): Promise<KnexQuery>
}

/** Object that a knex hands its method calls on to. */
interface Context {
  client: Client
}

/** A query on its way through knex. */
interface KnexQuery {
  readonly sql?: string
  readonly bindings?: readonly unknown[]
  readonly options?: object
  response?: unknown
}

type Work = (trx: Knex.Transaction) => unknown

/** Members that replace those of the application's knex, the same for all requests. */
const CLIENT = {
  _query(this: Client & Scoped, connection: PgConnection, query: KnexQuery): Promise<KnexQuery> {
    return queryScoped(this[SCOPE], connection, query)
  },
  async _stream(_connection: object, _query: KnexQuery, stream: Readable): Promise<never> {
    const error = new Error('a query that is read as a stream needs a transaction: this.knex.transaction(…)')
    // knex itself tells nobody, and gives the connection back when the stream is closed
    stream.destroy(error)
    throw error
  },
}
const CONTEXT = {
  transaction(this: { readonly client: Scoped }, container?: unknown, config?: unknown): Promise<unknown> {
    return begin(this.client[SCOPE], container, config)
  },
  withUserParams(): never {
    throw new Error('the knex of a request that has a databaseRole or databaseSettings cannot be copied')
  },
}

/**
 * The knex of one request. It inherits from the application's, its listeners included: a copy, as `withUserParams()` makes
 * it, takes a hundred times as long.
 * @throws {ConfigurationError} the knex sends statements in another way, and would leave the settings out
 */
export function scopedKnex(base: Knex, settings: LocalSettings): Knex {
  const own = base as Knex & { readonly context: Context }
  checkScopable(own)
  const scope: Scoped = { [SCOPE]: { base, settings } }
  const client = Object.assign(Object.create(own.context.client) as Client, CLIENT, scope)
  const context = Object.assign(Object.create(own.context) as Context, CONTEXT, { client })
  const scoped = (table: string, options: unknown) => {
    const builder = client.queryBuilder()
    return table ? builder.table(table, options) : builder
  }
  // models that Objection binds to the application's own are not bound to this one
  return Object.assign(Object.setPrototypeOf(scoped, own) as Knex, scope, { context, $$objection: undefined })
}

/**
 * Guard: the members that are replaced must be those that knex calls.
 * @throws {ConfigurationError} the knex sends statements in another way, and would leave the settings out
 */
export function checkScopable(knex: Knex): void {
  const { client } = (knex as Knex & { readonly context: Context }).context
  const { driverName } = client
  if (driverName === 'pg' && typeof client._query === 'function') return
  throw new ConfigurationError(
    "databaseRole and databaseSettings need knex over pg's own client: new knex({ client: 'pg' })",
  )
}

/** A transaction that begins with the settings. Without a container it is the caller's to end, as knex has it. */
async function begin({ base, settings }: KnexScope, container?: unknown, config?: unknown): Promise<unknown> {
  const isWork = typeof container === 'function'
  const given = (isWork ? config : (container ?? config)) as Knex.TransactionConfig | undefined
  const options = settings.readOnly ? { ...given, readOnly: true } : given
  if (isWork) {
    return base.transaction(async (trx) => {
      await applySettings(trx, settings)
      return (container as Work)(trx)
    }, options)
  }
  const trx = await base.transaction(options as never)
  try {
    // knex hands out transactions that have failed to begin
    if (trx.isCompleted()) await trx.executionPromise
    await applySettings(trx, settings)
  } catch (error) {
    if (!trx.isCompleted()) await trx.rollback().catch(() => {})
    throw error
  }
  return trx
}

/** Sets them for what is left of a transaction. @throws {SettingsRefused} PostgreSQL does not let the login do so */
export async function applySettings(trx: Knex.Transaction, settings: LocalSettings): Promise<void> {
  await sendSettings(await clientOf(trx).acquireConnection(), settings)
  BEGUN.set(trx, settings)
}

/** The settings of transactions. */
const BEGUN = new WeakMap<object, LocalSettings>()

interface Begun {
  /** The outer transaction of a savepoint. */
  readonly parentTransaction?: Knex.Transaction
}

function settingsOf(knex: Queryable): LocalSettings | undefined {
  const scope = scopeOf(knex)
  if (scope) return scope.settings
  const { parentTransaction } = knex as Begun
  return BEGUN.get(knex) ?? (parentTransaction && settingsOf(parentTransaction))
}

/** True where statements run as the role of a caller, in transactions too. */
export function runsAsRole(knex: Queryable): boolean {
  return settingsOf(knex)?.hasRole === true
}

/** Key of the `search_path` of a request; undefined where only the connection decides it. */
export interface TablePlace {
  readonly searchPath: string | undefined
  /** `"$user"` of a path is the schema that is called as the role. */
  readonly role: string | undefined
}

/** The `search_path` of a request, in transactions too. */
export function tablePlaceOf(knex: Queryable): TablePlace | undefined {
  const { searchPath, hasRole = false, values = [] } = settingsOf(knex) ?? {}
  return searchPath === undefined && !hasRole ? undefined : { searchPath, role: hasRole ? values[0] : undefined }
}

/** In place of knex's own `_query()`. */
async function queryScoped(scope: KnexScope, connection: PgConnection, query: KnexQuery): Promise<KnexQuery> {
  const { sql = '', bindings = [], options } = query
  if (sql === '') throw new Error('The query is empty')
  // which only PostgreSQL's simple protocol takes
  const isSeveral = bindings.length === 0 && sql.includes(';') && statementsIn(sql).length > 1
  if (isSeveral || sendsPlainly(connection)) return queryInTransaction(scope, connection, query)
  query.response = await new Promise((resolve, reject) => {
    const done = (error: Error | null, response?: unknown) => (error ? reject(error) : resolve(response))
    queryWithSettings(connection, scope.settings, { text: sql, values: [...bindings], ...options }, done)
  })
  return query
}

/** Sends settings and query as statements of a transaction of their own: four round trips. */
async function queryInTransaction(
  { base, settings }: KnexScope,
  connection: PgConnection,
  query: KnexQuery,
): Promise<KnexQuery> {
  const own = base.client as Client
  await send(connection, { text: settings.readOnly ? 'begin read only' : 'begin' })
  try {
    await sendSettings(connection, settings)
    const answered = await own._query(connection, query)
    await send(connection, { text: 'commit' })
    return answered
  } catch (error) {
    // a connection that is lost has ended its transaction
    await send(connection, { text: 'rollback' }).catch(() => {})
    throw error
  }
}

async function sendSettings(
  connection: PgConnection,
  { text, values }: Pick<LocalSettings, 'text' | 'values'>,
): Promise<void> {
  await send(connection, { text, values }).catch((error: unknown) => {
    throw refusesSettings(error) ? new SettingsRefused(error) : error
  })
}

function send(connection: PgConnection, query: object): Promise<void> {
  return new Promise((resolve, reject) => {
    connection.query(query, (error) => (error ? reject(error) : resolve()))
  })
}
