/**
 * Traces statements of known databases, whoever sends them: where pg takes them, on each connection of knex's pool. Their
 * connections are left alone until the first request is traced.
 */

import { AsyncResource } from 'node:async_hooks'
import { firstTime } from '../kernel/once-per.js'
import { currentTrace } from '../kernel/trace.js'
import { CHANNELS, type SqlTrace } from '../kernel/trace-channels.js'
import { clientOf, type KnexClient, type PgConnection, poolOf, type Queryable } from './pg-types.js'
import { firstWord } from './sql-text.js'

type Done = (error: unknown, ...rest: unknown[]) => void

/** A query object that speaks the protocol itself, as pg takes them. */
interface Submittable {
  readonly text?: unknown
  readonly name?: unknown
  readonly submit: unknown
  callback?: Done
  readonly handleReadyForQuery?: (...given: unknown[]) => void
  readonly handleError?: Done
}

/** Query of a pg connection, as far as it is watched. */
type Query = string | Submittable | { readonly text?: unknown; readonly name?: unknown }

interface Connection {
  query: (query: Query, ...rest: unknown[]) => unknown
}

const isNewPool = firstTime()
const isNewConnection = firstTime()
const isNewClient = firstTime()
/** Databases that nobody has had to watch yet. */
let unwatched: WeakRef<KnexClient>[] = []

/** Remembers a database for when a request is traced. */
export function noteDatabase(knex: Queryable): void {
  const client = clientOf(knex)
  if (isNewClient(client)) unwatched.push(new WeakRef(client))
}

/** Watches the databases that are known by now. */
export function watchDatabases(): void {
  if (unwatched.length === 0) return
  const clients = unwatched
  unwatched = []
  for (const client of clients) watch(client.deref())
}

export function watchDatabase(knex: Queryable): void {
  watch(clientOf(knex))
}

/** True where statements can be watched: a pool that is neither knex's nor pg's reports no connections. */
export function isWatchable(knex: Queryable): boolean {
  return poolOf(clientOf(knex)) !== undefined
}

function watch(client: KnexClient | undefined): void {
  const pool = client && poolOf(client)
  if (!pool || !isNewPool(pool)) return
  pool.on('createSuccess', (_, connection) => watchConnection(connection))
  for (const { resource } of [...(pool.free ?? []), ...(pool.used ?? [])]) watchConnection(resource)
}

function watchConnection(made: PgConnection): void {
  if (!isNewConnection(made)) return
  const connection = made as unknown as Connection
  const { query } = connection
  const watched: Connection['query'] = (asked, ...rest) => {
    const end = begin(asked)
    if (!end) return query.call(connection, asked, ...rest)
    if (isSubmittable(asked)) {
      endWith(asked, end)
      return query.call(connection, asked, ...rest)
    }
    const at = rest.findLastIndex((one) => typeof one === 'function')
    if (at === -1) {
      const answer = query.call(connection, asked, ...rest) as Promise<unknown>
      answer.then(() => end(null), end)
      return answer
    }
    const done = rest[at] as Done
    const told: Done = (error, ...others) => {
      end(error)
      done(error, ...others)
    }
    return query.call(connection, asked, ...rest.with(at, told))
  }
  connection.query = watched
}

/** True for a query that reads its own answer, as cursors do. */
export function isSubmittable(query: Query): query is Submittable {
  return typeof query === 'object' && 'submit' in query && typeof query.submit === 'function'
}

/** Has a query object call back at its end: by its callback, or, as a cursor has none, by what the protocol calls then. */
function endWith(query: Submittable, end: Done): void {
  const { callback, handleReadyForQuery, handleError } = query
  if (callback) {
    const told: Done = (error, ...rest) => {
      end(error)
      callback.call(query, error, ...rest)
    }
    query.callback = told
    return
  }
  const ready = (...given: unknown[]) => {
    end(null)
    handleReadyForQuery?.apply(query, given)
  }
  const failed: Done = (error, ...rest) => {
    end(error)
    handleError?.call(query, error, ...rest)
  }
  Object.assign(query, { handleReadyForQuery: ready, handleError: failed })
}

/** Callback for the end of a statement; undefined without listeners. */
function begin(query: Query): Done | undefined {
  const channel = CHANNELS.sql
  const trace = currentTrace()
  const timings = trace?.timings
  const isHeard = channel.hasSubscribers
  if (!isHeard && !timings) return undefined
  timings?.beginStatement()
  const event = isHeard ? eventOf(query, trace?.names) : undefined
  if (event) {
    // nothing is done in them, but whoever binds a store wants to be asked
    channel.start.runStores(event, () => {})
    channel.end.publish(event)
  }
  // `AsyncResource.bind()` takes several times as long
  const scope = event && new AsyncResource('koa-viewsets:sql')
  let isOver = false
  return (error) => {
    if (isOver) return
    isOver = true
    timings?.endStatement()
    if (event) scope?.runInAsyncScope(publishEnd, undefined, event, error)
  }
}

function publishEnd(event: SqlTrace, error: unknown): void {
  const channel = CHANNELS.sql
  if (error) {
    event.error = error
    channel.error.publish(event)
  }
  channel.asyncStart.publish(event)
  channel.asyncEnd.publish(event)
}

function eventOf(query: Query, request: SqlTrace['request']): SqlTrace {
  const { text: given, name } = typeof query === 'string' ? { text: query, name: undefined } : query
  const text = typeof given === 'string' ? given : ''
  return {
    request,
    text,
    operation: firstWord(text),
    statement: typeof name === 'string' && name !== '' ? name : undefined,
  }
}
