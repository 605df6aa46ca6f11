/**
 * Connection pool: whether settings of connections let us read what they bring, and who has them next. Where all of them are in use, one goes from the statement that has ended to the next that
 * waits: the way through the pool takes several promises and two timers, which cost as much as sending a statement.
 */

import { ConfigurationError, ServiceUnavailable } from '../kernel/errors.js'
import { firstTime, oncePer } from '../kernel/once-per.js'
import { closeUnanswered, leaveStandbys } from './lost-connections.js'
import type { NativeError } from './native-error.js'
import { clientOf, type KnexClient, type KnexPool, type PgConnection, poolOf, type Queryable } from './pg-types.js'
import { tryDriver } from './plain-queries.js'

interface Waiting {
  readonly since: number
  readonly resolve: (connection: PgConnection | Promise<PgConnection>) => void
}

/** Interval of checks on waiting requests, in milliseconds. */
const INTERVAL = 10
/** Milliseconds after which a waiting request moves to the pool's own queue, with its rules and its time limit. */
const LONGEST = 200
/** After so many hand-overs a connection goes through the pool, which looks at its age and state. */
const MOST_HANDED = 64

/** The queue for the connections of a knex client. */
export const queueOf = oncePer((source: KnexClient) => new ConnectionQueue(source))

/**
 * Those who wait for a connection that a statement of ours has. Whoever is in the pool's own queue comes first, and where
 * others than us are, all of us wait there, too.
 */
export class ConnectionQueue {
  readonly source: KnexClient
  #waiting: Waiting[] = []
  #isLooking = false
  /** Connections that statements of ours have. */
  #used = 0
  /** Number of our requests in the pool's queue. */
  #asking = 0
  #handed = 0

  constructor(source: KnexClient) {
    this.source = source
  }

  /** Undefined for what has no such queue. */
  get #pool(): KnexPool | undefined {
    return poolOf(this.source)
  }

  /**
   * A connection that we can read by, in use until `end()`.
   * @throws what knex throws, such as `KnexTimeoutError`
   * @throws ServiceUnavailable its settings do not fit
   */
  acquire(): Promise<PgConnection> {
    if (!this.#mayWait()) return this.#ask()
    if (!this.#isLooking) this.#lookLater()
    return new Promise((resolve) => {
      this.#waiting.push({ since: performance.now(), resolve })
    })
  }

  /** The next may have the connection as it is, unless the pool is to make another, or something still has to do with it. */
  end(connection: PgConnection, isReusable = true): Promise<void> {
    const next = this.#waiting.length === 0 || this.#isPoolAsked() ? undefined : this.#waiting.shift()
    if (next && isReusable && connection.__knex__disposed === undefined && ++this.#handed < MOST_HANDED) {
      next.resolve(connection)
      return DONE
    }
    this.#used--
    if (!next) return this.source.releaseConnection(connection)
    this.#handed = 0
    const released = this.source.releaseConnection(connection)
    next.resolve(this.#ask())
    return released
  }

  async #ask(): Promise<PgConnection> {
    let connection: CheckedConnection
    this.#asking++
    try {
      connection = await this.source.acquireConnection()
    } finally {
      this.#asking--
    }
    if (connection[STATE] !== true) {
      await knownSession(connection)
      const refusal = refusalOf(connection)
      if (refusal) {
        await this.source.releaseConnection(connection)
        throw refusal
      }
    }
    this.#used++
    return connection
  }

  /** True where a connection comes from us at the soonest. */
  #mayWait(): boolean {
    if (this.#used === 0) return false
    const pool = this.#pool
    return (
      pool !== undefined &&
      pool.numUsed() >= (pool.max ?? Number.POSITIVE_INFINITY) &&
      pool.numFree() === 0 &&
      pool.numPendingAcquires() <= this.#asking
    )
  }

  #isPoolAsked(): boolean {
    const pool = this.#pool
    return pool !== undefined && pool.numPendingAcquires() > 0
  }

  #lookLater(): void {
    this.#isLooking = true
    setTimeout(() => this.#look(), INTERVAL).unref()
  }

  /** Sends those to the pool who have waited too long or wait for nothing. */
  #look(): void {
    this.#isLooking = false
    const waiting = this.#waiting
    const last = this.#mayWait() ? performance.now() - LONGEST : Number.POSITIVE_INFINITY
    const staying = waiting.findIndex(({ since }) => since > last)
    const leaving = waiting.splice(0, staying === -1 ? waiting.length : staying)
    for (const { resolve } of leaving) resolve(this.#ask())
    if (waiting.length > 0) this.#lookLater()
  }
}

const DONE = Promise.resolve()

/** A setting, what we can work with, and what else would happen. */
interface Rule {
  readonly name: string
  readonly fits: (value: string) => boolean
  readonly harm: string
  readonly fix: string
}

const RULES: readonly Rule[] = [
  {
    name: 'DateStyle',
    fits: (value) => value.startsWith('ISO'),
    harm: 'dates could not be told apart',
    fix: 'ISO',
  },
  { name: 'extra_float_digits', fits: (value) => Number(value) >= 1, harm: 'floats would lose digits', fix: '1' },
  { name: 'array_nulls', fits: (value) => value === 'on', harm: 'null in a list would be stored as a text', fix: 'on' },
]

/** When the client may ask again. */
const RETRY_SECONDS = 5
const QUESTION = `select ${RULES.map(({ name }, index) => `current_setting('${name}') as s${index}`).join(', ')}`

/** State of the connection: a promise while it is checked, then true, or the reason why it cannot be used. */
const STATE = Symbol('whether its settings fit')

interface CheckedConnection extends PgConnection {
  [STATE]?: true | ConfigurationError | Promise<void>
}

/** pg's class of queries, as far as it says how they are sent. */
type QueryClass = new (config: object) => { requiresPreparation?(): boolean }

/** False for pg before 8.12: settings of one transaction would outlive it, roles and tenants among them. */
function sendsExtended(connection: CheckedConnection): boolean {
  const { Query } = connection.constructor as { readonly Query?: QueryClass }
  return Query === undefined || new Query({ text: '', queryMode: 'extended' }).requiresPreparation?.() !== false
}

/** The settings by the names that the question gives them. */
type Settings = Readonly<Record<string, string>>

const isNewPool = firstTime()
/** The connections of a pool that were refused. */
const refusedOf = oncePer((_pool: KnexPool) => new Set<CheckedConnection>())
/** The same, by what a knex and its transactions have in common. */
const refused = new WeakMap<object, ReadonlySet<CheckedConnection>>()

/**
 * Asks the database for its settings, and each connection that the pool will make.
 * @throws {ConfigurationError} values could not be read rightly, or it is no PostgreSQL
 */
export async function checkSession(knex: Queryable): Promise<void> {
  const client = clientOf(knex)
  if (client.dialect !== undefined && client.dialect !== 'postgresql') {
    throw new ConfigurationError(
      `knex({ client }): ${client.dialect} is no PostgreSQL; use the client pg, in tests too`,
    )
  }
  if (client.driverName !== 'pg') {
    const { rows } = (await knex.raw(QUESTION)) as { readonly rows: readonly Settings[] }
    const refusal = refusalFor(rows[0])
    if (refusal) throw refusal
    return
  }
  watch(client)
  closeUnanswered(knex)
  leaveStandbys(knex)
  const connection = (await client.acquireConnection()) as CheckedConnection
  try {
    if (!sendsExtended(connection)) {
      throw new ConfigurationError(
        'knex({ client }): its copy of pg is older than 8.12, which leaves the role and the settings of a request on the connection; install pg 8.12 or newer',
      )
    }
    // what was found before may have been put right
    delete connection[STATE]
    await knownSession(connection)
    const refusal = refusalOf(connection)
    if (refusal) throw refusal.cause
    if (!knex.isTransaction) await requireTransactions(connection)
  } finally {
    await client.releaseConnection(connection)
  }
  if (!knex.isTransaction) await tryDriver(client)
}

/** SQLSTATE of what a pooler refuses of the protocol; PostgreSQL names the file of its own errors. */
const REFUSED_BY_POOLER = '08P01'

/** @throws {ConfigurationError} a pooler gives each statement another connection, so that there are no transactions */
async function requireTransactions(connection: PgConnection): Promise<void> {
  const send = (text: string) =>
    new Promise<Error | null>((resolve) => {
      connection.query<Settings>(text, (error) => resolve(error))
    })
  const refusal = (await send('begin')) as NativeError | null
  if (refusal === null) await send('rollback')
  else if (refusal.code === REFUSED_BY_POOLER && refusal.file === undefined) {
    throw new ConfigurationError(
      'the database connection takes no transactions: a pooler before PostgreSQL gives each statement another one; set its ' +
        'pool_mode to transaction or session',
      { cause: refusal },
    )
  }
}

/** Promise of a connection's settings; undefined where they are known. Never rejects. */
function knownSession(connection: CheckedConnection): Promise<void> | undefined {
  const state = connection[STATE]
  if (state === undefined) return ask(connection)
  return state instanceof Promise ? state : undefined
}

/** Why nothing can be read by a connection; the pool makes another in its place. */
function refusalOf(connection: CheckedConnection): ServiceUnavailable | undefined {
  const state = connection[STATE]
  if (!(state instanceof ConfigurationError)) return undefined
  connection.__knex__disposed ??= state
  return new ServiceUnavailable(RETRY_SECONDS, { cause: state })
}

/** Why nothing can be read by the connection that has this name of knex's now; undefined where it can. */
export function refusalOfUid(knex: Queryable, uid: string | undefined): ServiceUnavailable | undefined {
  const connection = [...(refused.get(clientOf(knex).config) ?? [])].find(({ __knexUid }) => __knexUid === uid)
  return connection && refusalOf(connection)
}

/** Has each connection asked that the pool will make, of a database that may not be there yet. */
export function watchSession(knex: Queryable): void {
  watch(clientOf(knex))
  closeUnanswered(knex)
}

/** Has each new connection asked before the pool hands it out: pg is to send one statement at a time, and to have none wait. */
function watch(client: KnexClient): void {
  const pool = poolOf(client)
  if (!pool) return
  const own = refusedOf(pool)
  refused.set(client.config, own)
  if (!isNewPool(pool)) return
  const check = async (connection: CheckedConnection) => {
    await ask(connection)
    if (connection[STATE] !== true) own.add(connection)
    return connection
  }
  const { creator } = pool
  // a pool that the application has made may take a callback, or be of another kind
  const create = creator?.length === 0 && (async () => check(await creator()))
  if (create) pool.creator = create
  else pool.on('createSuccess', (_, made) => void check(made))
  pool.on('destroySuccess', (_, made) => own.delete(made))
}

function ask(connection: CheckedConnection): Promise<void> {
  const asking = new Promise<void>((resolve) => {
    connection.query<Settings>(QUESTION, (error, result) => {
      // a connection that is lost will report that itself
      const row = error ? undefined : result?.rows[0]
      if (row) connection[STATE] = refusalFor(row) ?? true
      else delete connection[STATE]
      resolve()
    })
  })
  connection[STATE] = asking
  return asking
}

function refusalFor(row: Settings = {}): ConfigurationError | undefined {
  for (const [index, { name, fits, harm, fix }] of RULES.entries()) {
    const value = row[`s${index}`] ?? ''
    if (fits(value)) continue
    return new ConfigurationError(
      `the database connection has ${name} at "${value}", so that ${harm}; run ALTER ROLE … SET ${name} = '${fix}' for the ` +
        `role of the application (a role goes before its database), or give knex's connection options: '-c ${name}=${fix}'`,
    )
  }
  return undefined
}
