/** A primary PostgreSQL and standbys that follow it by streaming replication. */
import { execFile } from 'node:child_process'
import { chmod, chown, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Postgres, startPostgres } from './postgres.js'

/** Running servers. Each is stopped by itself, the standbys first. */
export interface Replication {
  readonly primary: Postgres
  readonly standbys: readonly Postgres[]
}

const run = promisify(execFile)

/** For data that nobody will miss, with a standby that is there a moment after its primary. */
const SETTINGS = {
  fsync: 'off',
  full_page_writes: 'on',
  max_wal_senders: '10',
  wal_keep_size: '256MB',
  hot_standby: 'on',
}

/**
 * Starts a primary and its standbys, each with a copy of the same empty data.
 * @param folder of the data, which stays there: an own one that others may enter, since PostgreSQL does not run as root
 * @param settings of each standby, such as `{ recovery_min_apply_delay: '300ms' }`
 * @param shared of all servers, such as `{ wal_level: 'logical' }`
 */
export async function startReplication(
  folder: string,
  settings: readonly Record<string, string>[],
  shared: Record<string, string> = {},
): Promise<Replication> {
  await chmod(folder, 0o755)
  const dataOf = (name: string | number) => join(folder, `data-${name}`)
  const source = dataOf('primary')
  // a server that has stopped leaves data that may be copied
  await (await startPostgres({ dataDir: source })).stop()
  for (const index of settings.keys()) await copyAsStandby(source, dataOf(index))
  const primary = await startPostgres({ dataDir: source, settings: { ...SETTINGS, ...shared } })
  const { host, port, user } = primary.connection
  const follow = {
    ...SETTINGS,
    ...shared,
    primary_conninfo: `host=${host} port=${port} user=${user}`,
    wal_retrieve_retry_interval: '100ms',
  }
  const standbys: Postgres[] = []
  for (const [index, own] of settings.entries()) {
    standbys.push(await startPostgres({ dataDir: dataOf(index), settings: { ...follow, ...own } }))
  }
  return { primary, standbys }
}

async function copyAsStandby(source: string, copy: string): Promise<void> {
  await run('cp', ['-a', source, copy])
  const mark = join(copy, 'standby.signal')
  await writeFile(mark, '')
  const { uid, gid } = await stat(copy)
  await chown(mark, uid, gid)
}
