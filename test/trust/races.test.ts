/** P5 and P9: many requests at once for one thing, against the app in a process of its own. */
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { as, createClient, type Hit, json, type TrialClient } from './support/client.js'
import { findInAnswer, findLeftovers } from './support/oracles.js'
import { isLong, report, size } from './support/size.js'
import {
  startTrialDatabase,
  startTrialServer,
  type TrialDatabase,
  type TrialServer,
  type TrialState,
} from './support/trial.js'

let database: TrialDatabase
let server: TrialServer
let client: TrialClient
let before: TrialState

beforeAll(async () => {
  database = await startTrialDatabase()
  server = await startTrialServer(database.url, { cursors: 2 })
  client = createClient(server.port)
})
beforeEach(async () => {
  before = await server.state()
})
afterAll(async () => {
  client?.close()
  await server?.remove()
  await database?.stop()
})

const all = async (count: number, one: (index: number) => Promise<Hit>) =>
  Promise.all(Array.from({ length: count }, (_, index) => one(index)))
const parse = (hit: Hit) => JSON.parse(hit.text)

async function expectClean(): Promise<void> {
  client.close()
  expect(await findLeftovers(server, database, before)).toEqual([])
}

it(`[P9 I1] one of 50 equal creates is taken, the others are told the same, ${size(2, 100)} times`, {
  timeout: 300_000,
}, async () => {
  for (let round = 0; round < size(2, 100); round++) {
    const hits = await all(50, () =>
      client.fire(json('POST', '/api/books', { title: 'x', isbn: `one-${round}` }, as('alice'))),
    )
    const refused = hits.filter(({ status }) => status === 400)
    expect(hits.filter(({ status }) => status === 201)).toHaveLength(1)
    expect(refused).toHaveLength(49)
    expect(new Set(refused.map(({ text }) => text)).size).toBe(1)
    expect(parse(refused[0] as Hit).errors).toEqual({ isbn: ['This field must be unique.'] })
  }
  report('P9 unique', { rounds: size(2, 100), requests: size(2, 100) * 50 })
  await expectClean()
})

it(`[P9 I6] crossing bulks never deadlock, ${size(8, 1_000)} rounds`, { timeout: 300_000 }, async () => {
  const ids = [11, 12, 13, 14, 15]
  for (let round = 0; round < size(8, 1_000); round++) {
    const hits = await all(4, (index) => {
      const order = index % 2 === 0 ? ids : ids.toReversed()
      return client.fire(
        json(
          'PATCH',
          '/api/books/bulk',
          order.map((id) => ({ id, n: index })),
          as('alice'),
        ),
      )
    })
    expect(hits.filter(({ status }) => status !== 200).map(({ text }) => text)).toEqual([])
    const rows = await database.query('select distinct n from books where id = any($1)', [ids])
    expect(rows).toHaveLength(1)
  }
  const deadlocks = await database.query<{ deadlocks: string }>(
    'select deadlocks from pg_stat_database where datname = current_database()',
  )
  report('P9 bulks', { rounds: size(8, 1_000), deadlocks: String(deadlocks[0]?.deadlocks) })
  expect(deadlocks).toEqual([{ deadlocks: '0' }])
  await expectClean()
})

it(`[P9 I2] a parent deleted while children are created leaves no orphan, ${size(4, 300)} rounds`, {
  timeout: 300_000,
}, async () => {
  const seen = new Map<number, number>()
  for (let round = 0; round < size(4, 300); round++) {
    const deleter = round % 9
    const { id } = parse(await client.fire(json('POST', '/api/authors', { name: 'brief', bio: '' })))
    const hits = await all(9, (index) => {
      if (index === deleter) return client.fire(json('DELETE', `/api/authors/${id}`))
      if (index % 2 === 0) return client.fire(json('POST', `/api/authors/${id}/books`, { title: 'child' }))
      return client.fire(json('POST', '/api/books', { title: 'child', author_id: id }, as('alice')))
    })
    expect(hits.flatMap(findInAnswer)).toEqual([])
    for (const { status } of hits) {
      expect([201, 204, 400, 404, 409]).toContain(status)
      seen.set(status, (seen.get(status) ?? 0) + 1)
    }
    const [left] = await database.query<{ parents: number; children: number }>(
      `select (select count(*) from authors where id = $1)::int as parents, (select count(*) from books where author_id = $1)::int as children`,
      [id],
    )
    expect(left?.children).toBe(hits.filter(({ status }) => status === 201).length)
    expect(left?.parents).toBe(hits[deleter]?.status === 204 ? 0 : 1)
  }
  report('P9 parents', {
    rounds: size(4, 300),
    statuses: [...seen]
      .sort(([a], [b]) => a - b)
      .map(([status, count]) => `${status}:${count}`)
      .join(' '),
  })
  await expectClean()
})

it('[P9 D17] ten readers of one server cursor: the pages together hold each row once', {
  timeout: 60_000,
}, async () => {
  for (let round = 0; round < size(1, 30); round++) {
    const first = parse(await client.fire(json('GET', '/api/exports', undefined, as('alice'))))
    const ids: number[] = first.results.map(({ id }: { id: number }) => id)
    let exhausted = false
    let conflicts = 0
    await all(10, async () => {
      let hit: Hit
      do {
        hit = await client.fire(json('GET', `/api/exports?server_cursor=${first.cursor_id}`, undefined, as('alice')))
        expect([200, 404, 409]).toContain(hit.status)
        if (hit.status === 409) conflicts++
        if (hit.status !== 200) continue
        const page = parse(hit)
        ids.push(...page.results.map(({ id }: { id: number }) => id))
        exhausted ||= page.exhausted
      } while (!exhausted)
      return hit
    })
    expect({ seen: ids.length, different: new Set(ids).size }).toEqual({ seen: 1_000, different: 1_000 })
    if (round === 0) report('P9 one cursor', { rows: ids.length, conflicts })
  }
  await expectClean()
})

/** Waits until no connection of the app is used. */
async function untilSwept(): Promise<void> {
  const begin = performance.now()
  while ((await server.state()).used > 0 && performance.now() - begin < 30_000) await sleep(50)
  expect((await server.state()).used).toBe(0)
}

it(`[P5 D13 D14 D20] of 50 opens at once 5 succeed; the pool stays usable; abandoned ones are swept, ${size(1, 5)} times`, {
  timeout: 900_000,
}, async () => {
  for (let round = 0; round < size(1, 5); round++) {
    const opens = await all(50, () => client.fire(json('GET', '/api/exports', undefined, as('alice'))))
    const statuses = opens.map(({ status }) => status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(5)
    expect(statuses.filter((status) => status === 429)).toHaveLength(45)
    for (const { headers, status } of opens) if (status === 429) expect(headers['retry-after']).toMatch(/^[12]$/)
    // half of the pool is taken: the next user is told to come back
    const others = await all(15, (index) =>
      client.fire(json('GET', '/api/exports', undefined, as(index % 2 === 0 ? 'bob' : 'staff'))),
    )
    for (const { status, headers } of others) {
      expect(status).toBe(503)
      expect(headers['retry-after']).toMatch(/^[12]$/)
    }
    const retrieve = await client.fire(json('GET', '/api/books/1'))
    expect(retrieve.status).toBe(200)
    if (isLong) expect(retrieve.milliseconds).toBeLessThan(500)
    const swept = performance.now()
    await untilSwept()
    report('P5 caps', {
      opened: 5,
      'retrieve ms': Math.round(retrieve.milliseconds),
      'swept after s': ((performance.now() - swept) / 1_000).toFixed(1),
    })
    let abandoned = 0
    while (abandoned < size(5, 100)) {
      const hits = await all(5, () => client.fire(json('GET', '/api/exports', undefined, as('alice'))))
      abandoned += hits.filter(({ status }) => status === 200).length
      expect((await server.state()).used).toBeLessThanOrEqual(5)
      await sleep(200)
    }
    await untilSwept()
  }
  await expectClean()
})
