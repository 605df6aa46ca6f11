/**
 * Settings of the database under which PostgreSQL's strings are not the values they stand for: then it is better to answer
 * nothing. A role or a database may bring them, and each new connection may find others than the one before.
 */

import { ConfigurationError, ServiceUnavailable } from '../kernel/errors.js'
import { firstTime, oncePer } from '../kernel/once-per.js'
import type { Queryable } from './pg-types.js'

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

/** What is known of the connection: a promise while it is asked, then true, or why nothing can be read by it. */
const STATE = Symbol('whether its settings fit')

/** A connection of pg, as far as we ask it. */
interface Connection {
  readonly __knexUid?: string
  /** Why knex's pool is to make another in its place. */
  __knex__disposed?: unknown
  [STATE]?: true | ConfigurationError | Promise<void>
  query(text: string, done: (error: Error | null, result?: Answer) => void): void
}

/** The settings by the names that the question gives them. */
interface Answer {
  readonly rows: readonly Readonly<Record<string, string>>[]
}

interface Client {
  readonly driverName?: string
  readonly config: object
  readonly pool?: {
    on?(event: 'createSuccess' | 'destroySuccess', listener: (id: number, made: unknown) => void): void
  }
  acquireConnection(): Promise<unknown>
  releaseConnection(connection: unknown): Promise<void>
}

const isNewPool = firstTime()
/** The connections of a knex and its transactions that were refused, by the name that knex gives them. */
const refused = oncePer<object, Map<string, Connection>>(() => new Map())

/**
 * Asks the database for its settings, and each connection that the pool will make.
 * @throws {ConfigurationError} values could not be read rightly
 */
export async function checkSession(knex: Queryable): Promise<void> {
  const client = knex.client as Client
  if (client.driverName !== 'pg') {
    const { rows } = (await knex.raw(QUESTION)) as Answer
    const refusal = refusalFor(rows[0])
    if (refusal) throw refusal
    return
  }
  watch(client)
  const connection = (await client.acquireConnection()) as Connection
  try {
    // what was found before may have been put right
    delete connection[STATE]
    await knownSession(connection)
    const refusal = refusalOf(connection)
    if (refusal) throw refusal.cause
  } finally {
    await client.releaseConnection(connection)
  }
}

/** What to wait for until a connection's settings are known; undefined where they are. Never rejects. */
export function knownSession(connection: unknown): Promise<void> | undefined {
  const own = connection as Connection
  const state = own[STATE]
  if (state === undefined) return ask(own)
  return state instanceof Promise ? state : undefined
}

/** Why nothing can be read by a connection; the pool makes another in its place. */
export function refusalOf(connection: unknown): ServiceUnavailable | undefined {
  const own = connection as Connection
  const state = own[STATE]
  if (!(state instanceof ConfigurationError)) return undefined
  own.__knex__disposed ??= state
  return new ServiceUnavailable(RETRY_SECONDS, { cause: state })
}

/** Why nothing can be read by the connection that knex gives this name; undefined where it can. */
export function refusalOfUid(knex: Queryable, uid: string | undefined): ServiceUnavailable | undefined {
  const connection = refused((knex.client as Client).config).get(uid ?? '')
  return connection && refusalOf(connection)
}

/** Has each new connection asked before anything else is sent to it. */
function watch({ pool, config }: Client): void {
  if (!pool?.on || !isNewPool(pool)) return
  const own = refused(config)
  pool.on('createSuccess', (_, made) => {
    const connection = made as Connection
    void ask(connection).then(() => {
      if (connection[STATE] !== true) own.set(connection.__knexUid ?? '', connection)
    })
  })
  pool.on('destroySuccess', (_, made) => own.delete((made as Connection).__knexUid ?? ''))
}

function ask(connection: Connection): Promise<void> {
  const asking = new Promise<void>((resolve) => {
    connection.query(QUESTION, (error, result) => {
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

function refusalFor(row: Answer['rows'][number] = {}): ConfigurationError | undefined {
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
