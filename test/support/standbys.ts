/** A primary with streaming standbys, each a PostgreSQL of its own. */
import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import knexLibrary, { type Knex } from 'knex'
import { type Postgres, startPostgres } from '../../examples/support/postgres.js'
import { CALLER, runsAsRole } from './roles.js'

const run = promisify(execFile)

export interface Server {
  readonly postgres: Postgres
  readonly knex: Knex
}

export interface Cluster {
  readonly primary: Server
  readonly standbys: readonly Server[]
  stop(): Promise<void>
}

const FAST = { fsync: 'off', full_page_writes: 'on', max_wal_senders: '10', wal_keep_size: '256MB', hot_standby: 'on' }

/**
 * Starts a primary and standbys that follow it.
 * @param settings of each standby, such as `{ recovery_min_apply_delay: '300ms' }`
 */
export async function startCluster(settings: readonly Record<string, string>[]): Promise<Cluster> {
  // the folder of a server must be one that another user may enter
  const folder = await mkdtemp(join(tmpdir(), 'kv-cluster-'))
  await run('chmod', ['755', folder])
  const dataOf = (name: string) => join(folder, name)
  await (await startPostgres({ dataDir: dataOf('primary') })).stop()
  for (const index of settings.keys()) {
    await run('cp', ['-a', dataOf('primary'), dataOf(`standby${index}`)])
    await writeFile(join(dataOf(`standby${index}`), 'standby.signal'), '')
    await run('chown', [
      '--reference',
      join(dataOf('primary'), 'PG_VERSION'),
      join(dataOf(`standby${index}`), 'standby.signal'),
    ])
  }
  const primary = open(await startPostgres({ dataDir: dataOf('primary'), settings: FAST }))
  // the role of all statements, of a server that other tests do not use
  if (runsAsRole()) await primary.knex.raw(`create role ${CALLER} superuser`)
  const { host, port, user } = primary.postgres.connection
  const source = `host=${host} port=${port} user=${user}`
  const standbys: Server[] = []
  for (const [index, own] of settings.entries()) {
    const follow = { ...FAST, primary_conninfo: source, wal_retrieve_retry_interval: '100ms', ...own }
    standbys.push(open(await startPostgres({ dataDir: dataOf(`standby${index}`), settings: follow })))
  }
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
