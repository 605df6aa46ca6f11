/** What the typed client makes of answers that no server of ours would send. */
import type { RequestListener } from 'node:http'
import { ClientError, type Failure } from 'koa-viewsets/client'
import { afterAll, describe, expect, it } from 'vitest'
import { answering, booksClient, closeServers, json, page } from '../support/typed-client.js'

afterAll(closeServers)

async function clientOf(listener: RequestListener) {
  return booksClient(await answering(listener))
}

describe('an answer that is none of the API', () => {
  it.each<[string, RequestListener, Partial<Failure>]>([
    ['a page', page(200), { kind: 'unreadable', status: 200 }],
    ['half of its JSON', json('{"count": 1, "resu', 200), { kind: 'unreadable', status: 200 }],
    [
      'JSON under the name of a page',
      json('{"count":0,"results":[]}', 200, { 'content-type': 'text/plain' }),
      { kind: 'unreadable', status: 200 },
    ],
    ['JSON without a type', (_req, res) => void res.end('[]'), { kind: 'unreadable', status: 200 }],
    ['a number', json('7', 200), { kind: 'unreadable', status: 200 }],
    ['null', json('null', 200), { kind: 'unreadable', status: 200 }],
    ['nothing', json('', 200), { kind: 'unreadable', status: 200 }],
    ['204', (_req, res) => void res.writeHead(204).end(), { kind: 'unreadable', status: 204 }],
    ['304', (_req, res) => void res.writeHead(304).end(), { kind: 'unchanged', status: 304 }],
    ['a page of 404', page(404), { kind: 'unreadable', status: 404 }],
    ['a page of 503', page(503, { 'retry-after': '7' }), { kind: 'unavailable', status: 503, retryAfter: 7 }],
    ['a page of 429', page(429, { 'retry-after': '7' }), { kind: 'throttled', status: 429, retryAfter: 7 }],
    ['a page of 502', page(502), { kind: 'unavailable', status: 502, detail: 'Bad Gateway' }],
    ['a page of 504', page(504), { kind: 'unavailable', status: 504, retryAfter: undefined }],
    [
      'a redirect',
      page(302, { location: '/login' }),
      { kind: 'redirected', status: 302, detail: 'redirected to /login' },
    ],
    ['a redirect to nowhere', page(308), { kind: 'redirected', status: 308, detail: 'redirected to nowhere' }],
    ['503', json('{"detail":"full"}', 503), { kind: 'unavailable', detail: 'full', retryAfter: undefined }],
    [
      '429',
      json('{"detail":"slow down"}', 429, { 'retry-after': '3' }),
      { kind: 'throttled', retryAfter: 3, detail: 'slow down' },
    ],
    ['500 without JSON', page(500), { kind: 'unreadable', status: 500 }],
    ['500', json('{"detail":"oops"}', 500), { kind: 'failed', detail: 'oops' }],
    ['418', json('{"detail":"tea"}', 418), { kind: 'refused', detail: 'tea' }],
    [
      'an error as problem+json',
      json('{"detail":"no"}', 400, { 'content-type': 'application/problem+json' }),
      { kind: 'invalid', detail: 'no' },
    ],
    [
      'errors of another kind',
      json('{"detail":4,"errors":"x"}', 400),
      { kind: 'invalid', detail: 'Bad Request', errors: {} },
    ],
    [
      'an error with codes',
      json(
        '{"detail":"Zu lang","code":"validation_failed","errors":{"title":["…"]},"codes":{"title":["max_length"]}}',
        400,
      ),
      { detail: 'Zu lang', code: 'validation_failed', errors: { title: ['…'] }, codes: { title: ['max_length'] } },
    ],
    ['codes of another kind', json('{"code":4,"codes":"x"}', 400), { code: undefined, codes: undefined }],
    ['an error that is null', json('null', 400), { kind: 'invalid', detail: 'Bad Request', errors: {} }],
    ['a connection that is cut', (req) => void req.socket.destroy(), { kind: 'unreachable', status: 0 }],
    [
      'an answer that is cut',
      (req, res) => void res.writeHead(200, { 'content-length': '9' }).write('{', () => req.socket.destroy()),
      { kind: 'unreachable', status: 0 },
    ],
    ['no HTTP', (req) => void req.socket.end('SSH-2.0-x\r\n'), { kind: 'unreachable', status: 0 }],
  ])('%s is a failure of its own kind', async (_name, listener, expected) => {
    expect(await (await clientOf(listener)).books.list()).toMatchObject({ ok: false, ...expected })
  })

  it.each<[string, RequestListener]>([
    ['nothing for ever', () => undefined],
    [
      'headers and nothing more',
      (_req, res) => void res.writeHead(200, { 'content-type': 'application/json' }).write('{'),
    ],
  ])('%s is a timeout', async (_name, listener) => {
    const client = await clientOf(listener)
    expect(await client.books.list({}, { timeout: 50 })).toMatchObject({ ok: false, kind: 'timeout', status: 0 })
  })

  it.each<[string, number | undefined]>([
    ['120', 120],
    ['0', 0],
    ['99999999999999999999', 2_147_483],
    ['9'.repeat(400), 2_147_483],
    ['-5', undefined],
    ['1.5', undefined],
    ['7, 9', undefined],
    ['soon', undefined],
    ['Wed, 99 Foo 2026 00:00:00 GMT', undefined],
    ['Sun, 06 Nov 1994 08:49:37 GMT', 0],
    ['Fri, 31 Dec 9999 23:59:59 GMT', 2_147_483],
  ])('Retry-After: %s is read as seconds', async (text, seconds) => {
    const busy = await clientOf(page(503, { 'retry-after': text }))
    expect(await busy.books.list()).toMatchObject({ kind: 'unavailable', retryAfter: seconds })
  })

  it('Retry-After with a date tells the seconds until then', async () => {
    const at = new Date(Date.now() + 60_000).toUTCString()
    const result = await (await clientOf(json('{}', 503, { 'retry-after': at }))).books.list()
    expect((result as Failure).retryAfter).toBeGreaterThan(50)
    expect((result as Failure).retryAfter).toBeLessThanOrEqual(61)
  })

  it('204 is right where nothing is to be shown, and an empty 200 is not', async () => {
    const deleting = await clientOf((_req, res) => void res.writeHead(204).end())
    expect(await deleting.books.destroy(7)).toMatchObject({ ok: true, status: 204, data: undefined })
    expect(await deleting.books.callOn(7, 'POST', 'publish', { on: '2026-01-02' })).toMatchObject({ ok: true })
    const empty = await clientOf(json('', 200))
    expect(await empty.books.destroy(7)).toMatchObject({ kind: 'unreadable', status: 200 })
  })
})

describe('pages', () => {
  const book = (id: number) => ({ id, title: 'x', cover: null })

  /** Answers one page after the other, and remembers what was asked. */
  async function paging(pages: readonly unknown[]) {
    const asked: string[] = []
    const url = await answering((req, res) => {
      asked.push(`${req.headers.authorization} ${req.url}`)
      json(pages[asked.length - 1] ?? 'null')(req, res)
    })
    return { asked, url, client: booksClient(`${url}/api?tenant=7`, { headers: { authorization: 'me' } }) }
  }
  async function walk(client: Awaited<ReturnType<typeof paging>>['client']) {
    const ids: number[] = []
    try {
      for await (const { id } of client.books.all({ page_size: 1 })) ids.push(id)
    } catch (error) {
      if (!(error instanceof ClientError)) throw error
      return { ids, kind: error.failure.kind, detail: error.message }
    }
    return { ids }
  }

  it('are followed by the query of their links, whatever a proxy has made of the path', async () => {
    const { client, asked } = await paging([
      { next: '/inside/books?tenant=7&page=2#x', results: [book(1)] },
      { next: '?tenant=7&page=3', results: [book(2)] },
      { next: null, results: [] },
    ])
    expect(await walk(client)).toEqual({ ids: [1, 2] })
    expect(asked).toEqual([
      'me /api/books?tenant=7&page_size=1',
      'me /api/books?tenant=7&page=2',
      'me /api/books?tenant=7&page=3',
    ])
  })

  it.each(['https://evil.example/books?page=2', '//evil.example/books', 'javascript:alert(1)', 'page=2', '', 7, {}])(
    'that lead to %j are not followed',
    async (next) => {
      const { client, asked } = await paging([{ next, results: [book(1)] }])
      expect(await walk(client)).toMatchObject({
        ids: [1],
        kind: 'unsent',
        detail: expect.stringMatching(/another server/),
      })
      expect(asked).toHaveLength(1)
    },
  )

  it('that lead to the same server by its whole address are followed', async () => {
    const pages: unknown[] = []
    const { client, url } = await paging(pages)
    pages.push({ next: `${url}/api/books?page=2`, results: [book(1)] }, { next: null, results: [book(2)] })
    expect(await walk(client)).toEqual({ ids: [1, 2] })
  })

  it.each([
    ['the same page', ['?page=2', '?page=2']],
    ['a page before', ['?page=2', '?page=3', '?page=2']],
  ])('that lead in a circle end with an error: to %s', async (_name, links) => {
    const { client } = await paging(links.map((next, index) => ({ next, results: [book(index)] })))
    expect(await walk(client)).toMatchObject({ kind: 'unreadable', detail: 'the pages lead in a circle' })
  })

  it('without objects that lead on end with an error', async () => {
    const { client, asked } = await paging([
      { next: '?page=2', results: [book(1)] },
      { next: '?page=3', results: [] },
    ])
    expect(await walk(client)).toMatchObject({ ids: [1], kind: 'unreadable' })
    expect(asked).toHaveLength(2)
  })

  it('of a cursor that another one answers for end with an error', async () => {
    const { client, asked } = await paging([
      { cursor_id: 'a', exhausted: false, results: [book(1)] },
      { cursor_id: 'a', exhausted: false, results: [book(2)] },
      { cursor_id: 'b', exhausted: false, results: [book(1)] },
    ])
    expect(await walk(client)).toMatchObject({ ids: [1, 2], detail: 'the answer is not the next page' })
    expect(asked.at(-1)).toBe('me /api/books?tenant=7&server_cursor=a')
  })

  it.each([{ results: 'x' }, { next: null }, { detail: 'x' }])('that are none are an error: %j', async (answer) => {
    const { client } = await paging([answer])
    expect(await walk(client)).toMatchObject({ ids: [], kind: 'unreadable', detail: 'the answer is no page' })
  })

  it('are asked for only while somebody takes them', async () => {
    let count = 0
    const endless = booksClient(
      await answering((req, res) => json({ next: `?page=${++count}`, results: [book(count)] })(req, res)),
    )
    for await (const { id } of endless.books.all()) if (id === 3) break
    expect(count).toBe(3)
  })
})
