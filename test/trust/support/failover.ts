/** A standby that takes the place of its primary, for what finds both at one address. Processes of a server are found where Linux has them. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import knexLibrary, { type Knex } from 'knex'
import type { Postgres } from '../../../examples/support/postgres.js'
import { toUrl } from '../../support/program.js'
import { startProxy } from '../../support/proxy.js'
import { type Server, startCluster } from '../../support/standbys.js'

export interface Failover {
  readonly primary: Server
  /** It has all that the primary has answered. */
  readonly standby: Server
  /** Whichever of them is the primary. */
  readonly knex: Knex
  /** Where apps find it. */
  readonly url: string
  /** Waits until the standby has what was committed by now. */
  caughtUp(): Promise<void>
  /** From now on the standby is what everybody finds. */
  takeOver(): Promise<void>
  stop(): Promise<void>
}

/** Starts both. @param prepare makes tables, before the primary waits for its standby */
export async function startFailover(prepare: (knex: Knex) => Promise<void>): Promise<Failover> {
  const cluster = await startCluster([{ hot_standby_feedback: 'on' }], { wal_level: 'logical' })
  const { primary } = cluster
  const standby = cluster.standbys[0] as Server
  const { connection } = primary.postgres
  const target = { path: socketOf(primary) }
  const proxy = await startProxy(target, `.s.PGSQL.${connection.port}`)
  const found = { ...connection, host: proxy.folder }
  const pool = { min: 0, max: 4 }
  const knex = knexLibrary({ client: 'pg', connection: found, pool, log: { error() {}, warn() {} } })
  await prepare(primary.knex)
  await primary.knex.raw(`alter system set synchronous_standby_names = '*'`)
  await primary.knex.raw('select pg_reload_conf()')
  const caughtUp = async () => {
    const { rows } = await primary.knex.raw('select pg_current_wal_lsn() as lsn')
    const isThere = async () => {
      const state = await standby.knex.raw('select pg_last_wal_replay_lsn() >= ?::pg_lsn as there', [rows[0].lsn])
      return state.rows[0].there === true
    }
    while (!(await isThere())) await sleep(20)
  }
  await caughtUp()
  return {
    primary,
    standby,
    knex,
    url: toUrl(found),
    caughtUp,
    async takeOver() {
      killServer(primary.postgres)
      await proxy.cut()
      await standby.knex.raw('select pg_promote()')
      target.path = socketOf(standby)
      await proxy.restore()
    },
    async stop() {
      await knex.destroy()
      await proxy.remove()
      await cluster.stop()
    },
  }
}

const socketOf = ({ postgres }: Server) => join(postgres.connection.host, `.s.PGSQL.${postgres.connection.port}`)

/** Ends a server and all its processes at once, as a power cut does. */
export function killServer({ pid }: Postgres): void {
  process.kill(pid, 'SIGSTOP')
  for (const child of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    if (parentOf(child) === pid) process.kill(Number(child), 'SIGKILL')
  }
  process.kill(pid, 'SIGKILL')
}

function parentOf(process: string): number | undefined {
  try {
    return Number(/\) \S (\d+)/.exec(readFileSync(join('/proc', process, 'stat'), 'utf8'))?.[1])
  } catch {
    return undefined
  }
}
