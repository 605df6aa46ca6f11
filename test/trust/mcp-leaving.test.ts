/** P17: clients that leave in the middle of a call of a tool, and the signal to stop while tools are called. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest'
import { REVISIONS } from '../support/agent.js'
import { seededRandom } from '../support/seeded-random.js'
import { agentMessage } from './support/agent-messages.js'
import { as, createClient, type Hit, json, type Shot, type TrialClient } from './support/client.js'
import { findInMessage } from './support/message-oracles.js'
import { findLeftovers } from './support/oracles.js'
import { isLong, report, seed, size } from './support/size.js'
import {
  startTrialDatabase,
  startTrialServer,
  type TrialDatabase,
  type TrialOptions,
  type TrialServer,
} from './support/trial.js'

let database: TrialDatabase
const open: (() => unknown)[] = []

beforeAll(async () => {
  database = await startTrialDatabase()
})
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
  await database.reset()
})
afterAll(() => database?.stop())

async function start(options: TrialOptions = {}): Promise<{ server: TrialServer; client: TrialClient }> {
  const server = await startTrialServer(database.url, options)
  const client = createClient(server.port)
  open.push(() => server.remove(), client.close)
  return { server, client }
}

/** A call as Alice, of the revision and in the shape of its turn. */
function callShot(name: string, given: Record<string, unknown> = {}, turn = 0): Shot {
  const params = { name, arguments: given }
  const message = agentMessage(REVISIONS[turn % 2] ?? '2026-07-28', 'tools/call', {
    params,
    id: turn,
    headers: as('alice'),
  })
  return { method: 'POST', path: '/mcp', ...message }
}

/** The bytes of a request. */
function bytesOf({ method, path, headers = {}, body = '' }: Shot): Buffer {
  const lines = Object.entries({ Host: 'x', 'Content-Length': Buffer.byteLength(body), ...headers })
  const head = lines.map(([name, value]) => `${name}: ${String(value)}\r\n`).join('')
  return Buffer.from(`${method} ${path} HTTP/1.1\r\n${head}\r\n${body.toString()}`)
}

/** Of one whose client has gone: that, a lock that was given up, and that exports are few at once. */
const GONE = /^\d+ "[^"]*" (?:ECONNRESET|EPIPE|HPE_\w+) | ServiceUnavailable /

const CLIENTS = size(30, 300)

it(`[P17 J7 I10 F8 R7] ${CLIENTS} clients that leave in the middle of a call leave nothing behind`, {
  timeout: 600_000,
}, async () => {
  const { server, client } = await start({ pool: 40 })
  for (let turn = 0; turn < 30; turn++) await client.fire(callShot('book_list', {}, turn))
  client.close()
  const before = await server.state()
  const text = 'x'.repeat(3_000)
  const calls = [
    (turn: number) => callShot('book_list', { page_size: 100 }, turn),
    (turn: number) => callShot('slow_list', {}, turn),
    (turn: number) => callShot('slow_retrieve', { id: 1 + (turn % 5) }, turn),
    (turn: number) => callShot('book_create', { body: { title: 'broken off', meta: { text } } }, turn),
    // each another row: who changes the same waits for its lock
    (turn: number) => callShot('slow_partial_update', { id: 1 + (turn % 5), body: { bio: 'x' } }, turn),
    (turn: number) => callShot('book_bulk_create', { body: [{ title: 'broken off' }, { title: 'broken off' }] }, turn),
    (turn: number) => callShot('export_list', {}, turn),
    (turn: number) => callShot('stream_list', {}, turn),
    (turn: number): Shot => ({
      method: 'POST',
      path: '/mcp',
      ...agentMessage('2026-07-28', 'tools/list', { id: turn }),
    }),
  ]
  const random = seededRandom(seed)
  let turns = 0
  const unended: number[] = []
  const work = async () => {
    while (turns < CLIENTS) {
      const turn = turns++
      const round = Math.floor(turn / calls.length)
      const request = bytesOf((calls[turn % calls.length] as (turn: number) => Shot)(turn))
      const socket = connect({ port: server.port, host: '127.0.0.1', allowHalfOpen: true })
      socket.on('error', () => {}).resume()
      const closed = once(socket, 'close').catch(() => undefined)
      // of each kind most are whole, and left in the middle of what the other side does
      const isWhole = round % 4 !== 0
      socket.write(isWhole ? request : request.subarray(0, 1 + random(request.length - 1)))
      await sleep(random(120))
      if (turn % 3 === 0) socket.resetAndDestroy()
      else if (turn % 3 === 1) socket.destroy()
      // says no more, which Node takes for leaving, and waits until the other side ends, too
      else await Promise.race([ended(socket), sleep(20_000).then(() => unended.push(turn))])
      socket.destroy()
      await closed
    }
  }
  await Promise.all(Array.from({ length: 12 }, work))
  const leftovers = await findLeftovers(server, database, before)
  const faults = (await server.failures()).filter((line) => !GONE.test(line))
  report('P17 left', { clients: CLIENTS, leftovers: leftovers.length, faults: faults.length })
  expect(leftovers).toEqual([])
  expect(faults).toEqual([])
  expect(unended).toEqual([])
  // two or none of each pair
  const [pairs] = await database.query<{ n: number }>(
    `select count(*)::int % 2 as n from books where title = 'broken off' and meta is null`,
  )
  expect(pairs).toEqual({ n: 0 })
})

/** Ends this side, and waits for the end of the other. */
async function ended(socket: Socket): Promise<void> {
  const over = once(socket, 'end').catch(() => undefined)
  socket.end()
  await over
}

it('[P17 J7 I10] a statement that nobody waits for is cancelled, as it is by HTTP', { timeout: 120_000 }, async () => {
  const { server } = await start()
  // each row takes a tenth of a second: longer than the limit of statements
  await database.query(`insert into authors (name) select 'slow' from generate_series(1, 400)`)
  const running = `select pid from pg_stat_activity
    where application_name = 'trial' and state = 'active' and query like '%pg_sleep%'`
  const cancelled = () =>
    readFileSync(database.log(), 'utf8').split('canceling statement due to user request').length - 1
  const timedOut = () =>
    readFileSync(database.log(), 'utf8').split('canceling statement due to statement timeout').length - 1
  const limit = timedOut()
  for (const request of [
    json('GET', '/api/slow', undefined, as('alice')),
    ...REVISIONS.map((_, turn) => callShot('slow_list', {}, turn)),
    { ...callShot('slow', { action: 'list' }), path: '/mcp/resources', headers: resourceHeaders() },
  ]) {
    const before = cancelled()
    const socket = connect(server.port, '127.0.0.1')
    socket.on('error', () => {})
    socket.write(bytesOf(request))
    while ((await database.query(running)).length === 0) await sleep(10)
    socket.resetAndDestroy()
    while ((await database.query(running)).length > 0) await sleep(10)
    expect(cancelled()).toBe(before + 1)
  }
  expect(timedOut()).toBe(limit)
  expect((await server.failures()).filter((line) => !GONE.test(line))).toEqual([])
})

function resourceHeaders() {
  return agentMessage('2026-07-28', 'tools/call', { params: { name: 'slow' }, headers: as('alice') }).headers
}

const ROUNDS = size(1, 10)

it(`[P17 J8 I12] SIGTERM with 50 calls in flight, ${ROUNDS} times: all answered, nothing left`, {
  timeout: 600_000,
}, async () => {
  let slowest = 0
  for (let round = 0; round < ROUNDS; round++) {
    const { server, client } = await start()
    const reading = Array.from({ length: 40 }, async (_, turn) =>
      client.fire(callShot('slow_retrieve', { id: 1 }, turn)),
    )
    const writing = Array.from({ length: 10 }, async (_, turn) =>
      client.fire(callShot('book_create', { body: { title: 'last', isbn: `last-${round}-${turn}` } }, turn)),
    )
    while ((await server.state()).requests < 50) await sleep(5)
    const begin = performance.now()
    const code = server.stop()
    const hits = await Promise.all([...reading, ...writing])
    expect(hits.flatMap(findInMessage)).toEqual([])
    expect(hits.filter((hit) => !isDone(hit)).map(({ text }) => text)).toEqual([])
    expect(await code).toBe(0)
    slowest = Math.max(slowest, performance.now() - begin)
    expect(server.errors()).toBe('')
    expect(
      await database.query('select count(*)::int as n from books where isbn like $1', [`last-${round}-%`]),
    ).toEqual([{ n: 10 }])
  }
  report('P17 stopped', { rounds: ROUNDS, 'slowest ms': Math.round(slowest), failed: 0 })
  if (isLong) expect(slowest).toBeLessThan(10_000)
})

const isDone = ({ status, text }: Hit) => status === 200 && text.includes('"isError":false')

it('[P17 J8 I12] calls while the API ends are done, or say 503 in the envelope, and what they told is so', {
  timeout: 60_000,
}, async () => {
  const { server, client } = await start()
  const outcomes = { done: 0, refused: 0, gone: 0 }
  const told: string[] = []
  const odd: string[] = []
  let isOver = false
  const work = async (worker: number) => {
    for (let turn = 0; !isOver; turn++) {
      const isbn = `end-${worker}-${turn}`
      const hit = await client.fire(callShot('book_create', { body: { title: 'end', isbn } }, turn))
      if (hit.failure !== undefined) {
        outcomes.gone += 1
        if (!/ECONNREFUSED|ECONNRESET|EPIPE|socket hang up/.test(hit.failure)) odd.push(hit.failure)
      } else if (isDone(hit)) {
        outcomes.done += 1
        told.push(isbn)
      } else {
        outcomes.refused += 1
        const { content } = (JSON.parse(hit.text) as { result: { content: { text: string }[] } }).result
        const [first, second] = content.map(({ text }) => text)
        if (first !== '{"detail":"Service temporarily unavailable","status":503}') odd.push(hit.text)
        if (!/^Call again in \d+ seconds, not before\.$/.test(second ?? '')) odd.push(hit.text)
      }
    }
  }
  const working = Promise.all(Array.from({ length: 10 }, (_, worker) => work(worker)))
  while (outcomes.done < 100) await sleep(10)
  await server.plant('close')
  while (outcomes.refused < 20) await sleep(10)
  expect(await server.stop()).toBe(0)
  isOver = true
  await working
  report('P17 closed', outcomes)
  expect(odd).toEqual([])
  const stored = await database.query<{ isbn: string }>(`select isbn from books where title = 'end'`)
  expect(stored.map(({ isbn }) => isbn).sort()).toEqual(told.sort())
})
