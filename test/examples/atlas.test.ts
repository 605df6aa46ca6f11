import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { chmod, mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { Agent, type IncomingMessage, request } from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { createAtlas } from '../../examples/atlas/atlas.js'
import { countQueries, createDatabase, type TestDatabase } from '../support/database.js'
import {
  compiledModules,
  findFreePort,
  type Program,
  readProjectFile,
  startFile,
  startProgram,
  toUrl,
  untilAnswer,
} from '../support/program.js'
import { connectTo, serve, type TestClient, type TestResponse, type TestServer } from '../support/server.js'
import { isLong } from '../trust/support/size.js'

const ALL_CITIES = 135_233
const COUNTRIES = '/api/v1/countries'
const CITIES = '/api/v1/cities'
const schema = readProjectFile('examples/atlas/schema.sql')
const json = { 'Content-Type': 'application/json' }

describe('npm start', { timeout: 120_000 }, () => {
  let cache: string
  let program: Program
  let client: TestClient
  const agent = new Agent({ keepAlive: true, maxSockets: 8 })

  beforeAll(async () => {
    cache = await mkdtemp(join(tmpdir(), 'kv-test-'))
    await chmod(cache, 0o755)
    const port = await findFreePort()
    program = npmStart(port, compiledModules())
    await untilAnswer(program, port, CITIES)
    client = connectTo(port)
  }, 120_000)
  afterAll(async () => {
    agent.destroy()
    await program?.stop()
    await vi.waitUntil(() => !existsSync(lockFile()), { timeout: 15_000 })
    await rm(cache, { recursive: true })
  })

  it('prints URLs to try, which work', async () => {
    await vi.waitUntil(() => program.output().includes('Ctrl-C stops it.'), { timeout: 10_000 })
    const lines = program.output().match(/curl .*/g) ?? []
    const statuses: number[] = []
    for (const line of lines) statuses.push((await runCurl(line)).status)
    expect(statuses).toEqual([200, 200, 200, 201, 400, 409, 201])
    const { json: last } = await get(`${CITIES}?page=1353&page_size=100`)
    const city = last.results.at(-1)
    expect(city).toMatchObject({ name: 'Atlantis', population: 0, feature_code: 'PPL', latitude: '31.25000' })
    expect((await client.send({ method: 'DELETE', path: `${CITIES}/${city.id}` })).status).toBe(204)
  })

  it('shows page 2 of all cities', async () => {
    const { json: page } = await get(`${CITIES}?page=2&page_size=10`)
    expect(page).toMatchObject({
      count: ALL_CITIES,
      next: `${CITIES}?page=3&page_size=10`,
      previous: `${CITIES}?page=1&page_size=10`,
    })
    expect(page.results.map((city: { name: string }) => city.name)).toEqual([
      ...['Umm Al Quwain City', 'Ras Al Khaimah City', 'Muzayri‘', 'Murbaḩ', 'Zayed City'],
      ...['Khawr Fakkān', 'Dubai', 'Dibba Al-Fujairah', 'Dibba Al-Hisn', 'Sharjah'],
    ])
    expect(page.results.map((city: { created_at: string }) => city.created_at)).toEqual(
      Array.from({ length: 10 }, (_, index) => `2026-01-01T00:00:00.00${1370 + index * 137}Z`.replace(/0Z$/, 'Z')),
    )
    for (const city of page.results) {
      expect(city.latitude).toMatch(/^-?\d+\.\d{5}$/)
      expect(city.longitude).toMatch(/^-?\d+\.\d{5}$/)
    }
    expect((await get(page.next)).json.previous).toBe(`${CITIES}?page=2&page_size=10`)
    expect((await get(page.previous)).json.results.at(-1).id).toBe(10)
  })

  it('shows every large city once on all pages together', async () => {
    const large = `${CITIES}?population__gte=20000&page_size=100`
    const { count } = (await get(large)).json
    const ids = new Set<number>()
    let rows = 0
    let page = 0
    async function walk(): Promise<void> {
      while (page < Math.ceil(count / 100)) {
        page++
        const { json: body } = await get(`${large}&page=${page}`)
        rows += body.results.length
        for (const { id } of body.results) ids.add(id)
      }
    }
    await Promise.all(Array.from({ length: 8 }, walk))
    expect(count).toBeGreaterThan(10_000)
    expect({ rows, ids: ids.size }).toEqual({ rows: count, ids: count })
  })

  it('[D9] shows every city once on the pages of a cursor, though most share their population with another', async () => {
    const few = isLong ? '' : '&country__region=Oceania'
    const { count } = (await get(`${CITIES}?page_size=1${few}`)).json
    const ids = new Set<number>()
    let rows = 0
    let last = Number.POSITIVE_INFINITY
    for (let path: string | null = `/api/v1/city-feed?page_size=100${few}`; path !== null; ) {
      const { json: body } = await get(path)
      for (const { id, population } of body.results) {
        expect(population).toBeLessThanOrEqual(last)
        last = population
        ids.add(id)
        rows++
      }
      path = body.next
    }
    expect(count).toBeGreaterThan(1_000)
    expect({ rows, ids: ids.size }).toEqual({ rows: count, ids: count })
  })

  it('shows every city once through a server cursor', async () => {
    const ids = new Set<number>()
    let { json: page } = await get('/api/v1/city-export')
    for (;;) {
      for (const { id } of page.results) ids.add(id)
      if (page.exhausted) break
      expect(page.results).toHaveLength(1_000)
      page = (await get(`/api/v1/city-export?server_cursor=${page.cursor_id}`)).json
    }
    expect(ids.size).toBe(ALL_CITIES)
    expect(page.cursor_id).toBeNull()
  })

  it('filters, searches and orders cities, by their country too', async () => {
    const names = async (query: string) => {
      const { json: body } = await get(`${CITIES}?${query}&page_size=3`)
      return [body.count, ...body.results.map((city: { name: string }) => city.name)]
    }
    expect(await names('country__name=Iceland&ordering=-population')).toEqual([
      ...[33, 'Reykjavík', 'Kópavogur', 'Hafnarfjörður'],
    ])
    expect(await names('population__gte=20000000')).toEqual([1, 'Shanghai'])
    expect(await names('search=z%C3%BCrich%20switzerland&ordering=name')).toEqual(
      expect.arrayContaining([expect.stringContaining('Zürich')]),
    )
    const { json: plain } = await get(`${CITIES}?country__region=Oceania&ordering=-name`)
    const { json: native } = await get('/api/v1/cities-native?country__region=Oceania&ordering=-name')
    expect(native.results).toEqual(plain.results)
    const { json: found } = await get('/api/v1/city-search?search=york%20kingdom')
    expect(found.results[0]).toMatchObject({ name: 'York' })
  })

  it('refuses a country that does not exist', async () => {
    const { status, json: body } = await post({ ...newCity(), country_id: 999 })
    expect(status).toBe(400)
    expect(body.errors).toEqual({ country_id: ['Invalid pk "999" - object does not exist.'] })
  })

  it('takes one of fifty equal cities that come at once', async () => {
    const city = newCity()
    const answers = await Promise.all(Array.from({ length: 50 }, () => post(city)))
    const refused = answers.filter(({ status }) => status === 400)
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(1)
    expect(refused).toHaveLength(49)
    for (const { json: body } of refused) expect(body.errors).toEqual({ geoname_id: ['This field must be unique.'] })
  })

  it('does not delete a country that has cities', async () => {
    const { status, json: body } = await client.send({ method: 'DELETE', path: `${COUNTRIES}/1` })
    expect({ status, body }).toEqual({
      status: 409,
      body: { detail: 'Object is referenced by other objects.', status: 409 },
    })
  })

  it('says in one line that the port is taken, and ends', async () => {
    const other = npmStart(client.port)
    await once(other.child, 'close')
    expect(other.child.exitCode).toBe(1)
    const [line] = other.output().match(/^Port .*\n/m) ?? []
    expect(line).toBe(`Port ${client.port} of 127.0.0.1 is taken. Choose another one: PORT=3001 npm start\n`)
    expect(other.output()).not.toContain('at ')
  })

  it('finishes what it has begun when it is told to stop, and leaves nothing behind', async () => {
    expect(await serversOn(cache)).toHaveLength(1)
    const city = JSON.stringify(newCity())
    const begun = request({
      ...{ host: '127.0.0.1', port: client.port, method: 'POST', path: CITIES, agent: false },
      headers: { ...json, 'Content-Length': city.length, Expect: '100-continue' },
    })
    begun.flushHeaders()
    await once(begun, 'continue')

    const stopped = program.stop()
    await vi.waitUntil(() => isClosed(client.port), { timeout: 10_000 })
    begun.end(city)
    const [response] = (await once(begun, 'response')) as [IncomingMessage]
    response.resume()
    expect(response.statusCode).toBe(201)
    expect(await stopped).toBe(0)
    await vi.waitUntil(async () => (await serversOn(cache)).length === 0, { timeout: 10_000 })
    expect(existsSync(lockFile())).toBe(false)
  })

  function npmStart(port: number, env: Record<string, string> = {}): Program {
    return startProgram({ command: 'npm', args: ['start'], env: { ...env, PORT: String(port), XDG_CACHE_HOME: cache } })
  }

  function lockFile(): string {
    return join(cache, 'koa-viewsets', 'atlas', 'postmaster.pid')
  }

  function get(path: string): Promise<TestResponse> {
    return client.send({ path, agent })
  }

  function post(city: object): Promise<TestResponse> {
    return client.send({ path: CITIES, headers: json, body: JSON.stringify(city) })
  }

  /** Sends what a printed curl line would. */
  function runCurl(line: string): Promise<TestResponse> {
    const [, url = ''] = /'http:\/\/[^/]+(.*?)'/.exec(line) ?? []
    const [, body] = /-d '(.*?)'/.exec(line) ?? []
    const [, method] = /-X (\w+)/.exec(line) ?? []
    const headers = Object.fromEntries([...line.matchAll(/-H '(.*?): (.*?)'/g)].map(([, name, value]) => [name, value]))
    return client.send({
      path: url,
      headers,
      ...(method === undefined ? {} : { method }),
      ...(body === undefined ? {} : { body }),
    })
  }
})

describe('the atlas on a database of your own', { timeout: 60_000 }, () => {
  let database: TestDatabase
  beforeAll(async () => {
    database = await createDatabase({ schema })
  })
  afterAll(() => database.drop())

  it('stops at once when it is told a second time', async () => {
    const port = await findFreePort()
    const env = { DATABASE_URL: toUrl(database.connection), PORT: String(port) }
    const program = startFile('examples/atlas/main.ts', env)
    await untilAnswer(program, port, CITIES)
    const endless = request({
      ...{ host: '127.0.0.1', port, method: 'POST', path: CITIES, agent: false },
      headers: { ...json, 'Content-Length': 100, Expect: '100-continue' },
    })
    endless.on('error', () => {})
    endless.flushHeaders()
    await once(endless, 'continue')
    await vi.waitUntil(() => !program.child.kill('SIGTERM') || program.child.exitCode !== null, { timeout: 5_000 })
    expect(program.child.exitCode).toBe(143)
  })

  it('ends with the reason when it cannot be reached', async () => {
    const env = { DATABASE_URL: 'postgres://127.0.0.1:1/none', PORT: String(await findFreePort()) }
    const program = startFile('examples/atlas/main.ts', env)
    await once(program.child, 'close')
    expect(program.child.exitCode).toBe(1)
    expect(program.output()).toContain('ECONNREFUSED')
  })
})

describe('the atlas as an app', () => {
  let database: TestDatabase
  let server: TestServer
  beforeAll(async () => {
    database = await createDatabase({ schema })
    server = await serve((await createAtlas(database.knex)).app)
  })
  afterAll(() => server.close())

  it('is empty at first, and takes a country and its cities', async () => {
    expect((await server.send({ path: CITIES })).json).toEqual({ count: 0, next: null, previous: null, results: [] })
    const country = { name: 'Atlantis', official_name: 'Atlantis', cca2: 'XA', cca3: 'XAT', region: 'Oceania' }
    const created = await create(COUNTRIES, { ...country, latitude: '31.25', longitude: -24.25, area: null })
    expect(created.json).toMatchObject({ id: 1, latitude: '31.25000', longitude: '-24.25000', languages: {} })
    for (let count = 1; count <= 3; count++) expect((await create(CITIES, newCity())).status).toBe(201)
  })

  it('reads a list with one query and at most one more for the count', async () => {
    const texts = await countQueries(database.knex, () => server.send({ path: `${CITIES}?page_size=2` }))
    expect([1, 2]).toContain(texts.length)
    expect(await countQueries(database.knex, () => server.send({ path: `${CITIES}/1` }))).toHaveLength(1)
  })

  it('logs one line for a database that is away, with the cause the client does not see', async () => {
    const log = vi.spyOn(console, 'error').mockReturnValue()
    await database.drop()
    const { status, json: body } = await server.send({ path: CITIES })
    expect({ status, body }).toEqual({ status: 503, body: { detail: 'Service temporarily unavailable', status: 503 } })
    expect(log.mock.calls).toEqual([[expect.stringMatching(/^GET "\/api\/v1\/cities" 503: .* caused by [^\n]+$/)]])
    log.mockRestore()
  })

  function create(path: string, body: object): Promise<TestResponse> {
    return server.send({ path, headers: json, body: JSON.stringify(body) })
  }
})

let lastGeonameId = 2_000_000_000

function newCity() {
  lastGeonameId++
  return { geoname_id: lastGeonameId, name: 'Atlantis', country_id: 1, latitude: '31.25', longitude: '-24.25' }
}

async function isClosed(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  const open = await once(socket, 'connect').then(
    () => true,
    () => false,
  )
  socket.destroy()
  return !open
}

/** The process ids of PostgreSQL servers on data below the folder. Needs Linux; elsewhere it sees none. */
async function serversOn(folder: string): Promise<string[]> {
  const pids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name))
  const lines = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')))
  return pids.filter((_, index) => lines[index]?.includes('bin/postgres') && lines[index].includes(folder))
}
