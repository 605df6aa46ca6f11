/** Runs SQL on a connection of knex's own pool: prepared by name, rows as raw text (promise I21). */

import type { Knex } from 'knex'
import { ClientGone } from '../kernel/errors.js'
import { isError } from '../kernel/realms.js'
import { preparesStatements } from '../kernel/settings.js'
import { cancelStatement } from './cancel-statement.js'
import { type ConnectionQueue, queueOf } from './connection-queue.js'
import type { LocalSettings } from './local-settings.js'
import {
  type AnswerField,
  clientOf,
  type KnexClient,
  type PgConnection,
  type Queryable,
  type TypeParsers,
} from './pg-types.js'
import { sendsPlainly } from './plain-queries.js'
import { type RawRow, type RowFormat, TEXTS } from './row-stream.js'
import { type KnexScope, scopeOf } from './scoped-knex.js'
import { queryWithSettings, SettingsPrefix } from './scoped-query.js'
import { isLost, isStale, POOLED, type Statement, statementOf, warnOfPooler } from './statement.js'
import { asTexts, TextQuery } from './text-query.js'

export type { RawRow } from './row-stream.js'
export { type Statement, statementOf }

interface Answer<Row> {
  readonly rows: Row[]
}

type Done<Row> = (error: Error | null, result?: Answer<Row>) => void

/** Values by the names of their columns. */
type Cells = Record<string, unknown>

/** Result of pg. */
export interface PgAnswer extends Answer<Cells> {
  readonly fields: readonly AnswerField[]
  readonly rowCount: number | null
}

/** Leaves every value as the text that PostgreSQL sent. */
const asText = (text: string) => text
const RAW = { getTypeParser: () => asText }

const NO_ROWS: Answer<never> = { rows: [] }

/**
 * Runs a statement and returns its rows, as text. Inside a transaction it is sent without a name: a stale one would end
 * the transaction. Elsewhere a stale one is sent again without, and stays so.
 * @param recipient whoever the rows are for, of a statement that only reads: once it is gone, the statement is not begun,
 * and stopped if it runs. Not inside a transaction, whose end is the caller's
 * @param format makes the rows of what PostgreSQL sends; by default the text of each column
 * @throws ClientGone the recipient is gone
 */
export async function runStatement<Row = RawRow>(
  knex: Queryable,
  statement: Statement,
  values: readonly unknown[],
  recipient?: StatementClient,
  format = TEXTS as unknown as RowFormat<Row>,
): Promise<Row[]> {
  const scope = scopeOf(knex)
  if (scope) return runScoped(format, knex, scope, { statement, values, recipient })
  const queue = queueOf(clientOf(knex))
  const reader = knex.isTransaction ? undefined : recipient
  const name = knex.isTransaction || !preparesStatements() ? undefined : statement.name
  const connection = await queue.acquire()
  try {
    return (await send({ knex, queue, connection }, { text: statement.text, name }, values, format, reader)).rows
  } catch (error) {
    const { code = '' } = error as { code?: string }
    if (name === undefined || !isStale(error)) throw error
    statement.name = undefined
    if (POOLED.has(code)) warnOfPooler()
    return (await send({ knex, queue, connection: await queue.acquire() }, statement, values, format, reader)).rows
  }
}

interface ScopedStatement {
  readonly statement: Statement
  readonly values: readonly unknown[]
  readonly recipient: StatementClient | undefined
}

/** Runs a statement behind the settings of its knex: one transaction, which its end or its error ends. */
async function runScoped<Row>(
  format: RowFormat<Row>,
  knex: Queryable,
  { base, settings }: KnexScope,
  { statement, values, recipient }: ScopedStatement,
): Promise<Row[]> {
  const queue = queueOf(clientOf(base))
  const connection = await queue.acquire()
  const sender = { knex: base, queue, connection }
  if (sendsPlainly(connection)) {
    await queue.end(connection)
    return knex.transaction((trx) => runStatement(trx, statement, values, undefined, format))
  }
  const names = preparesStatements()
  const setting = statementOf(settings.text)
  const asked = { text: statement.text, name: names ? statement.name : undefined }
  const prefix = new SettingsPrefix(settings, names ? setting.name : undefined)
  try {
    return (await send(sender, { ...asked, prefix, settings }, values, format, recipient)).rows
  } catch (error) {
    const { code = '' } = error as { code?: string }
    if (!names || !isStale(error)) throw error
    statement.name = undefined
    // whichever of the two it was: what a pooler does to one it does to both
    if (POOLED.has(code)) {
      setting.name = undefined
      warnOfPooler()
    }
    const again = { text: statement.text, name: undefined, prefix: new SettingsPrefix(settings), settings }
    return (await send({ ...sender, connection: await queue.acquire() }, again, values, format, recipient)).rows
  }
}

/**
 * Runs a statement without a name and returns what pg makes of its answer: the columns are those that PostgreSQL describes,
 * which may have changed since the catalogue was read.
 */
export async function runAsPg(
  knex: Queryable,
  text: string,
  values: readonly unknown[],
  types: TypeParsers,
  recipient?: StatementClient,
): Promise<PgAnswer> {
  const scope = scopeOf(knex)
  const own = scope?.base ?? knex
  const queue = queueOf(clientOf(own))
  const connection = await queue.acquire()
  const sender = { knex: own, queue, connection }
  if (scope && sendsPlainly(connection)) {
    await queue.end(connection)
    return knex.transaction((trx) => runAsPg(trx, text, values, types))
  }
  const reader = own.isTransaction ? undefined : recipient
  return (await send(sender, { text, name: undefined, settings: scope?.settings }, values, types, reader)) as PgAnswer
}

/** Connection for a statement, and its source. */
interface Sender {
  readonly knex: Queryable
  readonly queue: ConnectionQueue
  readonly connection: PgConnection
}

/** A statement, and what is sent before it. */
interface Sent extends Statement {
  readonly prefix?: SettingsPrefix
  readonly settings?: LocalSettings | undefined
}

function send<Row>(
  { knex, queue, connection }: Sender,
  { text, name, prefix, settings }: Sent,
  values: readonly unknown[],
  format: RowFormat<Row> | TypeParsers,
  recipient?: StatementClient,
): Promise<Answer<Row>> {
  const client = queue.source
  const bindings = [...values]
  const event = { __knexUid: connection.__knexUid, method: 'select', sql: text, bindings }
  try {
    if (recipient?.destroyed) throw new ClientGone()
    // as knex does: its connection may be another request's by now
    if (knex.isTransaction && (knex as Knex.Transaction).isCompleted())
      throw new Error('Transaction query already complete')
    client.emit('query', event)
  } catch (error) {
    return queue.end(connection).then(() => {
      throw error
    })
  }
  const running = recipient && begin(knex, connection, recipient)
  // the callback form: with promises V8 comes to keep rows in the old generation, which costs half as much again
  return new Promise((resolve, reject) => {
    const done: Done<Row> = (error, result) => {
      const stopping = running && end(running)
      if (error && isLost(error)) dispose(connection, error)
      // before the connection is given back, which a listener may dispose of
      try {
        // in place of knex's builder
        const builder = { toString: () => text }
        if (error) client.emit('query-error', error, event, builder)
        else client.emit('query-response', result?.rows, event, builder)
      } catch (failure) {
        // a listener's own: thrown from here it would end the process
        reject(isError(failure) ? failure : new Error(String(failure)))
      }
      if (stopping) {
        const release = () => queue.end(connection, false)
        stopping
          .catch((failure) => dispose(connection, failure))
          .then(release)
          .catch(reject)
      } else {
        queue.end(connection, !error).catch(reject)
      }
      if (error) reject(stopping ? new ClientGone() : error)
      else resolve(result ?? NO_ROWS)
    }
    if ('getTypeParser' in format) {
      const query = { text, values: bindings, types: format }
      if (settings) queryWithSettings(connection, settings, query, done as never)
      else connection.query(query, done as Done<Cells>)
      return
    }
    const texts = sendsPlainly(connection) ? undefined : asTexts(bindings)
    if (texts) {
      connection.query(new TextQuery({ text, name, prefix }, texts, format, done))
    } else {
      const query = { text, values: bindings, rowMode: 'array', types: RAW } as const
      const read: Done<RawRow> = (error, result) =>
        result ? done(error, { rows: result.rows.map(format.ofTexts) }) : done(error)
      if (settings) queryWithSettings(connection, settings, query, read as never)
      else connection.query(name === undefined ? query : { name, ...query }, read)
    }
  })
}

/** Has the pool make a new connection in place of this one. */
function dispose(connection: PgConnection, reason: unknown): void {
  connection.__knex__disposed ??= reason
}

/** True where rows can be read this way: knex over pg's own JavaScript client. */
export function readsRawRows(knex: Queryable): boolean {
  return clientOf(knex).driverName === 'pg'
}

/** Whoever waits for the rows of a statement: the socket of a request. */
export interface StatementClient {
  readonly destroyed: boolean
}

/** A builder of knex, before it is run. */
interface Unsent {
  client: KnexClient
  on(event: 'query-error', listener: () => void): unknown
}

/**
 * Stops a statement that knex itself runs once the recipient is gone, as those of ours are: not inside a transaction. Its
 * error is then a `ClientGone`.
 */
export function stopWith(recipient: StatementClient | undefined, knex: Queryable, builder: Unsent): void {
  if (!recipient || knex.isTransaction) return
  const { client } = builder
  let running: RunningStatement | undefined
  // knex gives a connection back by the client of the builder
  builder.client = Object.assign(Object.create(client) as KnexClient, {
    async acquireConnection(): Promise<PgConnection> {
      const connection = await client.acquireConnection()
      if (recipient.destroyed) {
        await client.releaseConnection(connection)
        throw new ClientGone()
      }
      running = begin(knex, connection, recipient)
      return connection
    },
    async releaseConnection(connection: PgConnection): Promise<void> {
      if (running) await end(running)?.catch((failure) => dispose(connection, failure))
      return client.releaseConnection(connection)
    },
  })
  builder.on('query-error', () => {
    if (running?.stopping) throw new ClientGone()
  })
}

/** How often we look after those who wait for rows, in milliseconds: a statement that is shorter costs no more than being noted. */
const INTERVAL = 100

const running = new Set<RunningStatement>()
let isLooking = false

/** A statement while it runs. */
interface RunningStatement {
  readonly knex: Queryable
  readonly connection: PgConnection
  readonly recipient: StatementClient
  /** Cancel request that is still on its way: nobody else may have the connection before it is settled. */
  stopping: Promise<void> | undefined
}

/** Notes a statement; `end()` is to be called when it has ended. */
function begin(knex: Queryable, connection: PgConnection, recipient: StatementClient): RunningStatement {
  const statement = { knex, connection, recipient, stopping: undefined }
  running.add(statement)
  if (!isLooking) look()
  return statement
}

/** Cancel request that is still on its way; undefined for none. */
function end(statement: RunningStatement): Promise<void> | undefined {
  running.delete(statement)
  return statement.stopping
}

function look(): void {
  isLooking = running.size > 0
  for (const statement of running) {
    const { knex, connection, recipient, stopping } = statement
    if (!recipient.destroyed || stopping) continue
    statement.stopping = cancelStatement(knex, connection)
    // heard by whoever ends the statement
    statement.stopping.catch(() => {})
  }
  if (isLooking) setTimeout(look, INTERVAL).unref()
}
