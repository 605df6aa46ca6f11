/** What endpoints are to be told: written as changes are read, claimed for a while, and ended. No statement waits for another worker. */

import type { Knex } from 'knex'
import { runRaw } from '../postgres/type-parsers.js'
import { TABLES } from './webhook-tables.js'

/** What an endpoint is to be told of a change. */
export interface NewDelivery {
  readonly id: string
  readonly endpointId: string
  readonly changeId: string
  /** Model and key: what is told of one object is told in order. */
  readonly object: string
  readonly event: string
  /** JSON, as it is signed and sent. */
  readonly body: string
}

/** One that this worker has for a while, and where it goes. */
export interface ClaimedDelivery {
  readonly id: string
  readonly endpointId: string
  readonly body: string
  /** With this one. */
  readonly attempts: number
  readonly url: string
  readonly secrets: readonly string[]
}

export interface Claiming {
  /** The table of endpoints. */
  readonly endpoints: string
  /** The most of them. */
  readonly limit: number
  /** The most that one endpoint has at a time; one where it has failed last. */
  readonly perEndpoint: number
  /** Seconds until another worker may take it. */
  readonly lease: number
  /** Only this one. */
  readonly id?: string | undefined
}

/** Adds deliveries, of which each is there once. */
export async function addDeliveries(trx: Knex.Transaction, deliveries: readonly NewDelivery[]): Promise<void> {
  const cells = (cell: keyof NewDelivery) => deliveries.map((delivery) => delivery[cell])
  await trx.raw(
    `insert into ${TABLES.deliveries} (id, endpoint_id, change_id, object, event, body)
     select * from unnest(?::text[], ?::uuid[], ?::bigint[], ?::text[], ?::text[], ?::text[]) on conflict (id) do nothing`,
    [cells('id'), cells('endpointId'), cells('changeId'), cells('object'), cells('event'), cells('body')] as never,
  )
}

/**
 * Takes deliveries that are due, the oldest of each object. What another worker is taking is left to it; what it has taken is
 * free again when its time is over, as a worker may have ended.
 */
export async function claimDeliveries(knex: Knex, claiming: Claiming): Promise<readonly ClaimedDelivery[]> {
  const { endpoints, limit, perEndpoint, lease, id = null } = claiming
  const { rows } = await runRaw<{ readonly rows: readonly ClaimedDelivery[] }>(
    knex,
    `with candidates as (
       select c.id from :endpoints: as e
       cross join lateral (
         select count(*) as count from ${TABLES.deliveries} as d
         where d.endpoint_id = e.id and d.state = 'pending' and d.leased_until > now()
       ) as busy
       cross join lateral (
         select d.id, d.due_at from ${TABLES.deliveries} as d
         where d.endpoint_id = e.id and d.state = 'pending' and (d.leased_until is null or d.leased_until <= now())
           and case when :id::text is null then d.due_at <= now() else d.id = :id end
           and not exists (
             select from ${TABLES.deliveries} as earlier where earlier.endpoint_id = e.id and earlier.object = d.object
               and earlier.state = 'pending' and earlier.change_id < d.change_id)
         order by d.due_at limit greatest(0, case when e.failures > 0 then 1 else :perEndpoint end - busy.count)
       ) as c
       where e.is_active and (e.paused_until is null or e.paused_until <= now() or :id::text is not null)
       order by c.due_at limit :limit
     ), chosen as (
       select d.id from ${TABLES.deliveries} as d
       where d.id in (select id from candidates)
         and d.state = 'pending' and (d.leased_until is null or d.leased_until <= now()) for update skip locked
     )
     update ${TABLES.deliveries} as d set leased_until = now() + make_interval(secs => :lease), attempts = attempts + 1
     from chosen, :endpoints: as e where d.id = chosen.id and e.id = d.endpoint_id
     returning d.id, d.endpoint_id as "endpointId", d.body, d.attempts, e.url,
       array_remove(array[e.secret, case when e.old_secret_until > now() then e.old_secret end], null) as secrets`,
    { endpoints, limit, perEndpoint, lease, id },
  )
  return rows
}

/** What came of an attempt. */
export interface AttemptEnd {
  readonly state: 'delivered' | 'pending' | 'dead'
  readonly status: number | null
  readonly problem: string | null
  /** Seconds until the next attempt. */
  readonly delay: number
}

/** Ends an attempt; not where another worker has taken it meanwhile. What is told of the same object later waits as long. */
export async function endAttempt(
  knex: Knex,
  { id, attempts }: ClaimedDelivery,
  { state, status, problem, delay }: AttemptEnd,
): Promise<void> {
  await runRaw(
    knex,
    `with ended as (
       update ${TABLES.deliveries} set state = :state, status = :status, problem = :problem, leased_until = null,
         due_at = now() + make_interval(secs => :delay), ended_at = case when :state = 'pending' then null else now() end
       where id = :id and attempts = :attempts and state = 'pending' returning endpoint_id, object, change_id, due_at
     )
     update ${TABLES.deliveries} as later set due_at = greatest(later.due_at, ended.due_at) from ended
     where :state = 'pending' and later.endpoint_id = ended.endpoint_id and later.object = ended.object
       and later.state = 'pending' and later.change_id > ended.change_id`,
    { state, status, problem, delay, id, attempts },
  )
}

/** True for a delivery that is still to be made. */
export async function isPending(knex: Knex, id: string): Promise<boolean> {
  const { rows } = await runRaw(knex, `select from ${TABLES.deliveries} where id = ? and state = 'pending'`, [id])
  return rows.length > 0
}

/** Gives a delivery back that was not tried. */
export async function giveBack(knex: Knex, { id, attempts }: ClaimedDelivery): Promise<void> {
  await runRaw(
    knex,
    `update ${TABLES.deliveries} set leased_until = null, attempts = attempts - 1 where id = ? and attempts = ? and state = 'pending'`,
    [id, attempts],
  )
}

/** Deletes what was delivered or given up more than so many days ago, and what is for endpoints that there are no more. */
export async function sweepDeliveries(knex: Knex, endpoints: string, days: number): Promise<number> {
  const { rowCount } = await knex.raw<{ rowCount: number }>(
    `delete from ${TABLES.deliveries} as d where d.ended_at < now() - make_interval(days => ?)
       or not exists (select from ?? as e where e.id = d.endpoint_id)`,
    [days, endpoints],
  )
  return rowCount
}
