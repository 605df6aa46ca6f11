/** Attempts to deliver: what is due is claimed for a while, by one worker, and ended. */

import type { Knex } from 'knex'
import { readRows, runRaw } from '../postgres/type-parsers.js'
import type { ObjectQueue } from './delivery-table.js'
import type { WebhookOutcome } from './retry-schedule.js'
import { STILL_SIGNS, TABLES } from './webhook-tables.js'

/** One that this worker has for a while, and where it goes. */
export interface ClaimedDelivery extends ObjectQueue {
  readonly id: string
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
  /** The most of endpoints that have not proven that they answer. */
  readonly mostUnproven: number
  /** The most that one endpoint has at a time in this process, of those that have proven it; others have one. */
  readonly perEndpoint: number
  readonly proven: readonly string[]
  /** Deliveries in progress by endpoint. */
  readonly busy: ReadonlyMap<string, number>
  /** Seconds until another worker may take it. */
  readonly lease: number
}

const FREE = `d.state = 'pending' and (d.leased_until is null or d.leased_until <= now())`

/** Takes what was chosen, a CTE of ids. */
const TAKE = `update ${TABLES.deliveries} as d
  set leased_until = now() + make_interval(secs => :lease), attempts = attempts + 1
  from chosen, :endpoints: as e where d.id = chosen.id and e.id = d.endpoint_id
  returning d.id, d.endpoint_id as "endpointId", d.object, d.body, d.attempts, e.url,
    e.secret || array(select old ->> 'secret' from jsonb_array_elements(e.old_secrets) as old where ${STILL_SIGNS}) as secrets`

/**
 * Takes deliveries that are due. What another worker is taking is left to it; what it has taken is free again when its time is
 * over, as a worker may have ended.
 */
export async function claimDeliveries(
  knex: Knex,
  { busy, ...claiming }: Claiming,
): Promise<readonly ClaimedDelivery[]> {
  return readRows<ClaimedDelivery>(
    knex,
    `with candidates as (
       select due.id from (
         select c.*, p.is_proven, row_number() over (partition by p.is_proven order by c.due_at) as place
         from :endpoints: as e
         left join unnest(:ids::uuid[], :counts::int[]) as busy(id, count) on busy.id = e.id
         cross join lateral (select e.failures = 0 and e.id = any(:proven) as is_proven) as p
         cross join lateral (
           select d.id, d.due_at from ${TABLES.deliveries} as d
           where d.endpoint_id = e.id and not d.waits and d.due_at <= now() and ${FREE}
           order by d.due_at
           limit greatest(0, case when p.is_proven then :perEndpoint else 1 end - coalesce(busy.count, 0))
         ) as c
         where e.is_active and (e.paused_until is null or e.paused_until <= now())
       ) as due
       where due.is_proven or due.place <= :mostUnproven order by due.due_at limit :limit
     ), chosen as (
       select d.id from ${TABLES.deliveries} as d where d.id in (select id from candidates) and ${FREE}
       for update skip locked
     )
     ${TAKE}`,
    { ...claiming, ids: [...busy.keys()], counts: [...busy.values()] },
  )
}

/** Takes one, whenever it is due and however many of its endpoint are being sent; none before its turn has come. */
export async function claimDelivery(
  knex: Knex,
  claiming: Pick<Claiming, 'endpoints' | 'lease'> & { readonly id: string },
): Promise<ClaimedDelivery | undefined> {
  const rows = await readRows<ClaimedDelivery>(
    knex,
    `with chosen as (
       select d.id from ${TABLES.deliveries} as d join :endpoints: as e on e.id = d.endpoint_id
       where d.id = :id and e.is_active and ${FREE} and not exists (
         select from ${TABLES.deliveries} as o where o.endpoint_id = d.endpoint_id and o.object = d.object
           and o.ended_at is null and o.change_id < d.change_id)
       for update of d skip locked
     )
     ${TAKE}`,
    { ...claiming },
  )
  return rows[0]
}

/** Outcome of an attempt. */
export interface AttemptEnd extends Pick<ClaimedDelivery, 'id' | 'attempts'> {
  readonly outcome: WebhookOutcome
  readonly status: number | null
  readonly problem: string | null
  /** Seconds until the next attempt; null where there is none. */
  readonly delay: number | null
}

/** The longest time that an endpoint rests after failures, in seconds. */
const LONGEST_PAUSE = 60

/**
 * Ends attempts, in their order; not those whose deliveries other workers have taken meanwhile. An endpoint that fails rests,
 * longer each time, and is tried with one at a time until it answers; one that is gone is switched off.
 */
export async function endAttempts(knex: Knex, endpoints: string, ends: readonly AttemptEnd[]): Promise<void> {
  const cells = (cell: keyof AttemptEnd) => ends.map((end) => end[cell])
  await runRaw(
    knex,
    `with ended as (
       update ${TABLES.deliveries} as d set status = a.status, problem = a.problem, leased_until = null,
         state = case when a.outcome = 'delivered' then 'delivered' when a.delay is null then 'dead' else 'pending' end,
         due_at = now() + make_interval(secs => coalesce(a.delay, 0)), ended_at = case when a.delay is null then now() end
       from unnest(?::text[], ?::int[], ?::text[], ?::int[], ?::text[], ?::float[]) with ordinality
         as a(id, attempts, outcome, status, problem, delay, place)
       where d.id = a.id and d.attempts = a.attempts and d.state = 'pending' returning d.endpoint_id, a.outcome, a.place
     ), noted as (
       select endpoint_id as id, bool_or(outcome = 'gone') as is_gone, answered is not null as has_answered,
         count(*) filter (where outcome = 'failed' and place > coalesce(answered, 0)) as failed
       from (
         select *, max(place) filter (where outcome = 'delivered') over (partition by endpoint_id) as answered from ended
       ) as each group by endpoint_id, answered
     ), held as (
       -- in one order, as other workers do
       select e.id from ?? as e join noted as n using (id)
       where n.is_gone or n.failed > 0 or n.has_answered and e.failures > 0 order by e.id for no key update of e
     )
     update ?? as e set is_active = e.is_active and not n.is_gone,
       problem = case when n.is_gone then 'it has answered 410' else e.problem end,
       failures = case when n.has_answered then 0 else e.failures end + n.failed,
       paused_until = case
         when n.failed > 0 then now() + make_interval(secs => least(${LONGEST_PAUSE},
           2 ^ least(case when n.has_answered then 0 else e.failures end + n.failed - 1, 10)))
         when not n.has_answered then e.paused_until end
     from noted as n join held using (id) where e.id = n.id`,
    [
      cells('id'),
      cells('attempts'),
      cells('outcome'),
      cells('status'),
      cells('problem'),
      cells('delay'),
      endpoints,
      endpoints,
    ],
  )
}

/** True for a delivery that is still to be made, to an endpoint that is there. */
export async function isOpen(knex: Knex, endpoints: string, id: string): Promise<boolean> {
  const rows = await readRows(
    knex,
    `select from ${TABLES.deliveries} as d join ?? as e on e.id = d.endpoint_id where d.id = ? and d.ended_at is null`,
    [endpoints, id],
  )
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
