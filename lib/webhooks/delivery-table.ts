/**
 * Queue of deliveries: what endpoints are to be told, written as changes are read, tried again, and swept. What waits for something that is
 * told of the same object before is marked (`waits`), so that a claim (`claimed-deliveries.ts`) looks at nothing that it cannot take.
 */

import type { Knex } from 'knex'
import { toReference } from '../models/table-reference.js'
import type { Queryable } from '../postgres/pg-types.js'
import { readRows, runRaw } from '../postgres/type-parsers.js'
import type { ToldEndpoint } from './new-deliveries.js'
import { IS_AMONG } from './webhook-events.js'
import { missingTables, REPLAYED, TABLES } from './webhook-tables.js'

/** Queue of one object's deliveries to one endpoint, in order. */
export interface ObjectQueue {
  readonly endpointId: string
  /** Of a fixed length, whatever model and key are. */
  readonly object: string
}

/** Delivery of a change to an endpoint. */
export interface NewDelivery extends ObjectQueue {
  readonly id: string
  readonly changeId: string
  readonly event: string
  /** JSON, as it is signed and sent; null where it is not known yet what the owner sees. */
  readonly body: string | null
}

/** The most characters of bodies that one statement sends. */
const MOST_AT_ONCE = 8_000_000

/** Adds deliveries, of which each is there once. @returns those that wait for others of their objects */
export async function addDeliveries(
  trx: Knex.Transaction,
  deliveries: readonly NewDelivery[],
): Promise<readonly ObjectQueue[]> {
  const waiting: ObjectQueue[] = []
  for (const { part, bodies } of inParts(deliveries)) {
    const cells = (cell: keyof NewDelivery) => part.map((delivery) => delivery[cell])
    const places = part.map(({ body }) => (body === null ? null : bodies.get(body)))
    const { rows } = await trx.raw<{ rows: readonly ObjectQueue[] }>(
      `insert into ${TABLES.deliveries} (id, endpoint_id, change_id, object, event, body, state, waits)
       select n.id, n.endpoint_id, n.change_id, n.object, n.event, b.body,
         case when n.body is null then 'postponed' else 'pending' end,
         row_number() over (partition by n.endpoint_id, n.object order by n.change_id) > 1 or (
           -- not by exists, and in the order of an index: where few objects have much that is open, PostgreSQL would read all of it
           select true from ${TABLES.deliveries} as o
           where o.endpoint_id = n.endpoint_id and o.object = n.object and o.ended_at is null
           order by o.change_id limit 1) is not null
       from unnest(?::text[], ?::uuid[], ?::bigint[], ?::text[], ?::text[], ?::int[])
         as n(id, endpoint_id, change_id, object, event, body)
       left join unnest(?::text[]) with ordinality as b(body, place) on b.place = n.body
       on conflict (id) do nothing returning endpoint_id as "endpointId", case when waits then object end as object`,
      [
        cells('id'),
        cells('endpointId'),
        cells('changeId'),
        cells('object'),
        cells('event'),
        places,
        [...bodies.keys()],
      ] as never,
    )
    for (const row of rows) if (row.object !== null) waiting.push(row)
  }
  return waiting
}

interface Part {
  readonly part: readonly NewDelivery[]
  /** Their bodies, each once, as endpoints are told the same, with its place from 1. */
  readonly bodies: ReadonlyMap<string, number>
}

function* inParts(deliveries: readonly NewDelivery[]): Generator<Part> {
  let part: NewDelivery[] = []
  let bodies = new Map<string, number>()
  let length = 0
  for (const delivery of deliveries) {
    const { body } = delivery
    const isNew = body !== null && !bodies.has(body)
    if (isNew && length > 0 && length + body.length > MOST_AT_ONCE) {
      yield { part, bodies }
      part = []
      bodies = new Map()
      length = 0
    }
    part.push(delivery)
    if (body === null || bodies.has(body)) continue
    bodies.set(body, bodies.size + 1)
    length += body.length
  }
  if (part.length > 0) yield { part, bodies }
}

/**
 * Lets the next ones of objects go on. Called after what changes a queue is committed, by whoever has added to it and by
 * whoever has ended something of it: the later of both sees what the other has done, and nobody locks anything meanwhile.
 */
export async function promoteNext(knex: Knex, queues: readonly ObjectQueue[]): Promise<void> {
  if (queues.length === 0) return
  const distinct = [...new Map(queues.map((queue) => [`${queue.endpointId} ${queue.object}`, queue])).values()]
  await runRaw(
    knex,
    `update ${TABLES.deliveries} as d set waits = false
     from unnest(?::uuid[], ?::text[]) as q(endpoint_id, object) cross join lateral (
       select o.id from ${TABLES.deliveries} as o
       where o.endpoint_id = q.endpoint_id and o.object = q.object and o.ended_at is null order by o.change_id limit 1
     ) as first
     where d.id = first.id and d.waits`,
    [distinct.map(({ endpointId }) => endpointId), distinct.map(({ object }) => object)],
  )
}

/** The same for all objects, after processes that were killed in between. */
export async function promoteAll(knex: Knex): Promise<void> {
  await knex.raw(
    `update ${TABLES.deliveries} as d set waits = false from (
       select distinct on (endpoint_id, object) id, waits from ${TABLES.deliveries}
       where ended_at is null order by endpoint_id, object, change_id
     ) as first
     where d.id = first.id and first.waits and d.waits`,
  )
}

/** Postponed, and of events that this process tells. Those of others are left for an hour to a process that does, as one of another version. */
const POSTPONED = `state = 'postponed' and (created_at < now() - interval '1 hour' or ${IS_AMONG})`

/** The endpoints whose owners could not be asked for something. @param events those that this process tells */
export async function endpointsWithPostponed(
  knex: Knex,
  endpoints: string,
  events: readonly string[],
): Promise<readonly ToldEndpoint[]> {
  return readRows<ToldEndpoint>(
    knex,
    `select id, owner, to_json(events) as events from ?? as e
     where exists (select from ${TABLES.deliveries} as d where d.endpoint_id = e.id and ${POSTPONED}) order by id`,
    [endpoints, events],
  )
}

/** What is not known yet of an endpoint, the oldest first. @param events those that this process tells */
export async function selectPostponed(
  knex: Knex,
  endpointId: string,
  { events, limit }: { readonly events: readonly string[]; readonly limit: number },
): Promise<readonly Omit<NewDelivery, 'body'>[]> {
  return readRows<Omit<NewDelivery, 'body'>>(
    knex,
    `select id, endpoint_id as "endpointId", object, change_id::text as "changeId", event from ${TABLES.deliveries}
     where endpoint_id = ? and ${POSTPONED} order by change_id limit ?`,
    [endpointId, events, limit],
  )
}

/** Has deliveries made that were postponed, and deletes those of which the owner sees nothing. @returns those that this has made */
export async function settlePostponed(
  trx: Knex.Transaction,
  known: readonly NewDelivery[],
  gone: readonly { readonly id: string }[],
): Promise<readonly NewDelivery[]> {
  const { rows } = await trx.raw<{ rows: readonly { readonly id: string }[] }>(
    `update ${TABLES.deliveries} as d set state = 'pending', body = k.body, due_at = now()
     from unnest(?::text[], ?::text[]) as k(id, body) where d.id = k.id and d.state = 'postponed' returning d.id`,
    [known.map(({ id }) => id), known.map(({ body }) => body)] as never,
  )
  await trx.raw(`delete from ${TABLES.deliveries} where id = any(?) and state = 'postponed'`, [
    gone.map(({ id }) => id),
  ] as never)
  const made = new Set(rows.map(({ id }) => id))
  return known.filter(({ id }) => made.has(id))
}

/**
 * Tries what was given up again, in order. What is open of the same objects waits for it, but for what is being sent.
 * @param ids only these
 * @returns the queues that go on once this is committed (`promoteNext()`), one for each delivery
 */
export async function replayDeliveries(
  trx: Queryable,
  endpointId: string,
  ids: readonly string[] | undefined,
): Promise<readonly ObjectQueue[]> {
  const rows = await readRows<ObjectQueue>(
    trx,
    `update ${TABLES.deliveries} set state = 'pending',
       attempts = 0, due_at = now(), ended_at = null, waits = true, leased_until = ${REPLAYED}
     where endpoint_id = ? and state = 'dead' and (?::text[] is null or id = any(?))
     returning endpoint_id as "endpointId", object`,
    [endpointId, ids ?? null, ids ?? null],
  )
  await runRaw(
    trx,
    `update ${TABLES.deliveries} set waits = true
     where endpoint_id = ? and object = any(?) and ended_at is null and not waits
       and coalesce(leased_until, ${REPLAYED}) = ${REPLAYED}`,
    [endpointId, rows.map(({ object }) => object)],
  )
  return rows
}

/** What was replayed, as its turn comes: for a queue of jobs, which does not have it any more. */
export async function takeReplayed(
  trx: Knex.Transaction,
  endpoints: string,
): Promise<readonly { readonly id: string }[]> {
  return readRows<{ readonly id: string }>(
    trx,
    `update ${TABLES.deliveries} as d set leased_until = null from ?? as e
     where e.id = d.endpoint_id and d.leased_until = ${REPLAYED} and not d.waits returning d.id`,
    [endpoints],
  )
}

/** The most that one statement deletes. */
const SWEPT_AT_ONCE = 5_000

/**
 * Deletes what was delivered or given up more than so many days ago, and what is for endpoints that there are no more, in
 * whichever of the tables that somebody reads for.
 */
export async function sweepDeliveries(knex: Knex, days: number): Promise<void> {
  const { rows } = await knex.raw<{ rows: readonly { readonly endpoints: string }[] }>(
    `select endpoints from ${TABLES.progress}`,
  )
  const missing = await missingTables(
    knex,
    rows.map(({ endpoints }) => toReference(knex, endpoints)),
  )
  const tables = rows.map(({ endpoints }) => endpoints).filter((table) => !missing.includes(toReference(knex, table)))
  const none = tables.map(() => 'not exists (select from ?? as e where e.id = d.endpoint_id)').join(' and ')
  await sweep(knex, 'd.ended_at < now() - make_interval(days => ?)', [days])
  if (none !== '') await sweep(knex, none, tables)
}

async function sweep(knex: Knex, condition: string, values: readonly (string | number)[]): Promise<void> {
  for (let deleted = SWEPT_AT_ONCE; deleted === SWEPT_AT_ONCE; ) {
    const { rowCount } = await knex.raw<{ rowCount: number }>(
      `delete from ${TABLES.deliveries} where id in (
         select d.id from ${TABLES.deliveries} as d where ${condition} limit ${SWEPT_AT_ONCE} for update skip locked)`,
      values,
    )
    deleted = rowCount
  }
}
