/** The table of changes: created by month, written in the transaction of a change, and swept month by month. */

import type { Knex } from 'knex'
import { ConfigurationError } from '../kernel/errors.js'
import { oncePer, RecentMap } from '../kernel/once-per.js'
import { setting } from '../kernel/settings.js'
import { toReference } from '../models/table-reference.js'
import { afterCommit } from '../postgres/after-commit.js'
import { createTable, quotedName, revokeAll } from '../postgres/create-table.js'
import { nativeError } from '../postgres/native-error.js'
import type { Queryable } from '../postgres/pg-types.js'
import { runStatement, statementOf } from '../postgres/run-statement.js'
import { runsAsRole, scopeOf, tablePlaceOf } from '../postgres/scoped-knex.js'
import { runRaw } from '../postgres/type-parsers.js'
import { hearerOf } from './committed-changes.js'
import { type Position, type Seen, snapshotAfter } from './position.js'

const DEFAULT_TABLE = 'koa_viewsets_changes'
/** Days that a change is kept. */
const DEFAULT_RETENTION = 90
/** Months that have a partition before they begin. */
const MONTHS_AHEAD = 2

/** Its name in SQL, with its schema if the setting has one. */
export function changesTable(): string {
  return quotedName(setting('changesTable') ?? DEFAULT_TABLE)
}

/** By the configuration of the database: names with their schemas, by the names of the setting. */
const found = oncePer<object, Map<string, string>>(() => new Map())

/** The table in a database, with its schema once `findChangesTable()` has found it: a request may have a `search_path` of its own. */
export function tableIn(knex: Queryable): string {
  const name = changesTable()
  return found(knex.client.config).get(name) ?? name
}

/** Looks for the table. @returns false where there is none */
export async function findChangesTable(knex: Queryable): Promise<boolean> {
  const name = changesTable()
  const { rows } = await runRaw<{ rows: readonly { readonly name: string }[] }>(
    knex,
    `select format('%I.%I', nspname, relname) as name from pg_class join pg_namespace n on n.oid = relnamespace
     where pg_class.oid = to_regclass(?)`,
    [name],
  )
  const [table] = rows
  if (table) found(knex.client.config).set(name, table.name)
  return table !== undefined
}

/** One change of one object. */
export interface Change {
  /** The table of the object's model. */
  readonly model: string
  /** The object's key as clients see it. */
  readonly key: string
  /** `create`, `update`, `delete`, `restore`, `purge`, or a word of the application's. */
  readonly action: string
  /** JSON of what is shown of the object before; null where it was not there. */
  readonly before: string | null
  /** JSON of what is shown of it now; null where it is not there any more. */
  readonly after: string | null
  /** JSON of columns of the row as it was, by which one can tell who saw it; null where it was not there. */
  readonly was: string | null
}

/** Who changes, and by which request. */
export interface ChangeOrigin {
  readonly caller: string | null
  readonly requestId: string | null
}

/** No such table, and no right to it. */
const GONE: ReadonlySet<unknown> = new Set(['42P01', '42501'])

/**
 * Records changes, in their order, by one statement.
 * @throws {ConfigurationError} there is no table, or not for the login: nothing for a client
 */
export async function insertChanges(
  trx: Queryable,
  { caller, requestId }: ChangeOrigin,
  changes: readonly Change[],
): Promise<void> {
  if (changes.length === 0) return
  const statement = statementOf(
    `insert into ${tableIn(trx)} (model, key, action, caller, request_id, before, after, was) ` +
      'select model, key, action, $1, $2, before::json, after::json, was::json ' +
      'from unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[]) as c(model, key, action, before, after, was)',
  )
  const lists = CELLS.map((cell) => changes.map((change) => change[cell]))
  const values = [caller, requestId, await namesIn(trx, changes), ...lists]
  await asLogin(trx, (own) => told(own, () => runStatement(own, statement, values)))
  const tell = hearerOf(trx)
  if (tell) afterCommit(trx, tell)
}

/** @throws {ConfigurationError} there is no table, or not for the login: nothing for a client */
function send<Answer>(knex: Queryable, sql: string, values: readonly unknown[]): Promise<Answer> {
  return told(knex, () => runRaw<Answer>(knex, sql, values))
}

async function told<Answer>(knex: Queryable, work: () => Promise<Answer>): Promise<Answer> {
  try {
    return await work()
  } catch (error) {
    if (!GONE.has(nativeError(error as Error).code)) throw error
    throw new ConfigurationError(
      `changes: the table ${tableIn(knex)} cannot be used; await ensureChangesTable(knex), and grant the login SELECT and INSERT on it`,
      { cause: error },
    )
  }
}

/** A change as it was recorded. */
export interface RecordedChange extends Omit<Change, 'was'> {
  readonly id: string
  /** As answers have it, in UTC with microseconds. */
  readonly madeAt: string
  readonly caller: string | null
  readonly requestId: string | null
}

/** In camel case, which a mapper of knex leaves as it is. */
const COLUMNS = `c.id::text, model, key, action, caller, request_id::text as "requestId", before::text, after::text,
  to_char(made_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as "madeAt"`

const BESIDE = 'was::text, transaction::text'

/** Which changes. */
export interface AskedChanges {
  readonly model: string
  readonly key: string
  /** What is deleted may come back. */
  readonly isSoft: boolean
  /** Only those with a smaller id. */
  readonly before: number | string | undefined
  readonly limit: number
}

/** The changes of the object that is there now, the last first: what had its key before was another one. */
export async function selectChanges(
  knex: Queryable,
  { model, key, isSoft, before, limit }: AskedChanges,
): Promise<readonly RecordedChange[]> {
  const table = tableIn(knex)
  // looks through what was asked for before, and not through all that there is
  const sql = `select ${COLUMNS} from ${table} as c where model = ? and key = ? and (?::bigint is null or c.id < ? and not exists (
      select from ${table} where model = ? and key = ? and id >= ? and action = any(?::text[])
    )) order by c.id desc limit ?`
  const name = await nameIn(knex, model)
  const ends = ['purge', ...(isSoft ? [] : ['delete'])]
  const from = before ?? null
  const values = [name, key, from, from, name, key, from, ['create', ...ends], limit]
  const { rows } = await asLogin(knex, (own) => send<{ rows: readonly RecordedChange[] }>(own, sql, values))
  const end = rows.findIndex(({ action }) => ends.includes(action))
  const own = end < 0 ? rows : rows.slice(0, end)
  const begin = own.findIndex(({ action }) => action === 'create')
  return begin < 0 ? own : own.slice(0, begin + 1)
}

/** The transaction as a number: PostgreSQL has no index by blocks for `xid8`. */
const NUMBER = 'transaction::text::bigint'

/** Changes that were committed since another reading, and where to go on. */
export interface NewChanges {
  readonly changes: readonly FoundChange[]
  readonly position: Position
}

/** And what else those know that tell of it. */
export interface FoundChange extends RecordedChange, Pick<Change, 'was'> {
  /** The number of its transaction (`xid8`). */
  readonly transaction: string
}

/**
 * What a statement sees. A standby does not tell which transactions are running: there it is what has ended before the oldest
 * of them.
 */
const SNAPSHOT = `case when pg_is_in_recovery()
    then format('%1$s:%1$s:', pg_snapshot_xmin(pg_current_snapshot()))::pg_snapshot else pg_current_snapshot() end`

/**
 * Where a reading begins that wants only what is committed from now on. The message has no meaning: once it is committed, so is
 * on the disk what the snapshot has seen; see `snapshotAfter()`.
 */
export async function currentPosition(knex: Queryable): Promise<Position> {
  const { rows } = await runRaw<{ rows: readonly [{ last: string }] }>(
    knex,
    `select (${SNAPSHOT})::text as last,
       case when not pg_is_in_recovery() then pg_logical_emit_message(true, 'koa-viewsets', '') end`,
  )
  return { last: rows[0].last }
}

/** What is committed by now, for this moment only: where a server crashes, numbers of transactions may be given once more. */
export async function currentSnapshot(knex: Queryable): Promise<string> {
  const sql = 'select pg_current_snapshot()::text as snapshot'
  const { rows } = await runRaw<{ rows: readonly [{ snapshot: string }] }>(knex, sql)
  return rows[0].snapshot
}

/**
 * The changes that were committed since a position, those of one object in their order. Nothing is waited for: a change whose
 * transaction is still running is in no snapshot, and comes with the one that shows it, whatever its id.
 */
export async function selectNew(knex: Queryable, { last, next }: Position, limit: number): Promise<NewChanges> {
  const table = tableIn(knex)
  // an own statement finds them by their transactions; sorted by their ids it would look at all that ever were
  const sql = next
    ? `select ?::text as snapshot, ${COLUMNS}, ${BESIDE} from ${table} as c
       where c.id > ?::bigint and pg_visible_in_snapshot(transaction, ?::pg_snapshot)
         and not pg_visible_in_snapshot(transaction, ?::pg_snapshot) order by c.id limit ?`
    : `with now as materialized (select ${SNAPSHOT} as snapshot),
       fresh as materialized (
         select id, ${NUMBER} as number from ${table}, now where (${NUMBER}) >= pg_snapshot_xmin(?::pg_snapshot)::text::bigint
           and pg_visible_in_snapshot(transaction, snapshot) and not pg_visible_in_snapshot(transaction, ?::pg_snapshot)
           and transaction is distinct from pg_current_xact_id_if_assigned()
       )
       select now.snapshot::text, (select max(number)::text from fresh) as newest, pg_current_xact_id_if_assigned()::text as own, found.* from now left join lateral (
         select ${COLUMNS}, ${BESIDE}, c.id as place from ${table} as c where c.id in (select id from fresh) order by c.id limit ?
       ) as found on true order by found.place`
  const values = next ? [next.snapshot, next.id, next.snapshot, last, limit] : [last, last, limit]
  const { rows } = await asLogin(knex, (own) => send<{ rows: readonly NewRow[] }>(own, sql, values))
  const changes = rows.filter(({ id }) => id !== null)
  const snapshot = next?.snapshot ?? snapshotAfter(last, rows[0] as NewRow)
  const isEnd = changes.length < limit
  const id = changes.at(-1)?.id ?? '0'
  return { changes, position: isEnd ? { last: snapshot } : { last, next: { snapshot, id } } }
}

/** The changes that are there of these, in the order of their ids. */
export async function selectByIds(knex: Queryable, ids: readonly string[]): Promise<readonly FoundChange[]> {
  const sql = `select ${COLUMNS}, ${BESIDE} from ${tableIn(knex)} as c where c.id = any(?::bigint[]) order by c.id`
  const { rows } = await asLogin(knex, (own) => send<{ rows: readonly FoundChange[] }>(own, sql, [ids]))
  return rows
}

/**
 * True where so many changes, at the most, have come since a position; false where there are more, or where it is of another
 * database, whose transactions were counted otherwise.
 */
export async function isWithin(knex: Queryable, { last, next }: Position, most: number): Promise<boolean> {
  const { snapshot } = next ?? { snapshot: last }
  const { rows } = await asLogin(knex, (own) =>
    send<{ rows: readonly [{ isKnown: boolean; count: unknown }] }>(
      own,
      `select pg_snapshot_xmax(?::pg_snapshot) <= pg_snapshot_xmax(pg_current_snapshot()) as "isKnown", count(*)
       from (select from ${tableIn(knex)} where (${NUMBER}) >= pg_snapshot_xmin(?::pg_snapshot)::text::bigint limit ?) as found`,
      [snapshot, last, most + 1],
    ),
  )
  const [{ isKnown, count }] = rows
  return isKnown && Number(count) <= most
}

/** Of each change what the object was like before its next one; null where there is none yet. */
export async function laterStates(
  knex: Queryable,
  changes: readonly Pick<FoundChange, 'id' | 'model' | 'key'>[],
): Promise<readonly (string | null)[]> {
  const cells = (cell: 'id' | 'model' | 'key') => changes.map((change) => change[cell])
  const sql = `select (select n.was::text from ${tableIn(knex)} as n
      where n.model = w.model and n.key = w.key and n.id > w.id and n.was is not null order by n.id limit 1) as was
    from unnest(?::bigint[], ?::text[], ?::text[]) with ordinality as w(id, model, key, place) order by w.place`
  const { rows } = await asLogin(knex, (own) =>
    send<{ rows: readonly { readonly was: string | null }[] }>(own, sql, [cells('id'), cells('model'), cells('key')]),
  )
  return rows.map(({ was }) => was)
}

/** True where reading from one position to another has found all there is. */
export function isLast(from: Position, { next }: Position): boolean {
  return from.next === undefined && next === undefined
}

interface NewRow extends FoundChange, Seen {}

/** What stands in the statement besides the names of models; texts of JSON as they are, which hold what a JSON of them could not. */
const CELLS = ['key', 'action', 'before', 'after', 'was'] as const

/** How many models of schemas that requests choose are known by their names. */
const MOST_NAMES = 10_000

/** Names of models by the configuration of the database, and by where a request finds their tables. */
const names = oncePer<object, RecentMap<string>>(() => new RecentMap(MOST_NAMES))

/**
 * What a model is called in the table: by its own; and where a request chooses in which schema that is found, as with one for
 * each tenant, with the schema.
 */
export async function nameIn(knex: Queryable, table: string): Promise<string> {
  const place = tablePlaceOf(knex)
  if (!place || table.includes('.')) return table
  const known = names(knex.client.config)
  const key = JSON.stringify([place, table])
  let name = known.get(key)
  if (name === undefined) {
    const { rows } = await runRaw<{ rows: readonly { readonly schema: string; readonly isOwn: boolean }[] }>(
      knex,
      `select nspname as schema, nspname = current_user as "isOwn" from pg_class join pg_namespace n on n.oid = relnamespace
       where pg_class.oid = to_regclass(?)`,
      [toReference(knex, table)],
    )
    const [found] = rows
    // a role finds the tables of its login, but for a schema of its own
    name = found && (place.searchPath !== undefined || found.isOwn) ? `${found.schema}.${table}` : table
    known.set(key, name)
  }
  return name
}

async function namesIn(knex: Queryable, changes: readonly Change[]): Promise<readonly string[]> {
  const found = new Map<string, string>()
  for (const { model } of changes) if (!found.has(model)) found.set(model, await nameIn(knex, model))
  return changes.map(({ model }) => found.get(model) as string)
}

/** Work on the table, to which the roles of callers have no right. */
async function asLogin<Result>(knex: Queryable, work: (knex: Queryable) => Promise<Result>): Promise<Result> {
  const scope = scopeOf(knex)
  if (scope) return work(scope.base)
  if (!runsAsRole(knex)) return work(knex)
  const { rows } = await runRaw<{ rows: readonly [{ role: string }] }>(
    knex,
    "select pg_catalog.current_setting('role') as role, pg_catalog.set_config('role', 'none', true)",
    [],
  )
  const result = await work(knex)
  await runRaw(knex, "select pg_catalog.set_config('role', ?, true)", [rows[0].role])
  return result
}

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
    // changes stand nearly in the order of their transactions: for such an index each costs next to nothing
    await trx.raw(`create index on ${table} using brin ((${NUMBER})) with (pages_per_range = 8)`)
    await revokeAll(trx, table)
    await revokeAll(trx, partition('rest'))
  })
  await addMonths(knex, LEFT_TO_OWNER)
}

/** Names of 63 characters are all that PostgreSQL keeps, and months must differ. */
function partition(end: string): string {
  const table = setting('changesTable') ?? DEFAULT_TABLE
  return quotedName(`${table.replace(/(?<=^|\.)(\w{55})\w+$/, '$1')}_${end}`)
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
    const create = async (trx: Knex.Transaction) => {
      await changeTable(trx, sql)
      await revokeAll(trx, name)
    }
    await unlessLeft(() => createTable(knex, name, create), left)
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
