/** The database that DATABASE_URL names, for commands that read its catalogue. */
import type { Knex } from 'knex'
import { UsageError } from '../command.js'

/** What pg can read. */
const URL_START = /^(?:postgres(?:ql)?|socket):\/\/|^\//
const CONNECT_MILLISECONDS = 10_000
const STATEMENT_MILLISECONDS = 60_000

/**
 * A pool of one connection to the database that DATABASE_URL names; nothing is opened yet.
 * @throws {UsageError} DATABASE_URL is missing or none of PostgreSQL
 */
export async function openDatabase(): Promise<Knex> {
  const url = process.env['DATABASE_URL'] ?? ''
  if (url === '') {
    throw new UsageError('DATABASE_URL is not set; it names the database to read, such as postgres://user@host/books')
  }
  if (!URL_START.test(url))
    throw new UsageError('DATABASE_URL is no URL of PostgreSQL, such as postgres://user@host/books')
  const { default: knex } = await import('knex')
  return knex({
    client: 'pg',
    connection: {
      connectionString: url,
      connectionTimeoutMillis: CONNECT_MILLISECONDS,
      query_timeout: STATEMENT_MILLISECONDS,
    } as Knex.PgConnectionConfig,
    pool: { min: 0, max: 1 },
    acquireConnectionTimeout: CONNECT_MILLISECONDS + 1_000,
    // what is wrong is reported once, by the command
    log: { error: silent, warn: silent },
  })
}

/**
 * Gives work a transaction that only reads, all of it at one moment. The URL is written nowhere, not even into errors.
 * @throws {UsageError} as `openDatabase()`
 * @throws Error the database cannot be reached, or refuses what is read
 */
export async function readDatabase<Result>(work: (trx: Knex.Transaction) => Promise<Result>): Promise<Result> {
  const database = await openDatabase()
  try {
    await reach(database, process.env['DATABASE_URL'] as string)
    return await database.transaction(work, { isolationLevel: 'repeatable read', readOnly: true })
  } finally {
    await database.destroy()
  }
}

function silent(): void {}

/** @throws Error saying why there is no connection */
async function reach(database: Knex, url: string): Promise<void> {
  try {
    await database.raw('select 1')
  } catch (error) {
    throw new Error(`the database of DATABASE_URL cannot be read: ${reasonOf(error).replaceAll(url, 'DATABASE_URL')}`)
  }
}

/** What is wrong: of several addresses that were tried, the first. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError && error.errors.length > 0) return reasonOf(error.errors[0])
  const { message = '', code = '' } = error as { readonly message?: string; readonly code?: string }
  return message || code || String(error)
}
