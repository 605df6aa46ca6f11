/** What the contenders are asked, and the data it is about. */
import type { LoadRequest } from 'autocannon'
import pg, { type ClientConfig } from 'pg'
import { openDatabase } from '../../examples/atlas/database.js'
import { type Postgres, startPostgres } from '../../examples/support/postgres.js'
import { toUrl } from '../support/program.js'

export interface Workload {
  readonly name: string
  /** The requests that one contender gets; those of cursors are its own. */
  requests(url: string): Promise<readonly LoadRequest[]>
  /** Leaves out of an answer's text what need not be the same. */
  readonly compared?: (text: string) => string
  /** It writes: what it has written is removed again after each turn. */
  readonly writes?: true
  /** How many rows it needs for a second of load, put there before each turn: some of what it writes is there already. */
  readonly rows?: number
}

/** So many cities all over the table, as a cache of one row would flatter both. */
const CITIES = 100
const CITIES_APART = 1_350
/** Pages of the walk by cursor. */
const PAGES = 20

let nextGeonameId = 1_000_000_000
/** Of the rows that `plantRows` has put there. */
let nextId = 1

export const WORKLOADS: readonly Workload[] = [
  {
    name: 'one city',
    requests: async () => Array.from({ length: CITIES }, (_, index) => get(`/api/cities/${1 + index * CITIES_APART}`)),
  },
  { name: 'list of 25', requests: async () => [get('/api/uncounted')] },
  { name: 'page of 25 and count', requests: async () => [get('/api/cities?page=2')] },
  { name: 'list of 100', requests: async () => [get('/api/hundred')] },
  { name: 'keyset page of 25', requests: walk, compared: (text) => text.replaceAll(/cursor=[\w-]+/g, 'cursor=…') },
  { name: 'list of 25, nested', requests: async () => [get('/api/nested')] },
  {
    name: 'create',
    requests: async () => [{ ...get('/api/new-cities'), method: 'POST', headers: JSON_HEADERS, setupRequest: newCity }],
    compared: (text) => text.replaceAll(/"(created|updated)_at":"[^"]+"/g, '"$1_at":"…"'),
    writes: true,
  },
  {
    name: 'change one field',
    requests: async () => [{ ...get(''), method: 'PATCH', headers: JSON_HEADERS, setupRequest: changedCity }],
    compared: (text) => text.replaceAll(/"(created|updated)_at":"[^"]+"/g, '"$1_at":"…"'),
    writes: true,
    rows: 2_000,
  },
  {
    name: 'delete',
    requests: async () => [{ ...get(''), method: 'DELETE', setupRequest: goneCity }],
    writes: true,
    // more than any contender deletes: each goes once
    rows: 20_000,
  },
  { name: 'list of 100, native JSON', requests: async () => [get('/api/native')] },
]

const JSON_HEADERS = { 'Content-Type': 'application/json' }

/** A temporary PostgreSQL with the atlas's countries and cities, and an empty table for new ones. */
export async function startAtlasData(): Promise<Postgres> {
  const postgres = await startPostgres()
  const { DATABASE_URL: given } = process.env
  process.env['DATABASE_URL'] = toUrl(postgres.connection)
  try {
    const database = await openDatabase()
    await database.stop()
  } finally {
    if (given === undefined) delete process.env['DATABASE_URL']
    else process.env['DATABASE_URL'] = given
  }
  await runSql(
    postgres.connection,
    'CREATE TABLE new_cities (LIKE cities INCLUDING ALL, FOREIGN KEY (country_id) REFERENCES countries)',
    'VACUUM (ANALYZE)',
  )
  return postgres
}

/** Puts the rows there that a workload needs for a turn, with the keys from 1 on. */
export async function plantRows(connection: ClientConfig, { rows }: Workload, seconds: number): Promise<void> {
  nextId = 1
  if (rows === undefined) return
  const count = Math.ceil(rows * Math.max(1, seconds))
  await runSql(
    connection,
    `INSERT INTO new_cities (geoname_id, name, country_id, population, latitude, longitude)
      SELECT n, 'Città di Castello', 1 + n % 200, n, 43.46556, 12.24046 FROM generate_series(1, ${count}) n`,
    'VACUUM (ANALYZE) new_cities',
  )
}

/** Removes what a workload has written. */
export async function clearWritten(connection: ClientConfig): Promise<void> {
  await runSql(connection, 'TRUNCATE new_cities RESTART IDENTITY')
}

/** Runs statements one after the other on a connection of their own. */
export async function runSql(connection: ClientConfig, ...statements: readonly string[]): Promise<void> {
  const client = new pg.Client(connection)
  await client.connect()
  try {
    for (const statement of statements) await client.query(statement)
  } finally {
    await client.end()
  }
}

function get(path: string): LoadRequest {
  return { path }
}

/** Pages by the links that the contender itself has made. */
async function walk(url: string): Promise<readonly LoadRequest[]> {
  const requests: LoadRequest[] = []
  for (let path = '/api/keyset'; requests.length < PAGES; ) {
    const answer = await fetch(url + path)
    const { next } = (await answer.json()) as { next: string | null }
    if (next === null) throw new Error(`${url}${path} is the last page`)
    requests.push(get(next))
    path = next
  }
  return requests
}

function newCity(request: LoadRequest): LoadRequest {
  nextGeonameId += 1
  const city = {
    geoname_id: nextGeonameId,
    name: 'Città di Castello',
    country_id: 1,
    admin_code: '18',
    population: 12_345,
    latitude: '43.46556',
    longitude: '12.24046',
  }
  return { ...request, body: JSON.stringify(city) }
}

/** Different rows one after the other, each often: nobody waits for another's. */
function changedCity(request: LoadRequest): LoadRequest {
  nextId = (nextId % 1_000) + 1
  return {
    ...request,
    path: `/api/new-cities/${nextId}`,
    body: JSON.stringify({ population: nextGeonameId++ % 1_000_000 }),
  }
}

function goneCity(request: LoadRequest): LoadRequest {
  return { ...request, path: `/api/new-cities/${nextId++}` }
}
