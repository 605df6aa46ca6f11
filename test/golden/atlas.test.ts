/** The atlas, and what its clients in `examples/client` and `examples/tanstack` ask of it: a file for each resource. */
import { rm } from 'node:fs/promises'
import { afterAll, beforeAll, beforeEach, it, vi } from 'vitest'
import { type Atlas, createAtlas } from '../../examples/atlas/atlas.js'
import { createDatabase, type TestDatabase } from '../support/database.js'
import { readProjectFile } from '../support/program.js'
import { serve, type TestServer } from '../support/server.js'
import { expectRecorded, Recording } from './support/recording.js'

/** Photos are kept below it. */
const cache = vi.hoisted(() => {
  const { mkdtempSync } = process.getBuiltinModule('node:fs')
  process.env['XDG_CACHE_HOME'] = mkdtempSync('/tmp/kv-photos-')
  return process.env['XDG_CACHE_HOME']
})

const PNG = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(100)])
const ROWS = `
  truncate countries, cities, lists, entries, photos restart identity cascade;
  insert into countries (name, official_name, cca2, cca3, region, capital, area, latitude, longitude, languages, landlocked)
    values ('Land', 'The Land', 'LA', 'LND', 'Here', 'City 1', 12.5, 1, 2, '{"deu": "German"}', true),
      ('Isle', 'The Isle', 'IS', 'ISL', 'There', null, null, -1.5, 2.25, '{}', false);
  insert into cities (geoname_id, name, country_id, population, latitude, longitude, created_at, updated_at)
    select n, 'City ' || n, 1 + n % 2, 1000 - n / 2, n, -n, t, t
    from generate_series(1, 8) n, lateral (select timestamptz '2026-01-01T00:00:00Z' + n * interval '137 us' as t) as times;`

let database: TestDatabase
let atlas: Atlas
let server: TestServer

beforeAll(async () => {
  database = await createDatabase({ schema: readProjectFile('examples/atlas/schema.sql') })
  atlas = await createAtlas(database.knex)
  server = await serve(atlas.app)
})
afterAll(async () => {
  await server?.close()
  await database?.drop()
  await rm(cache, { recursive: true })
})

beforeEach(async () => {
  await database.knex.raw(ROWS)
})

async function record(name: string, routes: readonly string[], work: (atlas: Recording) => Promise<void>) {
  const recording = await Recording.of({ api: atlas.api, port: server.port, routes, volatileTags: true })
  await work(recording)
  await expectRecorded('examples', `atlas-${name}`, recording.text())
}

const tokens = Object.fromEntries(
  ['alice', 'bob', 'staff'].map((name) => [name, { Authorization: `Token ${name}-demo-token` }]),
) as Record<'alice' | 'bob' | 'staff', { Authorization: string }>

it('countries', () =>
  record('countries', ['country', 'country-city'], async (api) => {
    const path = '/api/v1/countries'
    await api.send('GET', `${path}?page_size=1`)
    await api.send('GET', `${path}?region=There&ordering=-area,name`)
    await api.send('GET', `${path}?area__gte=1&landlocked=true&fields=name,area,languages`)
    await api.send('GET', `${path}?search=city%20land`)
    await api.send('GET', `${path}?or=(region.eq.Here)`)
    await api.send('GET', `${path}?area=much`)
    await api.send('GET', `${path}/1`)
    await api.send('OPTIONS', path)
    const country = { name: 'New', official_name: 'The New', cca2: 'NE', cca3: 'NEW', region: 'Here' }
    await api.send('POST', path, { ...country, latitude: 91, longitude: '0' })
    await api.send('POST', path, { ...country, latitude: 1.5, longitude: '0', currencies: { NEW: [1.1, 'é'] } })
    await api.send('PUT', `${path}/3`, { ...country, name: 'Newer', latitude: 1.5, longitude: 3 })
    await api.send('PATCH', `${path}/3`, { capital: 'City 1', cca2: 'LA' })
    await api.send('PATCH', `${path}/3`, { capital: 'City 1' })
    await api.send('DELETE', `${path}/1`)
    await api.send('DELETE', `${path}/3`)
    await api.send('GET', `${path}/2/cities?page_size=2`)
    await api.send('GET', `${path}/2/cities?population__lt=999&search=city`)
    await api.send('GET', `${path}/2/cities/1`)
    await api.send('GET', `${path}/2/cities/2`)
    await api.send('GET', `${path}/99/cities`)
    await api.send('POST', `${path}/2/cities`, {})
  }))

it('cities', () =>
  record('cities', ['city', 'city-native', 'city-feed', 'city-export', 'city-search'], async (api) => {
    const path = '/api/v1/cities'
    for (const list of [path, '/api/v1/cities-native']) {
      await api.send('GET', `${list}?page=2&page_size=2`)
      await api.send('GET', `${list}?country__region=Here&ordering=-population&page_size=2`)
      await api.send('GET', `${list}?population__gte=998&country__name__icontains=l&search=isle&page_size=2`)
      await api.send('GET', `${list}/1`)
      await api.send('GET', `${list}/1?fields=name,population`)
    }
    await api.send('GET', `${path}?ordering=nothing`)
    await api.ask({ path: `${path}?page_size=2`, headers: { Accept: 'text/csv' } })
    await api.ask({ path: `${path}?format=ndjson&page_size=2` })
    await api.ask({ path: `${path}?page_size=2`, headers: { Accept: 'image/png' } })
    const routes = await atlas.api.explain('city')
    for (const { path: stream } of routes.filter(({ path: one }) => one.includes('stream'))) {
      await api.ask({ path: stream, headers: { Accept: 'application/x-ndjson' } })
    }
    const city = { geoname_id: 100, name: 'Atlantis', country_id: 1, latitude: '31.25', longitude: '-24.25' }
    await api.send('POST', path, city)
    await api.send('POST', path, city)
    await api.send('POST', path, { ...city, geoname_id: 101, country_id: 99 })
    await api.send('PATCH', `${path}/1`, { population: -1 })
    await api.send('PATCH', `${path}/1`, { population: 5 })
    await api.send('PUT', `${path}/1`, { ...city, geoname_id: 1 })
    await api.send('DELETE', `${path}/10`)
    const first = await api.send('GET', '/api/v1/city-feed?page_size=3')
    const second = await api.send('GET', first.json.next)
    await api.send('GET', second.json.previous)
    await api.send('GET', '/api/v1/city-feed?cursor=x')
    await api.send('GET', '/api/v1/city-search?search=city%204')
    await api.send('GET', '/api/v1/city-export?page_size=5&fields=name')
  }))

it('lists', () =>
  record('lists', ['list', 'entry'], async (api) => {
    const path = '/api/v1/lists'
    const { alice, bob, staff } = tokens
    await api.send('POST', path, { title: 'Islands' })
    const { json } = await api.send('POST', path, { title: 'Islands', owner_id: 2 }, alice)
    await api.send('POST', path, { title: 'I', visibility: 'secret' }, alice)
    await api.send('POST', path, { title: 'Open', visibility: 'public' }, bob)
    const one = `${path}/${json.id}`
    await api.send('GET', path)
    await api.send('GET', path, undefined, bob)
    await api.send('GET', `${path}?title__icontains=isl`, undefined, alice)
    await api.send('GET', `${path}?visibility=public&ordering=title`, undefined, staff)
    await api.send('GET', one, undefined, bob)
    const { headers } = await api.send('GET', one, undefined, alice)
    await api.send('PATCH', one, { title: 'Isles' }, { ...alice, 'If-Match': '"0-0"' })
    await api.send('PATCH', one, { title: 'Isles' }, { ...alice, 'If-Match': String(headers.etag) })
    await api.send('PUT', one, { title: 'Isles' }, { ...staff, 'If-Match': '*' })
    await api.send('POST', `${one}/publish`, { published_on: '2026-02-30' }, alice)
    await api.send('POST', `${one}/publish`, { published_on: '2026-02-28' }, alice)
    await api.send('PATCH', one, { title: 'Mine' }, bob)
    await api.send('GET', `${path}/recent`, undefined, alice)
    const entries = `${one}/entries`
    await api.send('POST', entries, { city_id: 1, day: '2026-03-01', budget: 10 }, alice)
    await api.send('POST', entries, { city_id: 99, day: '2026-13-01' }, alice)
    const more = [2, 3].map((city_id) => ({ city_id, day: '2026-03-02', note: 'on the way' }))
    await api.send('POST', `${entries}/bulk`, more, alice)
    await api.send('POST', `${entries}/bulk`, more, alice)
    await api.send(
      'PATCH',
      `${entries}/bulk`,
      [
        { id: 1, budget: '1.5' },
        { id: 2, note: '' },
      ],
      alice,
    )
    await api.send('PATCH', `${entries}/bulk`, [{ id: 99, note: '' }], alice)
    await api.send('GET', entries)
    await api.send('GET', `${entries}/1`, undefined, bob)
    await api.send('PUT', `${entries}/1`, { city_id: 4, day: '2026-03-01' }, alice)
    await api.send('DELETE', `${entries}/bulk`, [1, 2], alice)
    await api.send('DELETE', one, undefined, bob)
    await api.send('DELETE', one, undefined, alice)
    await api.send('GET', one, undefined, alice)
  }))

it('photos', () =>
  record('photos', ['photo'], async (api) => {
    const path = '/api/v1/photos'
    const form = async (parts: Record<string, string | Blob>) => {
      const data = new FormData()
      for (const [name, value] of Object.entries(parts)) {
        if (typeof value === 'string') data.append(name, value)
        else data.append(name, value, 'photo.png')
      }
      const encoded = new Request('http://localhost', { method: 'POST', body: data })
      const type = String(encoded.headers.get('content-type'))
      const title = `POST ${path}, form of ${Object.keys(parts).join(', ')}`
      const body = Buffer.from(await encoded.arrayBuffer())
      return api.ask({ title, path, headers: { ...tokens.alice, 'Content-Type': type }, body })
    }
    await form({ city_id: '1', image: new Blob([PNG]) })
    await form({ city_id: '1', image: new Blob(['no picture']) })
    await form({ city_id: '99', caption: 'far', image: new Blob([PNG]) })
    await api.send('GET', `${path}?city_id=1`)
    await api.send('PATCH', `${path}/1`, { caption: 'near' }, tokens.bob)
    await api.send('PATCH', `${path}/1`, { caption: 'near' }, tokens.alice)
    await api.send('DELETE', `${path}/1`, undefined, tokens.alice)
  }))
