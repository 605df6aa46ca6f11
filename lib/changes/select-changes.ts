/** Reads recorded changes: those of an object, and those that were committed since a position. */

import type { Queryable } from '../postgres/pg-types.js'
import { runRaw } from '../postgres/type-parsers.js'
import { NUMBER, nameIn, queryChanges, tableIn } from './changes-table.js'
import type { WrittenChange } from './insert-changes.js'
import { type ChangePosition, type Seen, snapshotAfter } from './position.js'

/** A change as it was recorded. */
export interface RecordedChange extends Omit<WrittenChange, 'was'> {
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

/** The most bytes of JSON that are read at once; one change may have more. */
const MOST_BYTES = 8_000_000
/** As PostgreSQL keeps it, which it knows without reading it; and what is read of those that are left by that. */
const MEASURES = [
  (image: string) => `pg_column_size(c.${image})`,
  (image: string) => `octet_length(c.${image}::text)`,
] as const

/** Filter of rows of the table. */
interface HeldRows {
  readonly rows: string
  readonly order: string
  /** What is read of them. */
  readonly images: readonly string[]
}

/** The first ones of rows of the table, in an order, as far as one reading can hold them; and of how many. */
function heldOf({ rows, order, images }: HeldRows): string {
  const all = `select c.*, count(*) over () as total from (${rows}) as c`
  return MEASURES.reduce((held, measure, index) => {
    const bytes = images.map((image) => `coalesce(${measure(image)}, 0)`).join(' + ')
    const ahead = `sum(${bytes}) over (order by ${order} rows between unbounded preceding and 1 preceding) as ahead_${index}`
    return `select * from (select c.*, ${ahead} from (${held}) as c) as c where coalesce(ahead_${index}, 0) < ${MOST_BYTES}`
  }, all)
}

const firstOf = (rows: string) => {
  const held = heldOf({ rows, order: 'c.id', images: ['before', 'after', 'was'] })
  return `select ${COLUMNS}, ${BESIDE}, c.id as place, total from (${held}) as c`
}

/** Filter of changes. */
export interface AskedChanges {
  readonly model: string
  /** All that they may be recorded by. */
  readonly keys: readonly string[]
  /** What is deleted may come back. */
  readonly isSoft: boolean
  /** Only those with a smaller id. */
  readonly before: number | string | undefined
  readonly limit: number
}

/** Actions after which there is no row. @param isSoft what is deleted is marked, and stays */
export function endsOf(isSoft: boolean): readonly string[] {
  return isSoft ? ['purge'] : ['purge', 'delete']
}

/** The changes of the object that is there now, the last first, as far as one reading can hold them: what had its key before was another one. */
export async function selectChanges(
  knex: Queryable,
  { model, keys, isSoft, before, limit }: AskedChanges,
): Promise<readonly RecordedChange[]> {
  const table = tableIn(knex)
  // looks through what was asked for before, and not through all that there is
  const [first] = keys
  const [same, key] = keys.length === 1 ? ['key = ?', first] : ['key = any(?::text[])', keys]
  const asked = `select * from ${table} as c where model = ? and ${same} and (?::bigint is null or c.id < ? and not exists (
      select from ${table} where model = ? and ${same} and id >= ? and action = any(?::text[])
    )) order by c.id desc limit ?`
  const sql = `select ${COLUMNS} from (${heldOf({ rows: asked, order: 'c.id desc', images: ['before', 'after'] })}) as c order by c.id desc`
  const name = await nameIn(knex, model)
  const ends = endsOf(isSoft)
  const from = before ?? null
  const values = [name, key, from, from, name, key, from, ['create', ...ends], limit]
  const rows = await queryChanges<readonly RecordedChange[]>(knex, sql, values)
  const end = rows.findIndex(({ action }) => ends.includes(action))
  const own = end < 0 ? rows : rows.slice(0, end)
  const begin = own.findIndex(({ action }) => action === 'create')
  return begin < 0 ? own : own.slice(0, begin + 1)
}

/** Changes that were committed since another reading, and where to go on. */
export interface NewChanges {
  readonly changes: readonly FoundChange[]
  readonly position: ChangePosition
}

/** And what else those know that tell of it. */
export interface FoundChange extends RecordedChange, Pick<WrittenChange, 'was'> {
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
export async function currentPosition(knex: Queryable): Promise<ChangePosition> {
  const { rows } = await runRaw<{ rows: readonly [{ last: string }] }>(
    knex,
    `select (${SNAPSHOT})::text as last,
       case when not pg_is_in_recovery() then pg_logical_emit_message(true, 'koa-viewsets', '') end`,
  )
  return { last: rows[0].last }
}

/** What is committed by now, for this moment only: where a server crashes, numbers of transactions may be given once more. */
export async function currentSnapshot(knex: Queryable): Promise<string> {
  const sql = `select (${SNAPSHOT})::text as snapshot`
  const { rows } = await runRaw<{ rows: readonly [{ snapshot: string }] }>(knex, sql)
  return rows[0].snapshot
}

/**
 * The changes that a snapshot did not show, two values of SQL: those of transactions that it saw running, and of later ones.
 * An index finds them, however many changes there are, and however long a transaction is running. The range has two ends, as a
 * planner that knows nothing yet of a month takes one without an end for a third of it.
 */
const notShownBy = (table: string) => `(
    select id, transaction from ${table} where (${NUMBER}) >= pg_snapshot_xmax(?::pg_snapshot)::text::bigint
      and (${NUMBER}) < pg_snapshot_xmax(pg_current_snapshot())::text::bigint
    union all select id, transaction from ${table} where (${NUMBER}) = any(
      array(select running::text::bigint from pg_snapshot_xip(?::pg_snapshot) as running)
    )
  )`

/**
 * The changes that were committed since a position, those of one object in their order. Nothing is waited for: a change whose
 * transaction is still running is in no snapshot, and comes with the one that shows it, whatever its id.
 */
export async function selectNew(knex: Queryable, { last, next }: ChangePosition, limit: number): Promise<NewChanges> {
  const table = tableIn(knex)
  // each by its id, though the planner knows nothing yet of a month that has just begun
  const sql = next
    ? `select ?::text as snapshot, found.* from (${firstOf(`
         select * from ${table} as c where c.id > ?::bigint and pg_visible_in_snapshot(transaction, ?::pg_snapshot)
           and not pg_visible_in_snapshot(transaction, ?::pg_snapshot) order by c.id limit ?`)}
       ) as found order by found.place`
    : `with now as materialized (select ${SNAPSHOT} as snapshot),
       fresh as materialized (
         select id, ${NUMBER} as number from ${notShownBy(table)} as found, now where pg_visible_in_snapshot(transaction, snapshot)
           and transaction is distinct from pg_current_xact_id_if_assigned()
       )
       select now.snapshot::text, (select max(number)::text from fresh) as newest, pg_current_xact_id_if_assigned()::text as own, found.* from now left join lateral (
         ${firstOf(`select c.* from (select id from fresh order by id limit ?) as own
         cross join lateral (select * from ${table} as c where c.id = own.id offset 0) as c`)}
       ) as found on true order by found.place`
  const values = next ? [next.snapshot, next.id, next.snapshot, last, limit] : [last, last, limit]
  const rows = await queryChanges<readonly NewRow[]>(knex, sql, values)
  const changes = rows.filter(({ id }) => id !== null)
  const snapshot = next?.snapshot ?? snapshotAfter(last, rows[0] as NewRow)
  const total = Number(rows[0]?.total ?? 0)
  const isEnd = total < limit && changes.length === total
  const id = changes.at(-1)?.id ?? '0'
  return { changes, position: isEnd ? { last: snapshot } : { last, next: { snapshot, id } } }
}

/** The changes that are there of these, in the order of their ids: all of them, or the first ones. */
export async function selectByIds(
  knex: Queryable,
  ids: readonly string[],
): Promise<{ readonly changes: readonly FoundChange[]; readonly isAll: boolean }> {
  const sql = `${firstOf(`select * from ${tableIn(knex)} as c where c.id = any(?::bigint[])`)} order by place`
  const changes = await queryChanges<readonly PlacedChange[]>(knex, sql, [ids])
  return { changes, isAll: changes.length === Number(changes[0]?.total ?? 0) }
}

/**
 * True where so many changes, at the most, have come since a position; false where there are more, or where it is of another
 * database, whose transactions were counted otherwise.
 */
export async function hasAtMost(knex: Queryable, { last, next }: ChangePosition, most: number): Promise<boolean> {
  const { snapshot } = next ?? { snapshot: last }
  const [{ isKnown, count }] = await queryChanges<readonly [{ isKnown: boolean; count: unknown }]>(
    knex,
    `select pg_snapshot_xmax(?::pg_snapshot) <= pg_snapshot_xmax(pg_current_snapshot()) as "isKnown", count(*)
       from (select from ${notShownBy(tableIn(knex))} as fresh limit ?) as found`,
    [snapshot, last, last, most + 1],
  )
  return isKnown && Number(count) <= most
}

/**
 * The next change of an object after a change `w`. By the bounds of an index and not by equality: where few objects have most of
 * the changes, PostgreSQL would look for it in the order of all of them.
 */
const nextOf = (table: string, key: string) => `select n.was::text, n.id from ${table} as n
      where (n.model, n.key, n.id) > (w.model, ${key}, w.id) and (n.model, n.key) <= (w.model, ${key})
      and n.was is not null order by n.model, n.key, n.id limit 1`

/** What the object of a change `w` was like before its next one. @param isListed `w.key` is an array of keys, as text */
export const nextState = (table: string, isListed: boolean) =>
  isListed
    ? `select s.was from unnest(w.key::text[]) as k(key) cross join lateral (${nextOf(table, 'k.key')}) as s order by s.id limit 1`
    : `select s.was from (${nextOf(table, 'w.key')}) as s`

/** Of each change what the object was like before its next one; null where there is none yet. */
export async function laterStates(
  knex: Queryable,
  changes: readonly Pick<FoundChange, 'id' | 'model' | 'key'>[],
  isListed: boolean,
): Promise<readonly (string | null)[]> {
  const cells = (cell: 'id' | 'model' | 'key') => changes.map((change) => change[cell])
  const sql = `select (${nextState(tableIn(knex), isListed)}) as was
    from unnest(?::bigint[], ?::text[], ?::text[]) with ordinality as w(id, model, key, place) order by w.place`
  const values = [cells('id'), cells('model'), cells('key')]
  const rows = await queryChanges<readonly { readonly was: string | null }[]>(knex, sql, values)
  return rows.map(({ was }) => was)
}

/** True where reading from one position to another has found all there is. */
export function isLast(from: ChangePosition, { next }: ChangePosition): boolean {
  return from.next === undefined && next === undefined
}

/** One of so many. */
interface PlacedChange extends FoundChange {
  readonly total: unknown
}

interface NewRow extends PlacedChange, Seen {}
