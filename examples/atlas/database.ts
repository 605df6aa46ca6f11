/** The atlas's database: the one of DATABASE_URL, or a PostgreSQL of its own that keeps its data. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import knex, { type Knex } from 'knex'
import type { ClientConfig } from 'pg'
import { type Postgres, startPostgres } from '../support/postgres.js'

export interface AtlasDatabase {
  readonly knex: Knex
  /** A small pool for the counts of throttles, so that they never wait for slow queries. */
  readonly counting: Knex
  /** Closes the connections, and stops the PostgreSQL if it is ours. */
  stop(): Promise<void>
}

/**
 * Opens the database and fills it on the first start.
 *
 * With DATABASE_URL set, the tables `countries` and `cities` are created there. Otherwise a PostgreSQL is started whose
 * data stays in the user's cache folder; while another start of the example is using that, or where it cannot be
 * written, the data is temporary.
 */
export async function openDatabase(): Promise<AtlasDatabase> {
  const url = process.env['DATABASE_URL']
  const postgres = url ? undefined : await startKeptOrTemporary()
  const connection: ClientConfig = postgres ? { ...postgres.connection } : { connectionString: url }
  const db = createPool(connection, 20)
  const counting = createPool(connection, 2)
  async function stop(): Promise<void> {
    await Promise.all([db.destroy(), counting.destroy()])
    await postgres?.stop()
  }
  try {
    const { rows } = await db.raw<{ rows: { done: boolean }[] }>(`SELECT to_regclass('cities') IS NOT NULL AS done`)
    if (!rows[0]?.done) await seed(connection)
    return { knex: db, counting, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

async function startKeptOrTemporary(): Promise<Postgres> {
  try {
    return await startPostgres({ dataDir: join(cacheFolder(), 'koa-viewsets', 'atlas') })
  } catch (error) {
    console.warn(error instanceof Error ? error.message : error)
    console.warn('This run uses a temporary database.')
    return startPostgres()
  }
}

/** Where data stays between starts. */
export function cacheFolder(): string {
  // Root's home is closed to the user that PostgreSQL runs as then.
  const ofUser = process.getuid?.() === 0 ? '/var/cache' : join(homedir(), '.cache')
  return process.env['XDG_CACHE_HOME'] || ofUser
}

/** A pool with an end to every wait: for a connection, for a statement, and for a server that has gone silent. */
function createPool(connection: ClientConfig, max: number): Knex {
  const limits = { statement_timeout: 10_000, query_timeout: 15_000, keepAlive: true, application_name: 'atlas' }
  return knex({
    client: 'pg',
    connection: { ...connection, ...limits } as Knex.PgConnectionConfig,
    pool: { min: 0, max },
    acquireConnectionTimeout: 5_000,
    // Messages of errors, which go to the log, have placeholders in place of what a client sent.
    compileSqlOnError: false,
  })
}

async function seed(connection: ClientConfig): Promise<void> {
  const child = fork(fileURLToPath(new URL('seed.ts', import.meta.url)), {
    execArgv: ['--import', import.meta.resolve('tsx')],
  })
  child.send(connection)
  const [code] = (await once(child, 'exit')) as [number | null]
  if (code !== 0) throw new Error('The tables were not filled. The next start tries again.')
}
