/** P1: requests of all kinds, right, nearly right and hostile, against every kind of route. */
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { askingShot } from './support/asking.js'
import { as, createClient, type Hit, json, type Shot, type TrialClient } from './support/client.js'
import { describedShot } from './support/described.js'
import { anyShot } from './support/hostile.js'
import { findInAnswer, findInStatements, findLeftovers, findUndescribed } from './support/oracles.js'
import { isLong, report, seed, size } from './support/size.js'
import { startTrialDatabase, startTrialServer, type TrialDatabase, type TrialServer } from './support/trial.js'

const REQUESTS = size(250, 500_000)
const BATCH = 2_000
/** Enough to keep the server busy: more would wait in line, in turns of its event loop that are as much longer. */
const CONCURRENCY = 8
/** In every hostile request; never to be seen in the text of a statement. */
const CANARY = `canary${seed.toString(36)}x`

let database: TrialDatabase
let server: TrialServer
let client: TrialClient

beforeAll(async () => {
  database = await startTrialDatabase()
  // its half holds all server cursors of the four callers (5 each): more are 503, which P5 shows
  server = await startTrialServer(database.url, { pool: 40 })
  client = createClient(server.port)
})
afterAll(async () => {
  client?.close()
  await server?.remove()
  await database?.stop()
})

/** One in five asks a list, by a group or by QUERY. */
const hostileShot = fc.oneof({ weight: 4, arbitrary: anyShot }, { weight: 1, arbitrary: askingShot })

/** Puts the canary at the end of what the request says. */
function mark({ path, body, ...shot }: Shot): Shot {
  const marked = /[?=&]/.test(path) ? path.replace(/(=[^&]*)(&|$)/, `$1${CANARY}$2`) : path
  return {
    ...shot,
    path: marked,
    ...(typeof body === 'string' ? { body: body.replace(/"(?=[,}\]])/, `${CANARY}"`) } : { body }),
  }
}

/** Each row of the slow list takes a tenth of a second, and two lists are always whole. */
const WITHOUT = ['/api/slow', '/api/table', '/api/stream']

async function namesOfNotes(): Promise<string[]> {
  const { text } = await client.fire(json('GET', '/api/pub', undefined, as('alice')))
  return (JSON.parse(text) as { results: { id: string }[] }).results.map(({ id }) => id)
}

/** For a cell of a table. */
function describe(hit: Hit | undefined): string {
  if (!hit) return 'none'
  const { method, path, body } = hit.shot
  const target = path.slice(0, 60).replace(/[^!-{}~]/g, '?')
  return `${Math.round(hit.milliseconds)} ms, ${method} ${target} with ${body?.length ?? 0} bytes, ${hit.status}`
}

it('[P1] requests as our document says are taken, or refused for what no schema can say', async () => {
  const names = await namesOfNotes()
  const right = describedShot(await server.document(), { without: WITHOUT, names, changes: false })
  const hits: Hit[] = []
  await client.fireAll(fc.sample(right, { numRuns: size(100, 500), seed }), (hit) => hits.push(hit))
  const odd = hits.filter(({ status }) => ![200, 201, 204, 400, 401, 403, 404, 409, 429].includes(status))
  expect(odd.map(({ shot, status }) => ({ shot, status }))).toEqual([])
  expect(hits.filter(({ status }) => status < 300).length).toBeGreaterThan(size(40, 200))
  await database.reset()
})

it(`[P1 P12 I14 I15] ${REQUESTS} requests: half as our document says and half hostile: none is answered 5xx, none leaves anything behind`, {
  timeout: 5_400_000,
}, async () => {
  for (let turn = 0; turn < 50; turn++) await client.fire(json('GET', '/api/books'))
  const document = await server.document()
  const described = describedShot(document, { without: WITHOUT, names: await namesOfNotes() })
  // without the connections of the client
  client.close()
  await sleep(200)
  const before = await server.state()
  const found: string[] = []
  const statuses = new Map<number, number>()
  let slowest: Hit | undefined
  const begin = performance.now()
  let fromDocument = new Set<Shot>()
  /** What is held once all bounded caches have had their share of requests. */
  let held = before.held
  const look = (hit: Hit) => {
    statuses.set(hit.status, (statuses.get(hit.status) ?? 0) + 1)
    if (hit.milliseconds > (slowest?.milliseconds ?? 0)) slowest = hit
    const undescribed = fromDocument.has(hit.shot) ? findUndescribed(document, hit) : []
    for (const fault of [...findInAnswer(hit), ...undescribed]) {
      found.push(
        `${fault}: ${hit.shot.method} ${hit.shot.path} ${JSON.stringify(hit.shot.headers)} ${JSON.stringify(hit.shot.body?.toString('latin1'))?.slice(0, 600)} -> ${hit.status} ${hit.text.slice(0, 300)}`,
      )
    }
  }
  for (let done = 0; done < REQUESTS && found.length < 20; done += BATCH) {
    const half = Math.ceil(Math.min(BATCH, REQUESTS - done) / 2)
    const hostile = fc
      .sample(hostileShot, { numRuns: half, seed: seed + done })
      .map((shot, index) => (index % 2 === 0 ? mark(shot) : shot))
    const right = fc.sample(described, { numRuns: half, seed: seed + done })
    fromDocument = new Set(right)
    await client.fireAll(
      right.flatMap((shot, index) => [shot, hostile[index] as Shot]),
      look,
      CONCURRENCY,
    )
    await database.reset()
    const failures = await server.failures()
    found.push(...failures.filter((line) => !/^4\d\d |ECONNRESET|EPIPE|aborted/.test(line)))
    if (done < REQUESTS / 4) held = (await server.state()).held
  }
  const rate = Math.round(REQUESTS / ((performance.now() - begin) / 1_000))
  client.close()
  found.push(...(await findLeftovers(server, database, before)))
  found.push(...(await findInStatements(database.log(), CANARY)))
  expect(await database.query('select * from canary')).toEqual([{ id: 1, text: 'untouched' }])
  const state = await server.state()
  const { loopDelay } = state
  const [resident, grown] = [state.memory - before.memory, state.held - held].map((bytes) => bytes / 2 ** 20) as [
    number,
    number,
  ]
  report('P1 fuzz', {
    seed,
    requests: REQUESTS,
    'per second': rate,
    slowest: describe(slowest),
    'loop p99 ms': loopDelay.toFixed(1),
    'resident MB': resident.toFixed(1),
    'held MB of the last three quarters': grown.toFixed(1),
    faults: found.length,
    statuses: [...statuses]
      .sort(([a], [b]) => a - b)
      .map(([status, count]) => `${status}:${count}`)
      .join(' '),
  })
  expect([...new Set(found)].slice(0, 20)).toEqual([])
  // the short run has other suites beside it
  if (isLong) {
    expect(slowest?.milliseconds).toBeLessThan(2_000)
    expect(loopDelay).toBeLessThan(20)
    expect(grown).toBeLessThan(8)
  }
})
