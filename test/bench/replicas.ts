/**
 * Reads on a primary alone, and with one and two replicas: `npm run bench:replicas`, on Linux. Prints a table of reads per second
 * and of the processor time that the application and the primary take for each, and draws `replicas.svg`.
 */
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import type { LoadRequest } from 'autocannon'
import type { Postgres } from '../../examples/support/postgres.js'
import { startReplication } from '../../examples/support/standbys.js'
import { type Contender, load, startContender, stopContender } from './contenders.js'
import { keepOwnFigures, keepPicture } from './figures.js'
import { KINDS, type ReplicaPoint, replicasSvg, replicasTable } from './replica-chart.js'
import { createShelves } from './shelves.js'
import { median } from './statistics.js'
import { runSql } from './workloads.js'

const ROWS = 10_000
const PATH = '/api/books_10k'
/** Objects that are read: all over the table. */
const OBJECTS = 100
/** A tick of what Linux counts processor time in, in microseconds. */
const TICK = 10_000

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '15' }, seconds: { type: 'string', default: '1' } },
})
const rounds = Number(values.rounds)
const seconds = Number(values.seconds)

const folder = await mkdtemp(join(tmpdir(), 'kv-bench-'))
const { primary, standbys } = await startReplication(folder, [{}, {}])
const running: Contender[] = []
try {
  await createShelves(primary.connection, { books_200k: 1, books_10k: ROWS, books_2m: 1 })
  await untilReplayed()
  const points = await keepOwnFigures('replicas.json', await measure())
  console.log(`\n${rounds} rounds of ${seconds} s; medians; 32 connections\n\n${replicasTable(points)}`)
  console.log(`\n${await keepPicture('replicas.svg', replicasSvg(points))}`)
} finally {
  for (const contender of running) await stopContender(contender)
  for (const server of [...standbys, primary]) await server.stop()
  await rm(folder, { recursive: true, force: true })
}

/** A standby takes what its primary has written when it gets a commit after it. */
async function untilReplayed(): Promise<void> {
  await runSql(primary.connection, "ALTER SYSTEM SET synchronous_standby_names = '*'", 'SELECT pg_reload_conf()')
  await runSql(primary.connection, "SET synchronous_commit = 'remote_apply'", 'CREATE TABLE last ()')
  await runSql(primary.connection, 'ALTER SYSTEM RESET synchronous_standby_names', 'SELECT pg_reload_conf()')
}

async function measure(): Promise<readonly ReplicaPoint[]> {
  const contenders: Contender[] = []
  for (const replicas of [0, 1, 2]) {
    const reading = standbys.slice(0, replicas).map(({ connection }) => connection)
    contenders.push(await startContender('scaled', primary.connection, { resources: 12, replicas: reading }))
  }
  running.push(...contenders)
  // those that are compared come one after the other
  const cells = KINDS.flatMap((kind) =>
    contenders.map((contender, replicas) => ({ kind, contender, replicas, samples: [] as ReplicaPoint[] })),
  )
  const token = await write(running.at(-1) as Contender)
  for (let round = 0; round <= rounds; round++) {
    for (const { contender, kind, replicas, samples } of cells) {
      const before = await ticksOf(primary)
      const { requestsPerSecond, cpu } = await load(contender, requestsFor(kind, token), { seconds })
      const used = ((await ticksOf(primary)) - before) * TICK
      // the first is there to warm up
      const each = used / (requestsPerSecond * seconds)
      if (round > 0) samples.push({ replicas, kind, requestsPerSecond, cpu, primary: each })
    }
  }
  return cells.map(({ replicas, kind, samples }) => ({
    replicas,
    kind,
    requestsPerSecond: median(samples.map((sample) => sample.requestsPerSecond)),
    cpu: median(samples.map((sample) => sample.cpu)),
    primary: median(samples.map((sample) => sample.primary)),
  }))
}

/** What a client is told that has written something. */
async function write({ url }: Contender): Promise<string> {
  const { id: _, ...book } = (await (await fetch(`${url}${PATH}/1`)).json()) as Record<string, unknown>
  const answer = await fetch(url + PATH, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(book),
  })
  const token = answer.headers.get('Consistency-Token')
  if (token === null) throw new Error(`${answer.status} ${await answer.text()}`)
  return token
}

function requestsFor(kind: ReplicaPoint['kind'], token: string): readonly LoadRequest[] {
  if (kind === 'list of 25') return [{ path: PATH }]
  const headers = kind === 'one object' ? {} : { 'Consistency-Token': token }
  return Array.from({ length: OBJECTS }, (_, index) => ({
    path: `${PATH}/${1 + Math.floor((index * ROWS) / OBJECTS)}`,
    headers,
  }))
}

/** Processor time of a server and its processes so far, those that have ended included. */
async function ticksOf({ pid }: Postgres): Promise<number> {
  const processes = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  const stats = await Promise.all(processes.map((name) => readFile(`/proc/${name}/stat`, 'utf8').catch(() => '')))
  let ticks = 0
  for (const stat of stats) {
    // the name, which is in parentheses, may hold spaces
    const [own, fields] = [Number.parseInt(stat, 10), stat.slice(stat.lastIndexOf(')') + 2).split(' ')]
    const [parent, user, system, userOfEnded, systemOfEnded] = [1, 11, 12, 13, 14].map((at) => Number(fields[at]))
    if (own === pid) ticks += Number(user) + Number(system) + Number(userOfEnded) + Number(systemOfEnded)
    else if (parent === pid) ticks += Number(user) + Number(system)
  }
  return ticks
}
