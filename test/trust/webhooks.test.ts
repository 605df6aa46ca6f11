/** Committed changes are recorded ones, and those are delivered: at least once, in order, whatever ends the processes that do so. */
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Knex } from 'knex'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { ensureChangesTable } from '../../lib/changes/index.js'
import { claimDeliveries, endAttempts } from '../../lib/webhooks/claimed-deliveries.js'
import { addDeliveries, promoteNext } from '../../lib/webhooks/delivery-table.js'
import { ensureWebhookTables } from '../../lib/webhooks/index.js'
import { createSecret } from '../../lib/webhooks/sign-webhook.js'
import { pagesReadBy } from '../support/pages-read.js'
import { findPgBouncer, startPgBouncer, warnWithoutPgBouncer } from '../support/pgbouncer.js'
import { toUrl } from '../support/program.js'
import { startProxy } from '../support/proxy.js'
import {
  type Answer,
  isGenuine,
  type ReceivedWebhook,
  receiveWebhooks,
  type WebhookReceiver,
} from '../support/webhook-receiver.js'
import { findDecoder } from './support/committed-rows.js'
import { startFailover } from './support/failover.js'
import { type App, type Bundle, bundle, startApps } from './support/killed-apps.js'
import { Random } from './support/random.js'
import { report, seed, size } from './support/size.js'
import {
  committed,
  killing,
  type RecordingPostgres,
  recorded,
  SCHEMA,
  startRecording,
  type Told,
  WRITERS,
  write,
} from './support/writers.js'

let program: Bundle
beforeAll(async () => {
  program = await bundle('webhooks-server', ['changes', 'webhooks'])
})
afterAll(() => program.remove())

const decoder = findDecoder()
let postgres: RecordingPostgres
let knex: Knex
beforeEach(async () => {
  postgres = await startRecording(decoder, async (one) => {
    await ensureChangesTable(one)
    await ensureWebhookTables(one)
  })
  knex = postgres.knex
})
afterEach(async () => postgres.stop())

interface Subscribed {
  readonly id: string
  readonly receiver: WebhookReceiver
  /** What it has not taken for genuine: when it came, as what is older than minutes is not. */
  readonly forged: readonly ReceivedWebhook[]
  answer: Answer
}

async function subscribe(answer: Answer): Promise<Subscribed> {
  const secret = createSecret()
  const forged: ReceivedWebhook[] = []
  const receiver = await receiveWebhooks((received, response) => {
    if (!isGenuine(secret, received)) forged.push(received)
    return endpoint.answer(received, response)
  })
  const { rows } = await knex.raw(
    `insert into koa_viewsets_webhook_endpoints (owner, url, events, secret) values ('1', ?, '{book.*}', ?) returning id`,
    [receiver.url, secret],
  )
  const endpoint: Subscribed = { id: rows[0].id, receiver, forged, answer }
  return endpoint
}

/** What is to be delivered to endpoints, and is not yet. */
async function openOf(endpoints: readonly Subscribed[]): Promise<number> {
  const { rows } = await knex.raw(
    'select count(*)::int as count from koa_viewsets_webhook_deliveries where ended_at is null and endpoint_id = any(?)',
    [endpoints.map(({ id }) => id)],
  )
  return rows[0].count
}

/** Until all has arrived: nobody waits for the next attempt. */
async function drain(endpoints: readonly Subscribed[]): Promise<void> {
  let [open, since] = [Number.POSITIVE_INFINITY, Date.now()]
  for (let quiet = 0; quiet < 5; ) {
    await knex.raw(`update koa_viewsets_webhook_deliveries set due_at = now() where state = 'pending' and due_at > now();
      update koa_viewsets_webhook_endpoints set paused_until = null where paused_until is not null`)
    await sleep(200)
    const left = await openOf(endpoints)
    quiet = left === 0 ? quiet + 1 : 0
    if (left < open) [open, since] = [left, Date.now()]
    if (quiet === 0 && Date.now() > since + 120_000) throw new Error(`${left} deliveries have not arrived`)
  }
}

interface BookChange {
  readonly id: string
  readonly key: string
}

/** Each change has arrived, none that is none, and first arrivals of an object are in order. @returns repetitions */
function expectDelivered(changes: readonly BookChange[], { id, receiver, forged }: Subscribed): number {
  const { received } = receiver
  const expected = new Map(changes.map((change) => [`${change.id}-${id}`, change.key]))
  const last = new Map<string, number>()
  const arrived = new Set<string>()
  for (const one of received) {
    if (arrived.has(one.id)) continue
    arrived.add(one.id)
    const key = expected.get(one.id)
    expect(String(one.body.data.id)).toBe(key)
    const change = Number(one.id.slice(0, one.id.indexOf('-')))
    expect(change).toBeGreaterThan(last.get(key as string) ?? 0)
    last.set(key as string, change)
  }
  expect([...expected.keys()].filter((name) => !arrived.has(name))).toEqual([])
  expect(forged).toEqual([])
  return received.length - arrived.size
}

interface Fire {
  readonly name: string
  /** Where the apps find the database. */
  readonly url: string
  readonly env?: Readonly<Record<string, string>>
  readonly strikes?: number
  readonly strike?: (apps: readonly App[], random: Random) => Promise<void>
  /** What its random data comes from. @default that of the run */
  readonly own?: number
  /** Counts what the database's log says was committed. @default by the slot */
  readonly count?: () => Promise<number>
}

const kills = size(2, 200)

/** Writers, and endpoints that answer as they like, while something ends what processes work with: by default, themselves. */
async function underFire(fire: Fire): Promise<void> {
  const { name, url, env = {}, strikes = kills, strike = killing(strikes) } = fire
  const { own = seed, count = async () => (await committed(knex, decoder)).length } = fire
  const random = new Random(own)
  const steady = await subscribe(() => 204)
  const failing = await subscribe(() => (random.chance(0.1) ? 500 : 200))
  const redirecting = await subscribe((_, response) => {
    if (random.chance(0.9)) return 204
    response.writeHead(302, { location: 'http://169.254.169.254/latest/meta-data/' }).end()
    return undefined
  })
  const breaking = await subscribe((_, response) => {
    if (random.chance(0.9)) return 204
    response.destroy()
    return undefined
  })
  const hanging = await subscribe(() => undefined)
  const others = [steady, failing, redirecting, breaking]
  const { apps, stop } = await startApps(program.file, url, size(2, 3), env)
  const told: Told = { answered: 0, created: new Set() }
  let isOver = false
  const writers = Array.from({ length: WRITERS }, (_, writer) =>
    write(apps, new Random(own + writer), told, () => isOver),
  )
  try {
    await strike(apps, new Random(own))
  } finally {
    isOver = true
    await Promise.allSettled(writers)
    await stop()
  }
  await Promise.all(writers)
  // a backend whose process is gone ends what it does
  await sleep(500)
  const left = await openOf(others)
  for (const endpoint of others) endpoint.answer = () => 204
  // whoever had them has ended, and need not be waited for
  await knex.raw('update koa_viewsets_webhook_deliveries set leased_until = null where leased_until is not null')
  const again = await startApps(program.file, url, size(1, 2), env)
  try {
    await drain(others)
  } finally {
    await again.stop()
  }
  const found = await recorded(knex)
  expect(found).toHaveLength(await count())
  const created = new Set(found.filter(({ before }) => before === null).map((one) => one.name))
  expect([...told.created].filter((id) => !created.has(`books ${id}`))).toEqual([])
  const { rows } = await knex.raw(`select id::text, key from koa_viewsets_changes where model = 'books' order by id`)
  const repeated = others.map((endpoint) => expectDelivered(rows, endpoint))
  expect(hanging.receiver.received.length).toBeGreaterThan(0)
  const { rows: states } = await knex.raw('select state, count(*)::int from koa_viewsets_webhook_deliveries group by 1')
  const ended = Object.fromEntries(states.map((row: { state: string; count: number }) => [row.state, row.count]))
  const figures = { record: decoder.plugin, writers: WRITERS, answered: told.answered, changes: rows.length }
  const arrivals = others.reduce((sum, { receiver }) => sum + receiver.received.length, 0)
  report(name, { strikes, ...figures, left, arrivals, repeated: repeated.join('+'), ...ended, seed: own })
}

describe('each committed change is delivered', () => {
  it('though servers and dispatchers are killed', { timeout: 3_600_000 }, () =>
    underFire({ name: 'webhooks', url: postgres.url }),
  )

  it('though the database is away for seconds', { timeout: 3_600_000 }, async () => {
    const { host, port } = postgres.connection
    const proxy = await startProxy({ path: join(host, `.s.PGSQL.${port}`) }, `.s.PGSQL.${port}`)
    const cuts = size(1, 20)
    const cut = async (_: unknown, random: Random) => {
      for (let times = 0; times < cuts; times++) {
        await sleep(500 + random.below(1_000))
        await proxy.cut()
        await sleep(500 + random.below(2_500))
        await proxy.restore()
      }
      await sleep(1_000)
    }
    try {
      const url = toUrl({ ...postgres.connection, host: proxy.folder })
      await underFire({ name: 'webhooks, database away', url, strikes: cuts, strike: cut })
    } finally {
      await proxy.remove()
    }
  })

  // of recorded changes, which decide here too, the short run has one
  const failovers = Array.from({ length: size(0, 10) }, (_, index) => seed + index)
  // processes of a server are found where Linux has them
  it.skipIf(process.platform !== 'linux').each(failovers)(
    'though a standby takes the place of the primary [%i]',
    { timeout: 600_000 },
    async (own) => {
      const failover = await startFailover(async (primary) => {
        await primary.raw(SCHEMA)
        await ensureChangesTable(primary)
        await ensureWebhookTables(primary)
      })
      const other = knex
      knex = failover.knex
      const takeOver = async (_: unknown, random: Random) => {
        await sleep(1_000 + random.below(1_000))
        await failover.takeOver()
        await sleep(1_500)
      }
      try {
        // before PostgreSQL 16 no log is read that a standby writes on: what was answered must be there
        const count = async () => (await recorded(knex)).length
        await underFire({ name: 'webhooks, failover', url: failover.url, strikes: 1, strike: takeOver, count, own })
      } finally {
        knex = other
        await failover.stop()
      }
    },
  )

  const pgbouncer = findPgBouncer()
  if (!pgbouncer) warnWithoutPgBouncer()
  it.skipIf(!pgbouncer)('behind PgBouncer by transaction, too', { timeout: 3_600_000 }, async () => {
    const bouncer = await startPgBouncer({
      mode: 'transaction',
      server: { ...postgres.connection },
      settings: { default_pool_size: 6 },
    })
    try {
      const url = toUrl({ ...bouncer.connection, database: postgres.connection.database })
      await underFire({ name: 'webhooks, PgBouncer', url, env: { PREPARED_STATEMENTS: 'false' } })
    } finally {
      await bouncer.stop()
    }
  })
})

describe('the queue', () => {
  const ENDPOINTS = 'koa_viewsets_webhook_endpoints'
  /** Two objects of each backlog: what is told of them, and what is ended. */
  const deliveriesOf = (ids: readonly string[]) =>
    ids.flatMap((endpointId) =>
      ['one', '2'].map((object) => ({ id: `0-${object}-${endpointId}`, endpointId, object, changeId: '1000000' })),
    )
  /** Pages that each of its statements reads. */
  const pagesOf = async (proven: readonly string[]) => {
    const few = deliveriesOf(proven)
    const claiming = { endpoints: ENDPOINTS, limit: 50, mostUnproven: 50, perEndpoint: 5, lease: 45, proven }
    const added = few.map((one) => ({ ...one, event: 'book.updated', body: '{}' }))
    const ended = { attempts: 0, outcome: 'failed', status: 500, problem: null, delay: 5 } as const
    const statements = {
      claim: () => claimDeliveries(knex, { ...claiming, busy: new Map() }),
      add: () => addDeliveries(knex as Knex.Transaction, added),
      promote: () => promoteNext(knex, few),
      end: () =>
        endAttempts(
          knex,
          ENDPOINTS,
          few.map(({ id }) => ({ id, ...ended })),
        ),
    }
    const pages: Record<string, number> = {}
    for (const [name, ask] of Object.entries(statements)) pages[name] = await pagesReadBy(knex, ask)
    return pages
  }

  it('reads no backlog: neither of dead endpoints, nor of an object', { timeout: 600_000 }, async () => {
    const backlog = size(10_000, 100_000)
    await knex.raw(`insert into ${ENDPOINTS} (owner, url, events, secret)
      select i::text, 'http://127.0.0.1/', '{book.*}', 'whsec_' from generate_series(1, 300) as i`)
    const { rows } = await knex.raw(`select id from ${ENDPOINTS} order by id limit 4`)
    const ids = rows.map(({ id }: { id: string }) => id)
    const addAll = async (key: string, state: 'delivered' | 'pending') => {
      for (const [index, id] of ids.entries()) {
        // each of an object of its own, and all of one
        await knex.raw(
          `insert into koa_viewsets_webhook_deliveries (id, endpoint_id, change_id, object, event, body, state, waits, ended_at)
           select i || ?, ?, i, case when ? then 'one' else i::text end, 'book.updated', '{}', state, ? and i > 1 and ended is null, ended
           from generate_series(1, ?) as i, (values (?, case when ? = 'delivered' then now() end)) as s(state, ended)`,
          [`${key}-${id}`, id, index % 2 === 1, index % 2 === 1, backlog / 2, state, state],
        )
      }
    }
    // as PostgreSQL knows it in quiet times, when all is delivered
    await addAll('d', 'delivered')
    await knex.raw(`alter table koa_viewsets_webhook_deliveries set (autovacuum_enabled = false)`)
    await knex.raw('vacuum analyze koa_viewsets_webhook_deliveries')
    const before = await pagesOf(ids)
    await knex.raw('delete from koa_viewsets_webhook_deliveries where ended_at is null')
    await addAll('p', 'pending')
    const pages = await pagesOf(ids)
    const more = Object.entries(pages).map(([name, count]) => [name, count - (before[name] as number)])
    expect(more.filter(([, count]) => (count as number) > 500)).toEqual([])
    const said = (counts: object) =>
      Object.entries(counts)
        .map((entry) => entry.join(' '))
        .join(', ')
    report('webhooks, backlog', {
      backlog: 2 * backlog,
      endpoints: 300,
      'pages before': said(before),
      'pages with': said(pages),
    })
  })
})

const p99 = (values: readonly number[]) =>
  [...values].sort((one, other) => one - other)[Math.ceil(values.length * 0.99) - 1] as number

/** Milliseconds from the begin of each transaction, which is before its COMMIT, to its arrival. */
function delaysOf({ receiver }: Subscribed, since: number): number[] {
  const offset = Date.now() - performance.now()
  const fresh = receiver.received.slice(since)
  return fresh.map(({ at, body }) => at + offset - Date.parse(body.timestamp))
}

describe('receivers that hang, fail, redirect or are slow', () => {
  it('cost others nothing, and hold no connection', { timeout: 600_000 }, async () => {
    const good = await Promise.all(Array.from({ length: 5 }, () => subscribe(() => 204)))
    const { apps, stop } = await startApps(program.file, postgres.url, 1, { TIMEOUT_SECONDS: '30' })
    const changes = size(8, 500)
    // as many as the machine has time for, with whom it tells of them: beyond that, each change costs all
    const perSecond = 12
    const round = async () => {
      const since = good.map(({ receiver }) => receiver.received.length)
      const start = performance.now()
      for (let index = 0; index < changes; index++) {
        await sleep(start + (index * 1_000) / perSecond - performance.now())
        const response = await fetch(`http://127.0.0.1:${apps[0]?.port}/flat`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ title: `t ${index}` }),
        })
        expect(response.status).toBe(201)
      }
      await Promise.all(good.map(({ receiver }, index) => receiver.receive((since[index] as number) + changes)))
      return p99(good.flatMap((one, index) => delaysOf(one, since[index] as number)))
    }
    try {
      await round()
      const without = await round()
      const bad: Answer[] = [
        () => undefined,
        () => 500,
        (_, response) => void response.writeHead(302, { location: 'http://169.254.169.254/' }).end(),
        (_, response) => void setTimeout(() => response.writeHead(204).end(), 30_000).unref(),
      ]
      const subscribeAll = (answers: readonly Answer[], each: number) =>
        Promise.all(answers.flatMap((answer) => Array.from({ length: each }, () => subscribe(answer))))
      // what as many cost that answer: each change is written down for them, too
      const more = await subscribeAll([() => 204], 60)
      const withMore = await round()
      await drain(more)
      await knex('koa_viewsets_webhook_endpoints')
        .whereIn(
          'id',
          more.map(({ id }) => id),
        )
        .delete()
      const few = await subscribeAll(bad, 1)
      const withFew = await round()
      const all = [...few, ...(await subscribeAll(bad, 14))]
      const withBad = await round()
      // as many as hang have no connection of their own
      const { rows } = await knex.raw(
        `select count(*)::int as count from pg_stat_activity where state like 'idle in transaction%' or wait_event_type = 'Lock'`,
      )
      expect(rows[0].count).toBe(0)
      expect(all.filter(({ receiver }) => receiver.received.length === 0)).toEqual([])
      const rounded = (milliseconds: number) => Math.round(milliseconds)
      report('webhooks, bad receivers', {
        changes,
        good: good.length,
        bad: all.length,
        'p99 without, ms': rounded(without),
        'p99 with 4 of them, ms': rounded(withFew),
        'p99 with all, ms': rounded(withBad),
        'p99 with as many more that are good, ms': rounded(withMore),
        seed,
      })
    } finally {
      await stop()
    }
  })
})
