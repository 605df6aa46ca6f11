/** P13 and P12: what HTTP asks of the app under test, row by row of the conformance list (RFC 9110, 9111, 9112). */
import type { TestedDocument } from 'koa-viewsets/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { expectRules } from '../support/client.js'
import { exchange } from '../support/server.js'
import { as, createClient, type Hit, json, type TrialClient } from './support/client.js'
import { findUndescribed } from './support/oracles.js'
import { report, size } from './support/size.js'
import { startTrialDatabase, startTrialServer, type TrialDatabase, type TrialServer } from './support/trial.js'

let database: TrialDatabase
let server: TrialServer
let client: TrialClient
/** The entity tag of `/api/books/1`, and its 16 digits. */
let tag = ''
let digits = ''
let requests = 0
let document: TestedDocument

type Headers = Record<string, string | string[]>

beforeAll(async () => {
  database = await startTrialDatabase()
  server = await startTrialServer(database.url)
  client = createClient(server.port)
  document = await server.document()
})
beforeEach(async () => {
  tag = String((await fire('GET', '/api/books/1')).headers.etag)
  digits = tag.slice(3, -1)
})
afterAll(async () => {
  report('P13 conformance', { requests })
  client?.close()
  await server?.remove()
  await database?.stop()
})

async function fire(method: string, path: string, headers: Headers = {}, body?: unknown): Promise<Hit> {
  requests++
  const hit = await client.fire(json(method, path, body, headers))
  expect(hit.failure).toBeUndefined()
  // P12; a document cannot say that a path is none where its parameter is no number
  if (!/^\/api\/books\/[a-z]+x?$/.test(path) || hit.status !== 404) expect(findUndescribed(document, hit)).toEqual([])
  if (hit.status >= 400) {
    const isJson = method !== 'HEAD' && hit.text !== ''
    // row 49: every error has the one form
    expectRules({ ...hit, json: isJson ? JSON.parse(hit.text) : undefined }, method)
  }
  return hit
}

/** Sends the bytes and reads until the connection falls silent or ends. */
async function sendRaw(bytes: string, until?: (text: string) => boolean): Promise<string> {
  requests++
  return exchange(server.port, Buffer.from(bytes, 'latin1'), until)
}

const statusOf = (text: string) => Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1])

describe('[P13] conditional requests', () => {
  it('row 1 a read has an entity tag and is private', async () => {
    const { status, headers } = await fire('GET', '/api/books/1')
    expect(status).toBe(200)
    expect(headers.etag).toMatch(/^W\/"[0-9a-f]{16}"$/)
    expect(headers['cache-control']).toMatch(/\bprivate\b/)
  })

  it('row 2 the tag again is 304 with the headers that describe it, and nothing else', async () => {
    const full = await fire('GET', '/api/books/1')
    const { status, headers, text } = await fire('GET', '/api/books/1', { 'If-None-Match': tag })
    expect({ status, text }).toEqual({ status: 304, text: '' })
    for (const name of ['etag', 'cache-control', 'vary']) expect(headers[name]).toBe(full.headers[name])
    expect(headers['content-type']).toBeUndefined()
    expect(Number(headers['content-length'] ?? 0)).toBe(0)
  })

  it.each<[string, () => string | string[], number]>([
    ['row 3 the strong form', () => `"${digits}"`, 304],
    ['row 4 any', () => '*', 304],
    ['row 5 a list', () => `"x", ${tag}, W/"y"`, 304],
    ['row 5 a list without spaces', () => `"x",${tag},W/"y"`, 304],
    ['row 5 a list with tabs', () => `"x",\t${tag}\t,\tW/"y"`, 304],
    ['row 5 a list with empty elements', () => `,, ${tag} ,`, 304],
    ['row 6 two lines', () => ['"x"', tag], 304],
    ['row 7 a comma in a tag', () => `"a,b", ${tag}`, 304],
    ['row 7 the digits in another tag', () => `"x,${digits}"`, 200],
    ['row 8 no quotes', () => digits, 200],
    ['row 8 no end', () => `W/"${digits}`, 200],
    ['row 8 a small w', () => `w/"${digits}"`, 200],
    ['row 8 nothing', () => '', 200],
  ])('%s', async (_, value, expected) => {
    expect((await fire('GET', '/api/books/1', { 'If-None-Match': value() })).status).toBe(expected)
  })

  it('rows 9 and 10 no-cache and HEAD change nothing of it', async () => {
    expect((await fire('GET', '/api/books/1', { 'If-None-Match': tag, 'Cache-Control': 'no-cache' })).status).toBe(304)
    expect((await fire('HEAD', '/api/books/1', { 'If-None-Match': tag })).status).toBe(304)
  })

  it('row 12 writes of what If-None-Match names are 412, and never 304', async () => {
    const body = { title: 'x' }
    expect(
      (await fire('PATCH', '/api/books/1', { 'If-None-Match': tag, ...as('alice') } as Headers, body)).status,
    ).toBe(412)
    expect((await fire('POST', '/api/books', { 'If-None-Match': tag, ...as('alice') } as Headers, body)).status).toBe(
      201,
    )
    expect(
      (await fire('PUT', '/api/books/1', { 'If-None-Match': '*', ...as('alice') } as Headers, { title: 'y' })).status,
    ).toBe(412)
    const { headers, text } = await fire('GET', '/api/books/1')
    expect([headers['etag'], JSON.parse(text).title === 'x']).toEqual([tag, false])
  })

  it.each([
    ['*', 200],
    ['"other"', 412],
    ['the weak tag', 412],
  ])('[I3] row 13 If-Match: %s is %i', async (value, expected) => {
    const match = value === 'the weak tag' ? tag : value
    expect(
      (await fire('PATCH', '/api/books/1', { 'If-Match': match, ...as('alice') } as Headers, { n: 1 })).status,
    ).toBe(expected)
  })

  it('rows 14, 15 and 58 dates and ranges are not offered', async () => {
    const since = await fire('GET', '/api/books/1', {
      'If-Modified-Since': new Date(Date.now() + 60_000).toUTCString(),
    })
    expect(since.status).toBe(200)
    expect(since.headers.date).toMatch(/^[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT$/)
    const range = await fire('GET', '/api/books/1', { Range: 'bytes=0-1' })
    expect(range).toMatchObject({ status: 200, text: since.text })
    expect(range.headers['accept-ranges']).toBeUndefined()
  })

  it('rows 16 and 17 errors have no tag, other bytes another one', async () => {
    expect((await fire('GET', '/api/books/99999', { 'If-None-Match': '*' })).status).toBe(404)
    const csv = await fire('GET', '/api/books/1.csv')
    expect(csv.headers.etag).not.toBe(tag)
    await fire('PATCH', '/api/books/1', as('alice') as Headers, { title: 'z' })
    await fire('PATCH', '/api/books/1', as('alice') as Headers, { title: 'zz' })
    expect((await fire('GET', '/api/books/1')).headers.etag).not.toBe(tag)
  })
})

describe('[P13] methods', () => {
  it.each([
    ['PUT', '/api/books', 'GET, HEAD, POST, OPTIONS'],
    ['POST', '/api/books/1', 'GET, HEAD, PUT, PATCH, DELETE, OPTIONS'],
    ['POST', '/api/events', 'GET, HEAD, OPTIONS'],
    ['GET', '/api/books/1/publish', 'POST, OPTIONS'],
    ['TRACE', '/api/books', 'GET, HEAD, POST, OPTIONS'],
    ['PROPFIND', '/api/books/1', 'GET, HEAD, PUT, PATCH, DELETE, OPTIONS'],
  ])('rows 20 and 21 %s %s is 405 and tells what is allowed', async (method, path, allowed) => {
    const { status, headers } = await fire(method, path)
    expect(status).toBe(405)
    expect(new Set(headers.allow?.split(', '))).toEqual(new Set(allowed.split(', ')))
  })

  it('row 22 any method on an unknown path is 404', async () => {
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND']) {
      expect((await fire(method, '/api/nowhere')).status).toBe(404)
      expect((await fire(method, '/api/books/abc')).status).toBe(404)
    }
  })

  it.each([
    '/api/books',
    '/api/books/1',
    '/api/books/1/publish',
    '/api/books/recent',
    '/api/authors/1/books',
    '/api/events',
  ])('rows 23 and 24 OPTIONS %s is 200 and tells its methods twice', async (path) => {
    const { status, headers, text } = await fire('OPTIONS', path)
    expect(status).toBe(200)
    const methods = (JSON.parse(text).allowed_methods as string[]).map((method) => method.toUpperCase())
    for (const method of methods) expect(headers.allow?.split(', ')).toContain(method)
  })

  it.each([
    '/api/books',
    '/api/books/1',
    '/api/books/recent',
    '/api/native',
    '/api/whole',
    '/api/events',
    '/api/ft',
    '/api/authors/1/books',
    '/api/books.csv',
    '/api',
    '/version',
  ])('rows 11 and 38 HEAD %s has the headers of GET, and no body', async (path) => {
    const [full, head] = [await fire('GET', path), await fire('HEAD', path)]
    expect(head).toMatchObject({ status: full.status, text: '' })
    for (const name of ['content-type', 'content-length', 'etag', 'cache-control', 'vary', 'allow']) {
      expect({ name, value: head.headers[name] }).toEqual({ name, value: full.headers[name] })
    }
  })
})

describe('[P13] media types', () => {
  it('row 26 CSV is an attachment', async () => {
    const { headers, text } = await fire('GET', '/api/books', { Accept: 'text/csv' })
    expect(headers['content-type']).toBe('text/csv; charset=utf-8')
    expect(headers['content-disposition']).toMatch(/^attachment; filename="[^"]+\.csv"$/)
    expect(headers.vary).toMatch(/\bAccept\b/)
    expect(text).toMatch(/^id,title,/)
  })

  it.each([
    ['row 27', 'text/csv;q=0.1, application/json', 'application/json'],
    ['row 27', 'application/json;q=0, text/csv', 'text/csv'],
    ['row 27', 'application/json;q=0, */*', 'text/csv'],
    ['row 27', 'text/*', 'text/csv'],
    ['row 27', '*/*', 'application/json'],
    ['row 27', 'application/json; version=2', 'application/json'],
    ['row 28', 'image/png', 'application/json'],
    ['row 29', ';;;,,,/,q=', 'application/json'],
    ['row 29', `text/html;q=${'0'.repeat(9_000)}`, 'application/json'],
    ['row 48', 'application/problem+json', 'application/json'],
  ])('%s Accept: %.40s gives %s', async (_, accept, expected) => {
    const { status, headers } = await fire('GET', '/api/books', { Accept: accept })
    expect({ status, type: headers['content-type'] }).toEqual({ status: 200, type: `${expected}; charset=utf-8` })
  })

  it('rows 30 and 31 a suffix beats Accept; Vary names nothing twice', async () => {
    expect((await fire('GET', '/api/books.json', { Accept: 'text/csv' })).headers['content-type']).toMatch(/json/)
    expect((await fire('GET', '/api/books/1.csv', { Accept: 'application/json' })).headers['content-type']).toMatch(
      /csv/,
    )
    expect((await fire('GET', '/api/books.xml')).status).toBe(404)
    const names = (await fire('GET', '/api/books')).headers.vary?.toLowerCase().split(/, */) ?? []
    expect(new Set(names).size).toBe(names.length)
  })

  it('rows 32 and 33 tell what can be read', async () => {
    const alice = as('alice') as Headers
    for (const [method, path, name] of [
      ['POST', '/api/books', 'accept-post'],
      ['PATCH', '/api/books/1', 'accept-patch'],
    ] as const) {
      const { status, headers } = await fire(method, path, { ...alice, 'Content-Type': 'application/xml' }, {})
      expect(status).toBe(415)
      expect(headers[name]).toContain('application/json')
    }
    const coded = await fire('POST', '/api/books', { ...alice, 'Content-Encoding': 'zstd' }, {})
    expect(coded.status).toBe(415)
    expect(coded.headers['accept-encoding']).toBe('gzip, deflate, br')
  })

  it('rows 34 to 37 and 39 bodies that are missing, and bodies that do not matter', async () => {
    const alice = as('alice') as Headers
    expect(JSON.parse((await fire('POST', '/api/books', alice)).text).errors).toHaveProperty('title')
    const created = await fire('POST', '/api/books', alice, { title: 'row 37' })
    const { id } = JSON.parse(created.text)
    expect(created).toMatchObject({ status: 201, headers: { location: `/api/books/${id}` } })
    const gone = await fire('DELETE', `/api/books/${id}`, alice, { ignored: true })
    expect(gone).toMatchObject({ status: 204, text: '' })
    expect(gone.headers['content-type']).toBeUndefined()
    expect(gone.headers['content-length']).toBeUndefined()
    const note = await fire('POST', '/api/pub', alice, { text: 'external' })
    expect(note.headers.location).toBe(`/api/pub/${JSON.parse(note.text).id}`)
    expect((await fire('GET', '/api/books/1', {}, { ignored: true })).status).toBe(200)
  })
})

describe('[P13] errors and limits', () => {
  it('rows 41 to 43 unknown, wrong and known callers', async () => {
    const anonymous = await fire('GET', '/api/private')
    expect(anonymous).toMatchObject({ status: 401, headers: { 'www-authenticate': 'Token realm="api"' } })
    expect(await fire('GET', '/api/books', as('mallory') as Headers)).toMatchObject({
      status: 401,
      headers: { 'www-authenticate': 'Token realm="api"' },
    })
    const known = await fire('DELETE', '/api/own/1', as('staff') as Headers)
    expect(known.status).toBe(403)
    expect(known.headers['www-authenticate']).toBeUndefined()
  })

  it('rows 44 and 45 a caller who comes too often is told when to come back', async () => {
    for (let turn = 1; turn <= 5; turn++) {
      const { status, headers } = await fire('GET', '/api/limited')
      expect(status).toBe(200)
      expect(headers['ratelimit-policy']).toMatch(/^"[^"]+";q=5;w=60$/)
      expect(headers.ratelimit).toMatch(new RegExp(`^"[^"]+";r=${5 - turn};t=\\d+$`))
    }
    const { status, headers, text } = await fire('GET', '/api/limited')
    expect(status).toBe(429)
    expect(JSON.parse(text).detail).toBe(`Request was throttled. Retry after ${headers['retry-after']} seconds`)
    expect(headers['ratelimit']).toMatch(/;r=0;/)
  })

  it.each([
    ['by its announced length', `Content-Length: 2000000\r\n\r\n${' '.repeat(2_000_000)}`],
    [
      'by what has come of it',
      `Transfer-Encoding: chunked\r\n\r\n${`10000\r\n${' '.repeat(65_536)}\r\n`.repeat(20)}0\r\n\r\n`,
    ],
  ])('row 47 a body that is too big %s is 413, and its connection stays usable', async (_, rest) => {
    const head =
      'POST /api/books HTTP/1.1\r\nHost: x\r\nAuthorization: Token alice\r\nContent-Type: application/json\r\n'
    const next = 'GET /api/books/1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n'
    const text = await sendRaw(head + rest + next, () => false)
    const [refused = '', other = ''] = text.split(/(?=HTTP\/1\.1 )/)
    expect([statusOf(refused), statusOf(other)]).toEqual([413, 200])
    expect(JSON.parse(refused.slice(refused.indexOf('\r\n\r\n')))).toMatchObject({ status: 413 })
  })

  it('row 47 a target that is too big is 431, and the server goes on', async () => {
    expect(statusOf(await sendRaw(`GET /api/books?${'a'.repeat(20_000)} HTTP/1.1\r\nHost: x\r\n\r\n`))).toBe(431)
    expect((await fire('GET', '/api/books/1')).status).toBe(200)
  })

  it('row 40 an expected body is not waited for when the caller is refused', async () => {
    const head = 'Content-Type: application/json\r\nContent-Length: 11\r\nExpect: 100-continue\r\n'
    const refused = await sendRaw(`POST /api/private HTTP/1.1\r\nHost: x\r\n${head}\r\n`, (text) =>
      /HTTP\/1\.1 [2-5]/.test(text),
    )
    expect(refused).toMatch(/HTTP\/1\.1 401 /)
  })

  it('row 60 a connection lives on after errors, and answers in order', async () => {
    const one = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`
    const text = await sendRaw(
      one('/api/books/99999') + one('/api/authors/1') + one('/api/private'),
      (sofar) => (sofar.match(/HTTP\/1\.1/g)?.length ?? 0) === 3,
    )
    expect([...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).toEqual(['404', '200', '401'])
  })

  it.each([
    [
      'Content-Length and Transfer-Encoding',
      'POST /api/books HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      400,
    ],
    ['no Host', 'GET /api/books/1 HTTP/1.1\r\n\r\n', 400],
    ['20 kB of headers', `GET /api/books/1 HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
    ['a NUL in a header', 'GET /api/books/1 HTTP/1.1\r\nHost: x\r\nX: a\0b\r\n\r\n', 400],
  ])('[I20] %s', async (_, bytes, expected) => {
    expect(statusOf(await sendRaw(bytes))).toBe(expected)
  })

  it.each([
    ['HTTP/1.0 without Host', 'GET /api/books HTTP/1.0\r\n\r\n'],
    ['the absolute form', 'GET http://evil.test/api/books HTTP/1.1\r\nHost: evil.test\r\n\r\n'],
    [
      'an absolute form of another server',
      'GET http://evil.test/api/events HTTP/1.1\r\nHost: x\r\nX-Forwarded-Host: evil.test\r\n\r\n',
    ],
    ['OPTIONS *', 'OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n'],
  ])('[D4] row 61 %s names no other host, and is no 5xx', async (_, bytes) => {
    const text = await sendRaw(bytes, (sofar) => /\r\n\r\n[\s\S]*\}$|\r\n0\r\n\r\n$|Not Found$/.test(sofar))
    expect(statusOf(text)).toBeLessThan(500)
    expect(text).not.toContain('evil.test')
  })
})

describe('[P13] formats', () => {
  it('rows 53 and 54 CSV has a header even when it is empty, and one row for each object', async () => {
    const empty = await fire('GET', '/api/books.csv?title=nothing-of-this-name')
    const some = await fire('GET', '/api/books.csv?page_size=3')
    expect(empty.text.split('\r\n')[0]).toBe(some.text.split('\r\n')[0])
    expect(some.text.trimEnd().split('\r\n')).toHaveLength(4)
    expect((await fire('GET', '/api/books/2.csv')).text.trimEnd().split('\r\n')).toHaveLength(2)
    expect(some.headers['content-disposition']).toBe('attachment; filename="book.csv"')
  })

  it('row 55 JSON has no BOM, dates with an offset, and decimals as text', async () => {
    const { text } = await fire('GET', '/api/books/2')
    const { created, price } = JSON.parse(text)
    expect(text.startsWith('{')).toBe(true)
    expect(created).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/)
    expect(price).toBe('2.00')
  })

  it.each(['/api/books', '/api/native', '/api/whole', '/api/events', '/api/authors/1/books'])(
    'rows 56 and 57 the links of %s are paths, and reach the end',
    async (path) => {
      let next: string | null = path
      let pages = 0
      for (let previous: unknown = null; next !== null; pages++) {
        const { status, headers, text } = await fire('GET', next)
        expect(status).toBe(200)
        expect(headers.link).toBeUndefined()
        const page = JSON.parse(text)
        if (pages === 0) expect(page.previous).toBe(null)
        else expect(page.previous).toMatch(/^\/api\//)
        previous = page.next
        if (previous !== null) expect(previous).toMatch(/^\/api\//)
        next = previous as string | null
      }
      expect(pages).toBeGreaterThan(0)
    },
  )

  it('rows 59 and 62 we set no cookie, and fixed paths win', async () => {
    for (const path of ['/api/books', '/api/sess', '/api/private'])
      expect((await fire('GET', path)).headers['set-cookie']).toBeUndefined()
    expect((await fire('POST', '/api/books/bulk', as('alice') as Headers, [])).status).toBeLessThan(404)
    expect((await fire('GET', '/api/books/recent')).status).toBe(200)
    expect((await fire('POST', '/api/books/bulkx', as('alice') as Headers, [])).status).toBe(404)
  })

  it('[E3] advisory: a token that begins as a known one takes as long as another, as far as it shows from here', {
    timeout: 120_000,
  }, async () => {
    const times = { near: [] as number[], far: [] as number[] }
    const ask = async (token: string) => client.fire(json('GET', '/api/private', undefined, as(token)))
    for (let turn = 0; turn < 100; turn++) await ask('warm')
    // in turns: what else the machine does meanwhile is in both
    for (let turn = 0; turn < size(60, 2_000); turn++) {
      for (const [name, token] of turn % 2 === 0 ? TOKENS : TOKENS.toReversed()) {
        const { status, milliseconds } = await ask(token)
        expect(status).toBe(401)
        times[name].push(milliseconds)
      }
    }
    report('E3 timing', {
      requests: times.near.length + times.far.length,
      'Welch t': welch(times.near, times.far).toFixed(2),
      'advisory below': 4.5,
    })
  })

  it.each([
    [[1, 2, 3, 4, 5], [2, 3, 4, 5, 6], -1],
    [[3, 3, 4, 5], [1, 2, 1, 2], 4.0249],
    [[10, 20, 30], [20, 40, 60, 80], -2.1213],
  ])("[E3] Welch's t of %j and %j is %d", (one, two, expected) => {
    expect(welch(one, two)).toBeCloseTo(expected, 3)
    expect(welch(two, one)).toBeCloseTo(-expected, 3)
  })
})

describe('[I18] reading', () => {
  it('writes nothing: every GET, HEAD and OPTIONS is answered over connections that may only read', {
    timeout: 120_000,
  }, async () => {
    const reader = await startTrialServer(database.url, { pool: 30, readOnly: true, metered: true })
    const readers = createClient(reader.port)
    try {
      const paths = Object.entries(document.paths ?? {})
        .filter(([, item]) => 'get' in (item as object))
        .map(([template]) => template.replaceAll(/\{(\w+)\}/g, '1'))
      // an external id, and what the document's own parameters do
      const [note] = JSON.parse((await fire('GET', '/api/pub', as('alice') as Headers)).text).results
      const more = [
        `/api/pub/${note.id}`,
        '/api/books?page=2&page_size=5&ordering=-n,title&n__gte=1&author__name=author%201&search=title',
        '/api/books.csv',
        '/api/whole?limit=5&offset=5',
        '/api/ft?search=title',
        '/api/ftraw?search=title:*',
        '/api/rx?search=%5Etitle%201',
        '/api/stream.csv',
        '/api/stream.ndjson',
        '/version',
      ]
      const statuses = new Map<number, number>()
      const faults: string[] = []
      const shots = [...paths, ...more].flatMap((path) => [
        json('GET', path),
        ...['GET', 'HEAD', 'OPTIONS'].map((method) => json(method, path, undefined, as('alice'))),
      ])
      await readers.fireAll(
        shots,
        ({ shot, status, text }) => {
          statuses.set(status, (statuses.get(status) ?? 0) + 1)
          if (status >= 500 || status === 0) faults.push(`${shot.method} ${shot.path} ${status} ${text}`)
        },
        4,
      )
      expect(faults).toEqual([])
      expect([...statuses.keys()].toSorted((one, other) => one - other)).toEqual([200, 204, 401, 404, 429])
      expect(statuses.get(200)).toBeGreaterThan(100)
      const next = JSON.parse((await readers.fire(json('GET', '/api/events'))).text).next
      expect((await readers.fire(json('GET', next))).status).toBe(200)
      // what writes is told that this is no place for it
      const write = await readers.fire(json('POST', '/api/books', { title: 'x' }, as('alice')))
      expect({ status: write.status, after: write.headers['retry-after'] }).toEqual({ status: 503, after: '1' })
      expect(await reader.failures()).toHaveLength(1)
    } finally {
      readers.close()
      await reader.remove()
    }
  })
})

const TOKENS = [
  ['near', 'alicf'],
  ['far', 'zzzzz'],
] as const

/** The difference of two means in its own standard errors: each variance is that of a sample, over its size. */
function welch(one: readonly number[], two: readonly number[]): number {
  const mean = (all: readonly number[]) => all.reduce((sum, value) => sum + value, 0) / all.length
  const variance = (all: readonly number[]) =>
    all.reduce((sum, value) => sum + (value - mean(all)) ** 2, 0) / (all.length - 1)
  return (mean(one) - mean(two)) / Math.sqrt(variance(one) / one.length + variance(two) / two.length)
}
