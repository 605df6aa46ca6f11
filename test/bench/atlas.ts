/**
 * What a view set costs, on the atlas's data: `npm run bench`, or `npm run bench -- 10` for ten rounds in place of three.
 *
 * The same requests go to our view sets and to a hand-written Koa + pg server, in turns; both must send the same bytes.
 * Requests per second depend on the machine and on what else runs there; ratios within one run, and the server's CPU
 * time, say more.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import autocannon from 'autocannon'
import { prepareModels } from 'koa-viewsets'
import pg, { type ClientConfig, type CustomTypesConfig } from 'pg'
import { City } from '../../examples/atlas/models.js'
import { startPostgres } from '../../examples/support/postgres.js'
import type { AnyQueryBuilder } from '../../lib/models/objection.js'
import { readExactly } from '../../lib/queryset/read-exactly.js'
import { type CellScope, rowPlan } from '../../lib/serializers/row-plan.js'
import { type RawRow, rowWriter } from '../../lib/serializers/row-writer.js'
import { findFreePort, startFile, startProgram, untilAnswer } from '../support/program.js'
import { bindModels, CitySerializer } from './ours.js'

/** The bars that a run is held against. */
const GOALS = {
  coldStart: 'under 12 s',
  memory: 'under 150 MB',
  rows: 'under 100 µs',
  'one city': 'at least 0.5',
  'list of 25': 'at least 0.5',
} as const

/** 100 cities all over the table, as a cache of one row would flatter both. */
const RETRIEVE = Array.from({ length: 100 }, (_, index) => `/api/cities/${1 + index * 1_350}`)

const WORKLOADS: Readonly<Record<string, readonly string[]>> = {
  'one city': RETRIEVE,
  'list of 25': ['/api/uncounted'],
  'page of 25 and count': ['/api/cities?page=2'],
}

const CONNECTIONS = 32
const SECONDS = 1
const rounds = Number(process.argv[2] ?? 3)

interface Contender {
  readonly name: string
  readonly child: ChildProcess
  readonly port: number
}

/** One contender under one workload for a second. */
interface Sample {
  readonly requestsPerSecond: number
  /** Of the server process, in microseconds for each request. */
  readonly cpu: number
}

const cache = await mkdtemp(join(tmpdir(), 'kv-bench-'))
await chmod(cache, 0o755)
try {
  await measureExample()
  const postgres = await startPostgres({ dataDir: join(cache, 'koa-viewsets', 'atlas') })
  try {
    await measureRows(postgres.connection)
    await compare(postgres.connection)
  } finally {
    await postgres.stop()
  }
} finally {
  await rm(cache, { recursive: true })
}

// The example

async function measureExample(): Promise<void> {
  const port = await findFreePort()
  const env = { PORT: String(port), XDG_CACHE_HOME: cache }
  const path = '/api/v1/cities/1'
  const seconds = async (start: number, program: ReturnType<typeof startFile>) => {
    await untilAnswer(program, port, path)
    return ((performance.now() - start) / 1_000).toFixed(1)
  }

  let start = performance.now()
  const first = startProgram({ command: 'npm', args: ['start'], env })
  print('npm start to first answer, first time', `${await seconds(start, first)} s`, GOALS.coldStart)
  await first.stop()

  start = performance.now()
  const second = startFile('examples/atlas/main.ts', env)
  print('started again', `${await seconds(start, second)} s`)
  await sleep(1_000)
  const memory = await residentMegabytes(second.child)
  print('idle memory of the example, without PostgreSQL', memory ? `${memory} MB` : 'needs Linux', GOALS.memory)
  await second.stop()
}

async function residentMegabytes({ pid }: ChildProcess): Promise<number | undefined> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '')
  const [, kilobytes] = /VmRSS:\s+(\d+) kB/.exec(status) ?? []
  return kilobytes === undefined ? undefined : Math.round(Number(kilobytes) / 1_024)
}

// The serializer

/** The two ways to JSON text: from rows as PostgreSQL sends them, and from model instances where a serializer needs them. */
async function measureRows(connection: ClientConfig): Promise<void> {
  const db = await bindModels(connection)
  await prepareModels([City])

  const plan = rowPlan(CitySerializer)
  if (!plan) throw new Error('The cities are not written from rows.')
  const columns = plan.columns.map(({ column }) => column.column)
  const rows = await readRawRows(connection, `SELECT ${columns.join(', ')} FROM cities ORDER BY id LIMIT 100`)
  const write = rowWriter(plan, 0)
  const scope: CellScope = { context: {}, parse: (_oid, text) => text }
  const fromRows = () => `[${rows.map((row) => write(row, scope)).join(',')}]`
  const query = City.query().orderBy('id').limit(100)
  readExactly(query as unknown as AnyQueryBuilder)
  const cities = await query
  const fromInstances = () => JSON.stringify(new CitySerializer({ obj: cities, many: true }).data)
  if (fromRows() !== fromInstances()) throw new Error('Rows and instances are written differently.')

  print('100 cities to JSON text, from rows', `${microseconds(fromRows)} µs`, GOALS.rows)
  print('100 cities to JSON text, from model instances', `${microseconds(fromInstances)} µs`)
  // A text that is put together piece by piece is made whole only when it is used.
  print('100 cities to UTF-8, from rows', `${microseconds(() => Buffer.from(fromRows()))} µs`)
  await db.destroy()
}

async function readRawRows(connection: ClientConfig, text: string): Promise<RawRow[]> {
  const client = new pg.Client(connection)
  await client.connect()
  const types = { getTypeParser: () => (cell: unknown) => cell } as unknown as CustomTypesConfig
  const { rows } = await client.query<string[]>({ text, rowMode: 'array', types })
  await client.end()
  return rows
}

/** CPU time of one call, at best: whatever else runs on the machine only adds to it. */
function microseconds(work: () => unknown): number {
  const repetitions = 500
  const times = Array.from({ length: 30 }, () => {
    const start = process.cpuUsage()
    for (let index = 0; index < repetitions; index++) work()
    const { user, system } = process.cpuUsage(start)
    return (user + system) / repetitions
  })
  return Math.round(Math.min(...times))
}

// The comparison

async function compare(connection: ClientConfig): Promise<void> {
  const contenders = await Promise.all(['handwritten', 'ours'].map((name) => startContender(name, connection)))
  try {
    for (const paths of Object.values(WORKLOADS)) for (const path of paths) await expectEqual(contenders, path)
    const samples = await run(contenders)
    console.log(`\n${rounds} rounds of ${SECONDS} s, ${CONNECTIONS} connections; hand-written / ours; medians`)
    for (const [workload, byContender] of samples) {
      const [theirs, ours] = byContender as [Sample[], Sample[]]
      const ratios = ours.map(
        ({ requestsPerSecond }, round) => requestsPerSecond / (theirs[round] as Sample).requestsPerSecond,
      )
      const cpuRatio = median(theirs.map((sample) => sample.cpu)) / median(ours.map((sample) => sample.cpu))
      const each = (read: (sample: Sample) => number) =>
        [theirs, ours].map((list) => Math.round(median(list.map(read)))).join(' / ')
      print(
        workload,
        `${median(ratios).toFixed(2)} of the requests: ${each((sample) => sample.requestsPerSecond)} per second, ` +
          `${cpuRatio.toFixed(2)} by CPU: ${each((sample) => sample.cpu)} µs each`,
        (GOALS as Readonly<Record<string, string>>)[workload],
      )
    }
  } finally {
    for (const { child } of contenders) {
      const exit = once(child, 'exit')
      child.disconnect()
      await exit
    }
  }
}

async function startContender(name: string, connection: ClientConfig): Promise<Contender> {
  const child = fork(fileURLToPath(new URL('atlas-server.ts', import.meta.url)), [name], {
    execArgv: ['--import', 'tsx'],
  })
  child.send(connection)
  return { name, child, port: await nextNumber(child) }
}

async function expectEqual(contenders: readonly Contender[], path: string): Promise<void> {
  const answers = await Promise.all(
    contenders.map(async ({ port }) => {
      const response = await fetch(`http://127.0.0.1:${port}${path}`)
      return `${response.status} ${await response.text()}`
    }),
  )
  if (new Set(answers).size > 1) throw new Error(`${path} is answered differently:\n${answers.join('\n')}`)
}

/** All samples by workload, then by contender. The first round only warms up. */
async function run(contenders: readonly Contender[]): Promise<Map<string, Sample[][]>> {
  const samples = new Map(Object.keys(WORKLOADS).map((workload) => [workload, contenders.map((): Sample[] => [])]))
  for (let round = 0; round <= rounds; round++) {
    for (const [workload, paths] of Object.entries(WORKLOADS)) {
      for (const [index, contender] of contenders.entries()) {
        const sample = await load(contender, paths)
        if (round > 0) samples.get(workload)?.[index]?.push(sample)
      }
    }
  }
  return samples
}

async function load({ name, child, port }: Contender, paths: readonly string[]): Promise<Sample> {
  const before = await cpuMicroseconds(child)
  const result = await autocannon({
    url: `http://127.0.0.1:${port}`,
    connections: CONNECTIONS,
    duration: SECONDS,
    requests: paths.map((path) => ({ path })),
  })
  const used = (await cpuMicroseconds(child)) - before
  if (result.errors + result.non2xx > 0) throw new Error(`${name}: ${result.errors} errors, ${result.non2xx} not 2xx`)
  return { requestsPerSecond: result.requests.total / result.duration, cpu: used / result.requests.total }
}

async function cpuMicroseconds(child: ChildProcess): Promise<number> {
  child.send('cpu')
  return nextNumber(child)
}

async function nextNumber(child: ChildProcess): Promise<number> {
  const [number] = (await once(child, 'message')) as [number]
  return number
}

function median(values: readonly number[]): number {
  return values.toSorted((one, two) => one - two)[Math.floor(values.length / 2)] ?? Number.NaN
}

function print(what: string, value: string, goal?: string): void {
  console.log(`${what}: ${value}${goal === undefined ? '' : ` (${goal})`}`)
}
