/** P6d and P6g: a bad network between the app and PostgreSQL, and clients that are slow. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { findFreePort } from '../support/program.js'
import { type ServerProxy, startProxy } from '../support/proxy.js'
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
const open: (() => unknown)[] = []

beforeAll(async () => {
  database = await startTrialDatabase()
})
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})
afterAll(() => database?.stop())

const QUERY_TIMEOUT = 1_000
const CLIENTS = 10

const isAway = ({ status, headers }: Hit) => status === 503 && /^[1-9]\d*$/.test(headers['retry-after'] ?? '')
const isLate = ({ status, milliseconds }: Hit) => status === 200 && milliseconds >= 200

/** What the app holds when the client's connections are closed. */
async function stateWithout(client: TrialClient, server: TrialServer): Promise<TrialState> {
  client.close()
  await sleep(200)
  return server.state()
}

/** The app over a proxy that each test disturbs: on TCP, as a network is. */
describe('[P6d I9] a network that', () => {
  let proxy: ServerProxy
  let server: TrialServer
  let client: TrialClient

  beforeAll(async () => {
    const port = await findFreePort()
    proxy = await startProxy({ host: '127.0.0.1', port: database.port }, port)
    const url = `postgres://postgres:${database.password}@127.0.0.1:${port}/postgres`
    server = await startTrialServer(url, { queryTimeout: QUERY_TIMEOUT, acquireTimeout: 1_000 })
    client = createClient(server.port)
  })
  afterAll(async () => {
    client?.close()
    await server?.remove()
    await proxy?.remove()
  })

  it.each<[string, (proxy: ServerProxy) => unknown, (hit: Hit) => boolean, string]>([
    ['refuses', (proxy) => proxy.cut(), isAway, '503'],
    ['falls silent', (proxy) => proxy.silence(), isAway, '503'],
    ['resets', (proxy) => proxy.reset(), isAway, '503'],
    ['passes on a byte a second', (proxy) => proxy.trickle(), isAway, '503'],
    ['is 200 ms late', (proxy) => proxy.delay(200), isLate, 'a late 200'],
  ])(
    '%s is answered in time, and well a second after it is',
    { timeout: 300_000 },
    async (name, disturb, isRight, as) => {
      const ask = async () =>
        Promise.all(Array.from({ length: CLIENTS }, async () => client.fire(json('GET', '/api/books/1'))))
      // each connection of the pool is there
      for (let turn = 0; turn < 5; turn++) await ask()
      const before = await stateWithout(client, server)
      let slowest = 0
      let back = 0
      const rounds = size(1, 10)
      for (let round = 0; round < rounds; round++) {
        await disturb(proxy)
        const hits = await ask()
        expect(
          hits.filter((hit) => !isRight(hit)).map(({ status, text, failure }) => ({ status, text, failure })),
        ).toEqual([])
        slowest = Math.max(slowest, ...hits.map(({ milliseconds }) => milliseconds))
        await proxy.restore()
        const begin = performance.now()
        while ((await client.fire(json('GET', '/api/books/1'))).status !== 200) await sleep(20)
        back = Math.max(back, performance.now() - begin)
      }
      report('P6d network', {
        case: name,
        rounds,
        [`slowest is ${as}, ms`]: Math.round(slowest),
        'well after ms': Math.round(back),
      })
      // beside other tests a machine's own delays are no figure
      expect(slowest).toBeLessThan(QUERY_TIMEOUT + (isLong ? 1_000 : 20_000))
      expect(back).toBeLessThan(isLong ? 1_000 : 20_000)
      client.close()
      expect(await findLeftovers(server, database, before)).toEqual([])
    },
  )
})

/** A request that never ends, or an answer that is hardly read. */
const SLOW: Record<string, (socket: Socket) => void> = {
  headers: (socket) => void socket.write('GET /api/books HTTP/1.1\r\nHost: x\r\nX-A: '),
  body: (socket) =>
    void socket.write(
      'POST /api/books HTTP/1.1\r\nHost: x\r\nAuthorization: Token alice\r\nContent-Type: application/json\r\nContent-Length: 9000\r\n\r\n{"title":',
    ),
  read: (socket) => {
    socket.pause()
    socket.write('GET /api/books?page_size=100 HTTP/1.1\r\nHost: x\r\n\r\n')
  },
}

describe('[P6g F16 I11]', () => {
  it(`${size(60, 200)} slow clients of each kind hold no connection to the database, and nobody waits for them`, async () => {
    const server: TrialServer = await startTrialServer(database.url)
    const client = createClient(server.port)
    open.push(() => server.remove(), client.close)
    // the heap has grown to what so many requests need: what is measured is the slow clients' part
    for (let turn = 0; turn < size(200, 5_000); turn++) await client.fire(json('GET', '/api/books/1'))
    const before = await server.state()
    const sockets: Socket[] = []
    for (const begin of Object.values(SLOW)) {
      for (let turn = 0; turn < size(60, 200); turn++) {
        const socket = connect(server.port, '127.0.0.1')
        socket.on('error', () => {})
        await once(socket, 'connect')
        begin(socket)
        sockets.push(socket)
      }
    }
    const drip = setInterval(() => sockets.filter(({ writable }) => writable).map((socket) => socket.write(' ')), 200)
    const times: number[] = []
    for (let turn = 0; turn < size(300, 5_000); turn++) {
      const hit = await client.fire(json('GET', '/api/books/1', undefined, as('alice')))
      expect(findInAnswer(hit)).toEqual([])
      times.push(hit.milliseconds)
    }
    clearInterval(drip)
    const during = await server.state()
    times.sort((a, b) => a - b)
    const p99 = times[Math.floor(times.length * 0.99)] ?? 0
    const grown = (during.memory - before.memory) / 2 ** 20
    report('P6g slow', {
      clients: sockets.length,
      'p99 ms': p99.toFixed(1),
      used: during.used,
      'memory MB': grown.toFixed(1),
    })
    expect(during.used).toBe(0)
    expect(grown).toBeLessThan(60)
    if (isLong) expect(p99).toBeLessThan(100)
    for (const socket of sockets) socket.destroy()
    client.close()
    expect(await findLeftovers(server, database, before)).toEqual([])
  }, 300_000)
})
