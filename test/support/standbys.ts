/** A primary with streaming standbys, each a PostgreSQL of its own with a knex. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import knexLibrary, { type Knex } from 'knex'
import type { Postgres } from '../../examples/support/postgres.js'
import { startReplication } from '../../examples/support/standbys.js'
import { CALLER, runsAsRole } from './roles.js'

export interface Server {
  readonly postgres: Postgres
  readonly knex: Knex
}

export interface Cluster {
  readonly primary: Server
  readonly standbys: readonly Server[]
  stop(): Promise<void>
}

/**
 * Starts a primary and standbys that follow it.
 * @param settings of each standby, such as `{ recovery_min_apply_delay: '300ms' }`
 * @param shared of all servers, such as `{ wal_level: 'logical' }`
 */
export async function startCluster(
  settings: readonly Record<string, string>[],
  shared?: Record<string, string>,
): Promise<Cluster> {
  const folder = await mkdtemp(join(tmpdir(), 'kv-cluster-'))
  const started = await startReplication(folder, settings, shared)
  const primary = open(started.primary)
  const standbys = started.standbys.map(open)
  // the role of all statements, of a server that other tests do not use
  if (runsAsRole()) await primary.knex.raw(`create role ${CALLER} superuser`)
  return {
    primary,
    standbys,
    async stop() {
      for (const { knex, postgres } of [...standbys, primary]) {
        await knex.destroy()
        await postgres.stop()
      }
      await rm(folder, { recursive: true, force: true })
    },
  }
}

function open(postgres: Postgres): Server {
  const knex = knexLibrary({
    client: 'pg',
    connection: { ...postgres.connection } as Knex.PgConnectionConfig,
    pool: { min: 0, max: 8 },
    acquireConnectionTimeout: 2_000,
    // servers end on purpose
    log: { error() {}, warn() {} },
  })
  return { postgres, knex }
}
