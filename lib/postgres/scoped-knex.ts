/**
 * A knex whose statements run as a role, with settings of their own: each statement goes with them as one message, each
 * transaction begins with them. Whatever is given this knex cannot do without.
 *
 * The statements between two Syncs of PostgreSQL's protocol are one transaction, though nothing says BEGIN (its manual,
 * 55.2.4): settings that hold for a transaction hold to its Sync, an error takes them back with all else, and no connection
 * is given back before. So a statement takes one round trip, as it does without a role.
 */

import type { Knex } from 'knex'
import { queriesPlainly } from '../kernel/settings.js'
import { type LocalSettings, refusesSettings, SettingsRefused } from './local-settings.js'
import type { Queryable } from './pg-types.js'
import { queryWithSettings } from './scoped-query.js'

/** What a scoped knex is made of. */
export interface KnexScope {
  /** The application's own, whose connections are used. */
  readonly base: Knex
  readonly settings: LocalSettings
}

const SCOPE = Symbol('scope')

/** The scope of a scoped knex; undefined for any other, transactions included: those have their settings already. */
export function scopeOf(knex: Queryable): KnexScope | undefined {
  return (knex as { readonly [SCOPE]?: KnexScope })[SCOPE]
}

/** What knex gives a builder to run with. */
interface Client {
  _query(connection: object, query: KnexQuery): Promise<KnexQuery>
  _stream(): Promise<never>
}

interface Context {
  client: Client
  transaction(container?: unknown, config?: unknown): Promise<unknown>
  withUserParams(): never
}

/** A query on its way through knex. */
interface KnexQuery {
  readonly sql?: string
  readonly bindings?: readonly unknown[]
  readonly options?: object
  response?: unknown
}

type Work = (trx: Knex.Transaction) => unknown

/**
 * The knex of one request. It inherits from the application's, its listeners included: a copy, as `withUserParams()` makes
 * it, takes a hundred times as long.
 */
export function scopedKnex(base: Knex, settings: LocalSettings): Knex {
  const own = base as Knex & { readonly context: Context }
  const client = Object.create(own.context.client) as Client
  client._query = (connection, query) => queryScoped(base, settings, connection, query)
  client._stream = async () => {
    throw new Error('a query that is read as a stream needs a transaction: this.knex.transaction(…)')
  }
  const context = Object.create(own.context) as Context
  context.client = client
  context.transaction = (container, config) => begin({ base, settings }, container, config)
  context.withUserParams = () => {
    throw new Error('the knex of a request that has a databaseRole or databaseSettings cannot be copied')
  }
  const scoped = Object.setPrototypeOf((table: string, options: unknown) => {
    const builder = (client as unknown as { queryBuilder(): Knex.QueryBuilder }).queryBuilder()
    return table ? (builder as unknown as { table: (...values: unknown[]) => unknown }).table(table, options) : builder
  }, own) as Knex
  // models that Objection binds to the application's own are not bound to this one
  return Object.assign(scoped, { context, [SCOPE]: { base, settings } satisfies KnexScope, $$objection: undefined })
}

/** A transaction that begins with the settings. Without a container it is the caller's to end, as knex has it. */
async function begin({ base, settings }: KnexScope, container?: unknown, config?: unknown): Promise<unknown> {
  const isWork = typeof container === 'function'
  const given = (isWork ? config : container) as Knex.TransactionConfig | undefined
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
export async function applySettings(trx: Knex.Transaction, { text, values }: LocalSettings): Promise<void> {
  const client = trx.client as unknown as { acquireConnection(): Promise<PgConnection> }
  const connection = await client.acquireConnection()
  await new Promise<void>((resolve, reject) => {
    connection.query({ text, values }, (error) => {
      if (error) reject(refusesSettings(error) ? new SettingsRefused(error) : error)
      else resolve()
    })
  })
}

/** A connection of pg, as far as it is used here. */
interface PgConnection {
  readonly pipeline?: boolean
  query(query: object, done?: (error: Error | null, response?: unknown) => void): unknown
}

/** Several statements in one text, which only PostgreSQL's simple protocol takes. */
const SEVERAL = /;\s*\S/

/** In place of knex's own `_query()`. */
async function queryScoped(
  base: Knex,
  settings: LocalSettings,
  connection: object,
  query: KnexQuery,
): Promise<KnexQuery> {
  const { sql = '', bindings = [], options } = query
  if (sql === '') throw new Error('The query is empty')
  const pg = connection as PgConnection
  const isPlain = pg.pipeline === true || queriesPlainly() || (bindings.length === 0 && SEVERAL.test(sql))
  if (isPlain) return queryInTransaction(base, settings, pg, query)
  query.response = await new Promise((resolve, reject) => {
    const done = (error: Error | null, response?: unknown) => (error ? reject(error) : resolve(response))
    const config = { text: sql, values: [...bindings], ...options }
    queryWithSettings(pg, settings, config, done)
  })
  return query
}

/** The same by statements of their own: four round trips. */
async function queryInTransaction(
  base: Knex,
  { text, values, readOnly }: LocalSettings,
  connection: PgConnection,
  query: KnexQuery,
): Promise<KnexQuery> {
  const run = (asked: object) =>
    new Promise<void>((resolve, reject) => {
      connection.query(asked, (error) => (error ? reject(error) : resolve()))
    })
  const own = base.client as Client
  await run({ text: readOnly ? 'begin read only' : 'begin' })
  try {
    await run({ text, values }).catch((error: unknown) => {
      throw refusesSettings(error) ? new SettingsRefused(error) : error
    })
    const answered = await own._query(connection, query)
    await run({ text: 'commit' })
    return answered
  } catch (error) {
    // a connection that is lost has ended its transaction
    await run({ text: 'rollback' }).catch(() => {})
    throw error
  }
}
