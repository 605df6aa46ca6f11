/** Writes and the reads after them, while replicas lag, stop, die and are promoted. */
import Koa from 'koa'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { APIRouter, configure, modelSerializer, modelViewSet, table } from '../../lib/index.js'
import { ReplicaSet } from '../../lib/replicas/index.js'
import { rule } from '../../lib/rules/index.js'
import { serve, type TestServer } from '../support/server.js'
import { type Cluster, startCluster } from '../support/standbys.js'
import { report, size } from './support/size.js'

const Item = table<{ id: number; n: number; kept: string }>('items')

class ItemSerializer extends modelSerializer(Item, { fields: ['id', 'n', 'kept'] }) {}
class Items extends modelViewSet(Item, { serializerClass: ItemSerializer }) {}

let cluster: Cluster
let server: TestServer

beforeAll(async () => {
  configure({ secretKey: 'a secret of the tests' })
  // the second applies all that it gets with a delay
  cluster = await startCluster([{}, { recovery_min_apply_delay: '150ms' }])
  Item.knex(cluster.primary.knex)
  await cluster.primary.knex.raw("create table items (id serial primary key, n int not null, kept text default 'x')")
  const [one, two] = cluster.standbys.map(({ knex }) => knex) as [
    Cluster['primary']['knex'],
    Cluster['primary']['knex'],
  ]
  for (let isThere = false; !isThere; ) {
    isThere = (await two.raw("select to_regclass('items') is not null as there")).rows[0].there
  }
  const api = new APIRouter({
    // of which rows a field is shown is asked where the rows were read
    rules: [rule(Item, { read: { n__gte: 0 }, fields: { kept: { read: { n__lt: 3 }, write: false } } })],
    replicas: new ReplicaSet({ primary: cluster.primary.knex, replicas: [one, two], wait: 100, retryAfter: 200 }),
  })
  api.register('items', Items)
  await api.prepare()
  const app = new Koa().use(api.routes())
  app.silent = true
  server = await serve(app)
})
afterAll(async () => {
  await server.close()
  await cluster.stop()
})

interface Pairs {
  readonly pairs: number
  stale: number
  refused: number
  readonly statuses: Set<number>
}

/** Callers that write and read what they have written, each after the other. */
async function writeAndRead(pairs: number, callers = 16): Promise<Pairs> {
  const found: Pairs = { pairs, stale: 0, refused: 0, statuses: new Set() }
  const cookies = new Map<number, string>()
  await Promise.all(
    Array.from({ length: callers }, async (_, caller) => {
      for (let n = 0; n < pairs / callers; n++) {
        const made = await server.send({
          method: 'POST',
          path: '/items',
          headers: { 'Content-Type': 'application/json' },
          body: JSON.stringify({ n }),
        })
        found.statuses.add(made.status)
        if (made.status !== 201) {
          found.refused++
          continue
        }
        cookies.set(caller, String(made.headers['consistency-token']))
        const Cookie = `consistency_token=${cookies.get(caller)}`
        const read = await server.send({ path: `/items/${made.json.id}`, headers: { Cookie } })
        found.statuses.add(read.status)
        if (read.status === 503) found.refused++
        else if (read.json?.n !== n || (read.json.kept === 'x') !== n < 3) found.stale++
      }
    }),
  )
  return found
}

describe('[I30] what a caller has written', { timeout: 600_000 }, () => {
  it('is read, though one replica is behind', async () => {
    const { stale, refused, statuses, pairs } = await writeAndRead(size(200, 10_000))
    report('I30: reads after writes, a replica 150 ms behind', { pairs, stale })
    expect([stale, refused, [...statuses].sort((a, b) => a - b)]).toEqual([0, 0, [200, 201]])
  })

  it('is read while a replica stands still, and while it is killed', async () => {
    const [one] = cluster.standbys
    const pid = one?.postgres.pid as number
    const working = writeAndRead(size(150, 4_000))
    process.kill(pid, 'SIGSTOP')
    const still = new Promise((resolve) => setTimeout(resolve, 400))
    await still
    process.kill(pid, 'SIGCONT')
    process.kill(pid, 'SIGQUIT')
    const { stale, refused, statuses } = await working
    expect([stale, refused, [...statuses].sort((a, b) => a - b)]).toEqual([0, 0, [200, 201]])
  })

  it('is refused or read, never passed over, when a replica is promoted and the primary ends', async () => {
    const promoted = cluster.standbys[1] as Cluster['primary']
    const working = writeAndRead(size(100, 2_000))
    await new Promise((resolve) => setTimeout(resolve, 50))
    process.kill(cluster.primary.postgres.pid, 'SIGQUIT')
    await promoted.knex.raw('select pg_promote(true, 20)')
    const { stale, refused, statuses } = await working
    expect(stale).toBe(0)
    expect(refused).toBeGreaterThan(0)
    expect([...statuses].filter((status) => ![200, 201, 503].includes(status))).toEqual([])
    const write = { method: 'POST', path: '/items', headers: { 'Content-Type': 'application/json' }, body: '{"n":1}' }
    const refusal = await server.send(write)
    expect([refusal.status, refusal.headers['retry-after']]).toEqual([503, expect.stringMatching(/^\d+$/)])
    // who has written nothing still reads
    const { status, json } = await server.send({ path: '/items' })
    expect([status, json.every((item: { n: number; kept?: string }) => (item.kept === 'x') === item.n < 3)]).toEqual([
      200,
      true,
    ])
  })
})
