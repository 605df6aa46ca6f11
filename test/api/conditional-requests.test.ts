import type Koa from 'koa'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import {
  APIRouter,
  BaseAuthentication,
  BaseRenderer,
  CacheableMixin,
  ConfigurationError,
  type Context,
  configure,
  JSONRenderer,
  ModelViewSet,
  NestedSerializer,
  PageNumberPagination,
  ServerCursorPagination,
} from '../../lib/index.js'
import { ListAPIView, RetrieveAPIView } from '../../lib/views/index.js'
import { authentication, errors, etag } from '../../plugins/index.js'
import { type Client, serveApp } from '../support/client.js'
import { AuthorSerializer, Book, BookSerializer, useLibrary } from '../support/library.js'
import { runsAsRole } from '../support/roles.js'
import { exchange, type TestRequest, type TestResponse } from '../support/server.js'

useLibrary()
beforeEach(async () => {
  await Book.query().insert([{ title: 'One' }, { title: 'Two' }] as never)
})
afterEach(async () => {
  vi.restoreAllMocks()
})

class LineRenderer extends BaseRenderer {
  readonly mediaType = 'text/csv'
  readonly format = 'csv'
  readonly contentType = 'text/csv; charset=utf-8'
  render(data: unknown): string {
    return `${JSON.stringify(data)}\r\n`
  }
}

/** `X-User: alice` is alice. */
class HeaderAuthentication extends BaseAuthentication {
  override readonly vary = 'X-User'
  authenticate({ headers }: Context) {
    return headers['x-user'] === undefined ? null : { user: { id: headers['x-user'] } }
  }
}

/** The same of a scheme that does not say which header it reads. */
class SilentAuthentication extends BaseAuthentication {
  authenticate({ headers }: Context) {
    return headers['x-user'] === undefined ? null : { user: { id: headers['x-user'] } }
  }
}

class Books extends CacheableMixin(ModelViewSet<Book>) {
  static override model = Book
  static override serializerClass = BookSerializer
  static override rendererClasses = [JSONRenderer, LineRenderer]
}

type View = Parameters<APIRouter['register']>[1]

async function served(view: View, ...before: Koa.Middleware[]): Promise<Client> {
  const api = new APIRouter({ prefix: '/api' }).register('books', view, 'book')
  await api.prepare()
  return serveApp(...before, api.routes())
}

/** A subclass of the view set with other statics. */
function withStatics(statics: Record<string, unknown>, base: View = Books): View {
  const view = class extends base {}
  Object.defineProperty(view, 'name', { value: 'Books' })
  for (const [name, value] of Object.entries(statics)) Object.defineProperty(view, name, { value, enumerable: true })
  return view
}

/** The same resource by hand: `GET /api/books/1`, with errors answered as the app has it. */
async function handwritten(): Promise<Client> {
  const client = await serveApp(errors(), etag(), async (ctx) => {
    if (ctx.path !== '/api/books/1') return
    if (ctx.method !== 'GET' && ctx.method !== 'HEAD') ctx.throw(409)
    ctx.body = await Book.query().findById(1)
  })
  return client
}

const TAG = /^W\/"([0-9a-f]{16})"$/

function tagOf({ headers }: TestResponse): string {
  return headers.etag as string
}

const kinds: [string, () => Promise<Client>][] = [
  ['on a view set', () => served(Books)],
  // which asks the database by itself
  ...(runsAsRole() ? [] : [['on a hand-written route', handwritten] satisfies (typeof kinds)[number]]),
]

describe.each(kinds)('a conditional request %s', (_kind, start) => {
  let client: Client
  let tag: string
  let digits: string
  const path = '/api/books/1'

  beforeEach(async () => {
    client = await start()
    tag = tagOf(await client.get(path))
    digits = TAG.exec(tag)?.[1] as string
  })

  it('is answered with a weak tag of the bytes, and private', async () => {
    const { status, headers } = await client.get(path)
    expect(status).toBe(200)
    expect(headers.etag).toMatch(TAG)
    expect(headers['cache-control']).toBe('private')
  })

  const named: [string, (tag: string, digits: string) => TestRequest['headers']][] = [
    ['the tag', (E) => ({ 'If-None-Match': E })],
    ['its strong form', (_, digits) => ({ 'If-None-Match': `"${digits}"` })],
    ['*', () => ({ 'If-None-Match': '*' })],
    ['a list with spaces', (E) => ({ 'If-None-Match': `"x", ${E}, W/"y"` })],
    ['a list without spaces', (E) => ({ 'If-None-Match': `"x",${E},W/"y"` })],
    ['a list with tabs', (E) => ({ 'If-None-Match': `"x",\t${E}\t,\tW/"y"` })],
    ['a list with empty elements', (E) => ({ 'If-None-Match': `, ,${E},` })],
    ['a second line', (E) => ({ 'If-None-Match': ['"x"', E] })],
    ['a tag behind one with a comma', (E) => ({ 'If-None-Match': `"a,b", ${E}` })],
    ['the tag, whatever Cache-Control asks', (E) => ({ 'If-None-Match': E, 'Cache-Control': 'no-cache' })],
    ['the tag and a date', (E) => ({ 'If-None-Match': E, 'If-Modified-Since': 'Thu, 01 Jan 1970 00:00:00 GMT' })],
  ]
  it.each(named)('%s is 304', async (_name, headers) => {
    const full = await client.get(path)
    for (const method of ['GET', 'HEAD']) {
      const answer = await client.send(method, path, undefined, headers(tag, digits))
      expect(answer).toMatchObject({ status: 304, text: '' })
      for (const name of ['etag', 'cache-control', 'vary'] as const) {
        expect(answer.headers[name]).toBe(full.headers[name])
      }
      for (const name of ['content-type', 'content-length', 'content-disposition', 'transfer-encoding']) {
        expect(answer.headers).not.toHaveProperty(name)
      }
    }
  })

  const unnamed: [string, (tag: string, digits: string) => string][] = [
    ['the digits inside another tag', (_, digits) => `"x,${digits}"`],
    ['no quotes', (_, digits) => digits],
    ['no closing quote', (E) => E.slice(0, -1)],
    ['a small w', (_, digits) => `w/"${digits}"`],
    ['an empty field', () => ''],
    ['a list that is none as a whole', (E) => `bad, ${E}`],
    ['* among others', () => '*, "x"'],
  ]
  it.each(unnamed)('%s is 200', async (_name, field) => {
    const answer = await client.get(path, { 'If-None-Match': field(tag, digits) })
    expect(answer).toMatchObject({ status: 200, headers: { etag: tag } })
    expect(answer.text).not.toBe('')
  })

  it('HEAD with a match is 304, without one has the headers of GET', async () => {
    expect(await client.send('HEAD', path, undefined, { 'If-None-Match': tag })).toMatchObject({ status: 304 })
    const head = await client.send('HEAD', path)
    const get = await client.get(path)
    expect(head).toMatchObject({ status: 200, text: '' })
    for (const name of ['etag', 'content-length', 'content-type', 'cache-control'] as const) {
      expect(head.headers[name]).toBe(get.headers[name])
    }
    expect(Number(head.headers['content-length'])).toBe(Buffer.byteLength(get.text))
  })

  it('a date alone is 200', async () => {
    const later = new Date(Date.now() + 86_400_000).toUTCString()
    expect(await client.get(path, { 'If-Modified-Since': later })).toMatchObject({ status: 200 })
  })

  it('a range is answered whole', async () => {
    const { status, headers, text } = await client.get(path, { Range: 'bytes=0-1' })
    expect(status).toBe(200)
    expect(headers).not.toHaveProperty('accept-ranges')
    expect(text.length).toBeGreaterThan(2)
  })

  it('an error is never 304 and has no tag', async () => {
    for (const [method, target] of [
      ['GET', '/api/books/99'],
      ['GET', '/api/nowhere'],
      ['POST', path],
    ] as const) {
      const answer = await client.send(method, target, undefined, { 'If-None-Match': '*' })
      expect(answer.status).toBeGreaterThanOrEqual(400)
      expect(answer.headers).not.toHaveProperty('etag')
    }
  })

  it('one byte more is another tag', async () => {
    await Book.query().findById(1).patch({ title: 'One!' })
    const answer = await client.get(path, { 'If-None-Match': tag })
    expect(answer.status).toBe(200)
    expect(tagOf(answer)).not.toBe(tag)
  })
})

describe('CacheableMixin', () => {
  it('tags lists as well as objects, page by page', async () => {
    const client = await served(withStatics({ paginationClass: new PageNumberPagination({ pageSize: 1 }) }))
    const first = await client.get('/api/books')
    const second = await client.get('/api/books?page=2')
    expect(tagOf(first)).toMatch(TAG)
    expect(tagOf(second)).not.toBe(tagOf(first))
    expect(await client.get('/api/books', { 'If-None-Match': tagOf(first) })).toMatchObject({ status: 304, text: '' })
    expect(await client.get('/api/books?page=2', { 'If-None-Match': tagOf(first) })).toMatchObject({ status: 200 })
  })

  it.each<[string, Koa.Middleware[]]>([
    ['by itself', []],
    ['behind etag()', [etag({ maxAge: 60 })]],
  ])('[D21] keeps no page of a server cursor, and reads each once, %s', async (_name, before) => {
    configure({ secretKey: '0123456789abcdef0123456789abcdef' })
    const paginationClass = new ServerCursorPagination({ pageSize: 1 })
    const client = await served(withStatics({ paginationClass, cacheMaxAge: 60 }), ...before)
    const first = await client.get('/api/books', { 'If-None-Match': '*' })
    const { cursor_id: cursor } = first.json
    const second = await client.get(`/api/books?server_cursor=${cursor}`, { 'If-None-Match': '*' })
    const last = await client.get(`/api/books?server_cursor=${cursor}`, { 'If-None-Match': '*' })
    for (const { status, headers } of [first, second, last]) {
      expect([status, headers['cache-control'], headers.etag]).toEqual([200, 'no-store', undefined])
    }
    const titles = [first, second, last].map(({ json }) => json.results.map(({ title }: Book) => title))
    expect(titles).toEqual([['One'], ['Two'], []])
    expect(tagOf(await client.get('/api/books/1'))).toMatch(TAG)
  })

  it('refuses a write whose If-None-Match names what the request would be shown', async () => {
    const expandable = { author: new NestedSerializer(AuthorSerializer) }
    const client = await served(withStatics({ expandable, envelope: 'data' }))
    for (const query of ['', '?fields=title', '?expand=author']) {
      for (const accept of ['application/json', 'text/csv']) {
        const path = `/api/books/1${query}`
        const headers = { accept, 'If-None-Match': tagOf(await client.get(path, { accept })) }
        const { status } = await client.send('PATCH', path, { data: { title: 'x' } }, headers)
        expect([path, accept, status]).toEqual([path, accept, 412])
        const other = { ...headers, 'If-None-Match': '"other"' }
        expect((await client.send('PATCH', path, { data: { n: 7 } }, other)).status).toBe(200)
      }
    }
  })

  it("leaves a Cache-Control of the view's own, and takes the place of the application's", async () => {
    class Own extends Books {
      override async list() {
        const own = this.ctx.get('X-Control')
        if (own !== '') this.ctx.set('Cache-Control', own)
        return super.list()
      }
    }
    const client = await served(withStatics({ cacheMaxAge: 60 }, Own), async (ctx, next) => {
      ctx.set('Cache-Control', 'no-cache')
      await next()
    })
    const controls = async (own: string) =>
      (await client.get('/api/books', { 'X-Control': own })).headers['cache-control']
    expect(await controls('no-store')).toBe('no-store')
    expect(await controls('no-cache')).toBe('no-cache')
    expect(await controls('')).toBe('private, max-age=60')
    const other = await client.send('OPTIONS', '/api/books')
    expect(other.headers['cache-control']).toBe('no-cache')
  })

  it('works on generic views', async () => {
    class List extends CacheableMixin(ListAPIView<Book>) {
      static override model = Book
      static override serializerClass = BookSerializer
      static override cacheMaxAge = 5
    }
    class Detail extends CacheableMixin(RetrieveAPIView<Book>) {
      static override model = Book
      static override serializerClass = BookSerializer
    }
    const list = List.asView()
    const detail = Detail.asView()
    const client = await serveApp((ctx) => {
      ctx['params'] = { id: '1' }
      return ctx.path === '/books' ? list(ctx) : detail(ctx)
    })
    const books = await client.get('/books')
    expect(books.headers).toMatchObject({ etag: expect.stringMatching(TAG), 'cache-control': 'private, max-age=5' })
    expect(await client.get('/book', { 'If-None-Match': '*' })).toMatchObject({ status: 304 })
  })

  it('leaves other answers alone: writes, OPTIONS, errors, and views without it', async () => {
    const client = await served(Books)
    const answers = [
      await client.send('POST', '/api/books', { title: 'New' }),
      await client.send('PATCH', '/api/books/1', { n: 2 }),
      await client.send('OPTIONS', '/api/books'),
      await client.send('DELETE', '/api/books/2'),
    ]
    const plain = await served(Plain)
    answers.push(await plain.get('/api/books'), await plain.get('/api/books/1'))
    expect(answers.map(({ status }) => status)).toEqual([201, 200, 200, 204, 200, 200])
    for (const { headers } of answers) {
      expect(headers).not.toHaveProperty('etag')
      expect(headers).not.toHaveProperty('cache-control')
    }
  })

  it.each<[string, Record<string, unknown>, string]>([
    ['the defaults', {}, 'private'],
    ['max-age 60', { cacheMaxAge: 60 }, 'private, max-age=60'],
    ['no-cache', { cacheNoCache: true }, 'no-cache, private'],
    ['public', { cachePrivate: false }, 'public'],
    ['all', { cachePrivate: false, cacheNoCache: true, cacheMaxAge: 60 }, 'no-cache, public, max-age=60'],
    ['max-age 0', { cacheMaxAge: 0 }, 'private'],
  ])('says in Cache-Control what it is told: %s', async (_name, statics, expected) => {
    const client = await served(withStatics(statics))
    const full = await client.get('/api/books/1')
    expect(full.headers['cache-control']).toBe(expected)
    const kept = await client.get('/api/books/1', { 'If-None-Match': tagOf(full) })
    expect(kept).toMatchObject({ status: 304, headers: { 'cache-control': expected } })
  })

  it('[G9] gives CSV and JSON, alice and bob different tags, and 200 for the tag of another', async () => {
    class Own extends CacheableMixin(ModelViewSet<Book>) {
      static override model = Book
      static override serializerClass = BookSerializer
      static override rendererClasses = [JSONRenderer, LineRenderer]
      static override authenticationClasses = [HeaderAuthentication]
      override async retrieve() {
        return { ...((await this.getDetail()) as object), for: (this.ctx.state['user'] as { id: string }).id }
      }
    }
    const client = await served(Own)
    const alice = await client.get('/api/books/1', { 'X-User': 'alice' })
    const bob = await client.get('/api/books/1', { 'X-User': 'bob', 'If-None-Match': tagOf(alice) })
    expect(bob).toMatchObject({ status: 200, json: { for: 'bob' } })
    expect(tagOf(bob)).not.toBe(tagOf(alice))
    const csv = await client.get('/api/books/1', {
      'X-User': 'alice',
      Accept: 'text/csv',
      'If-None-Match': tagOf(alice),
    })
    expect(csv).toMatchObject({ status: 200, headers: { vary: 'Accept, X-User', 'cache-control': 'private' } })
    expect(tagOf(csv)).not.toBe(tagOf(alice))
  })

  it('[G9] adds to Vary what it lacks, and repeats nothing', async () => {
    const view = withStatics({ authenticationClasses: [HeaderAuthentication, HeaderAuthentication] })
    const client = await served(view, async (ctx, next) => {
      ctx.set('Vary', 'accept, Origin, x-USER')
      await next()
    })
    const full = await client.get('/api/books/1')
    expect(full.headers.vary).toBe('accept, Origin, x-USER')
    expect((await client.get('/api/books/1', { 'If-None-Match': '*' })).headers.vary).toBe(full.headers.vary)
    const other = await served(view, async (ctx, next) => {
      ctx.vary('Origin')
      await next()
    })
    expect((await other.get('/api/books/1')).headers.vary).toBe('Origin, Accept, X-User')
    const any = await served(view, async (ctx, next) => {
      ctx.set('Vary', '*')
      await next()
    })
    expect((await any.get('/api/books/1')).headers.vary).toBe('*')
  })

  const cookie: Koa.Middleware = async (ctx, next) => {
    await next()
    // as a session does, when all is done
    ctx.cookies.set('session', 'x')
  }
  it('is not public for an answer that sets a cookie, whoever sets it', async () => {
    const client = await served(withStatics({ cachePrivate: false, cacheMaxAge: 60 }), cookie)
    for (const headers of [{}, { 'If-None-Match': '*' }]) {
      const answer = await client.get('/api/books/1', headers)
      expect(answer.headers).toHaveProperty('set-cookie')
      expect(answer.headers['cache-control']).toBe('private, max-age=60')
    }
    const byHand = await serveApp(cookie, etag({ private: false, maxAge: 60 }), (ctx) => {
      ctx.body = 'x'
    })
    expect((await byHand.get('/')).headers['cache-control']).toBe('private, max-age=60')
  })

  it('sets no cookies', async () => {
    const client = await served(Books)
    expect((await client.get('/api/books/1')).headers).not.toHaveProperty('set-cookie')
  })

  it('sends an IMF-fixdate, keeps the connection and answers pipelined requests in order', async () => {
    const client = await served(Books)
    const request = (path: string, extra = '') => `GET ${path} HTTP/1.1\r\nHost: x\r\n${extra}\r\n`
    const text = await exchange(
      client.port,
      request('/api/books/99') +
        request('/api/books/1', 'If-None-Match: *\r\n') +
        request('/api/books/2', 'Connection: close\r\n'),
      (answer) => answer.includes('"title":"Two"'),
    )
    expect(text.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 404', 'HTTP/1.1 304', 'HTTP/1.1 200'])
    expect(text).toMatch(/^Date: (?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT\r$/m)
  })

  it('[I23] refuses a max-age that is none', () => {
    for (const cacheMaxAge of [-1, 1.5, Number.NaN, '60']) {
      expect(() => new APIRouter().register('books', withStatics({ cacheMaxAge }))).toThrow(ConfigurationError)
      expect(() => etag({ maxAge: cacheMaxAge as number })).toThrow(/^etag\(\): maxAge is/)
    }
  })

  it('[G10] warns when a view that knows its callers is public', () => {
    const warn = vi.spyOn(process, 'emitWarning').mockReturnValue()
    const authenticationClasses = [HeaderAuthentication]
    new APIRouter().register('a', withStatics({ cachePrivate: false }), 'a')
    new APIRouter().register('b', withStatics({ authenticationClasses }), 'b')
    expect(warn).not.toHaveBeenCalled()
    new APIRouter().register('c', withStatics({ cachePrivate: false, authenticationClasses }), 'c').getUrls()
    expect(warn).toHaveBeenCalledExactlyOnceWith(expect.stringContaining('Books: its answers are public'), {
      code: 'KOA_VIEWSETS_PUBLIC',
    })
    class List extends CacheableMixin(ListAPIView<Book>) {
      static override model = Book
      static override serializerClass = BookSerializer
      static override authenticationClasses = authenticationClasses
      static override cachePrivate = false
    }
    List.asView()
    List.asView()
    expect(warn).toHaveBeenCalledTimes(2)
  })
})

class Plain extends ModelViewSet<Book> {
  static override model = Book
  static override serializerClass = BookSerializer
}

describe('[G10] what a known caller gets', () => {
  const alice: Koa.Middleware = async (ctx, next) => {
    ctx.state['user'] = { id: 1 }
    await next()
  }
  const anonymous: Koa.Middleware = async (ctx, next) => {
    ctx.state['user'] = { isAnonymous: true }
    await next()
  }
  const authenticationClasses = [HeaderAuthentication]
  const own = (control: string): View =>
    class Own extends Plain {
      override async retrieve() {
        this.ctx.set('Cache-Control', control)
        return super.retrieve()
      }
    }
  const user = { 'X-User': 'alice' }
  type Row = [string, View, Koa.Middleware[], Record<string, string>, string | undefined, string | undefined]
  const table: Row[] = [
    ['plain, nobody', Plain, [], {}, undefined, undefined],
    ['plain, a user of the app', Plain, [alice], {}, 'no-store', undefined],
    ['plain, an anonymous user of the app', Plain, [anonymous], {}, undefined, undefined],
    ['plain, an own header', own('private, max-age=5'), [alice], {}, 'private, max-age=5', 'Authorization, Cookie'],
    ['with authentication, nobody', withStatics({ authenticationClasses }, Plain), [], {}, undefined, 'X-User'],
    ['with authentication, a user', withStatics({ authenticationClasses }, Plain), [], user, 'no-store', 'X-User'],
    ['cacheable, nobody', Books, [], {}, 'private', 'Accept'],
    ['cacheable, a user of the app', Books, [alice], {}, 'private', 'Accept, Authorization, Cookie'],
    [
      'cacheable with authentication, nobody',
      withStatics({ authenticationClasses }),
      [],
      {},
      'private',
      'Accept, X-User',
    ],
    [
      'cacheable with authentication, a user',
      withStatics({ authenticationClasses }),
      [],
      user,
      'private',
      'Accept, X-User',
    ],
    [
      'cacheable with authentication that names no header, a user',
      withStatics({ authenticationClasses: [SilentAuthentication] }),
      [],
      user,
      'private',
      'Accept, Authorization, Cookie',
    ],
    [
      'public with authentication that names no header, nobody',
      withStatics({ authenticationClasses: [SilentAuthentication], cachePrivate: false }),
      [],
      {},
      'public',
      'Accept, Authorization, Cookie',
    ],
    ['public, nobody', withStatics({ cachePrivate: false }), [], {}, 'public', 'Accept'],
    [
      'public, a user of the app',
      withStatics({ cachePrivate: false }),
      [alice],
      {},
      'public',
      'Accept, Authorization, Cookie',
    ],
  ]
  it.each(table)('%s', async (_name, view, before, headers, control, vary) => {
    const client = await served(view, ...before)
    const answer = await client.get('/api/books/1', headers)
    expect(answer.status).toBe(200)
    expect([answer.headers['cache-control'], answer.headers.vary]).toEqual([control, vary])
  })

  it.each<[string, Koa.Middleware[], Record<string, string>, string | undefined]>([
    ['nobody', [], {}, undefined],
    ['a user', [], user, 'no-store'],
    ['a user, behind etag()', [etag({ maxAge: 5 })], user, 'private, max-age=5'],
  ])('on a hand-written route: %s', async (_name, between, headers, control) => {
    const client = await serveApp(authentication(HeaderAuthentication), ...between, (ctx) => {
      ctx.body = 'x'
    })
    const answer = await client.get('/', headers)
    expect([answer.headers['cache-control'], answer.headers.vary]).toEqual([control, 'X-User'])
  })

  it.each(['POST', 'PATCH', 'OPTIONS'])('is not stored after %s', async (method) => {
    const client = await served(Books, alice)
    const path = method === 'PATCH' ? '/api/books/1' : '/api/books'
    const { headers } = await client.send(method, path, method === 'OPTIONS' ? undefined : { title: 'x' })
    expect(headers['cache-control']).toBe('no-store')
  })
})

describe('conditions on writes', () => {
  const unchanged = async () => (await Book.query().findById(1))?.title

  it('never answer 304, and If-None-Match that names the object is 412', async () => {
    const client = await served(Books)
    const tag = tagOf(await client.get('/api/books/1'))
    const created = await client.send('POST', '/api/books', { title: 'New' }, { 'If-None-Match': tag })
    expect(created.status).toBe(201)
    for (const [method, field] of [
      ['PATCH', tag],
      ['PUT', '*'],
      ['PATCH', '*'],
      ['DELETE', '*'],
      ['DELETE', `"x", ${tag}`],
    ] as const) {
      const answer = await client.send(method, '/api/books/1', { title: 'Other' }, { 'If-None-Match': field })
      expect(answer).toMatchObject({ status: 412, text: '{"detail":"Precondition failed","status":412}' })
      expect(await unchanged()).toBe('One')
    }
    const other = await client.send('PATCH', '/api/books/1', { title: 'Other' }, { 'If-None-Match': '"other"' })
    expect(other.status).toBe(200)
  })

  it('[I3] If-Match lets only * through', async () => {
    const client = await served(Books)
    const tag = tagOf(await client.get('/api/books/1'))
    const digits = TAG.exec(tag)?.[1] as string
    for (const method of ['PUT', 'PATCH', 'DELETE']) {
      for (const field of ['"other"', tag, `"${digits}"`, `"${digits}-${digits}"`, 'nonsense', '']) {
        const answer = await client.send(method, '/api/books/1', { title: 'Other' }, { 'If-Match': field })
        expect(answer).toMatchObject({ status: 412, json: { detail: 'Precondition failed' } })
        expect(await unchanged()).toBe('One')
      }
    }
    expect((await client.send('PATCH', '/api/books/1', { title: 'Other' }, { 'If-Match': '*' })).status).toBe(200)
    expect((await client.send('PATCH', '/api/books/99', { title: 'Other' }, { 'If-Match': '*' })).status).toBe(404)
    expect((await client.send('PATCH', '/api/books/99', { title: 'Other' }, { 'If-Match': tag })).status).toBe(404)
    expect((await client.send('DELETE', '/api/books/1', undefined, { 'If-Match': '*' })).status).toBe(204)
  })

  it('are of no concern to a view that only reads', async () => {
    const client = await served(Plain)
    expect((await client.get('/api/books/1', { 'If-Match': '"x"', 'If-None-Match': '*' })).status).toBe(200)
  })
})
