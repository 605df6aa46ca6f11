/** Partitions of the table of changes, one for each month: created ahead, and dropped when it is over. */

import type { Knex } from 'knex'
import { changesTableName, setting } from '../kernel/settings.js'
import { createTable, quotedName, revokeAll } from '../postgres/create-table.js'
import { nativeError } from '../postgres/native-error.js'
import { changesTable, NUMBER } from './changes-table.js'

/** Days that a change is kept. */
const DEFAULT_RETENTION = 90
/** Months that have a partition before they begin. */
const MONTHS_AHEAD = 2

/**
 * Creates the table of changes where it is missing, with partitions for this month and those ahead; every process may do so
 * at its start. Only its owner may read and write it, whatever default privileges say.
 * @param knex the database of what changes
 * @example await ensureChangesTable(knex)
 */
export async function ensureChangesTable(knex: Knex): Promise<void> {
  const table = changesTable()
  await createTable(knex, table, async (trx) => {
    await trx.raw(
      `create table if not exists ${table} (
        id bigint generated always as identity,
        transaction xid8 not null default pg_current_xact_id(),
        made_at timestamptz not null default now(),
        model text not null,
        key text not null,
        action text not null,
        caller text,
        request_id uuid,
        before json,
        after json,
        was json
      ) partition by range (made_at)`,
    )
    // what comes while no month is ready for it
    await trx.raw(`create table ${partition('rest')} partition of ${table} default`)
    await trx.raw(`create index on ${table} (model, key, id)`)
    await trx.raw(`create index on ${table} (id)`)
    // an index by blocks costs less, and knows nothing of what came since a VACUUM
    await trx.raw(`create index on ${table} ((${NUMBER}))`)
    await revokeAll(trx, partition('rest'))
  })
  await addMonths(knex, LEFT_TO_OWNER)
}

/** Names of 63 characters are all that PostgreSQL keeps, and months must differ. */
function partition(end: string): string {
  return quotedName(`${changesTableName().replace(/(?<=^|\.)(\w{55})\w+$/, '$1')}_${end}`)
}

/** Rows of the month are in another partition already; and somebody holds the table: it is for the next time then. */
const LEFT: ReadonlySet<unknown> = new Set(['23514', '55P03'])
/** Besides, for a login that does not own the table: months are for its owner's job. */
const LEFT_TO_OWNER: ReadonlySet<unknown> = new Set([...LEFT, '42501'])

/** Changes of the table's parts wait for its lock, and whoever writes waits behind them: not for long. */
async function changeTable(trx: Knex.Transaction, sql: string): Promise<void> {
  await trx.raw("set local lock_timeout = '1s'")
  await trx.raw(sql)
}

/** @returns false where it is for the next time */
async function unlessLeft(work: () => Promise<void>, left = LEFT): Promise<boolean> {
  try {
    await work()
    return true
  } catch (error) {
    if (left.has(nativeError(error as Error).code)) return false
    throw error
  }
}

/** Adds the partitions of this month and those ahead. */
async function addMonths(knex: Knex, left = LEFT): Promise<void> {
  const now = new Date()
  for (let ahead = 0; ahead <= MONTHS_AHEAD; ahead++) {
    const [begin, end] = [ahead, ahead + 1].map((months) => monthOf(now, months)) as [string, string]
    const name = partition(begin.slice(0, 7).replace('-', '_'))
    const sql = `create table if not exists ${name} partition of ${changesTable()} for values from ('${begin}+00') to ('${end}+00')`
    await unlessLeft(() => createTable(knex, name, (trx) => changeTable(trx, sql)), left)
  }
}

/** The first moment of a month, in UTC. */
function monthOf(now: Date, ahead: number): string {
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + ahead, 1)).toISOString().slice(0, 19)
}

interface Month {
  readonly name: string
  readonly isOver: boolean
}

/**
 * Drops the months of changes that are older than `changesRetention` days, and adds partitions for those ahead: for a job of
 * the table's owner that runs once a day.
 * @returns how many months were dropped, and how many changes were deleted that are in none
 */
export async function sweepChanges(knex: Knex): Promise<{ readonly months: number; readonly changes: number }> {
  await addMonths(knex)
  const days = setting('changesRetention') ?? DEFAULT_RETENTION
  const { rows } = await knex.raw<{ rows: readonly Month[] }>(
    `select format('%I.%I', nspname, relname) as name,
       (regexp_match(pg_get_expr(relpartbound, c.oid), 'TO \\(''([^'']+)''\\)'))[1]::timestamptz
         <= now() - make_interval(days => :days) as "isOver"
     from pg_inherits join pg_class c on c.oid = inhrelid join pg_namespace n on n.oid = relnamespace
     where inhparent = :table::regclass and pg_get_expr(relpartbound, c.oid) <> 'DEFAULT'`,
    { days, table: changesTable() },
  )
  let months = 0
  for (const { name } of rows.filter(({ isOver }) => isOver)) {
    const drop = () => knex.transaction((trx) => changeTable(trx, `drop table if exists ${name}`))
    if (await unlessLeft(drop)) months++
  }
  const { rowCount } = await knex.raw<{ rowCount: number }>(
    `delete from ${partition('rest')} where made_at < now() - make_interval(days => ?)`,
    [days],
  )
  return { months, changes: rowCount }
}
