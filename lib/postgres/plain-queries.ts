/**
 * Plain queries: whether statements go through pg's documented `query()` only, or below it, by what pg does not document. That it
 * still behaves as we know it is tried on a connection of each knex, before the first request.
 */

import { oncePerUntilFailed } from '../kernel/once-per.js'
import { messageOf } from '../kernel/quote.js'
import { preparesStatements, queriesPlainly } from '../kernel/settings.js'
import { warnOnce } from '../kernel/warn-once.js'
import { within } from '../kernel/within.js'
import type { LocalSettings } from './local-settings.js'
import type { KnexClient, PgConnection } from './pg-types.js'
import { type RawRow, TEXTS } from './row-stream.js'
import { queryWithSettings, SettingsPrefix } from './scoped-query.js'
import { POOLED, statementOf } from './statement.js'
import { TextQuery } from './text-query.js'

const IS_PLAIN = Symbol('its copy of pg behaves otherwise than we know it')

interface Tried extends PgConnection {
  /** On what the connections of a copy of pg have in common. */
  readonly [IS_PLAIN]?: true
}

/** True where pg itself writes what is sent, one statement at a time. */
export function sendsPlainly(connection: PgConnection): boolean {
  return connection.pipeline === true || (connection as Tried)[IS_PLAIN] === true || queriesPlainly()
}

/** A server that is there answers sooner, and pg that never calls back is no longer waited for. */
const LONGEST_MILLISECONDS = 5_000
/** So that a connection that is lost meanwhile is not taken for pg's doing. */
const ATTEMPTS = 2

/**
 * Tries pg on a connection of the pool, once. Where it fails, all statements of its copy are sent plainly, with a warning.
 * @throws what knex throws where there is no connection
 */
export const tryDriver = oncePerUntilFailed(async (client: KnexClient) => {
  let failure: unknown
  let connection: PgConnection | undefined
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    connection = await client.acquireConnection()
    failure = sendsPlainly(connection) ? undefined : await failureOf(connection)
    // what was sent on it may have left anything behind
    if (failure !== undefined) connection.__knex__disposed ??= failure
    await client.releaseConnection(connection)
    if (failure === undefined) return
  }
  Object.defineProperty(Object.getPrototypeOf(connection), IS_PLAIN, { value: true })
  warnOnce(
    'KOA_VIEWSETS_PLAIN_QUERIES',
    `pg behaves otherwise than koa-viewsets knows it (${messageOf(failure)}): statements go ` +
      'through its documented query() only, which takes longer. PLAIN_QUERIES=true does so without being tried.',
  )
})

type Done = (error: Error | null, result?: { readonly rows: readonly unknown[] }) => void
type Send = (connection: PgConnection, name: string, done: Done) => void

const TEXT = 'select $1::text, $2::text'
/** In letters that each encoding of a database has. */
const VALUES = ['one', null]
const SETTINGS: LocalSettings = {
  text: 'select set_config($1, $2, true)',
  values: ['koa_viewsets.trial', 'set'],
  hasRole: false,
  readOnly: false,
}
const SET = "select current_setting('koa_viewsets.trial')"
const PLAIN = { getTypeParser: () => (text: string) => text }

/** The ways in which statements are sent, each with the row that it brings. A named one is prepared the first time, and run the second. */
const WAYS: readonly (readonly [send: Send, row: RawRow])[] = [
  [(connection, name, done) => connection.query(new TextQuery({ text: TEXT, name }, VALUES, TEXTS, done)), VALUES],
  [(connection, name, done) => connection.query(new TextQuery({ text: TEXT, name }, VALUES, TEXTS, done)), VALUES],
  [
    (connection, _, done) => {
      const prefix = new SettingsPrefix(SETTINGS)
      connection.query(new TextQuery({ text: SET, prefix }, [], TEXTS, done))
    },
    ['set'],
  ],
  [
    (connection, _, done) => {
      const query = { text: SET, values: [], rowMode: 'array', types: PLAIN }
      queryWithSettings(connection, SETTINGS, query, done as never)
    },
    ['set'],
  ],
]

/** Problem of statements that are sent in our ways; undefined for none. */
async function failureOf(connection: PgConnection): Promise<unknown> {
  const { name = '' } = preparesStatements() ? statementOf(TEXT) : {}
  try {
    for (const [send, row] of WAYS) {
      const answered = new Promise<readonly unknown[]>((resolve, reject) => {
        send(connection, name, (error, result) => (error ? reject(error) : resolve(result?.rows ?? [])))
      })
      const rows = await within(LONGEST_MILLISECONDS, answered)
      if (JSON.stringify(rows) !== JSON.stringify([row])) return new Error('a statement brings other rows')
    }
  } catch (error) {
    // a pooler that gives each statement another connection is no fault of pg's
    return POOLED.has(String((error as { code?: unknown }).code)) ? undefined : error
  }
  return undefined
}
