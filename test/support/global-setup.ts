/**
 * Starts the PostgreSQL of a test run, or takes the one of DATABASE_URL. `PGBOUNCER=session` and
 * `PGBOUNCER=transaction` put a PgBouncer in front of it.
 */
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { ClientConfig } from 'pg'
import type { TestProject } from 'vitest/node'
import { startPostgres } from '../../examples/support/postgres.js'
import { type PoolMode, startPgBouncer } from './pgbouncer.js'
import { createRoles, runsAsRole } from './roles.js'

declare module 'vitest' {
  interface ProvidedContext {
    /** How to reach the server of this test run, as a superuser or at least as one who may create databases. */
    postgres: ClientConfig
    /** How to reach it through PgBouncer, where the run goes through one. */
    pgbouncer: PgBouncerOfRun | undefined
  }
}

export interface PgBouncerOfRun {
  readonly mode: PoolMode
  readonly connection: ClientConfig
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const stops: (() => Promise<void>)[] = []
  const server = await provideServer(stops)
  project.provide('postgres', server)
  if (runsAsRole()) await createRoles(server)
  const mode = modeOf(process.env['PGBOUNCER'])
  if (mode) {
    const bouncer = await startPgBouncer({ mode, server })
    stops.unshift(bouncer.stop)
    project.provide('pgbouncer', { mode, connection: bouncer.connection })
    // the test files inherit it, and so do the programs that they start
    if (mode === 'transaction') process.env['PREPARED_STATEMENTS'] = 'false'
  } else {
    project.provide('pgbouncer', undefined)
  }
  return async () => {
    for (const stop of stops) await stop()
  }
}

async function provideServer(stops: (() => Promise<void>)[]): Promise<ClientConfig> {
  const { DATABASE_URL: url } = process.env
  // programs of tests get that of their own database
  delete process.env['DATABASE_URL']
  if (url) return fromUrl(url)
  await makeData()
  // Test files run side by side, each with a pool of ten.
  const postgres = await startPostgres({ settings: { max_connections: '200' } })
  stops.push(() => postgres.stop())
  return { ...postgres.connection }
}

/** Makes the data that all servers of the run begin with, whoever starts them. */
async function makeData(): Promise<void> {
  const dataDir = join(tmpdir(), 'data')
  await (await startPostgres({ dataDir })).stop()
  process.env['POSTGRES_DATA'] = dataDir
}

/** By its parts: tests put others in their places, such as another login. */
function fromUrl(text: string): ClientConfig {
  const { hostname, port, username, password, pathname, searchParams } = new URL(text)
  return {
    host: searchParams.get('host') ?? decodeURIComponent(hostname),
    port: Number(searchParams.get('port') ?? (port || 5432)),
    user: decodeURIComponent(username),
    password: decodeURIComponent(password),
    database: decodeURIComponent(pathname.slice(1)),
  }
}

function modeOf(text: string | undefined): PoolMode | undefined {
  if (text === undefined || text === '' || text === 'session' || text === 'transaction') return text || undefined
  throw new Error(`PGBOUNCER is ${text}: give session or transaction`)
}
