/** P8 and P7: what requests cost in memory, at their peak and in the long run. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { MULTIPART, multipart } from '../support/multipart.js'
import { as, createClient, json, type Shot, type TrialClient } from './support/client.js'
import { findInAnswer, findLeftovers } from './support/oracles.js'
import { isLong, report, size } from './support/size.js'
import { startTrialDatabase, startTrialServer, type TrialDatabase, type TrialServer } from './support/trial.js'

const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a])
const MB = 2 ** 20
const UNKNOWN_PATHS = size(1_000, 10_000)

let database: TrialDatabase

beforeAll(async () => {
  database = await startTrialDatabase()
})
afterAll(() => database?.stop())

/** Forgets the most that the process has held so far, where the kernel can: else it counts as held since. */
function forgetPeak({ child }: TrialServer): void {
  const file = `/proc/${child.pid}/clear_refs`
  if (existsSync(file)) writeFileSync(file, '5')
}

/** The most that the process has held since. */
function peakOf({ child }: TrialServer): number {
  return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${child.pid}/status`, 'utf8'))?.[1]) * 1024
}

interface Case {
  /** Done before the requests. */
  readonly prepare?: (server: TrialServer) => Promise<unknown>
  readonly shots: readonly Shot[]
  /** In megabytes, over the same app at rest. */
  readonly limit: number
  /** The same, when all is done and collected. @default no limit */
  readonly stays?: number
  readonly concurrency: number
  readonly status: number
}

const alice = as('alice')
const large = JSON.stringify({ title: 'large', meta: { text: 'x'.repeat(990_000) } })
const photo = Buffer.concat([PNG, Buffer.alloc(10 * MB - 8, 1)])
/** The request for a table of 100,000 rows. */
const table = (path: string) => ({
  prepare: async () =>
    database.query(`insert into events (name, created, rank)
      select 'event ' || n, timestamptz '2027-01-01' + n * interval '1 second', n % 11
      from generate_series((select count(*) + 1 from events), 100000) n`),
  shots: [json('GET', path)],
  concurrency: 1,
  status: 200,
})

const cases: Record<string, () => Case> = {
  '1 MB of JSON': () => ({
    shots: [
      { method: 'POST', path: '/api/books', headers: { 'Content-Type': 'application/json', ...alice }, body: large },
    ],
    limit: 15,
    concurrency: 1,
    status: 201,
  }),
  'a bulk of 100 × 8 kB': () => ({
    shots: [
      json(
        'POST',
        '/api/books/bulk',
        Array.from({ length: 100 }, (_, n) => ({ title: `${n}`, meta: 'x'.repeat(8_000) })),
        alice,
      ),
    ],
    limit: 25,
    concurrency: 1,
    status: 201,
  }),
  [`${UNKNOWN_PATHS} paths that are none`]: () => ({
    shots: Array.from({ length: UNKNOWN_PATHS }, (_, n) =>
      json(n % 2 === 0 ? 'GET' : 'OPTIONS', `/api/none-${n}/${n}`),
    ),
    limit: 5,
    concurrency: 16,
    status: 404,
  }),
  ...(isLong && {
    '20 uploads of 10 MB': () => ({
      shots: Array.from({ length: 20 }, () => ({
        method: 'POST',
        path: '/api/uploads',
        headers: { ...MULTIPART, ...alice },
        body: multipart(
          { name: 'caption', content: 'x' },
          { name: 'image', filename: 'a.png', type: 'image/png', content: photo },
        ),
      })),
      limit: 60,
      concurrency: 20,
      status: 201,
    }),
    'CSV of 100,000 rows': () => ({ ...table('/api/table.csv'), limit: 120 }),
    'CSV of 100,000 rows, streamed': () => ({ ...table('/api/stream.csv'), limit: 40 }),
    '1,000,000 throttle keys': () => ({
      prepare: async (server: TrialServer) => server.plant('keys'),
      shots: [],
      limit: 60,
      stays: 25,
      concurrency: 1,
      status: 200,
    }),
  }),
}

// the peak is what Linux tells of a process
describe.skipIf(process.platform !== 'linux')('[P8] the memory of', () => {
  it.each(Object.entries(cases))('%s', { timeout: 120_000 }, async (name, create) => {
    const server = await startTrialServer(database.url)
    const client = createClient(server.port)
    try {
      // what every process loads and compiles at its first requests
      for (let turn = 0; turn < 300; turn++)
        await client.fire(json(turn % 3 === 0 ? 'OPTIONS' : 'GET', `/api/${['books', 'nowhere'][turn % 2]}`))
      await client.fire(json('POST', '/api/books', { title: 'small' }, alice))
      // the young generation grows once, with the first thousands
      await client.fireAll(
        Array.from({ length: 3_000 }, () => json('GET', '/api/nowhere')),
        () => {},
        16,
      )
      const { memory } = await server.state()
      const { prepare, shots, limit, stays = Number.POSITIVE_INFINITY, concurrency, status } = create()
      forgetPeak(server)
      const before = peakOf(server)
      await prepare?.(server)
      await client.fireAll(shots, (hit) => expect(hit).toMatchObject({ status }), concurrency)
      const grown = (peakOf(server) - before) / MB
      const left = ((await server.state()).memory - memory) / MB
      report('P8 memory', { case: name, 'peak MB over idle': grown.toFixed(1), limit, 'MB that stay': left.toFixed(1) })
      expect(grown).toBeLessThan(limit)
      expect(left).toBeLessThan(stays)
      await database.query('delete from events where id > 1000')
    } finally {
      client.close()
      await server.remove()
    }
  })
})

/** What a client of the mixed traffic does next. */
function next(turn: number): Shot {
  const id = 1 + (turn % 190)
  const kinds: Shot[] = [
    json('GET', '/api/books'),
    json('GET', `/api/books/${id}`),
    json('GET', `/api/native?page=${1 + (turn % 9)}&page_size=20`),
    json('GET', '/api/events'),
    json('GET', `/api/books?search=title&n__in=1,2,3&ordering=-n`),
    json('GET', `/api/ft?search=title`),
    json('GET', '/api/books.csv'),
    json('PATCH', `/api/books/${id}`, { n: turn % 100, meta: { turn } }, alice),
    json(
      'PATCH',
      '/api/books/bulk',
      [
        { id, n: 1 },
        { id: id + 1, n: 2 },
      ],
      alice,
    ),
    json('GET', '/api/exports', undefined, as(['alice', 'bob', 'staff'][turn % 3] as string)),
    json('GET', '/api/books/0'),
    json('POST', '/api/books', { title: null, n: 'x' }, alice),
    json('GET', '/api/private'),
    {
      method: 'PATCH',
      path: '/api/uploads/1',
      headers: { ...MULTIPART, ...alice },
      body: multipart({ name: 'image', filename: 'a.png', type: 'image/png', content: PNG }),
    },
  ]
  return kinds[turn % kinds.length] as Shot
}

describe('[P7] mixed traffic', () => {
  const seconds = size(2, 1_800)

  it(`for ${seconds} seconds costs no memory, no descriptor and no connection`, { timeout: 2_400_000 }, async () => {
    const server = await startTrialServer(database.url)
    const client: TrialClient = createClient(server.port)
    try {
      const before = await server.state()
      let turn = 0
      const found: string[] = []
      const run = async (until: number) => {
        const shots = (function* () {
          while (performance.now() < until) yield next(turn++)
        })()
        await client.fireAll(
          shots,
          (hit) => {
            if (hit.shot.path.startsWith('/api/exports') && hit.status === 503) return
            for (const fault of findInAnswer(hit))
              found.push(`${fault}: ${hit.shot.method} ${hit.shot.path} ${hit.text.slice(0, 200)}`)
          },
          8,
        )
      }
      const begin = performance.now()
      await run(begin + seconds * 200)
      const points: { minutes: number; megabytes: number }[] = []
      const steps = size(4, 60)
      for (let step = 1; step <= steps; step++) {
        await run(begin + seconds * (200 + (800 * step) / steps))
        // the server keeps what it reports until somebody asks
        await server.failures()
        points.push({ minutes: (performance.now() - begin) / 60_000, megabytes: (await server.state()).memory / MB })
      }
      client.close()
      await sleep(100)
      const leftovers = await findLeftovers(server, database, before, 15_000)
      const slope = slopeOf(points)
      // what is not collected yet goes up and down by a tenth
      const fifth = Math.ceil(points.length / 5)
      const [first, last] = [points.slice(0, fifth), points.slice(-fifth)].map((part) =>
        mean(part.map(({ megabytes }) => megabytes)),
      ) as [number, number]
      report('P7 soak', {
        seconds,
        requests: turn,
        'MB a minute': slope.toFixed(2),
        'first MB': first.toFixed(0),
        'last MB': last.toFixed(0),
        faults: found.length,
      })
      expect(found.slice(0, 5)).toEqual([])
      expect(leftovers).toEqual([])
      if (isLong) {
        expect(slope).toBeLessThan(1)
        expect(last).toBeLessThan(first * 1.1)
      }
    } finally {
      client.close()
      await server.remove()
    }
  })
})

function mean(all: readonly number[]): number {
  return all.reduce((sum, one) => sum + one, 0) / all.length
}

/** The slope of the line that fits best. */
function slopeOf(points: readonly { minutes: number; megabytes: number }[]): number {
  const x = mean(points.map(({ minutes }) => minutes))
  const y = mean(points.map(({ megabytes }) => megabytes))
  const above = points.reduce((sum, { minutes, megabytes }) => sum + (minutes - x) * (megabytes - y), 0)
  return above / points.reduce((sum, { minutes }) => sum + (minutes - x) ** 2, 0)
}
