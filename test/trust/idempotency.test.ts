/**
 * I25: a write with an `Idempotency-Key` is done exactly once and answered always in the same way, whatever ends its
 * processes and connections meanwhile, and whoever else sends the key.
 */
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { createDatabase, type TestDatabase } from '../support/database.js'
import { findPgBouncer, startPgBouncer, warnWithoutPgBouncer } from '../support/pgbouncer.js'
import { toUrl } from '../support/program.js'
import { runsAsRole } from '../support/roles.js'
import { seededRandom } from '../support/seeded-random.js'
import { type App, type Bundle, bundle, startApps } from './support/killed-apps.js'
import { report, seed, size } from './support/size.js'

let database: TestDatabase
let program: Bundle
beforeAll(async () => {
  program = await bundle('once-server', ['idempotency'])
  database = await createDatabase({
    schema: 'create table orders (id serial primary key, ref text not null, caller text not null)',
  })
})
afterAll(async () => {
  program.remove()
  await database.drop()
})

interface Answer {
  readonly status: number
  readonly text: string
  readonly replayed: boolean
}

/** One write, sent again to any of the processes until it is answered. */
interface Write {
  readonly path: string
  readonly body: unknown
  readonly key: string
  readonly caller: string
}

const counts = { sent: 0, broken: 0, busy: 0 }
beforeEach(() => {
  Object.assign(counts, { sent: 0, broken: 0, busy: 0 })
})

async function untilAnswered(ports: readonly number[], { path, body, key, caller }: Write): Promise<Answer> {
  for (let tries = Math.floor(Math.random() * ports.length); ; tries++) {
    counts.sent++
    try {
      const answer = await fetch(`http://127.0.0.1:${ports[tries % ports.length]}/api/${path}`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', 'X-User': caller, 'Idempotency-Key': key },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(10_000),
      })
      const text = await answer.text()
      if (answer.status !== 409 && answer.status !== 503) {
        return { status: answer.status, text, replayed: answer.headers.has('idempotency-replayed') }
      }
      counts.busy++
    } catch {
      counts.broken++
    }
    await delay(5 + Math.random() * 20)
  }
}

/** How often each ref is there. */
async function refs(): Promise<Map<string, number>> {
  const { rows } = await database.knex.raw<{ rows: readonly { ref: string; n: number }[] }>(
    'select ref, count(*)::int as n from orders group by ref',
  )
  return new Map(rows.map(({ ref, n }) => [ref, n]))
}

/** The ways in which a row is written. */
const WAYS: readonly ((ref: string, caller: string) => Pick<Write, 'path' | 'body'>)[] = [
  (ref, caller) => ({ path: 'orders', body: { ref, caller } }),
  (ref, caller) => ({ path: 'told', body: { ref, caller } }),
  (ref, caller) => ({ path: 'orders/bulk', body: [{ ref, caller }] }),
  (ref, caller) => ({ path: 'plain', body: { ref, caller } }),
]

/** Sends writes from many clients, while processes are killed and start again. */
async function underFire(url: string, kills: number): Promise<{ writes: number; wrong: string[] }> {
  const { apps, stop } = await startApps(program.file, url, 2)
  const ports = apps.map(({ port }) => port)
  const random = seededRandom(seed)
  let isOver = false
  const wrong: string[] = []
  const expected = new Set<string>()
  const client = async (name: string) => {
    for (let index = 0; !isOver; index++) {
      const ref = `${name}-${index}`
      const way = WAYS[index % WAYS.length] as (typeof WAYS)[number]
      expected.add(ref)
      const write = { ...way(ref, name), key: randomUUID(), caller: name }
      const first = await untilAnswered(ports, write)
      if (first.status !== 201 || !first.text.includes(ref)) wrong.push(`${ref}: ${first.status} ${first.text}`)
      if (random(4) > 0) continue
      const again = await untilAnswered(ports, write)
      if (again.text !== first.text || !again.replayed) wrong.push(`${ref}: ${first.text} and then ${again.text}`)
    }
  }
  try {
    const clients = Array.from({ length: 12 }, (_, index) => client(`c${index}-${kills}-${ports[0]}`))
    for (let round = 0; round < kills; round++) {
      const app = apps[round % apps.length] as App
      await delay(random(200))
      await app.kill()
      await app.start()
    }
    isOver = true
    await Promise.all(clients)
  } finally {
    await stop()
  }
  const found = await refs()
  for (const ref of expected) if (found.get(ref) !== 1) wrong.push(`${ref} is there ${found.get(ref) ?? 0} times`)
  return { writes: expected.size, wrong }
}

describe.skipIf(runsAsRole())('[I25] a write with a key', () => {
  it('is done once by two processes that get it 20 times at the same time', { timeout: 600_000 }, async () => {
    const { apps, stop } = await startApps(program.file, toUrl(database.connection), 2)
    const ports = apps.map(({ port }) => port)
    const rounds = size(4, 200)
    try {
      for (let round = 0; round < rounds; round++) {
        const way = WAYS[round % WAYS.length] as (typeof WAYS)[number]
        const ref = `together-${round}`
        const write = { ...way(ref, 'ann'), key: randomUUID(), caller: 'ann' }
        const answers = await Promise.all(Array.from({ length: 20 }, () => untilAnswered(ports, write)))
        expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1)
        expect(answers.filter(({ replayed }) => !replayed)).toHaveLength(1)
        expect((await refs()).get(ref)).toBe(1)
      }
    } finally {
      await stop()
    }
    report('I25 together', { rounds, requests: counts.sent, busy: counts.busy })
  })

  const kills = size(2, 200)
  const pooledKills = size(1, 50)
  it(`is done once, though processes are killed ${kills} times`, { timeout: 1_800_000 }, async () => {
    const { writes, wrong } = await underFire(toUrl(database.connection), kills)
    report('I25 killed', { kills, writes, ...counts, wrong: wrong.length })
    expect(wrong).toEqual([])
    expect(counts.broken).toBeGreaterThan(0)
  })

  const version = findPgBouncer()
  if (!version) warnWithoutPgBouncer()
  it.skipIf(!version)(`is so behind PgBouncer by transaction`, { timeout: 1_800_000 }, async () => {
    const bouncer = await startPgBouncer({
      mode: 'transaction',
      server: database.direct,
      settings: { default_pool_size: 6 },
    })
    try {
      const url = toUrl({ ...bouncer.connection, database: database.direct.database })
      const { writes, wrong } = await underFire(url, pooledKills)
      report('I25 pooled', { kills: pooledKills, writes, ...counts, wrong: wrong.length })
      expect(wrong).toEqual([])
    } finally {
      await bouncer.stop()
    }
  })

  it("is answered to its caller only: the same keys of others are others' writes", { timeout: 600_000 }, async () => {
    const { apps, stop } = await startApps(program.file, toUrl(database.connection), 1)
    const ports = apps.map(({ port }) => port)
    const random = seededRandom(seed)
    const seen = new Map<string, string>()
    const requests = size(100, 5_000)
    try {
      for (let index = 0; index < requests; index++) {
        const caller = `caller${random(5)}`
        const key = `key${random(6)}`
        const way = random(WAYS.length)
        const identity = `${caller} ${key} ${way}`
        const ref = `matrix ${identity}`
        const { path, body } = (WAYS[way] as (typeof WAYS)[number])(ref, caller)
        const answer = await untilAnswered(ports, { path, body, key, caller })
        expect(answer.status).toBe(201)
        expect(answer.text).toContain(ref)
        expect(answer.replayed).toBe(seen.has(identity))
        if (seen.has(identity)) expect(answer.text).toBe(seen.get(identity))
        seen.set(identity, answer.text)
      }
    } finally {
      await stop()
    }
    const found = await refs()
    for (const identity of seen.keys()) expect(found.get(`matrix ${identity}`)).toBe(1)
    report('I25 callers', { requests, identities: seen.size })
  })
})
