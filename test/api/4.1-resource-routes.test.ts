import http from 'node:http'
import Router from '@koa/router'
import knex, { type Knex } from 'knex'
import type Koa from 'koa'
import { Model, type QueryBuilder, snakeCaseMappers } from 'objection'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import {
  APIRouter,
  ConfigurationError,
  FieldFilter,
  GenericViewSet,
  ListMixin,
  ModelSerializer,
  ModelViewSet,
  ReadOnlyModelViewSet,
  type Serializer,
  ValidationError,
  ViewSet,
} from '../../lib/index.js'
import { type Client, serving } from '../support/client.js'
import { countQueries, type TestDatabase } from '../support/database.js'
import {
  Author,
  AuthorSerializer,
  Book,
  BookSerializer,
  createLibrary,
  Ledger,
  LedgerSerializer,
  Membership,
  MembershipSerializer,
  removeBooks,
  Shelf,
  ShelfSerializer,
  Tag,
  TagSerializer,
  Token,
  TokenSerializer,
} from '../support/library.js'
import { exchange } from '../support/server.js'

let database: TestDatabase
let client: Client | undefined

beforeAll(async () => {
  database = await createLibrary()
})
afterAll(() => database.drop())
beforeEach(() => removeBooks(database))
afterEach(async () => {
  await client?.close()
  client = undefined
})

class BookViewSet extends ModelViewSet<Book> {
  static override model = Book
  static override serializerClass = BookSerializer
}

/** Serves view sets under `/api`. */
async function api(resources: Record<string, Parameters<APIRouter['register']>[1]>): Promise<Client> {
  const router = new APIRouter({ prefix: '/api' })
  for (const [prefix, view] of Object.entries(resources)) router.register(prefix, view)
  await router.prepare()
  client = await serving(router.routes())
  return client
}

async function countBooks(): Promise<number> {
  return Book.query().resultSize()
}

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
    const { get, send } = await api({ books: BookViewSet })
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
    const { send } = await api({ books: BookViewSet })
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
    const { get, send } = await api({ books: Books })
    await Book.query().insert({ title: 'One' })
    expect((await get('/api/books')).json).toHaveLength(1)
    expect((await get('/api/books/1')).json).toMatchObject({ title: 'One' })
    expect(await send('POST', '/api/books', { title: 'Two' })).toMatchObject({
      status: 405,
      headers: { allow: 'GET, HEAD, OPTIONS' },
    })
    expect((await send('DELETE', '/api/books/1')).status).toBe(405)
    expect(await countBooks()).toBe(1)
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
    client = await serving(router.routes())
    expect((await client.get('/clocks/noon')).json).toEqual({ time: 'noon' })
    expect((await client.get('/books/1')).status).toBe(404)
  })

  it('38 answer HEAD as GET, with its length and without its body', async () => {
    const { get, send } = await api({ books: BookViewSet })
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

  it('23, 24 answer OPTIONS with their own methods, and without the database', async () => {
    const { send } = await api({ books: BookViewSet })
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
    '20, 21 answer %s with 405 and Allow where it is not mapped',
    async (method) => {
      const { send } = await api({ books: BookViewSet })
      const response = await send(method, '/api/books')
      expect(response).toMatchObject({
        status: 405,
        text: `{"detail":"Method ${method} not allowed","status":405}`,
        headers: { allow: 'GET, POST, HEAD, OPTIONS' },
      })
    },
  )

  it('22 leave every method on an unknown path to the app', async () => {
    const { send } = await api({ books: BookViewSet })
    for (const method of ['GET', 'POST', 'OPTIONS', 'TRACE', 'DELETE']) {
      for (const path of ['/', '/api/nothing', '/api/books/1/2', '/api/books/abc']) {
        expect(await send(method, path)).toMatchObject({ status: 404, headers: { 'content-type': /^text\/plain/ } })
      }
    }
  })

  it('36 ignore the body of DELETE, and keep the connection', async () => {
    const { port } = await api({ books: BookViewSet })
    await Book.query().insert({ title: 'One' })
    const requests =
      'DELETE /api/books/1 HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nnot json!' +
      'GET /api/books HTTP/1.1\r\nHost: a\r\n\r\n'
    const text = await exchange(port, requests, (answer) => answer.includes('[]'))
    expect(text).toMatch(/^HTTP\/1\.1 204 No Content\r\n/)
    expect(text.split('HTTP/1.1')[1]).not.toMatch(/^content-/im)
    expect(text).toMatch(/HTTP\/1\.1 200 OK\r\n/)
  })

  it('39 ignore the body of GET', async () => {
    const { port } = await api({ books: BookViewSet })
    const request = 'GET /api/books HTTP/1.1\r\nHost: a\r\nContent-Type: text/plain\r\nContent-Length: 1\r\n\r\nx'
    expect(await exchange(port, request)).toMatch(/^HTTP\/1\.1 200 OK\r\n/)
  })

  it('34 answer a POST without body and type with the required fields', async () => {
    const { send } = await api({ books: BookViewSet })
    expect((await send('POST', '/api/books')).json).toEqual({
      detail: 'Validation failed',
      status: 400,
      errors: { title: ['This field is required.'] },
    })
  })

  it('32 answer a body of another type with 415 and what is accepted', async () => {
    const { send } = await api({ books: BookViewSet })
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
    const { send } = await api({ books: BookViewSet })
    await Book.query().insert({ title: 'One' })
    for (const name of ['X-HTTP-Method-Override', 'X-HTTP-Method', 'X-Method-Override']) {
      const response = await send('POST', '/api/books/1?_method=DELETE', { _method: 'DELETE' }, { [name]: 'DELETE' })
      expect(response.status).toBe(405)
    }
    expect(await countBooks()).toBe(1)
  })
})

describe('paths', () => {
  it('take one slash at their end', async () => {
    const { get, send } = await api({ books: BookViewSet })
    expect((await send('POST', '/api/books/', { title: 'One' })).headers.location).toBe('/api/books/1')
    expect((await get('/api/books/')).status).toBe(200)
    expect((await get('/api/books/1/')).status).toBe(200)
    expect((await get('/api/books//')).status).toBe(404)
  })

  it('30 take the suffix of a renderer, and no other', async () => {
    const { get, send } = await api({ books: BookViewSet })
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
    const { port } = await api({ books: BookViewSet })
    await Book.query().insert({ title: 'One' })
    const answer = await exchange(port, `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`)
    expect(answer).toMatch(/^HTTP\/1\.1 404 /)
  })

  it('[B10] with broken encoding in the query are answered', async () => {
    const { get } = await api({ books: BookViewSet })
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
  ])('61 never make a 5xx: %j', async (request) => {
    const { port } = await api({ books: BookViewSet })
    expect(await exchange(port, request)).toMatch(/^HTTP\/1\.1 [24]/)
  })

  it('61 of an absolute form are read without its host', async () => {
    const { port } = await api({ books: BookViewSet })
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
  it('37 is by the primary key, whatever its name and type', async () => {
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
    const { get, send } = await serving(router.routes()).then((made) => (client = made))

    for (const slug of ['plain', 'ä b', 'a/b', 'a%2Fb', '?x#y', "'; drop table tags; --", 'data.json', 'x.csv', '…']) {
      const created = await send('POST', '/api/tags', { slug, label: 'new' })
      expect(created.status).toBe(201)
      const { location } = created.headers
      if (slug.includes('/')) {
        expect(location).toBeUndefined()
        continue
      }
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

  it('[E21] takes a suffix for a format, and never for another object', async () => {
    class Tags extends ModelViewSet<Tag> {
      static override model = Tag
      static override serializerClass = TagSerializer
    }
    const { send } = await api({ tags: Tags })
    await Tag.query().insert([
      { slug: 'log', label: 'a' },
      { slug: 'log.json', label: 'b' },
    ] as never)
    const location = (await send('PATCH', '/api/tags/log.json.json', { label: 'c' })).json
    expect(location).toEqual({ slug: 'log.json', label: 'c' })
    expect((await send('GET', '/api/tags/log.json')).json).toEqual({ slug: 'log', label: 'a' })
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
    client = await serving(router.routes())
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
    const { get, send } = await api({ books: Books })
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
    const { get, send } = await api({ books: Books })
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
    const { get, send } = await api({ books: Books })
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
    const { send } = await api({ books: Books })
    expect((await send('POST', '/api/books', { title: 'One', author_id: 1 })).json).toMatchObject({ author_id: 2 })
    expect((await send('PATCH', '/api/books/1', { title: 'Two' })).json).toMatchObject({ title: 'Two', n: 7 })
    expect(seen).toEqual(['One'])
    expect((await send('DELETE', '/api/books/1')).status).toBe(204)
    expect(await Book.query().findById(1)).toMatchObject({ title: 'deleted' })
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
    const { get, send } = await api({ books: Books })
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
    const { get } = await api({ books: Books })
    await Book.query().insert({ title: 'One', n: 0 })
    expect((await get('/api/books')).json).toEqual([])
    expect((await get('/api/books/1')).status).toBe(200)
  })

  it('getKnex() sends a request to a database of its own', async () => {
    const other = await createLibraryBeside()
    class Books extends ModelViewSet<Book> {
      static override model = Book
      static override serializerClass = BookSerializer
      override getKnex(): Knex {
        return this.ctx.get('X-Tenant') === 'other' ? other.knex : database.knex
      }
    }
    const { get, send } = await api({ books: Books })
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

/** A second library; the models stay bound to the first. */
async function createLibraryBeside(): Promise<TestDatabase> {
  const other = await createLibrary()
  for (const model of [Author, Book, Tag, Token, Ledger, Shelf, Membership]) model.knex(database.knex)
  return other
}

describe('[I3] PATCH', () => {
  it('writes only the fields it was given', async () => {
    const { send } = await api({ books: BookViewSet })
    await send('POST', '/api/books', { title: 'One', n: 1 })
    const queries = await countQueries(database.knex, async () => {
      await send('PATCH', '/api/books/1', { n: 5 })
    })
    const updates = queries.filter((sql) => sql.startsWith('update'))
    expect(updates).toHaveLength(1)
    expect(updates[0]).toMatch(/^update "books" set "n" = \$1 where/)
  })

  it('loses no write of another field, 100 against 100 at once', async () => {
    const { send } = await api({ books: BookViewSet })
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
    const { send } = await api({ books: BookViewSet })
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
    const { send } = await api({ books: viewThat(() => undefined) })
    const queries = await countQueries(database.knex, async () => {
      expect((await send('POST', '/api/books', { title: 'One' })).status).toBe(201)
    })
    expect(queries.filter((sql) => /^(BEGIN|COMMIT|ROLLBACK)/.test(sql))).toEqual(['BEGIN;', 'COMMIT;'])
    expect(queries.at(0)).toBe('BEGIN;')
    expect(queries.at(-1)).toBe('COMMIT;')
    expect(await Tag.query().resultSize()).toBe(1)
  })

  it('[A8] is rolled back when a hook throws', async () => {
    const { send } = await api({
      books: viewThat(() => {
        throw new ValidationError({ title: ['Too late.'] })
      }),
    })
    expect(await send('POST', '/api/books', { title: 'One' })).toMatchObject({
      status: 400,
      json: { errors: { title: ['Too late.'] } },
    })
    expect([await countBooks(), await Tag.query().resultSize()]).toEqual([0, 0])
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
    const { send } = await api({ books: Books })
    const conflict = await send('POST', '/api/books?status=409&data=1')
    expect(conflict).toMatchObject({ status: 409, json: { detail: 'mine' } })
    expect((await send('POST', '/api/books?status=409&body=1')).json).toEqual({ detail: 'mine', status: 409 })
    expect(await send('POST', '/api/books?status=404')).toMatchObject({
      status: 404,
      text: '{"detail":"Not found","status":404}',
    })
    expect(await countBooks()).toBe(0)
    expect(await send('POST', '/api/books?status=202')).toMatchObject({ status: 202, text: '' })
    expect(await send('POST', '/api/books?status=202&data=1')).toMatchObject({ status: 202, json: { status: 202 } })
    expect(await countBooks()).toBe(2)
  })

  it('is not there with static atomic = false', async () => {
    const { send } = await api({
      books: viewThat((view) => {
        expect(view.trx).toBeUndefined()
        throw new ValidationError('Too late.')
      }, false),
    })
    const queries = await countQueries(database.knex, async () => {
      expect((await send('POST', '/api/books', { title: 'One' })).json.errors.non_field_errors).toEqual(['Too late.'])
    })
    expect(queries.filter((sql) => sql.startsWith('BEGIN'))).toEqual([])
    expect([await countBooks(), await Tag.query().resultSize()]).toEqual([1, 1])
  })

  it('answers what only COMMIT finds', async () => {
    class Shelves extends ModelViewSet<Shelf> {
      static override model = Shelf
      static override serializerClass = ShelfSerializer
      override async performCreate(serializer: Serializer<Shelf>): Promise<unknown> {
        return serializer.save({ below_id: 99 })
      }
    }
    const { send, reported } = await api({ shelves: Shelves })
    const response = await send('POST', '/api/shelves', { code: 'A' })
    expect(response).toMatchObject({ status: 400, json: { detail: 'Validation failed' } })
    expect(Object.keys(response.json.errors)).toEqual(['below_id'])
    expect(await Shelf.query().resultSize()).toBe(0)
    expect(reported).toEqual([])
  })

  it('holds no connection once the request is over, whatever its end', async () => {
    const { send } = await api({
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
    const { send } = await api({ books: BookViewSet })
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

describe('mistakes of the programmer', () => {
  const valid = { model: Book, serializerClass: BookSerializer }
  /** A view set with these statics, whatever their types. */
  function viewWith(statics: Record<string, unknown>): typeof BookViewSet {
    const view = class Broken extends ModelViewSet {}
    for (const [name, value] of Object.entries({ ...valid, ...statics })) {
      Object.defineProperty(view, name, { value, configurable: true })
    }
    return view as never
  }

  it.each<[string, Record<string, unknown>, RegExp]>([
    ['no model', { model: null }, /^Broken: set static model .*queryset/],
    ['a model that is none', { model: {} }, /^Broken: static model is no Objection model/],
    ['a queryset that is a query', { model: null, queryset: 'books' }, /^Broken: static queryset .* function/],
    ['no serializer', { serializerClass: null }, /^Broken: set static serializerClass, or override getSerializerClass/],
    ['a serializer that is none', { serializerClass: {} }, /^Broken.*serializerClass/],
    ['a policy list that is none', { permissionClasses: {} }, /^Broken\.permissionClasses: give a list/],
    [
      'a wrong policy',
      { permissionClasses: [Map] },
      /^Broken\.permissionClasses\[0\]: has no method hasPermission\(\)/,
    ],
    ['an empty policy', { throttleClasses: [undefined] }, /^Broken\.throttleClasses\[0\]/],
    ['no renderer', { rendererClasses: [] }, /^Broken\.rendererClasses: give at least one renderer/],
    ['a wrong paginator', { paginationClass: Map }, /^Broken\.paginationClass: has no method paginate\(\)/],
    ['a wrong versioning', { versioningClass: {} }, /^Broken\.versioningClass: has no method determineVersion\(\)/],
    ['a wrong filter', { filterBackends: [{}] }, /^Broken\.filterBackends\[0\]/],
    ['a path parameter that is no name', { lookupUrlKwarg: 'book-id' }, /^Broken.*lookupUrlKwarg.*"book-id"/],
  ])('[I23] %s is found at registration', (_mistake, statics, message) => {
    const register = () => new APIRouter().register('books', viewWith(statics))
    expect(register).toThrow(ConfigurationError)
    expect(register).toThrow(message)
  })

  it('[I23] a class that is no view set is found at registration', () => {
    for (const wrong of [class {}, {}, undefined, Book]) {
      const register = () => new APIRouter().register('books', wrong as never)
      expect(register).toThrow(
        new ConfigurationError(
          'APIRouter: register("books", …) takes a view set class; extend ViewSet or ModelViewSet',
        ),
      )
    }
  })

  it('[I23] a view without model needs a basename', () => {
    class Clock extends ViewSet {
      list() {
        return []
      }
    }
    expect(() => new APIRouter().register('clock', Clock)).toThrow(
      'APIRouter: Clock has no model; name it: register("clock", Clock, basename)',
    )
  })

  it('[I23] a view without any action has no routes, and that is a mistake', () => {
    class Nothing extends ViewSet {}
    expect(() => new APIRouter().register('nothing', Nothing, 'nothing')).toThrow(/^Nothing: has no action/)
  })

  it('[I23] a prefix or a basename that is taken is named with both classes', () => {
    class Others extends ModelViewSet {
      static override model = Author
      static override serializerClass = AuthorSerializer
    }
    const router = new APIRouter().register('books', BookViewSet)
    expect(() => router.register('/books/', Others)).toThrow(
      'APIRouter: Others and BookViewSet are both registered under "/books/"; change one',
    )
    expect(() => router.register('volumes', BookViewSet)).toThrow(/both have the basename "book"/)
    expect(() => router.register('volumes', BookViewSet, 'volume')).not.toThrow()
    router.register('books/{number:int}', Others)
  })

  it('[I23] two routes with one path are named with both classes by prepare()', async () => {
    class Others extends ModelViewSet {
      static override model = Author
      static override serializerClass = AuthorSerializer
      static override lookupUrlKwarg = 'other_id'
    }
    const router = new APIRouter().register('books', BookViewSet).register('books/{id:int}', Others)
    await expect(router.prepare()).rejects.toThrow(
      new ConfigurationError(
        'BookViewSet and Others both have the path /books/{id:int}; give one of them another prefix',
      ),
    )
  })

  it.each([
    ['books//x', /an empty segment/],
    [':id', /neither/],
    ['{id:float}', /unknown hint "float"/],
    ['{files:path}', /rest of the path/],
    ['authors/{id:int}/books', /the parameter "id" occurs twice/],
  ])('[I23] the prefix %s is a mistake', (prefix, message) => {
    const register = () => new APIRouter({ prefix: '/api' }).register(prefix, BookViewSet)
    expect(register).toThrow(ConfigurationError)
    expect(register).toThrow(message)
  })

  it('[I23] what the catalogue shows is found by prepare(), all of it at once', async () => {
    class Volume extends Book {}
    class Unknown extends ModelSerializer<Book> {
      static override model = Volume
      static override fields = ['id', 'titel']
    }
    class Books extends ModelViewSet<Book> {
      static override model = Book
      static override serializerClass = Unknown
    }
    class Lookups extends ModelViewSet<Book> {
      static override model = Volume
      static override serializerClass = BookSerializer
      static override lookupField = 'code'
    }
    class Orders extends ModelViewSet<Book> {
      static override model = Volume
      static override serializerClass = BookSerializer
      static override ordering = ['-nope']
    }
    const router = new APIRouter()
      .register('books', Books, 'book')
      .register('lookups', Lookups, 'lookup')
      .register('orders', Orders, 'order')
    const error = await router.prepare().then(
      () => undefined,
      (thrown: unknown) => thrown as Error,
    )
    expect(error).toBeInstanceOf(ConfigurationError)
    const lines = error?.message.split('\n') ?? []
    expect(lines).toHaveLength(3)
    expect(lines[0]).toMatch(/Unknown.*titel/)
    expect(lines[1]).toBe('Lookups: lookupField "code" is no column of Volume')
    expect(lines[2]).toBe('Orders: ordering names "-nope", which is no column of Volume')
  })

  it.each<[string, string, object, string]>([
    ['a question mark', 'is_it?', {}, 'field "is_it?" is the column "is_it?", and knex can carry no name'],
    ['a colon', 'is:it', {}, 'field "is:it" is the column "is:it", and Objection does not write'],
    ['a leading dollar', '$it', {}, 'field "$it" is the column "$it", and Objection does not write'],
    [
      'no way back through its mapper',
      'line_1',
      { columnNameMappers: snakeCaseMappers() },
      'field "line1" is the column "line_1", which the columnNameMappers of Odd write to as "line1"',
    ],
  ])('[I23] a column whose name has %s is found by prepare()', async (_what, column, statics, message) => {
    await database.knex.raw('drop table if exists odd')
    await database.knex.schema.raw(
      `create table odd (id int generated always as identity primary key, "${column.replace('?', '\\?')}" text)`,
    )
    class Odd extends Model {
      static override tableName = 'odd'
    }
    Object.assign(Odd, statics)
    Odd.knex(database.knex)
    const prepared = (options: object) => {
      class OddSerializer extends ModelSerializer {
        static override model = Odd
        static override fields = '__all__'
      }
      class Odds extends ModelViewSet {
        static override model = Odd
        static override serializerClass: any = Object.assign(OddSerializer, options)
      }
      return new APIRouter().register('odds', Odds).prepare()
    }
    await expect(prepared({})).rejects.toThrow(ConfigurationError)
    await expect(prepared({})).rejects.toThrow(`OddSerializer: ${message}`)
    await prepared({ fields: ['id'] })
    if (!column.includes('?')) await prepared({ readOnlyFields: [column === 'line_1' ? 'line1' : column] })
  })

  it('[I23] a key of several columns has no detail route, and list and create work', async () => {
    class Memberships extends ModelViewSet<Membership> {
      static override model = Membership
      static override serializerClass = MembershipSerializer
    }
    await expect(new APIRouter().register('m', Memberships).prepare()).rejects.toThrow(
      /^Memberships: Membership has a primary key of several columns/,
    )
    class Members extends ListMixin(GenericViewSet<Membership>) {
      static override model = Membership
      static override serializerClass = MembershipSerializer
      async create() {
        const serializer = this.getInputSerializer()
        await serializer.isValid({ raiseException: true })
        await serializer.save()
        this.ctx.status = 201
        return serializer.data
      }
    }
    const { get, send } = await api({ members: Members })
    expect((await send('POST', '/api/members', { author_id: 1, club: 'x' })).status).toBe(201)
    expect((await get('/api/members')).json).toEqual([{ author_id: 1, club: 'x', since: null }])
    await Membership.query().delete()
  })

  it('[I23] a model without database or table is named by prepare()', async () => {
    class Lost extends Model {
      static override tableName = 'lost'
    }
    class LostSerializer extends ModelSerializer {
      static override model = Lost
      static override fields = '__all__'
    }
    class LostViewSet extends ModelViewSet {
      static override model = Lost
      static override serializerClass = LostSerializer
    }
    const router = new APIRouter().register('lost', LostViewSet)
    await expect(router.prepare()).rejects.toThrow(/^Lost: not bound to a database/)
    await expect(router.prepare({ knex: database.knex })).rejects.toThrow(/^Lost: table "lost" does not exist/)
  })

  it('a registration after prepare() or mount() is a mistake', async () => {
    const prepared = new APIRouter()
    await prepared.prepare()
    expect(() => prepared.register('books', BookViewSet)).toThrow(
      'APIRouter: register("books") came after prepare() or the first request; register first',
    )
    const mounted = new APIRouter()
    mounted.mount(new Router())
    expect(() => mounted.register('books', BookViewSet)).toThrow(/register\("books"\) came after mount\(\)/)
  })

  it('a prepare() that failed may be repeated, and registered for again', async () => {
    class Late extends Model {
      static override tableName = 'tags'
      static override idColumn = 'slug'
    }
    class LateSerializer extends ModelSerializer {
      static override model = Late
      static override fields = '__all__'
    }
    class LateViewSet extends ModelViewSet {
      static override model = Late
      static override serializerClass = LateSerializer
    }
    const router = new APIRouter().register('late', LateViewSet)
    await expect(router.prepare()).rejects.toThrow(ConfigurationError)
    Late.knex(database.knex)
    router.register('books', BookViewSet)
    await router.prepare()
    client = await serving(router.routes())
    expect((await client.get('/late')).json).toEqual([])
  })
})

describe('an API that nobody prepared', () => {
  it('is prepared by the first request to it', async () => {
    const router = new APIRouter({ prefix: '/api' }).register('books', BookViewSet)
    client = await serving(router.routes())
    const [first, second] = await Promise.all([client.get('/api/books'), client.get('/api/books')])
    expect([first.status, second.status]).toEqual([200, 200])
  })

  it('knows from the first request what type a key has', async () => {
    const uid = '11111111-2222-3333-4444-555555555555'
    await Token.query().insert({ uid, label: 'x' } as never)
    for (const mounted of [false, true]) {
      class FreshToken extends Token {}
      class FreshSerializer extends ModelSerializer {
        static override model = FreshToken
        static override fields = '__all__'
      }
      class Tokens extends ModelViewSet {
        static override model = FreshToken
        static override serializerClass = FreshSerializer
      }
      const router = new APIRouter({ prefix: '/api' }).register('tokens', Tokens)
      const own = new Router()
      if (mounted) router.mount(own)
      client = await serving(mounted ? (own.routes() as Koa.Middleware) : router.routes())
      expect((await client.get(`/api/tokens/${uid}`)).json).toEqual({ uid, label: 'x' })
      expect((await client.get('/api/tokens/1')).headers['content-type']).toMatch(/^text\/plain/)
      await client.close()
      client = undefined
    }
    await Token.query().delete()
  })

  it('answers 503 while its database is away, leaves other paths to the app, and recovers by itself', async () => {
    class Far extends Model {
      static override tableName = 'books'
    }
    class FarSerializer extends ModelSerializer {
      static override model = Far
      static override fields = ['id', 'title']
    }
    class FarViewSet extends ModelViewSet {
      static override model = Far
      static override serializerClass = FarSerializer
    }
    const away = knex({ client: 'pg', connection: { host: '127.0.0.1', port: 1, user: 'x' }, pool: { min: 0, max: 1 } })
    Far.knex(away)
    const router = new APIRouter({ prefix: '/api' }).register('far', FarViewSet)
    client = await serving(router.routes(), (ctx) => {
      ctx.body = 'the app'
    })
    for (let round = 0; round < 2; round++) {
      const { status, headers, text } = await client.get('/api/far')
      expect({ status, text }).toEqual({
        status: 503,
        text: '{"detail":"Service temporarily unavailable","status":503}',
      })
      expect(headers['retry-after']).toMatch(/^[1-9]/)
    }
    expect(client.reported).toHaveLength(2)
    for (const path of ['/', '/health', '/api/other', '/api/far/1/2', '/far']) {
      expect(await client.get(path)).toMatchObject({ status: 200, text: 'the app' })
    }
    expect(client.reported).toHaveLength(2)
    Far.knex(database.knex)
    expect((await client.get('/api/far')).json).toEqual([])
    await away.destroy()
  })
})

describe('close()', () => {
  it('[I12] lets running requests end, refuses new ones, and may be called twice', async () => {
    let release: () => void = () => {}
    const entered = new Promise<void>((resolve) => {
      class Slow extends ViewSet {
        async list() {
          resolve()
          await new Promise<void>((go) => {
            release = go
          })
          return ['done']
        }
      }
      router.register('slow', Slow, 'slow')
    })
    client = await serving(router.routes())
    const running = client.get('/slow')
    await entered
    const closed = Promise.all([router.close(), router.close()])
    expect((await client.get('/slow')).status).toBe(503)
    release()
    expect((await running).json).toEqual(['done'])
    await closed
    await router.close()
  })
  const router = new APIRouter()

  it('[I12] waits for 50 requests under way, which are all answered; later ones get 503', async () => {
    const books = new APIRouter({ prefix: '/api' }).register('books', BookViewSet)
    await books.prepare()
    let entered = 0
    const enter: Koa.Middleware = (_, next) => {
      entered++
      return next()
    }
    client = await serving(enter, books.routes())
    const { get, send } = client
    await Book.query().insert({ title: 'One' })
    const { pool } = database.knex.client as { pool: { numUsed(): number; numPendingAcquires(): number } }
    const locker = await database.knex.transaction()
    onTestFinished(async () => {
      if (!locker.isCompleted()) await locker.rollback()
    })
    await locker.raw('lock table books in access exclusive mode')
    const running = Promise.all([
      ...Array.from({ length: 30 }, () => get('/api/books')),
      ...Array.from({ length: 10 }, () => get('/api/books/1')),
      ...Array.from({ length: 10 }, (_, index) => send('POST', '/api/books', { title: `book ${index}` })),
    ])
    await expect.poll(() => entered).toBe(50)
    let isClosed = false
    const closed = books.close().then(() => {
      isClosed = true
      // nothing runs any more: the application may end its pool
      return [pool.numUsed(), pool.numPendingAcquires()]
    })
    for (const late of [await get('/api/books'), await send('POST', '/api/books', { title: 'late' })]) {
      expect(late).toMatchObject({ status: 503, headers: { 'retry-after': expect.stringMatching(/^[1-9]/) } })
    }
    expect(isClosed).toBe(false)
    await locker.rollback()
    expect((await running).map(({ status }) => status)).toEqual([...Array(40).fill(200), ...Array(10).fill(201)])
    expect(await closed).toEqual([0, 0])
    expect(await countBooks()).toBe(11)
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
    const { port, get } = await api({ books: Books })
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
