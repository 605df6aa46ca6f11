/** The routes of a resource, their paths, the lookup of one object, and the hooks and the transaction of a write. */
import http from 'node:http'
import Router from '@koa/router'
import fc from 'fast-check'
import type { Knex } from 'knex'
import type { QueryBuilder } from 'objection'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { createClient } from '../../lib/client/index.js'
import {
  APIRouter,
  bulkModelViewSet,
  FieldFilter,
  GenericViewSet,
  ListMixin,
  listAction,
  ModelSerializer,
  ModelViewSet,
  ReadOnlyModelViewSet,
  type Serializer,
  ValidationError,
  ViewSet,
} from '../../lib/index.js'
import { serveApp } from '../support/client.js'
import { undescribed } from '../support/contract.js'
import { countQueries, createDatabase } from '../support/database.js'
import {
  Book,
  BookSerializer,
  BookViewSet,
  database,
  Ledger,
  LedgerSerializer,
  LIBRARY,
  Shelf,
  ShelfSerializer,
  Tag,
  TagSerializer,
  Token,
  TokenSerializer,
  useLibrary,
} from '../support/library.js'
import { operationOf } from '../support/operation-of.js'
import { exchange } from '../support/server.js'
import { serveResources } from '../support/views.js'
import { seed, size } from '../trust/support/size.js'

useLibrary()

describe('the routes of a resource', () => {
  it('are named by the basename, which is the table in the singular', async () => {
    const router = new APIRouter({ prefix: '/api' }).register('books', BookViewSet)
    await router.prepare()
    expect(router.getUrls().map(([method, pattern, , name]) => [method, pattern, name])).toEqual([
      ['GET', '/api', 'api-root'],
      ['GET', '/api/books', 'book-list'],
      ['POST', '/api/books', 'book-create'],
      ['GET', '/api/books/{id:int}', 'book-retrieve'],
      ['PUT', '/api/books/{id:int}', 'book-update'],
      ['PATCH', '/api/books/{id:int}', 'book-partial_update'],
      ['DELETE', '/api/books/{id:int}', 'book-destroy'],
    ])
  })

  it('list, create, retrieve, update, update in part and destroy', async () => {
    const { get, send } = await serveResources({ books: BookViewSet })
    const created = await send('POST', '/api/books', { title: 'One', isbn: '1', price: '9.50' })
    const one = { id: 1, title: 'One', isbn: '1', n: 0, big: null, price: '9.50', author_id: null }
    expect(created).toMatchObject({ status: 201, json: one })
    expect(created.headers).toMatchObject({
      location: '/api/books/1',
      'content-type': 'application/json; charset=utf-8',
      'x-content-type-options': 'nosniff',
    })
    expect(await get('/api/books/1')).toMatchObject({ status: 200, json: one })
    expect(await get('/api/books')).toMatchObject({ status: 200, json: [one] })
    const two = { id: 1, title: 'Two', isbn: null, n: 2, big: null, price: '1.00', author_id: 1 }
    const put = await send('PUT', '/api/books/1', { title: 'Two', isbn: null, n: 2, price: 1, author_id: 1 })
    expect(put).toMatchObject({ status: 200, json: two })
    const patched = await send('PATCH', '/api/books/1', { title: 'Three' })
    expect(patched).toMatchObject({ status: 200, json: { ...two, title: 'Three' } })
    expect(await send('DELETE', '/api/books/1')).toMatchObject({ status: 204, text: '' })
    expect(await get('/api/books/1')).toMatchObject({ status: 404, text: '{"detail":"Not found","status":404}' })
    expect((await get('/api/books')).text).toBe('[]')
  })

  it('PUT asks for all required fields, PATCH for none', async () => {
    const { send } = await serveResources({ books: BookViewSet })
    await send('POST', '/api/books', { title: 'One' })
    expect(await send('PUT', '/api/books/1', { n: 1 })).toMatchObject({
      status: 400,
      json: { errors: { title: ['This field is required.'] } },
    })
    expect(await send('PATCH', '/api/books/1', { n: 1 })).toMatchObject({ status: 200, json: { title: 'One', n: 1 } })
  })

  it('of a ReadOnlyModelViewSet are list and retrieve', async () => {
    class Books extends ReadOnlyModelViewSet<Book> {
      static override model = Book
      static override serializerClass = BookSerializer
    }
    const { get, send } = await serveResources({ books: Books })
    await Book.query().insert({ title: 'One' })
    expect((await get('/api/books')).json).toHaveLength(1)
    expect((await get('/api/books/1')).json).toMatchObject({ title: 'One' })
    expect(await send('POST', '/api/books', { title: 'Two' })).toMatchObject({
      status: 405,
      headers: { allow: 'GET, HEAD, OPTIONS' },
    })
    expect((await send('DELETE', '/api/books/1')).status).toBe(405)
    expect(await Book.query().resultSize()).toBe(1)
  })

  it('are those of the actions that a view set has', async () => {
    class Books extends ListMixin(GenericViewSet<Book>) {
      static override model = Book
      static override serializerClass = BookSerializer
    }
    class Clock extends ViewSet {
      retrieve() {
        return { time: this.ctx['params'].id }
      }
    }
    const router = new APIRouter().register('books', Books).register('clocks', Clock, 'clock')
    await router.prepare()
    expect(router.getUrls().map(([method, pattern, , name]) => `${method} ${pattern} ${name}`)).toEqual([
      'GET / api-root',
      'GET /books book-list',
      'GET /clocks/{id} clock-retrieve',
    ])
    const client = await serveApp(router.routes())
    expect((await client.get('/clocks/noon')).json).toEqual({ time: 'noon' })
    expect((await client.get('/books/1')).status).toBe(404)
  })

  it('answer HEAD as GET, with its length and without its body', async () => {
    const { get, send } = await serveResources({ books: BookViewSet })
    await Book.query().insert({ title: 'Größe' })
    for (const path of ['/api', '/api/books', '/api/books/1', '/api/books/1.json', '/api/books/9']) {
      const [whole, head] = [await get(path), await send('HEAD', path)]
      expect(head.status).toBe(whole.status)
      expect(head.text).toBe('')
      expect(head.headers).toMatchObject({
        'content-type': whole.headers['content-type'],
        'content-length': String(Buffer.byteLength(whole.text)),
      })
    }
  })

  it('end a stream of the web that HEAD does not read, and tell no length of it', async () => {
    const cancel = vi.fn<() => void>()
    class Streams extends ViewSet {
      list() {
        const stream = new ReadableStream({ cancel }, { highWaterMark: 0 })
        return this.ctx.query['whole'] ? new Response(stream) : stream
      }
      retrieve() {
        this.ctx.body = new ReadableStream({ cancel }, { highWaterMark: 0 })
      }
    }
    const { send } = await serveApp(new APIRouter().register('streams', Streams, 'stream').routes())
    for (const path of ['/streams', '/streams?whole=1', '/streams/1']) {
      const { status, headers } = await send('HEAD', path)
      expect(status).toBe(200)
      expect(headers).not.toHaveProperty('content-length')
    }
    await vi.waitFor(() => expect(cancel).toHaveBeenCalledTimes(3))
  })

  it('send bytes as they are, of the type that the action names', async () => {
    class Images extends ViewSet {
      list() {
        return new Uint8Array([65, 66, 67]).subarray(1)
      }
      retrieve() {
        this.ctx.type = 'image/png'
        return Buffer.from('png')
      }
    }
    const { send } = await serveApp(undescribed(new APIRouter().register('images', Images, 'image').routes()))
    const bytes = { status: 200, text: 'BC', headers: { 'content-type': 'application/octet-stream' } }
    expect(await send('GET', '/images')).toMatchObject(bytes)
    const image = { status: 200, headers: { 'content-type': 'image/png', 'content-length': '3' } }
    expect(await send('GET', '/images/1')).toMatchObject({ ...image, text: 'png' })
    expect(await send('HEAD', '/images/1')).toMatchObject({ ...image, text: '' })
  })

  it('answer OPTIONS with their own methods, and without the database', async () => {
    const { send } = await serveResources({ books: BookViewSet })
    const queries = await countQueries(database.knex, async () => {
      const list = await send('OPTIONS', '/api/books')
      expect(list).toMatchObject({ status: 200, headers: { allow: 'GET, POST, HEAD, OPTIONS' } })
      expect(list.json.allowed_methods).toEqual(['get', 'post', 'head', 'options'])
      const detail = await send('OPTIONS', '/api/books/1')
      expect(detail).toMatchObject({ status: 200, headers: { allow: 'GET, PUT, PATCH, DELETE, HEAD, OPTIONS' } })
    })
    expect(queries).toEqual([])
  })

  it.each(['DELETE', 'PUT', 'TRACE', 'PROPFIND', 'REPORT'])(
    'answer %s with 405 and Allow where it is not mapped',
    async (method) => {
      const { send } = await serveResources({ books: BookViewSet })
      const response = await send(method, '/api/books')
      expect(response).toMatchObject({
        status: 405,
        text: `{"detail":"Method ${method} not allowed","status":405}`,
        headers: { allow: 'GET, POST, HEAD, OPTIONS' },
      })
    },
  )

  it('leave every method on an unknown path to the app', async () => {
    const { send } = await serveResources({ books: BookViewSet })
    for (const method of ['GET', 'POST', 'OPTIONS', 'TRACE', 'DELETE']) {
      for (const path of ['/', '/api/nothing', '/api/books/1/2', '/api/books/abc']) {
        expect(await send(method, path)).toMatchObject({ status: 404, headers: { 'content-type': /^text\/plain/ } })
      }
    }
  })

  it('ignore the body of DELETE, and keep the connection', async () => {
    const { port } = await serveResources({ books: BookViewSet })
    await Book.query().insert({ title: 'One' })
    const requests =
      'DELETE /api/books/1 HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nnot json!' +
      'GET /api/books HTTP/1.1\r\nHost: a\r\n\r\n'
    const text = await exchange(port, requests, (answer) => answer.includes('[]'))
    expect(text).toMatch(/^HTTP\/1\.1 204 No Content\r\n/)
    expect(text.split('HTTP/1.1')[1]).not.toMatch(/^content-/im)
    expect(text).toMatch(/HTTP\/1\.1 200 OK\r\n/)
  })

  it('ignore the body of GET', async () => {
    const { port } = await serveResources({ books: BookViewSet })
    const request = 'GET /api/books HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\nContent-Length: 1\r\n\r\nx'
    expect(await exchange(port, request)).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
  })

  it('answer a POST without body and type with the required fields', async () => {
    const { send } = await serveResources({ books: BookViewSet })
    expect((await send('POST', '/api/books')).json).toEqual({
      detail: 'Validation failed',
      status: 400,
      errors: { title: ['This field is required.'] },
    })
  })

  it('answer a body of another type with 415 and what is accepted', async () => {
    const { send } = await serveResources({ books: BookViewSet })
    await Book.query().insert({ title: 'One' })
    const xml = { 'Content-Type': 'text/xml' }
    expect(await send('POST', '/api/books', {}, xml)).toMatchObject({
      status: 415,
      headers: { 'accept-post': expect.stringContaining('application/json') },
    })
    expect(await send('PATCH', '/api/books/1', {}, xml)).toMatchObject({
      status: 415,
      headers: { 'accept-patch': expect.stringContaining('application/json') },
    })
  })

  it('[E19] know no method but that of the request', async () => {
    const { send } = await serveResources({ books: BookViewSet })
    await Book.query().insert({ title: 'One' })
    for (const name of ['X-HTTP-Method-Override', 'X-HTTP-Method', 'X-Method-Override']) {
      const response = await send('POST', '/api/books/1?_method=DELETE', { _method: 'DELETE' }, { [name]: 'DELETE' })
      expect(response.status).toBe(405)
    }
    expect(await Book.query().resultSize()).toBe(1)
  })
})

describe('paths', () => {
  it('take one slash at their end', async () => {
    const { get, send } = await serveResources({ books: BookViewSet })
    expect((await send('POST', '/api/books/', { title: 'One' })).headers.location).toBe('/api/books/1')
    expect((await get('/api/books/')).status).toBe(200)
    expect((await get('/api/books/1/')).status).toBe(200)
    expect((await get('/api/books//')).status).toBe(404)
  })

  it('take the suffix of a renderer, and no other', async () => {
    const { get, send } = await serveResources({ books: BookViewSet })
    const created = await send('POST', '/api/books.json', { title: 'One' })
    expect(created).toMatchObject({ status: 201, headers: { location: '/api/books/1' } })
    expect((await get('/api/books.json')).json).toHaveLength(1)
    expect((await get('/api/books/1.json', { Accept: 'text/csv' })).json).toMatchObject({ id: 1 })
    for (const path of ['/api/books.xml', '/api/books/1.xml', '/api/books.JSON', '/api/books/1.json.json']) {
      expect((await get(path)).status).toBe(404)
    }
    for (const path of ['/api/books/.json', '/api/books.json/', '/api.json']) {
      expect((await get(path)).status).toBe(404)
    }
  })

  it.each([
    ['[B1]', '/api/books/2147483648'],
    ['[B1]', '/api/books/9223372036854775807'],
    ['[B1]', '/api/books/99999999999999999999'],
    ['[B2]', '/api/books/%201'],
    ['[B2]', '/api/books/1%20'],
    ['[B2]', '/api/books/+1'],
    ['[B2]', '/api/books/-1'],
    ['[B2]', '/api/books/0x1'],
    ['[B2]', '/api/books/1e0'],
    ['[B2]', '/api/books/1.0'],
    ['[B2]', `/api/books/${encodeURIComponent('１')}`],
    ['[B2]', '/api/books/1%0A'],
    ['[B7]', '/api/books/%00'],
    ['[B7]', '/api/books/1%00'],
    ['[B10]', '/api/books/%zz'],
    ['[B10]', '/api/books/%'],
    ['[B10]', '/api/%c0%af/books'],
    ['[E21]', '/api//books'],
    ['[E21]', '//api/books'],
    ['[E21]', '/api/books/./1'],
    ['[E21]', '/api/./books/1'],
    ['[E21]', '/api/x/../books/1'],
    ['[E21]', '/api/books/%2e%2e'],
    ['[E21]', '/api/books/%2e/1'],
    ['[E21]', '/API/books/1'],
    ['[E21]', '/api/Books/1'],
    ['[E21]', '/api/books;x=1'],
    ['[E21]', '/api/books/1;x=1'],
    ['[E21]', '/api/%62ooks/1'],
    ['[E21]', '/api%2Fbooks/1'],
    ['[E21]', '/api\\books\\1'],
    ['[E21]', '/api/books/1%2F'],
  ])('%s %s is 404', async (_id, path) => {
    const { port } = await serveResources({ books: BookViewSet })
    await Book.query().insert({ title: 'One' })
    const answer = await exchange(port, `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`)
    expect(answer).toMatch(/^HTTP\/1\.1 404 /)
  })

  it('[B10] with broken encoding in the query are answered', async () => {
    const { get } = await serveResources({ books: BookViewSet })
    expect((await get('/api/books?title=%zz&%=%')).status).toBe(200)
  })

  it.each([
    'GET http://[/api/books HTTP/1.1\r\nHost: a\r\n\r\n',
    'GET http://evil.test HTTP/1.1\r\nHost: a\r\n\r\n',
    'GET http://evil.test:99999/api/books HTTP/1.1\r\nHost: a\r\n\r\n',
    'GET http://%zz/api/books HTTP/1.1\r\nHost: a\r\n\r\n',
    'GET http:///api/books HTTP/1.1\r\nHost: a\r\n\r\n',
    'GET mailto://x HTTP/1.1\r\nHost: a\r\n\r\n',
    'GET javascript://x/api/books HTTP/1.1\r\nHost: a\r\n\r\n',
    'GET ?page=1 HTTP/1.1\r\nHost: a\r\n\r\n',
    'GET /api/books?http://[ HTTP/1.1\r\nHost: a\r\n\r\n',
    'OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n',
    'GET * HTTP/1.1\r\nHost: a\r\n\r\n',
    'GET /api/books HTTP/1.0\r\n\r\n',
  ])('never make a 5xx: %j', async (request) => {
    const { port } = await serveResources({ books: BookViewSet })
    expect(await exchange(port, request)).toMatch(/^HTTP\/1\.1 [24]/)
  })

  it('of an absolute form are read without its host', async () => {
    const { port } = await serveResources({ books: BookViewSet })
    const body = '{"title":"One"}'
    const answer = await exchange(
      port,
      `POST http://evil.test/api/books HTTP/1.1\r\nHost: evil.test\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    )
    expect(answer).toMatch(/^HTTP\/1\.1 201 /)
    expect(answer).toMatch(/\r\nLocation: \/api\/books\/1\r\n/)
    expect(answer).not.toMatch(/evil/)
  })
})

describe('the lookup of one object', () => {
  it('is by the primary key, whatever its name and type', async () => {
    class Tags extends ModelViewSet<Tag> {
      static override model = Tag
      static override serializerClass = TagSerializer
    }
    class Tokens extends ModelViewSet<Token> {
      static override model = Token
      static override serializerClass = TokenSerializer
    }
    class Ledgers extends ModelViewSet<Ledger> {
      static override model = Ledger
      static override serializerClass = LedgerSerializer
    }
    const router = new APIRouter({ prefix: '/api' })
      .register('tags', Tags)
      .register('tokens', Tokens)
      .register('ledgers', Ledgers)
    await router.prepare()
    expect(router.getUrls().filter(([, , , name]) => name.endsWith('-retrieve'))).toMatchObject([
      ['GET', '/api/tags/{id}', {}, 'tag-retrieve'],
      ['GET', '/api/tokens/{id:uuid}', {}, 'token-retrieve'],
      ['GET', '/api/ledgers/{id:int}', {}, 'ledger-retrieve'],
    ])
    const { get, send } = await serveApp(router.routes())

    for (const slug of ['plain', 'ä b', 'a/b', 'a%2Fb', '?x#y', "'; drop table tags; --", 'data.json', 'x.csv', '…']) {
      const created = await send('POST', '/api/tags', { slug, label: 'new' })
      expect(created.status).toBe(201)
      const { location } = created.headers
      expect((await get(location as string)).json).toEqual({ slug, label: 'new' })
      expect((await send('PATCH', location as string, { label: 'changed' })).json).toEqual({ slug, label: 'changed' })
      expect(router.url('tag-retrieve', { id: slug })).toBe(location)
    }
    const { uid } = (await send('POST', '/api/tokens', { label: 'x' })).json
    expect((await get(`/api/tokens/${uid}`)).json).toEqual({ uid, label: 'x' })
    expect((await get(`/api/tokens/${uid.toUpperCase()}`)).json).toEqual({ uid, label: 'x' })
    for (const id of ['1', uid.slice(1), `${uid}0`, `{${uid}}`]) {
      expect((await get(`/api/tokens/${encodeURIComponent(id)}`)).status).toBe(404)
    }
    await Ledger.query().insert({ id: '9007199254740993', label: 'big' } as never)
    expect((await get('/api/ledgers/9007199254740993')).json).toEqual({ id: '9007199254740993', label: 'big' })
    expect((await get('/api/ledgers/9223372036854775808')).status).toBe(404)
  })

  describe.each(['routes()', 'mount()'])('of any text, by %s', (kind) => {
    const bulk = bulkModelViewSet(Tag, {
      serializerClass: TagSerializer,
      actions: { newest: listAction({ methods: ['GET'] }, async () => ({ label: 'an action' })) },
    })
    class Others extends ModelViewSet<Tag> {
      static override model = Tag
      static override serializerClass = TagSerializer
    }
    const router = new APIRouter({ prefix: '/api' })
      .register('tags', bulk)
      .register('tags/special', Others, 'special')
      .register('tags/{tag}/others/deep', Others, 'deep')

    const named = ['bulk', 'newest', 'special', 'bulk.json', 'newest.json', '%62ulk', 'bulk/others', 'Bulk']
    const odd = [
      'a/b',
      '/',
      '%',
      '%2F',
      '%2e',
      '...',
      '.a',
      'a.',
      'a.json',
      'a.json.json',
      ' ',
      'a b',
      '?x',
      '#',
      ';v=1',
    ]
    const others = [
      '-5',
      '-0',
      '7',
      '1e3',
      'é',
      'ÄÖ 𝄞',
      '😀',
      'a+b',
      'a&b=c',
      ':id',
      '*',
      '{id}',
      '(x)',
      '"',
      "'",
      '|',
      '~',
    ]
    const text = fc.string({ unit: fc.constantFrom(...'ab./%-_ é?#;:😀7'), minLength: 1, maxLength: 6 })

    it('has one path, which answers, links and clients have alike', { timeout: 60_000 }, async () => {
      await router.prepare()
      const app = new Router()
      if (kind === 'mount()') router.mount(app)

      const { get, send, port } = await serveApp((kind === 'mount()' ? app.routes() : router.routes()) as never)
      const client = createClient<typeof router>(`http://127.0.0.1:${port}/api`)
      const check = async (slug: string) => {
        await Tag.query().delete()
        await Tag.query().insert([{ slug: `${slug}!`, label: 'another' }] as never)
        const created = await send('POST', '/api/tags', { slug, label: 'new' })
        expect(created.status).toBe(201)
        const location = created.headers['location'] as string
        expect(router.url('tag-retrieve', { id: slug })).toBe(location)
        expect((await get(location)).json).toEqual({ slug, label: 'new' })
        expect((await send('PATCH', location, { label: 'changed' })).json).toEqual({ slug, label: 'changed' })
        expect(await client.tags.retrieve(slug)).toMatchObject({ ok: true, data: { slug, label: 'changed' } })
        expect(await client.tags.partialUpdate(slug, { label: 'again' })).toMatchObject({ ok: true, data: { slug } })
        expect((await send('DELETE', location)).status).toBe(204)
        expect(await client.tags.destroy(slug)).toMatchObject({ ok: false, status: 404 })
        expect(await Tag.query()).toMatchObject([{ slug: `${slug}!` }])
      }
      for (const slug of [...named, ...odd, ...others]) await check(slug)
      const keys = text.filter((slug) => slug !== '.' && slug !== '..')
      await fc.assert(fc.asyncProperty(keys, check), { numRuns: size(5, 1_000), seed })
      // URLs have no way to say these
      for (const slug of ['.', '..']) {
        const created = await send('POST', '/api/tags', { slug, label: 'new' })
        expect([created.status, created.headers['location']]).toEqual([201, undefined])
        expect(() => router.url('tag-retrieve', { id: slug })).toThrow('does not fit')
        expect(await client.tags.retrieve(slug)).toMatchObject({ ok: false, kind: 'unsent' })
      }
      // what stands beside the objects is found by its name
      expect((await get('/api/tags/newest')).json).toEqual({ label: 'an action' })
      expect((await get('/api/tags/special')).json).toHaveLength(3)
      const { parameters } = operationOf(router.getSchema(), '/api/tags/{id}')
      expect(parameters?.[0]?.description).toContain('(`bulk`, `newest`, `special`)')
      expect(parameters?.[0]?.description).toContain('`%62ulk`')
    })
  })

  it('[E21] takes a suffix for a format of what is read, where no key ends so', async () => {
    class Tags extends ModelViewSet<Tag> {
      static override model = Tag
      static override serializerClass = TagSerializer
    }
    const { send } = await serveResources({ tags: Tags })
    await Tag.query().insert([
      { slug: 'log', label: 'a' },
      { slug: 'log.json', label: 'b' },
    ] as never)
    expect((await send('PATCH', '/api/tags/log.json', { label: 'c' })).json).toEqual({ slug: 'log.json', label: 'c' })
    for (const path of ['/api/tags/log%2Ejson', '/api/tags/log.json', '/api/tags/log.json.json']) {
      expect((await send('GET', path)).json).toEqual({ slug: 'log.json', label: 'c' })
    }
    expect((await send('DELETE', '/api/tags/log.csv')).status).toBe(404)
    expect((await send('DELETE', '/api/tags/log.json')).status).toBe(204)
    expect((await send('GET', '/api/tags/log.json')).json).toEqual({ slug: 'log', label: 'a' })
    for (const method of ['PUT', 'PATCH', 'DELETE']) {
      expect((await send(method, '/api/tags/log.json', { label: 'x' })).status).toBe(404)
    }
    expect(await Tag.query().where('slug', 'like', 'log%')).toMatchObject([{ slug: 'log', label: 'a' }])
    await Tag.query().delete()
  })

  it('is by lookupField, under the name lookupUrlKwarg', async () => {
    class Books extends ModelViewSet<Book> {
      static override model = Book
      static override serializerClass = BookSerializer
      static override lookupField = 'isbn'
      static override lookupUrlKwarg = 'number'
    }
    const router = new APIRouter({ prefix: '/api' }).register('books', Books)
    await router.prepare()
    expect(router.url('book-retrieve', { number: '3-1' })).toBe('/api/books/3-1')
    const client = await serveApp(router.routes())
    const created = await client.send('POST', '/api/books', { title: 'One', isbn: '3-1' })
    expect(created.headers.location).toBe('/api/books/3-1')
    expect((await client.get('/api/books/3-1')).json).toMatchObject({ id: 1 })
    expect((await client.get('/api/books/1')).status).toBe(404)
    const renamed = await client.send('PATCH', '/api/books/3-1', { isbn: '3-2' })
    expect(renamed.json).toMatchObject({ isbn: '3-2' })
    expect((await client.send('DELETE', '/api/books/3-2')).status).toBe(204)
  })

  it('is narrowed by getQueryset(), and forbidden reads as missing', async () => {
    class Books extends ModelViewSet<Book> {
      static override model = Book
      static override serializerClass = BookSerializer
      override getQueryset(): QueryBuilder<Book> {
        return super.getQueryset().where('author_id', 1)
      }
    }
    const { get, send } = await serveResources({ books: Books })
    await Book.query().insert([
      { title: 'mine', author_id: 1 },
      { title: 'theirs', author_id: 2 },
    ])
    expect((await get('/api/books')).json).toMatchObject([{ title: 'mine' }])
    expect((await get('/api/books/2')).text).toBe((await get('/api/books/3')).text)
    for (const method of ['PUT', 'PATCH', 'DELETE']) {
      expect((await send(method, '/api/books/2', { title: 'stolen' })).status).toBe(404)
    }
    expect(await Book.query().findById(2)).toMatchObject({ title: 'theirs' })
  })

  it('keeps an OR of getQueryset() apart from what is added to it', async () => {
    class Books extends ModelViewSet<Book> {
      static override model = Book
      static override serializerClass = BookSerializer
      static override filterBackends = [FieldFilter]
      static override filtersetFields = ['title']
      override getQueryset(): QueryBuilder<Book> {
        return super.getQueryset().where('author_id', 1).orWhere('n', 7)
      }
    }
    const { get, send } = await serveResources({ books: Books })
    await Book.query().insert([
      { title: 'mine', author_id: 1, n: 0 },
      { title: 'shared', author_id: 2, n: 7 },
      { title: 'theirs', author_id: 2, n: 0 },
    ])
    expect((await get('/api/books?title=shared')).json).toMatchObject([{ title: 'shared' }])
    expect((await get('/api/books/2')).json).toMatchObject({ title: 'shared' })
    expect((await get('/api/books/3')).status).toBe(404)
    expect((await send('PATCH', '/api/books/3', { title: 'stolen' })).status).toBe(404)
    expect((await send('DELETE', '/api/books/2')).status).toBe(204)
    expect(await Book.query().select('title').orderBy('id')).toMatchObject([{ title: 'mine' }, { title: 'theirs' }])
  })

  it('works on a queryset with joins and without a model', async () => {
    class Books extends ModelViewSet<Book> {
      static override queryset = () => Book.query().joinRelated('author').where('author.name', 'Ada').select('books.*')
      static override serializerClass = BookSerializer
    }
    const { get, send } = await serveResources({ books: Books })
    await Book.query().insert([
      { title: 'mine', author_id: 1 },
      { title: 'theirs', author_id: 2 },
    ])
    expect((await get('/api/books')).json).toMatchObject([{ title: 'mine' }])
    expect((await get('/api/books/1')).json).toMatchObject({ title: 'mine' })
    expect((await get('/api/books/2')).status).toBe(404)
    const queries = await countQueries(database.knex, async () => {
      expect((await send('DELETE', '/api/books/1')).status).toBe(204)
    })
    expect(queries.at(0)).toBe('BEGIN;')
  })
})

describe('hooks', () => {
  it('performCreate adds values, performUpdate sees the object, performDestroy may keep it', async () => {
    const seen: unknown[] = []
    class Books extends ModelViewSet<Book> {
      static override model = Book
      static override serializerClass = BookSerializer
      override async performCreate(serializer: Serializer<Book>): Promise<unknown> {
        return serializer.save({ author_id: 2 })
      }
      override async performUpdate(serializer: Serializer<Book>, instance: Book): Promise<unknown> {
        seen.push(instance.title)
        return serializer.save({ n: 7 })
      }
      override async performDestroy(instance: Book): Promise<unknown> {
        return instance.$query(this.trx).patch({ title: 'deleted' })
      }
    }
    const { send } = await serveResources({ books: Books })
    expect((await send('POST', '/api/books', { title: 'One', author_id: 1 })).json).toMatchObject({ author_id: 2 })
    expect((await send('PATCH', '/api/books/1', { title: 'Two' })).json).toMatchObject({ title: 'Two', n: 7 })
    expect(seen).toEqual(['One'])
    expect((await send('DELETE', '/api/books/1')).status).toBe(204)
    expect(await Book.query().findById(1)).toMatchObject({ title: 'deleted' })
  })

  it('performCreate that makes the object without the serializer is told where to make it', async () => {
    class Books extends ModelViewSet<Book> {
      static override model = Book
      static override serializerClass = BookSerializer
      override async performCreate({ validatedData }: Serializer<Book>): Promise<unknown> {
        return Book.query(this.trx).insert(validatedData as object)
      }
    }
    const { send, reported } = await serveResources({ books: Books })
    expect(await send('POST', '/api/books', { title: 'One' })).toMatchObject({ status: 500 })
    const message =
      'Books: performCreate() has not called serializer.save(), so that there is no object to show; call it, and make the ' +
      'object in create(data) of the serializer where it is made in a way of its own'
    expect(reported).toMatchObject([{ message }])
    expect(await Book.query().resultSize()).toBe(0)
    class Queued extends BookSerializer {
      override get data(): never {
        return { queued: true } as never
      }
    }
    class Later extends Books {
      static override serializerClass: any = Queued
    }
    const later = await serveApp(undescribed(new APIRouter().register('books', Later, 'book').routes()))
    expect(await later.send('POST', '/books', { title: 'One' })).toMatchObject({ status: 201, json: { queued: true } })
  })

  it('know this.action, and getSerializerClass() may choose by it', async () => {
    const actions: string[] = []
    class Titles extends ModelSerializer<Book> {
      static override model = Book
      static override fields = ['title']
    }
    class Books extends ModelViewSet<Book> {
      static override model = Book
      static override serializerClass = BookSerializer
      override getSerializerClass() {
        if (!actions.includes(this.action)) actions.push(this.action)
        return this.action === 'list' ? Titles : BookSerializer
      }
    }
    const { get, send } = await serveResources({ books: Books })
    // prepare() asks for one, too, and so does what holds answers to the document
    await get('/api/books')
    actions.length = 0
    await send('POST', '/api/books', { title: 'One' })
    expect((await get('/api/books')).json).toEqual([{ title: 'One' }])
    expect((await get('/api/books/1')).json).toMatchObject({ id: 1 })
    await send('PUT', '/api/books/1', { title: 'Two' })
    await send('PATCH', '/api/books/1', { title: 'Two' })
    await send('HEAD', '/api/books/1')
    await send('DELETE', '/api/books/1')
    // no serializer is asked for on DELETE but by getObject(), which loads what it shows
    expect(actions).toEqual(['create', 'list', 'retrieve', 'update', 'partialUpdate', 'destroy'])
  })

  it('getQueryset() chooses by this.action, without static model changes', async () => {
    class Books extends ModelViewSet<Book> {
      static override model = Book
      static override serializerClass = BookSerializer
      override getQueryset(): QueryBuilder<Book> {
        const books = super.getQueryset()
        return this.action === 'list' ? books.where('n', '>', 0) : books
      }
    }
    const { get } = await serveResources({ books: Books })
    await Book.query().insert({ title: 'One', n: 0 })
    expect((await get('/api/books')).json).toEqual([])
    expect((await get('/api/books/1')).status).toBe(200)
  })

  it('getKnex() sends a request to a database of its own', async () => {
    const other = await createDatabase({ schema: LIBRARY })
    class Books extends ModelViewSet<Book> {
      static override model = Book
      static override serializerClass = BookSerializer
      override getKnex(): Knex {
        return this.ctx.get('X-Tenant') === 'other' ? other.knex : database.knex
      }
    }
    const { get, send } = await serveResources({ books: Books })
    const headers = { 'X-Tenant': 'other' }
    const beside = await countQueries(database.knex, async () => {
      expect((await send('POST', '/api/books', { title: 'There', author_id: 1, isbn: '1' }, headers)).status).toBe(201)
      expect((await get('/api/books/1', headers)).json).toMatchObject({ title: 'There' })
      expect((await send('PATCH', '/api/books/1', { n: 1 }, headers)).status).toBe(200)
      expect((await get('/api/books', headers)).json).toHaveLength(1)
    })
    expect(beside).toEqual([])
    expect((await get('/api/books')).json).toEqual([])
    await send('DELETE', '/api/books/1', undefined, headers)
    await other.drop()
  })
})

describe('[I3] PATCH', () => {
  it('writes only the fields it was given', async () => {
    const { send } = await serveResources({ books: BookViewSet })
    await send('POST', '/api/books', { title: 'One', n: 1 })
    const queries = await countQueries(database.knex, async () => {
      await send('PATCH', '/api/books/1', { n: 5 })
    })
    const updates = queries.filter((sql) => sql.startsWith('update'))
    expect(updates).toHaveLength(1)
    expect(updates[0]).toMatch(/^update "books" set "n" = \$1 where/)
  })

  it('loses no write of another field, 100 against 100 at once', async () => {
    const { send } = await serveResources({ books: BookViewSet })
    await send('POST', '/api/books', { title: 'One', n: 0 })
    await Promise.all(
      Array.from({ length: 200 }, (_, i) =>
        send('PATCH', '/api/books/1', i % 2 === 0 ? { n: 1 } : { title: 'Last' }).then(({ status }) =>
          expect(status).toBe(200),
        ),
      ),
    )
    expect(await Book.query().findById(1)).toMatchObject({ title: 'Last', n: 1 })
  })

  it('[A9] of nothing sends no UPDATE', async () => {
    const { send } = await serveResources({ books: BookViewSet })
    await send('POST', '/api/books', { title: 'One' })
    const queries = await countQueries(database.knex, async () => {
      expect(await send('PATCH', '/api/books/1', {})).toMatchObject({ status: 200, json: { title: 'One' } })
      expect(await send('PATCH', '/api/books/1')).toMatchObject({ status: 200, json: { title: 'One' } })
      expect((await send('PATCH', '/api/books/1', { id: 5, nothing: 1 })).json).toMatchObject({ id: 1 })
    })
    expect(queries.filter((sql) => /^(update|insert|delete)/.test(sql))).toEqual([])
  })
})

describe('the transaction of a request that writes', () => {
  /** Creates a book and a tag, then does what `last` does. */
  function viewThat(last: (view: ModelViewSet<Book>) => unknown, atomic = true) {
    return class Books extends ModelViewSet<Book> {
      static override model = Book
      static override serializerClass = BookSerializer
      static override atomic = atomic
      override async performCreate(serializer: Serializer<Book>): Promise<unknown> {
        await Tag.query(this.trx ?? this.knex).insert({ slug: 'made-beside', label: null } as never)
        await serializer.save()
        return last(this)
      }
    }
  }

  afterEach(async () => {
    await Tag.query().delete()
  })

  it('[A8] is one, and holds everything', async () => {
    const { send } = await serveResources({ books: viewThat(() => undefined) })
    const queries = await countQueries(database.knex, async () => {
      expect((await send('POST', '/api/books', { title: 'One' })).status).toBe(201)
    })
    expect(queries.filter((sql) => /^(BEGIN|COMMIT|ROLLBACK)/.test(sql))).toEqual(['BEGIN;', 'COMMIT;'])
    expect(queries.at(0)).toBe('BEGIN;')
    expect(queries.at(-1)).toBe('COMMIT;')
    expect(await Tag.query().resultSize()).toBe(1)
  })

  it('[A8] is rolled back when a hook throws', async () => {
    const { send } = await serveResources({
      books: viewThat(() => {
        throw new ValidationError({ title: ['Too late.'] })
      }),
    })
    expect(await send('POST', '/api/books', { title: 'One' })).toMatchObject({
      status: 400,
      json: { errors: { title: ['Too late.'] } },
    })
    expect([await Book.query().resultSize(), await Tag.query().resultSize()]).toEqual([0, 0])
  })

  it('is rolled back when the action has set a status of 400 or more', async () => {
    class Books extends ModelViewSet<Book> {
      static override model = Book
      static override serializerClass = BookSerializer
      static override responses = { 202: 'Accepted.', 404: 'Not here.', 409: 'Not now.' }
      override async create(): Promise<unknown> {
        await Book.query(this.trx).insert({ title: 'One' })
        this.ctx.status = Number(this.ctx.query['status'])
        if (this.ctx.query['body']) this.ctx.body = { detail: 'mine', status: this.ctx.status }
        return this.ctx.query['data'] ? { detail: 'mine', status: this.ctx.status } : undefined
      }
    }
    const { send } = await serveResources({ books: Books })
    const conflict = await send('POST', '/api/books?status=409&data=1')
    expect(conflict).toMatchObject({ status: 409, json: { detail: 'mine' } })
    expect((await send('POST', '/api/books?status=409&body=1')).json).toEqual({ detail: 'mine', status: 409 })
    expect(await send('POST', '/api/books?status=404')).toMatchObject({
      status: 404,
      text: '{"detail":"Not found","status":404}',
    })
    expect(await Book.query().resultSize()).toBe(0)
    expect(await send('POST', '/api/books?status=202')).toMatchObject({ status: 202, text: '' })
    expect(await send('POST', '/api/books?status=202&data=1')).toMatchObject({ status: 202, json: { status: 202 } })
    expect(await Book.query().resultSize()).toBe(2)
  })

  it('is rolled back when the action returns a Response with such a status', async () => {
    class Books extends ModelViewSet<Book> {
      static override model = Book
      static override serializerClass = BookSerializer
      static override responses = { 202: 'Accepted.', 409: 'Not now.' }
      override async create(): Promise<unknown> {
        await Book.query(this.trx).insert({ title: 'One' })
        const status = Number(this.ctx.query['status'])
        const headers = { 'Content-Type': 'application/json; charset=utf-8' }
        return Response.json({ detail: 'mine', status }, { status, headers })
      }
    }
    const { send } = await serveResources({ books: Books })
    expect(await send('POST', '/api/books?status=409')).toMatchObject({ status: 409, json: { status: 409 } })
    expect(await Book.query().resultSize()).toBe(0)
    expect(await send('POST', '/api/books?status=202')).toMatchObject({ status: 202, json: { status: 202 } })
    expect(await Book.query().resultSize()).toBe(1)
  })

  it('is not there with static atomic = false', async () => {
    const { send } = await serveResources({
      books: viewThat((view) => {
        expect(view.trx).toBeUndefined()
        throw new ValidationError('Too late.')
      }, false),
    })
    const queries = await countQueries(database.knex, async () => {
      expect((await send('POST', '/api/books', { title: 'One' })).json.errors.non_field_errors).toEqual(['Too late.'])
    })
    expect(queries.filter((sql) => sql.startsWith('BEGIN'))).toEqual([])
    expect([await Book.query().resultSize(), await Tag.query().resultSize()]).toEqual([1, 1])
  })

  it('answers what only COMMIT finds', async () => {
    class Shelves extends ModelViewSet<Shelf> {
      static override model = Shelf
      static override serializerClass = ShelfSerializer
      override async performCreate(serializer: Serializer<Shelf>): Promise<unknown> {
        return serializer.save({ below_id: 99 })
      }
    }
    const { send, reported } = await serveResources({ shelves: Shelves })
    const response = await send('POST', '/api/shelves', { code: 'A' })
    expect(response).toMatchObject({ status: 400, json: { detail: 'Validation failed' } })
    expect(Object.keys(response.json.errors)).toEqual(['below_id'])
    expect(await Shelf.query().resultSize()).toBe(0)
    expect(reported).toEqual([])
  })

  it('holds no connection once the request is over, whatever its end', async () => {
    const { send } = await serveResources({
      books: viewThat((view) => {
        if (view.ctx.query['throw']) throw new TypeError('bug')
      }),
    })
    await send('POST', '/api/books', { title: 'One' })
    await send('POST', '/api/books?throw=1', { title: 'Two' })
    await send('POST', '/api/books', {})
    const pool = (database.knex.client as { pool: { numUsed(): number; numPendingAcquires(): number } }).pool
    expect([pool.numUsed(), pool.numPendingAcquires()]).toEqual([0, 0])
  })

  it('[R5 R6] does not begin for a request that is refused before its action', async () => {
    const { send } = await serveResources({ books: BookViewSet })
    const queries = await countQueries(database.knex, async () => {
      await send('DELETE', '/api/books')
      await send('POST', '/api/books', {}, { 'Content-Type': 'text/plain' })
      await send('POST', '/api/books', {}, { 'Content-Encoding': 'zip' })
      await send('OPTIONS', '/api/books')
      await send('PATCH', '/api/books/abc', {})
    })
    expect(queries).toEqual([])
  })
})

describe('a client that goes away', () => {
  it('[I10] leaves no transaction behind', async () => {
    let entered: () => void = () => {}
    const inside = new Promise<void>((resolve) => {
      entered = resolve
    })
    class Books extends ModelViewSet<Book> {
      static override model = Book
      static override serializerClass = BookSerializer
      override async performCreate(serializer: Serializer<Book>): Promise<unknown> {
        entered()
        await database.knex.raw('select pg_sleep(0.1)')
        return serializer.save()
      }
    }
    const { port, get } = await serveResources({ books: Books })
    const request = http.request({
      port,
      path: '/api/books',
      method: 'POST',
      headers: { 'Content-Type': 'application/json' },
    })
    request.on('error', () => {})
    request.end('{"title":"One"}')
    await inside
    const gone = new Promise((resolve) => request.on('close', resolve))
    request.destroy()
    await gone
    // the write goes on and is committed
    await expect.poll(async () => (await get('/api/books')).json.length).toBe(1)
    const { rows } = await database.knex.raw(
      `select count(*)::int as open from pg_stat_activity where datname = current_database() and state like 'idle in%'`,
    )
    expect(rows).toEqual([{ open: 0 }])
  })
})
