/** A database of its own for each test file, on the server of the test run. */
import { randomBytes } from 'node:crypto'
import knex, { type Knex } from 'knex'
import pg, { type ClientConfig } from 'pg'
import { inject } from 'vitest'
import type { PoolMode } from './pgbouncer.js'
import { actOutsideRequests, LOGIN, runsAsRole } from './roles.js'

export interface DatabaseOptions {
  /** SQL to run in the new database: one or more statements. */
  schema?: string
  /** What its text is stored in. @default that of the server's template */
  encoding?: 'LATIN1' | 'EUC_JP'
  /** A database to copy, whose tables have the same numbers; nobody is connected to it. */
  copied?: string
}

export interface TestDatabase {
  name: string
  /** A pool of at most ten connections. */
  knex: Knex
  /** For a `pg` client or pool, or another knex. */
  connection: ClientConfig
  /** The same past PgBouncer, where the run goes through one. */
  direct: ClientConfig
  /** Closes the pool and drops the database, whoever else is still connected to it. */
  drop(): Promise<void>
}

/** The pool mode of the PgBouncer that this run goes through, if any: `npm run test:pgbouncer`. */
export function poolMode(): PoolMode | undefined {
  return inject('pgbouncer')?.mode
}

/**
 * Creates an empty database and runs the schema in it.
 * @example
 * const database = await createDatabase({ schema: 'create table papers (id int primary key)' })
 * afterAll(() => database.drop())
 */
export async function createDatabase({
  schema,
  encoding,
  copied = 'template1',
}: DatabaseOptions = {}): Promise<TestDatabase> {
  const server = inject('postgres')
  const name = `test_${randomBytes(8).toString('hex')}`
  await runSql(
    server,
    `CREATE DATABASE ${name} TEMPLATE ${encoding ? `template0 ENCODING '${encoding}' LOCALE 'C'` : `${copied} STRATEGY file_copy`}`,
  )
  const direct = { ...server, database: name }
  if (schema) await runSql(direct, schema)
  const pgbouncer = inject('pgbouncer')
  const connection = pgbouncer ? { ...pgbouncer.connection, database: name } : direct
  const pool = { min: 0, max: 10 }
  const login = runsAsRole() ? { ...connection, user: LOGIN, password: 'x' } : connection
  // A copy, because knex hides the password in the object it is given.
  const db = knex({
    client: 'pg',
    connection: { ...login } as Knex.PgConnectionConfig,
    pool,
    acquireConnectionTimeout: 5_000,
  })
  if (runsAsRole()) actOutsideRequests(db)
  return {
    name,
    knex: db,
    connection,
    direct,
    async drop() {
      await db.destroy()
      await runSql(server, `DROP DATABASE ${name} WITH (FORCE)`)
    },
  }
}

/** Returns the SQL texts that ran while `work` did, `BEGIN` and `COMMIT` of its transactions included. */
export async function countQueries(db: Knex, work: () => Promise<unknown>): Promise<string[]> {
  const texts: string[] = []
  const listener = ({ sql }: { sql: string }) => texts.push(sql)
  db.on('query', listener)
  try {
    await work()
  } finally {
    db.removeListener('query', listener)
  }
  return texts
}

async function runSql(connection: ClientConfig, sql: string): Promise<void> {
  const client = new pg.Client(connection)
  await client.connect()
  try {
    await client.query(sql)
  } finally {
    await client.end()
  }
}
