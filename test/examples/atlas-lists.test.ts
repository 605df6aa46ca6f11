/** The atlas's travel lists: who sees and changes what, by every way of being known. */
import { rm } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { createAtlas } from '../../examples/atlas/atlas.js'
import { describeUsers } from '../../examples/atlas/users.js'
import { createDatabase, type TestDatabase } from '../support/database.js'
import { readProjectFile } from '../support/program.js'
import { serve, type TestServer } from '../support/server.js'

const LISTS = '/api/v1/lists'
const PNG = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(100)])
const tokens = Object.fromEntries(
  ['alice', 'bob', 'staff'].map((name) => [name, { Authorization: `Token ${name}-demo-token` }]),
)

/** Photos are kept below it. */
const cache = vi.hoisted(() => {
  const { mkdtempSync } = process.getBuiltinModule('node:fs')
  process.env['XDG_CACHE_HOME'] = mkdtempSync('/tmp/kv-photos-')
  return process.env['XDG_CACHE_HOME']
})

let database: TestDatabase
let server: TestServer

beforeAll(async () => {
  database = await createDatabase({ schema: readProjectFile('examples/atlas/schema.sql') })
  await database.knex.raw(`
    insert into countries (name, official_name, cca2, cca3, region, latitude, longitude)
      values ('Land', 'The Land', 'LA', 'LND', 'Here', 1, 2), ('Isle', 'The Isle', 'IS', 'ISL', 'There', 1, 2);
    insert into cities (geoname_id, name, country_id, population, latitude, longitude)
      select n, 'City ' || n, 1 + n % 2, 1000000 - n, 0, 0 from generate_series(1, 30) n`)
  server = await serve((await createAtlas(database.knex)).app)
})
afterAll(async () => {
  await server.close()
  await database.drop()
  await rm(cache, { recursive: true })
})

interface Sent {
  user?: string | undefined
  body?: unknown
  headers?: Record<string, string>
}

function send(method: string, path: string, { user, body, headers = {} }: Sent = {}) {
  return server.send({
    method,
    path,
    headers: {
      ...(user && tokens[user]),
      ...(body !== undefined && { 'Content-Type': 'application/json' }),
      ...headers,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
}

async function createList(user: string, body: object): Promise<string> {
  const { status, json } = await send('POST', LISTS, { user, body })
  expect(status).toBe(201)
  return json.id
}

describe('lists', () => {
  it('belong to who made them, and go by signed ids', async () => {
    const { status, json, headers } = await send('POST', LISTS, {
      user: 'alice',
      body: { title: 'Islands', owner_id: 2 },
    })
    expect([status, json.visibility, json.notes, 'owner_id' in json]).toEqual([201, 'private', '', false])
    expect(json.id).toMatch(/^[a-zA-Z0-9]+\.[0-9a-f]{16}$/)
    expect(headers['location']).toBe(`${LISTS}/${json.id}`)
    expect(await database.knex('lists').where({ title: 'Islands' }).first('owner_id')).toEqual({ owner_id: 1 })
    expect((await send('POST', LISTS, { body: { title: 'Mine' } })).status).toBe(401)
  })

  it('show the public ones and the caller’s own; staff sees all', async () => {
    await createList('alice', { title: 'Secret of alice' })
    await createList('bob', { title: 'Open of bob', visibility: 'public' })
    const titles = async (user?: string) =>
      (await send('GET', `${LISTS}?page_size=100`, { user })).json.results
        .map(({ title }: { title: string }) => title)
        .filter((title: string) => / of /.test(title))
        .sort()
    expect(await titles()).toEqual(['Open of bob'])
    expect(await titles('bob')).toEqual(['Open of bob'])
    expect(await titles('alice')).toEqual(['Open of bob', 'Secret of alice'])
    expect(await titles('staff')).toEqual(['Open of bob', 'Secret of alice'])
  })

  it.each([
    ['nobody', undefined, 401],
    ['another', 'alice', 403],
    ['the owner', 'bob', 200],
    ['staff', 'staff', 200],
  ])('[E7] are changed by %s: %s %i', async (_who, user, status) => {
    const id = await createList('bob', { title: 'Shared', visibility: 'public' })
    expect((await send('PATCH', `${LISTS}/${id}`, { user, body: { notes: 'x' } })).status).toBe(status)
  })

  it('are hidden when they are deleted, and stay in the table', async () => {
    const id = await createList('alice', { title: 'Old plans' })
    expect((await send('DELETE', `${LISTS}/${id}`, { user: 'alice' })).status).toBe(204)
    expect((await send('GET', `${LISTS}/${id}`, { user: 'alice' })).status).toBe(404)
    expect(await database.knex('lists').where({ title: 'Old plans' })).toHaveLength(1)
  })

  it('lose no change that somebody has not seen', async () => {
    const id = await createList('alice', { title: 'Together' })
    const { headers } = await send('GET', `${LISTS}/${id}`, { user: 'alice' })
    const seen = { 'If-Match': headers['etag'] as string }
    const changes = await Promise.all(
      ['a', 'b'].map((notes) => send('PATCH', `${LISTS}/${id}`, { user: 'alice', body: { notes }, headers: seen })),
    )
    expect(changes.map(({ status }) => String(status)).sort()).toEqual(['200', '412'])
  })

  it('are published by their owner from a day on, and the newest are listed', async () => {
    const id = await createList('alice', { title: 'For all' })
    const path = `${LISTS}/${id}/publish`
    expect((await send('POST', path, { user: 'alice', body: {} })).json.errors).toEqual({
      published_on: ['This field is required.'],
    })
    const { status, json } = await send('POST', path, { user: 'alice', body: { published_on: '2026-05-01' } })
    expect([status, json.visibility, json.published_on]).toEqual([200, 'public', '2026-05-01'])
    expect((await send('POST', path, { user: 'bob', body: { published_on: '2026-05-02' } })).status).toBe(403)
    const recent = await send('GET', `${LISTS}/recent`)
    expect(recent.json[0].id).toBe(id)
  })
})

describe('entries', () => {
  it('stand on a list of the caller’s, one by one or in bulk', async () => {
    const id = await createList('alice', { title: 'Trip', visibility: 'public' })
    const path = `${LISTS}/${id}/entries`
    const one = await send('POST', path, { user: 'alice', body: { city_id: 1, day: '2026-06-01', budget: '12.5' } })
    expect([one.status, one.json.budget]).toEqual([201, '12.50'])
    const items = [2, 3, 4].map((city_id) => ({ city_id, day: '2026-06-02' }))
    const many = await send('POST', `${path}/bulk`, { user: 'alice', body: items })
    expect([many.status, many.json.length]).toEqual([201, 3])
    const bad = await send('POST', `${path}/bulk`, {
      user: 'alice',
      body: [items[0], { city_id: 999, day: 'x', budget: '1234567.00' }].map((item, index) => ({
        ...item,
        note: `${index}`,
      })),
    })
    expect([bad.status, Object.keys(bad.json.errors)]).toEqual([400, ['1']])
    expect((await send('POST', path, { user: 'bob', body: items[0] })).status).toBe(403)
    expect((await send('GET', path)).json.count).toBe(4)
    const gone = await send('DELETE', `${path}/bulk`, {
      user: 'alice',
      body: many.json.map((item: { id: number }) => item.id),
    })
    expect([gone.status, gone.json.deleted.length]).toEqual([200, 3])
  })

  it('[E11] are nowhere for who does not see the list', async () => {
    const id = await createList('alice', { title: 'Alone' })
    const answers = await Promise.all(
      [`${LISTS}/${id}/entries`, `${LISTS}/nk.0000000000000000/entries`].map((path) =>
        send('GET', path, { user: 'bob' }),
      ),
    )
    expect(answers.map(({ status }) => status)).toEqual([404, 404])
    expect(answers[0]?.text).toBe(answers[1]?.text)
  })
})

describe('photos', () => {
  it('[F12] are kept under random names and served as downloads in a sandbox', async () => {
    const form = new FormData()
    form.set('city_id', '1')
    form.set('caption', 'The harbour')
    form.set('image', new Blob([PNG], { type: 'image/png' }), '../../harbour.png')
    const request = new Request('http://x/', { method: 'POST', body: form })
    const { status, json } = await server.send({
      method: 'POST',
      path: '/api/v1/photos',
      headers: { ...tokens['bob'], 'Content-Type': request.headers.get('content-type') as string },
      body: Buffer.from(await request.arrayBuffer()),
    })
    expect([status, json.caption]).toEqual([201, 'The harbour'])
    expect(json.image).toMatch(/^\/photos\/[0-9a-f]{32}\.png$/)
    const file = await server.send({ path: json.image })
    expect([file.status, file.headers['content-disposition'], file.headers['x-content-type-options']]).toEqual([
      200,
      'attachment',
      'nosniff',
    ])
    expect(file.headers['content-security-policy']).toContain('sandbox')
    expect((await send('DELETE', `/api/v1/photos/${json.id}`, { user: 'bob' })).status).toBe(204)
    await expect.poll(async () => (await server.send({ path: json.image })).status).toBe(404)
  })
})

describe('users', () => {
  const login = (fields: Record<string, string>) =>
    server.send({
      method: 'POST',
      path: '/login',
      headers: { 'Content-Type': 'application/x-www-form-urlencoded' },
      body: new URLSearchParams(fields).toString(),
    })

  it('log in by a form, and the session is known to the API', async () => {
    const { status, headers } = await login({ name: 'alice', password: 'alice' })
    expect([status, headers['location']]).toEqual([302, '/'])
    const cookie = (headers['set-cookie'] as unknown as string[]).map((line) => line.split(';')[0]).join('; ')
    const body = { title: 'By session' }
    expect((await send('POST', LISTS, { body, headers: { Cookie: cookie } })).status).toBe(201)
    const foreign = { Cookie: cookie, Origin: 'https://evil.test' }
    expect((await send('POST', LISTS, { body, headers: foreign })).status).toBe(403)
  })

  it('come back to the page that they log in from, and to no other site', async () => {
    const site = `http://127.0.0.1:${server.port}`
    const { text } = await server.send({ path: '/login', headers: { Referer: `${site}/docs?a="<b>&c` } })
    expect(text).toContain('name="next" value="/docs?a=%22%3Cb%3E&amp;c"')
    const wrong = await login({ name: 'alice', password: 'wrong', next: '/?page=2' })
    expect([wrong.status, wrong.text.match(/role="alert"|value="[^"]+"/g)]).toEqual([
      401,
      ['role="alert"', 'value="/?page=2"'],
    ])
    const leadsTo = async (next: string) => (await login({ name: 'bob', password: 'bob', next })).headers['location']
    expect(await leadsTo('/?page=2')).toBe('/?page=2')
    const others = [
      'https://evil.test/',
      '//evil.test/',
      '/\\evil.test',
      `${site}//evil.test`,
      'javascript:1',
      '/login',
      'http://',
    ]
    expect(await Promise.all(others.map(leadsTo))).toEqual(others.map(() => '/'))
    const out = await server.send({ method: 'POST', path: '/logout', headers: { Referer: `${site}/docs` } })
    expect([out.status, out.headers['location']]).toEqual([302, '/docs'])
  })

  it('have keys, which are printed once', async () => {
    const [line = ''] = await describeUsers(database.knex)
    const key = /X-API-Key: (\S+)/.exec(line)?.[1] as string
    expect((await send('POST', LISTS, { body: { title: 'By key' }, headers: { 'X-API-Key': key } })).status).toBe(201)
    // all but the part that people know a key by
    expect(JSON.stringify(await database.knex('koa_viewsets_api_keys'))).not.toContain(key.slice(12))
  })

  it('are counted, and staff may ask how often', async () => {
    const path = '/api/v1/usage?account=2'
    expect((await send('GET', path)).status).toBe(401)
    expect((await send('GET', path, { user: 'alice' })).status).toBe(403)
    await send('GET', LISTS, { user: 'bob' })
    await expect
      .poll(async () => (await send('GET', path, { user: 'staff' })).json.meters?.[0]?.requests, { timeout: 10_000 })
      .toBeGreaterThan(0)
    expect((await send('GET', '/api/v1/usage', { user: 'staff' })).json.errors).toEqual({
      account: ['This field is required.'],
    })
    expect((await send('GET', `${path}&from=x`, { user: 'staff' })).status).toBe(400)
  })
})

describe('cities', () => {
  it('of a country stand below it', async () => {
    const { json } = await send('GET', '/api/v1/countries/1/cities?page_size=100')
    expect([json.count, new Set(json.results.map((city: { country_id: number }) => city.country_id))]).toEqual([
      15,
      new Set([1]),
    ])
    expect((await send('GET', '/api/v1/countries/99/cities')).status).toBe(404)
  })

  it('come as CSV and NDJSON, all of them', async () => {
    const csv = await send('GET', '/api/v1/cities.csv?country_id=1')
    expect([csv.status, csv.headers['content-type'], csv.text.trimEnd().split('\r\n').length]).toEqual([
      200,
      'text/csv; charset=utf-8',
      16,
    ])
    expect(csv.headers['content-disposition']).toBe('attachment; filename="city.csv"')
    expect((await send('GET', '/api/v1/cities.ndjson')).text.trimEnd().split('\n')).toHaveLength(30)
  })

  it('are searched so often and no more', async () => {
    const { headers } = await send('GET', '/api/v1/city-search?search=city')
    expect(headers['ratelimit-policy']).toBe('"city-search";q=120;w=60')
    expect(headers['ratelimit']).toBe('"city-search";r=119;t=60')
  })
})
