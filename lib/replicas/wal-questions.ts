/** WAL positions of a primary and of a standby, asked in one round trip each. */
import type { Knex } from 'knex'
import { askDatabase } from '../postgres/ask-database.js'
import { readLsn, type WalPlace } from './token.js'

/** What was written is before this place, as it is asked for after the commit. The name of a file begins with the history. */
const WRITTEN = {
  text: `select (select system_identifier from pg_control_system())::text as system,
    pg_current_wal_insert_lsn()::text as lsn,
    ('x' || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8))::bit(32)::bigint::text as timeline`,
  values: [],
}

/**
 * How far a standby has come. Its control file names the history last: until then it counts as one that has not arrived. Who
 * may not read `pg_stat_wal_receiver` sees nothing there. A server that is no standby has what it has written.
 */
const REPLAYED = {
  text: `select (select system_identifier from pg_control_system())::text as system,
    coalesce(pg_last_wal_replay_lsn(), case when pg_is_in_recovery() then null else pg_current_wal_insert_lsn() end)::text as lsn,
    case when pg_is_in_recovery()
      then coalesce((select received_tli from pg_stat_wal_receiver), (select timeline_id from pg_control_checkpoint()))::text
      else ('x' || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8))::bit(32)::bigint::text end as timeline`,
  values: [],
}

/** Where the log of a primary is now. @throws Error it does not answer in time, or is no primary */
export function askWritten(primary: Knex, milliseconds: number): Promise<WalPlace | undefined> {
  return ask(primary, WRITTEN, milliseconds)
}

/** How far a standby has come; undefined where its pool is full. @throws Error it does not answer in time */
export function askReplayed(replica: Knex, milliseconds: number): Promise<WalPlace | undefined> {
  return ask(replica, REPLAYED, milliseconds)
}

async function ask(knex: Knex, question: typeof WRITTEN, milliseconds: number): Promise<WalPlace | undefined> {
  const row = await askDatabase(knex, question, milliseconds)
  const { system, timeline, lsn } = row ?? {}
  if (typeof system !== 'string' || typeof timeline !== 'string' || typeof lsn !== 'string') return undefined
  return { system, timeline: Number(timeline), lsn: readLsn(lsn) }
}
