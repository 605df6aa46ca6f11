/** Database ping with a time limit: it costs one round trip, and no request its connection. */

import type { Knex } from 'knex'
import { TooLate, within } from '../kernel/within.js'
import { clientOf, type KnexClient, type KnexPool, openBeside, type PgConnection, poolOf } from './pg-types.js'

export interface Question {
  readonly text: string
  readonly values: readonly (readonly string[])[]
}

type Row = Readonly<Record<string, unknown>>

const ALIVE: Question = { text: 'select 1', values: [] }

/**
 * The first row of the answer; undefined where all connections of the pool are in use and the database has answered `select
 * 1` by a connection of its own: a full pool is no dead database, and nobody who waits in it shall wait for this. Undefined too
 * where the database has no connection left.
 * @param milliseconds how long all of it may take
 * @throws TooLate, or what pg or knex throw
 */
export async function askDatabase(knex: Knex, question: Question, milliseconds: number): Promise<Row | undefined> {
  const client = clientOf(knex)
  const pool = poolOf(client)
  const end = performance.now() + milliseconds
  if (!pool) return firstRow(await within(milliseconds, rawAnswer(knex, question)))
  let connection: PgConnection | undefined
  try {
    connection = isFull(pool) ? undefined : await acquire(pool, end)
  } catch (error) {
    if (isServerFull(error)) return undefined
    throw error
  }
  if (!connection) {
    await askBeside(client, end)
    return undefined
  }
  try {
    return await ask(connection, question, end)
  } finally {
    pool.release(connection)
  }
}

/** knex writes its own placeholders. */
function rawAnswer(knex: Knex, { text, values }: Question): PromiseLike<unknown> {
  return knex.raw(text.replaceAll(/\$\d/g, '?'), values as Knex.RawBinding[])
}

function firstRow(result: unknown): Row | undefined {
  return (result as { readonly rows?: readonly Row[] }).rows?.[0]
}

function isFull(pool: KnexPool): boolean {
  return pool.numFree() === 0 && pool.numUsed() + pool.numPendingCreates() >= (pool.max ?? Number.POSITIVE_INFINITY)
}

function untilEnd(end: number): number {
  return Math.max(1, end - performance.now())
}

/** A connection of the pool; undefined where it has filled while we waited. */
async function acquire(pool: KnexPool, end: number): Promise<PgConnection | undefined> {
  const pending = pool.acquire()
  const wait = async (milliseconds: number) => {
    try {
      return await within(milliseconds, pending.promise)
    } catch (error) {
      if (error instanceof TooLate) return undefined
      throw error
    }
  }
  const connection = (await wait(untilEnd(end) / 2)) ?? (isFull(pool) ? undefined : await wait(untilEnd(end)))
  if (connection) return connection
  pending.abort()
  // it may have come in the same moment
  pending.promise.then((late) => pool.release(late)).catch(() => {})
  if (isFull(pool)) return undefined
  throw new TooLate(untilEnd(end))
}

/** Connections of our own that are being opened: to a network that is silent there is one, however often it is asked. */
const openings = new WeakMap<KnexClient, Promise<PgConnection>>()

/** By a connection of our own, which is closed again. */
async function askBeside(client: KnexClient, end: number): Promise<void> {
  const earlier = openings.get(client)
  if (earlier) {
    // whoever has begun it closes it
    await within(untilEnd(end), earlier)
    return
  }
  const opening = openBeside(client)
  openings.set(client, opening)
  const forget = () => openings.delete(client)
  opening.then(forget, forget)
  try {
    await ask(await within(untilEnd(end), opening), ALIVE, end)
  } catch (error) {
    if (!isServerFull(error)) throw error
  } finally {
    opening.then((connection) => client.destroyRawConnection(connection)).catch(() => {})
  }
}

/** `too_many_connections`: who says so is there. */
function isServerFull(error: unknown): boolean {
  return (error as { code?: unknown }).code === '53300'
}

async function ask(connection: PgConnection, question: Question, end: number): Promise<Row | undefined> {
  const asked = new Promise<Row | undefined>((resolve, reject) => {
    connection.query<Row>(question, (error, result) => (error ? reject(error) : resolve(result?.rows[0])))
  })
  try {
    return await within(untilEnd(end), asked)
  } catch (error) {
    if (error instanceof TooLate) {
      // it may never answer, and a request would wait as long
      connection.__knex__disposed ??= error
      connection.connection?.stream?.destroy()
    }
    throw error
  }
}
