/** What the typed client sends, and what it does not: addresses, keys, headers, bodies, and requests that are ended. */
import { once } from 'node:events'
import { afterAll, describe, expect, it } from 'vitest'
import { answering, booksClient, closeServers, json } from '../support/typed-client.js'

afterAll(closeServers)

interface Sent {
  readonly url: string
  readonly init: RequestInit
}

/** A client that sends to nobody, and what it has sent. */
function recording(base = 'http://x/api', options: Parameters<typeof booksClient>[1] = {}) {
  const sent: Sent[] = []
  const client = booksClient(base, {
    fetch: async (url, init) => {
      sent.push({ url, init })
      return Response.json({})
    },
    ...options,
  })
  return { client, sent, urls: () => sent.map(({ url }) => url) }
}

describe('the address', () => {
  it.each([
    ['http://x', 'http://x/books'],
    ['http://x/', 'http://x/books'],
    ['http://x/api///', 'http://x/api/books'],
    ['/api', '/api/books'],
    ['', '/books'],
    ['http://x/api?tenant=7', 'http://x/api/books?tenant=7'],
    ['http://x/api/?tenant=a%20b&key=%2F#part', 'http://x/api/books?tenant=a+b&key=%2F'],
    ['http://[::1]:8080/v1', 'http://[::1]:8080/v1/books'],
  ])('%s leads to %s', async (base, url) => {
    const { client, urls } = recording(base)
    await client.books.list()
    expect(urls()).toEqual([url])
  })

  it('joins its query with that of a request', async () => {
    const { client, urls } = recording('http://x?tenant=7')
    await client.books.list({ page: 2 })
    expect(urls()).toEqual(['http://x/books?tenant=7&page=2'])
  })

  it.each(['https://me:secret@x/api', 'https://me@x'])('with credentials is refused, and not told: %s', (base) => {
    expect(() => booksClient(base)).toThrow(/^the address holds credentials: give `headers`$/)
  })

  it('that is none is a failure', async () => {
    expect(await booksClient('/api').books.list()).toMatchObject({ ok: false, kind: 'unreachable', status: 0 })
  })
})

it('relative to the page leads to no other server', async () => {
  const { client, urls } = recording('/api')
  expect(await client.books.follow('//evil.example/api/books?page=2')).toMatchObject({ kind: 'unsent' })
  await client.books.follow('/api/books?page=2')
  expect(urls()).toEqual(['/api/books?page=2'])
})

describe('a key', () => {
  it.each([
    ['a/b', 'http://x/api/books/a%2Fb'],
    ['../a b?c#d', 'http://x/api/books/..%2Fa%20b%3Fc%23d'],
    ['%2e%2e', 'http://x/api/books/%252e%252e'],
    ['ÄÖ 𝄞', 'http://x/api/books/%C3%84%C3%96%20%F0%9D%84%9E'],
    ['v1.2', 'http://x/api/books/v1%2E2'],
    ['a.csv', 'http://x/api/books/a%2Ecsv'],
    ['...', 'http://x/api/books/...'],
    ['bulk', 'http://x/api/books/%62ulk'],
    ['an_action-2', 'http://x/api/books/%61n_action-2'],
    ['Moby', 'http://x/api/books/Moby'],
    ['f47ac10b-58cc-4372-a567-0e02b2c3d479', 'http://x/api/books/f47ac10b-58cc-4372-a567-0e02b2c3d479'],
    [' ', 'http://x/api/books/%20'],
  ])('%j stays one part of the path', async (key, url) => {
    const { client, urls } = recording()
    await client.books.retrieve(key)
    expect(urls()).toEqual([url])
    expect(new URL(url).pathname.split('/')).toHaveLength(4)
  })

  it('below another one is no end of a path', async () => {
    const { client, urls } = recording()
    await client.books.at('a.b').books.list()
    await client.books.callOn('a.b', 'POST', 'publish', { on: '2026-01-02' })
    expect(urls()).toEqual(['http://x/api/books/a.b/books', 'http://x/api/books/a.b/publish'])
  })

  it.each(['', '.', '..', undefined, null, '\ud800'])('that no path can hold is not sent: %j', async (key) => {
    const { client, sent } = recording()
    expect(await client.books.destroy(key as string)).toMatchObject({ ok: false, kind: 'unsent', status: 0 })
    expect(await client.books.at(key as string).books.list()).toMatchObject({ kind: 'unsent' })
    expect(sent).toEqual([])
  })
})

describe('headers', () => {
  const headersOf = ({ init }: Sent) => Object.fromEntries(init.headers as Headers)

  it('of a request stand before those of the client, whatever their letters', async () => {
    const { client, sent } = recording('http://x', { headers: { 'X-Who': 'all', ACCEPT: 'application/hal+json' } })
    await client.books.partialUpdate(7, { title: 'x' }, { ifMatch: '"1"', headers: { 'x-who': 'one' } })
    expect(sent.map(headersOf)).toEqual([
      { accept: 'application/hal+json', 'content-type': 'application/json', 'if-match': '"1"', 'x-who': 'one' },
    ])
  })

  it('may be Headers', async () => {
    const { client, sent } = recording('http://x', { headers: async () => new Headers({ 'X-Who': 'me' }) as never })
    await client.books.list({}, { headers: new Headers({ 'x-more': '1' }) as never })
    expect(sent.map(headersOf)).toEqual([{ accept: 'application/json', 'x-more': '1', 'x-who': 'me' }])
  })

  it('know the request that they are for', async () => {
    const asked: unknown[] = []
    const { client } = recording('http://x', {
      headers: (request) => {
        asked.push(request)
        return {}
      },
    })
    await client.books.create({ title: 'x', cover: null })
    expect(asked).toEqual([{ method: 'POST', url: 'http://x/books' }])
  })

  it.each<[string, () => never | Promise<never>]>([
    [
      'throws',
      () => {
        throw new Error('no token')
      },
    ],
    ['rejects', async () => Promise.reject(new Error('no token'))],
  ])('of a function that %s are a failure that says so, and nothing is sent', async (_name, headers) => {
    const { client, sent } = recording('http://x', { headers })
    expect(await client.books.list()).toMatchObject({
      kind: 'unsent',
      detail: 'no token',
      cause: expect.objectContaining({ message: 'no token' }),
    })
    expect(sent).toEqual([])
  })

  it('that no request can have are not sent', async () => {
    const { client, sent } = recording('http://x', { headers: { 'x-a': 'a\nb: c' } })
    expect(await client.books.list()).toMatchObject({ kind: 'unsent' })
    expect(sent).toEqual([])
  })

  it('of a function that never ends are a timeout', async () => {
    const { client, sent } = recording('http://x', { headers: () => new Promise(() => undefined), timeout: 20 })
    expect(await client.books.list()).toMatchObject({ kind: 'timeout' })
    expect(sent).toEqual([])
  })
})

describe('a body', () => {
  const cyclic: { self?: unknown } = {}
  cyclic.self = cyclic

  it.each([
    ['in a circle', cyclic],
    ['with a bigint', { title: 1n }],
    ['with a file in a list of objects', [{ cover: new Blob(['x']) }]],
    ['with a file in an object', { cover: { file: new Blob(['x']) } }],
  ])('%s is not sent', async (_name, data) => {
    const { client, sent } = recording()
    expect(await client.books.create(data as never)).toMatchObject({ kind: 'unsent' })
    expect(sent).toEqual([])
  })

  it('with files is a form', async () => {
    const { client, sent } = recording()
    const data = { title: 'x', cover: [new Blob(['a']), new Blob(['b'])], tags: { a: 1 }, none: null, gone: undefined }
    await client.books.create(data as never)
    const form = sent[0]?.init.body as FormData
    expect([...form.keys()]).toEqual(['title', 'cover', 'cover', 'tags', 'none'])
    expect([form.get('tags'), form.get('none')]).toEqual(['{"a":1}', ''])
    expect((sent[0]?.init.headers as Headers | undefined)?.get('content-type') ?? null).toBeNull()
  })

  it.each([
    ['a date', new Date(0), '1970-01-01T00:00:00.000Z'],
    ['an address', new URL('http://x/y'), 'http://x/y'],
    ['what has a JSON of its own', { toJSON: () => 1.5 }, '1.5'],
    ['a text', '"x"', '"x"'],
  ])('has %s in a form as in JSON', async (_name, title, expected) => {
    const { client, sent } = recording()
    await client.books.create({ title, cover: new Blob(['a']) } as never)
    const form = sent[0]?.init.body as FormData
    expect(form.get('title')).toBe(expected)
  })

  it('that is a form already is sent as it is', async () => {
    const { client, sent } = recording()
    const form = new FormData()
    await client.books.create(form as never)
    expect(sent[0]?.init.body).toBe(form)
  })
})

describe('a query', () => {
  it('is written as the server reads it', async () => {
    const { client, urls } = recording()
    const query = { a: [1, 2], b: new Date(0), c: 'x&y', d: undefined, e: true, fields: ['id', 'title'] }
    await client.books.list(query as never)
    expect(urls()).toEqual([
      'http://x/api/books?a=1%2C2&b=1970-01-01T00%3A00%3A00.000Z&c=x%26y&e=true&fields=id%2Ctitle',
    ])
  })

  it('has an object as JSON', async () => {
    const { client, urls } = recording()
    await client.books.list({ meta: { a: [1, null] }, at: new URL('http://y/') } as never)
    expect(new URL(String(urls())).searchParams.get('meta')).toBe('{"a":[1,null]}')
    expect(new URL(String(urls())).searchParams.get('at')).toBe('http://y/')
  })

  it.each([[[{ a: 1 }]], [[{ a: 1, b: 'c' }, { a: 2 }]], [[[1, 2]]]])('is JSON for a list of %j', async (meta) => {
    const { client, urls } = recording('http://x')
    await client.books.list({ meta } as never)
    expect(new URL(String(urls())).searchParams.get('meta')).toBe(JSON.stringify(meta))
  })

  it.each(['a,b', ''])('with %j in a list is not sent, as it would be two, or none', async (title) => {
    const { client, sent } = recording()
    expect(await client.books.list({ title__in: [title] } as never)).toMatchObject({ kind: 'unsent' })
    expect(sent).toEqual([])
  })
})

describe('a request that its caller ends', () => {
  it('before it is sent asks nobody', async () => {
    const asked: string[] = []
    const { client, sent } = recording('http://x', {
      headers: () => {
        asked.push('headers')
        return {}
      },
    })
    const result = await client.books.list({}, { signal: AbortSignal.abort('enough') })
    expect(result).toMatchObject({ ok: false, kind: 'aborted', cause: 'enough' })
    expect([asked, sent]).toEqual([[], []])
  })

  it('while its headers are made is not sent', async () => {
    const controller = new AbortController()
    const { client, sent } = recording('http://x', {
      headers: async () => {
        controller.abort()
        return {}
      },
    })
    expect(await client.books.list({}, { signal: controller.signal })).toMatchObject({ kind: 'aborted' })
    await new Promise(setImmediate)
    expect(sent).toEqual([])
  })

  it('while it is under way is aborted on the wire', async () => {
    const controller = new AbortController()
    let closed: Promise<unknown> | undefined
    const url = await answering((req) => {
      closed = once(req.socket, 'close')
      controller.abort()
    })
    expect(await booksClient(url).books.list({}, { signal: controller.signal })).toMatchObject({ kind: 'aborted' })
    await closed
  })

  it('while its body comes is aborted', async () => {
    const controller = new AbortController()
    const url = await answering((_req, res) => {
      res.writeHead(200, { 'content-type': 'application/json' }).write('{', () => controller.abort())
    })
    expect(await booksClient(url).books.list({}, { signal: controller.signal })).toMatchObject({ kind: 'aborted' })
  })

  it('after it was answered keeps its answer, and nobody listens any more', async () => {
    const controller = new AbortController()
    const result = await booksClient(await answering(json([]))).books.list({}, { signal: controller.signal })
    controller.abort()
    expect(result).toMatchObject({ ok: true, data: [] })
  })

  it('ends though a fetch of its own takes no notice', async () => {
    const controller = new AbortController()
    const { client } = recording('http://x', {
      fetch: async () => {
        controller.abort()
        return new Promise(() => undefined)
      },
    })
    expect(await client.books.list({}, { signal: controller.signal })).toMatchObject({ kind: 'aborted' })
    const deaf = recording('http://x', { fetch: async () => new Promise(() => undefined), timeout: 20 })
    expect(await deaf.client.books.list()).toMatchObject({ kind: 'timeout' })
  })

  it.each([Number.POSITIVE_INFINITY, 2 ** 40])('may take %d milliseconds', async (timeout) => {
    expect(await booksClient(await answering(json([])), { timeout }).books.list()).toMatchObject({ ok: true })
  })
})

it('nobody listens, and that is a failure', async () => {
  expect(await booksClient('http://127.0.0.1:1').books.list()).toMatchObject({ kind: 'unreachable', status: 0 })
})

it('an awaited client is no promise', async () => {
  const { client } = recording()
  expect(await Promise.resolve(client)).toBe(client)
  expect(await Promise.resolve(client.books)).toBe(client.books)
})
