/**
 * How the cost of a request grows with rows, connections, processes and resources: `npm run bench:scale`. Prints a table
 * of server CPU and requests per second, and draws `scale.svg`.
 */
import { parseArgs } from 'node:util'
import type { LoadRequest } from 'autocannon'
import type { ClientConfig } from 'pg'
import { startPostgres } from '../../examples/support/postgres.js'
import { lineChartSvg, type Panel } from './chart.js'
import { type Contender, load, type Sample, startContender, stopContender } from './contenders.js'
import { keepFigures, keepPicture } from './figures.js'
import { LISTS, SHELVES } from './scaled.js'
import { createShelves } from './shelves.js'
import { median } from './statistics.js'
import { markdownTable } from './table.js'

/** What is asked of a table. */
type Kind = 'list' | 'retrieve' | 'cursor page' | 'cursor page 5,000' | 'list, counted' | 'list, count estimated'

/** One row of the table. */
interface Point {
  readonly dimension: string
  readonly label: string
  readonly kind: Kind
  readonly requestsPerSecond: number
  readonly cpu: number
}

/** One place on the axis of a dimension. */
interface Place {
  readonly label: string
  readonly contender: Contender
  readonly table: keyof typeof SHELVES
  readonly connections: number
  readonly kinds: readonly Kind[]
}

const USUAL: readonly Kind[] = ['list', 'retrieve', 'cursor page']
const ALL_RESOURCES = 12
const CONNECTIONS = 32
/** Counting takes PostgreSQL long: more would leave a queue behind for what is measured next. */
const COUNTING_CONNECTIONS = 4
/** What a table is asked for one object: all over it. */
const OBJECTS = 100
const PAGE = 5_000

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '3' }, seconds: { type: 'string', default: '1' } },
})
const rounds = Number(values.rounds)
const seconds = Number(values.seconds)

const postgres = await startPostgres()
const running: Contender[] = []
try {
  await createShelves(postgres.connection, SHELVES)
  const points = await measureAll(postgres.connection)
  console.log(`\n${rounds} rounds of ${seconds} s; medians; ${CONNECTIONS} connections where nothing else is said\n`)
  console.log(tableOf(points))
  await keepFigures('scale', points)
  console.log(`\n${await keepPicture('scale.svg', drawingOf(points))}`)
} finally {
  for (const contender of running) await stopContender(contender)
  await postgres.stop()
}

async function measureAll(connection: ClientConfig): Promise<readonly Point[]> {
  const one = await start(connection, { resources: ALL_RESOURCES })
  const usual = { table: 'books_200k', connections: CONNECTIONS, contender: one, kinds: USUAL } as const
  const points = await measure('rows', [
    { ...usual, table: 'books_10k', label: '10k', kinds: [...USUAL, 'list, counted', 'list, count estimated'] },
    { ...usual, label: '200k', kinds: [...USUAL, 'cursor page 5,000', 'list, counted', 'list, count estimated'] },
    { ...usual, table: 'books_2m', label: '2M', kinds: [...USUAL, 'list, counted', 'list, count estimated'] },
  ])
  const connections = [1, 4, 16, 64].map((count) => ({ ...usual, connections: count, label: String(count) }))
  points.push(...(await measure('connections', connections)))
  const two = await start(connection, { processes: 2, resources: ALL_RESOURCES })
  points.push(
    ...(await measure('processes', [
      { ...usual, label: '1' },
      { ...usual, contender: two, label: '2' },
    ])),
  )
  await end(two)
  const places: Place[] = []
  for (const resources of [10, 100, 1_000]) {
    places.push({
      ...usual,
      contender: await start(connection, { resources }),
      label: resources.toLocaleString('en'),
    })
  }
  points.push(...(await measure('resources', places)))
  return points
}

async function start(connection: ClientConfig, options: { processes?: number; resources: number }): Promise<Contender> {
  const contender = await startContender('scaled', connection, options)
  running.push(contender)
  return contender
}

async function end(contender: Contender): Promise<void> {
  running.splice(running.indexOf(contender), 1)
  await stopContender(contender)
}

/** Measures the places of a dimension in turns, after a round to warm up. */
async function measure(dimension: string, places: readonly Place[]): Promise<Point[]> {
  const begin = performance.now()
  const cells: { place: Place; kind: Kind; requests: readonly LoadRequest[]; samples: Sample[] }[] = []
  for (const place of places) {
    for (const kind of place.kinds) {
      cells.push({ place, kind, requests: await requestsFor(kind, place), samples: [] })
    }
  }
  for (let round = 0; round <= rounds; round++) {
    for (const { place, kind, requests, samples } of cells) {
      const connections = kind.includes('count') ? COUNTING_CONNECTIONS : place.connections
      const sample = await load(place.contender, requests, { connections, seconds })
      if (round > 0) samples.push(sample)
    }
  }
  console.log(`${dimension}: ${((performance.now() - begin) / 1_000).toFixed(0)} s`)
  return cells.map(({ place, kind, samples }) => ({
    dimension,
    label: place.label,
    kind,
    requestsPerSecond: median(samples.map((sample) => sample.requestsPerSecond)),
    cpu: median(samples.map((sample) => sample.cpu)),
  }))
}

async function requestsFor(kind: Kind, { contender, table }: Place): Promise<readonly LoadRequest[]> {
  const path = `/api/${table}`
  switch (kind) {
    case 'list':
      return [{ path: path + LISTS.uncounted }]
    case 'retrieve':
      return Array.from({ length: OBJECTS }, (_, index) => ({
        path: `${path}/${1 + Math.floor((index * SHELVES[table]) / OBJECTS)}`,
      }))
    case 'cursor page':
      return [{ path: await walk(contender, path + LISTS.cursor, 1) }]
    case 'cursor page 5,000':
      return [{ path: await walk(contender, path + LISTS.cursor, PAGE - 1) }]
    case 'list, counted':
      return [{ path: path + LISTS.counted }]
    case 'list, count estimated':
      return [{ path: path + LISTS.estimated }]
  }
}

/** The path of the page that comes after so many. */
async function walk(contender: Contender, first: string, pages: number): Promise<string> {
  let path = first
  for (let page = 0; page < pages; page++) {
    const answer = await fetch(contender.url + path)
    const { next } = (await answer.json()) as { next: string | null }
    if (next === null) throw new Error(`${path} is the last page`)
    path = next
  }
  return path
}

function tableOf(points: readonly Point[]): string {
  return markdownTable(
    ['', 'request', 'server CPU, µs', 'requests/s'],
    points.map(({ dimension, label, kind, cpu, requestsPerSecond }) => [
      `${label} ${dimension}`,
      kind,
      cpu.toFixed(0),
      requestsPerSecond.toFixed(0),
    ]),
  )
}

function drawingOf(points: readonly Point[]): string {
  const panels = ['rows', 'connections', 'processes', 'resources'].map((dimension): Panel => {
    const own = points.filter((point) => point.dimension === dimension)
    return {
      title: `${dimension.charAt(0).toUpperCase()}${dimension.slice(1)}`,
      labels: [...new Set(own.map(({ label }) => label))],
      lines: USUAL.map((kind) => {
        const costs = own.filter((point) => point.kind === kind).map(({ cpu }) => cpu)
        return costs.map((cost) => cost / (costs[0] as number))
      }),
    }
  })
  const title = 'What grows, and what it does to the cost of a request'
  const note = "The server's CPU time for each request, relative to that of the smallest."
  return lineChartSvg({ title, note, series: USUAL, panels })
}
