/** The cluster example while its processes are stopped and started one after the other: no request fails. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findProgram } from '../../examples/support/programs.js'
import { FALL, INTERVAL, startBalancer } from '../support/balancer.js'
import { createDatabase, type TestDatabase } from '../support/database.js'
import {
  findFreePort,
  type Program,
  readProjectFile,
  startFile,
  startProgram,
  toUrl,
  untilAnswer,
} from '../support/program.js'
import { type Send, startLoad } from '../support/steady-load.js'

const haproxy = findProgram('haproxy')
if (haproxy === undefined) console.warn('HAProxy is not installed: a proxy of ours stands in for it')

/** A proxy before the processes, and how long it takes to notice one that is not ready. */
interface Front {
  readonly port: number
  close(): Promise<unknown>
}

interface Kind {
  readonly name: string
  readonly drainSeconds: string
  start(ports: readonly [number, number]): Promise<Front>
}

const KIND: Kind = haproxy
  ? { name: 'HAProxy', drainSeconds: '4', start: startHAProxy }
  : { name: 'a proxy of ours', drainSeconds: String((INTERVAL * (FALL + 3)) / 1_000), start: startBalancer }

async function startHAProxy(ports: readonly [number, number]): Promise<Front> {
  const folder = mkdtempSync(join(tmpdir(), 'kv-haproxy-'))
  const port = await findFreePort()
  const configuration = readProjectFile('examples/cluster/haproxy.cfg')
    .replace('127.0.0.1:8080', `127.0.0.1:${port}`)
    .replace('127.0.0.1:3001', `127.0.0.1:${ports[0]}`)
    .replace('127.0.0.1:3002', `127.0.0.1:${ports[1]}`)
  const file = join(folder, 'haproxy.cfg')
  writeFileSync(file, configuration)
  const program = startProgram({ command: haproxy as string, args: ['-db', '-f', file], env: {} })
  return {
    port,
    async close() {
      await program.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

const LOAD = [
  ...Array.from({ length: 6 }, () => (send: Send) => send('GET', '/api/v1/countries?page_size=2')),
  ...Array.from({ length: 2 }, () => (send: Send) => send('POST', '/api/v1/cities', city())),
]

let made = 0
function city() {
  return { geoname_id: ++made, name: 'Atlantis', country_id: 1, latitude: '31.25', longitude: '-24.25' }
}

const COUNTRY = `insert into countries (name, official_name, cca2, cca3, region, latitude, longitude)
  values ('Atlantis', 'Atlantis', 'XA', 'XAT', 'Oceania', 31.25, -24.25)`

describe(`[I26] behind ${KIND.name}`, { timeout: 120_000 }, () => {
  const { drainSeconds, start } = KIND
  let database: TestDatabase
  let front: Front
  const nodes: { program: Program; port: number }[] = []

  beforeAll(async () => {
    const tables = ['schema', 'tables'].map((name) => readProjectFile(`examples/atlas/${name}.sql`))
    database = await createDatabase({ schema: [...tables, COUNTRY].join(';\n') })
    for (const port of [await findFreePort(), await findFreePort()]) nodes.push({ port, program: await run(port) })
    front = await start([nodes[0]?.port as number, nodes[1]?.port as number])
    await untilAnswer((nodes[0] as { program: Program }).program, front.port, '/api/v1/')
  }, 120_000)
  afterAll(async () => {
    await front?.close()
    for (const node of nodes) await node.program.stop('SIGKILL')
    await database?.drop()
  })

  async function run(port: number): Promise<Program> {
    const env = { DATABASE_URL: toUrl(database.connection), PORT: String(port), DRAIN_SECONDS: drainSeconds }
    const started = startFile('examples/atlas/main.ts', env)
    await untilAnswer(started, port, '/readyz')
    return started
  }

  it('each process is replaced under load, and no request fails', async () => {
    const running = startLoad(front.port, LOAD)
    for (const node of nodes) {
      const before = running.answered()
      expect(await node.program.stop()).toBe(0)
      node.program = await run(node.port)
      // until the proxy has seen it
      await sleep(Number(drainSeconds) * 1_000)
      expect(running.answered()).toBeGreaterThan(before)
    }
    const { failed, answered, written } = await running.end()
    expect(failed.slice(0, 5)).toEqual([])
    expect(answered).toBeGreaterThan(100)
    expect(written).toBeGreaterThan(10)
  })
})
