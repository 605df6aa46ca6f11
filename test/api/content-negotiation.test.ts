import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import http from 'node:http'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Router from '@koa/router'
import Koa from 'koa'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import {
  APIRouter,
  ArrayField,
  action,
  BasePermission,
  BaseThrottle,
  BooleanField,
  ConfigurationError,
  CSVRenderer,
  CursorPagination,
  configure,
  FormParser,
  IntegerField,
  JSONField,
  JSONParser,
  JSONRenderer,
  LimitOffsetPagination,
  ModelViewSet,
  MultiPartParser,
  MultipleChoiceField,
  NestedSerializer,
  PageNumberPagination,
  type Pagination,
  type Parser,
  type Parsers,
  PrimaryKeyRelatedField,
  type Renderers,
  Serializer,
  ServerCursorPagination,
  StringField,
  Throttled,
  UploadedFile,
  ViewSet,
} from '../../lib/index.js'
import { type Client, expectRules, serveApp, serving } from '../support/client.js'
import type { TestDatabase } from '../support/database.js'
import { Author, AuthorSerializer, Book, BookSerializer, createLibrary, removeBooks } from '../support/library.js'
import { MULTIPART, multipart } from '../support/multipart.js'
import { serve, type TestRequest, type TestResponse, type TestServer } from '../support/server.js'

const directory = mkdtempSync(join(tmpdir(), 'negotiation-api-'))
const PARSERS: Parsers = [JSONParser, FormParser, new MultiPartParser({ directory, keptFiles: ['f'] })]
const RENDERERS: Renderers = [JSONRenderer, CSVRenderer]

class BookViewSet extends ModelViewSet<Book> {
  static override model = Book
  static override serializerClass = BookSerializer
  static override parserClasses = PARSERS
  static override rendererClasses = RENDERERS
  static override paginationClass: Pagination = new PageNumberPagination({ pageSize: 2 })
}

class Plain extends BookViewSet {
  static override rendererClasses: Renderers = [JSONRenderer]
}

class Strict extends BookViewSet {
  static override strictAccept = true
}

class Whole extends BookViewSet {
  static override paginationClass = null
}

class ByOffset extends BookViewSet {
  static override paginationClass = LimitOffsetPagination
}

class ByCursor extends BookViewSet {
  static override paginationClass = CursorPagination
}

class Exported extends BookViewSet {
  static override paginationClass = ServerCursorPagination
}

class AuthorViewSet extends ModelViewSet<Author> {
  static override model = Author
  static override serializerClass = AuthorSerializer
  static override parserClasses: Parsers = [JSONParser]
}

class Both extends ViewSet {
  static override rendererClasses = RENDERERS
  list() {
    return [{ a: 1 }]
  }

  @action({ methods: ['GET'], rendererClasses: [JSONRenderer] })
  stats() {
    return [{ a: 1 }]
  }
}

class JSONOnly extends ViewSet {
  list() {
    return [{ a: 1 }]
  }

  @action({ methods: ['GET'], rendererClasses: RENDERERS })
  export() {
    return [{ a: 1 }]
  }

  @action({ methods: ['GET'], rendererClasses: [CSVRenderer] })
  report() {
    return [{ a: 1 }]
  }

  @action({ methods: ['POST'], urlPath: 'report' })
  order() {
    return [{ a: 1 }]
  }
}

let database: TestDatabase
let client: Client
let api: APIRouter

beforeAll(async () => {
  configure({ secretKey: '0123456789abcdef0123456789abcdef' })
  database = await createLibrary()
  api = new APIRouter({ prefix: '/api' })
  const views = { books: BookViewSet, plain: Plain, strict: Strict, whole: Whole }
  const pages = { offset: ByOffset, cursor: ByCursor, exported: Exported }
  for (const [name, view] of Object.entries({ ...views, ...pages })) api.register(name, view, name)
  api.register('authors', AuthorViewSet)
  await api.prepare()
  client = await serving(api.routes())
})
afterEach(async () => {
  await vi.waitFor(() => expect(readdirSync(directory)).toEqual([]))
  expect(client.reported.splice(0)).toEqual([])
  await removeBooks(database)
})
afterAll(async () => {
  await client.close()
  await api.close()
  await database.drop()
  rmSync(directory, { recursive: true })
})

const HEADER = 'id,title,isbn,n,big,price,author_id\r\n'
const FORM = { 'Content-Type': 'application/x-www-form-urlencoded' }

async function raw(request: TestRequest): Promise<TestResponse> {
  const server = await serve(client.app)
  try {
    return await server.send(request)
  } finally {
    await server.close()
  }
}

describe('the answer', () => {
  const insert = () =>
    database
      .knex('books')
      .insert([
        { title: '=cmd', n: 5, price: '-1.50', big: '9007199254740993' },
        { title: 'say "hi", ok', isbn: '@x' },
        { title: 'third' },
      ])

  it('is CSV where the client accepts it', async () => {
    await insert()
    const { status, headers, text } = await client.get('/api/books', { Accept: 'text/csv' })
    expect({ status, text }).toEqual({
      status: 200,
      text: `${HEADER}1,'=cmd,,5,9007199254740993,-1.50,\r\n2,"say ""hi"", ok",'@x,0,,,\r\n`,
    })
    expect(headers).toMatchObject({
      'content-type': 'text/csv; charset=utf-8',
      'content-disposition': 'attachment; filename="books.csv"',
      'x-content-type-options': 'nosniff',
      vary: 'Accept',
    })
  })

  it.each([
    ['text/csv;q=0.1, application/json', 'json'],
    ['application/json;q=0, text/csv', 'csv'],
    ['application/json;q=0, */*', 'csv'],
    ['text/*', 'csv'],
    ['*/*', 'json'],
    ['application/json; version=2', 'json'],
    ['image/png', 'json'],
    ['application/problem+json', 'json'],
    [`;;;,,,/,q=${'x'.repeat(9000)}`, 'json'],
  ])('for Accept %s is %s', async (accept, format) => {
    const { status, headers } = await client.get('/api/books', { Accept: accept })
    expect(status).toBe(200)
    expect(headers['content-type']).toContain(format)
    expect(headers.vary).toBe('Accept')
  })

  it('is 406 on a strict view, which then writes nothing', async () => {
    const body = { title: 'x' }
    const refused = await client.send('POST', '/api/strict', body, { Accept: 'image/png' })
    expect(refused.json).toEqual({ detail: 'Not acceptable', status: 406 })
    expect(await Book.query()).toEqual([])
    expect((await client.send('POST', '/api/strict', body, { Accept: '*/*' })).status).toBe(201)
    expect((await client.get('/api/strict.csv', { Accept: 'image/png' })).status).toBe(200)
    expect((await client.send('OPTIONS', '/api/strict', undefined, { Accept: 'image/png' })).status).toBe(200)
  })

  it.each([
    ['/api/books.csv', 'application/json', 'text/csv'],
    ['/api/books.json', 'text/csv', 'application/json'],
    ['/api/books/1.csv', 'application/json', 'text/csv'],
    ['/api/books/1.json', 'text/csv', 'application/json'],
  ])('to %s is that of the suffix, whatever Accept says', async (path, accept, type) => {
    await insert()
    const { status, headers } = await client.get(path, { Accept: accept })
    expect(status).toBe(200)
    expect(headers['content-type']).toContain(type)
  })

  it('to an unknown suffix is 404', async () => {
    await insert()
    for (const path of ['/api/books.xml', '/api/books/1.xml', '/api/plain.csv', '/api/books.csv.json']) {
      expect((await client.get(path)).status).toBe(404)
    }
  })

  it.each<[string, (api: APIRouter) => Koa.Middleware]>([
    ['routes()', (own) => own.routes()],
    [
      'mount()',
      (own) => {
        const router = new Router()
        own.mount(router)
        return router.routes() as Koa.Middleware
      },
    ],
  ])('to an action knows the suffixes of its own renderers, and no other: %s', async (_name, serve) => {
    const own = new APIRouter({ prefix: '/api' }).register('both', Both, 'both').register('json', JSONOnly, 'json')
    await own.prepare()
    const other = await serving(serve(own), own.allowedMethods())
    const typeOf = async (path: string, method = 'GET', headers = {}) => {
      const answer = await other.send(method, path, undefined, headers)
      return answer.status === 200 ? answer.headers['content-type']?.replace(/;.*/, '') : answer.status
    }
    try {
      expect(await typeOf('/api/both.csv')).toBe('text/csv')
      expect(await typeOf('/api/both/stats.json')).toBe('application/json')
      expect(await typeOf('/api/both/stats.csv')).toBe(404)
      expect(await typeOf('/api/both/stats', 'GET', { Accept: 'text/csv' })).toBe('application/json')
      expect(await typeOf('/api/json.csv')).toBe(404)
      expect(await typeOf('/api/json/export.csv')).toBe('text/csv')
      expect(await typeOf('/api/json/export.csv', 'HEAD')).toBe('text/csv')
      expect(await typeOf('/api/json/export.json')).toBe('application/json')
      // one path, and another renderer for each method
      expect(await typeOf('/api/json/report.csv')).toBe('text/csv')
      expect(await typeOf('/api/json/report.json')).toBe(404)
      expect(await typeOf('/api/json/report.json', 'HEAD')).toBe(404)
      expect(await typeOf('/api/json/report.json', 'POST')).toBe('application/json')
      expect(await typeOf('/api/json/report.csv', 'POST')).toBe(404)
      expect(await typeOf('/api/json/report.json', 'PUT')).toBe(405)
      expect(other.reported).toEqual([])
    } finally {
      await other.close()
    }
    const { paths } = own.getSchema()
    const noteOf = (path: string, method = 'get') => paths[path]?.[method]?.description
    expect(noteOf('/api/both')).toContain('`.json` or `.csv`')
    expect(noteOf('/api/both/stats')).toBeUndefined()
    expect(noteOf('/api/json')).toBeUndefined()
    expect(noteOf('/api/json/export')).toContain('`.json` or `.csv`')
    expect(noteOf('/api/json/report')).toBeUndefined()
    expect(noteOf('/api/json/report', 'post')).toBeUndefined()
  })

  it('varies on Accept only where there is a choice', async () => {
    expect((await client.get('/api/plain')).headers).not.toHaveProperty('vary')
  })

  it.each(['whole', 'books', 'offset', 'cursor', 'exported'])(
    'has the same columns in CSV with and without rows: %s',
    async (name) => {
      expect((await client.get(`/api/${name}.csv`)).text).toBe(HEADER)
      await insert()
      const { text } = await client.get(`/api/${name}.csv`)
      expect(text.startsWith(HEADER)).toBe(true)
      expect(text).toContain(`,'=cmd,,5,9007199254740993,-1.50,\r\n`.slice(1))
    },
  )

  it('is one row for one object, also of a create', async () => {
    const created = await client.send('POST', '/api/books', { title: 'x' }, { Accept: 'text/csv' })
    expect(created.status).toBe(201)
    expect(created.headers.location).toBe('/api/books/1')
    expect(created.text).toBe(`${HEADER}1,x,,0,,,\r\n`)
    expect((await client.get('/api/books/1.csv')).text).toBe(created.text)
  })

  it('to HEAD has the headers and the length of GET, and is no CSV when it is an error', async () => {
    await insert()
    const get = await client.get('/api/books.csv')
    const head = await client.send('HEAD', '/api/books.csv')
    expect(head.text).toBe('')
    const { date: _, ...expected } = get.headers
    expect(head.headers).toMatchObject(expected)
    const missing = await client.get('/api/books/99.csv')
    expectRules(missing)
    expect(missing.headers).not.toHaveProperty('content-disposition')
  })
})

describe('the body of a request', () => {
  it.each<[string, TestRequest['headers'], string | Buffer]>([
    ['form', FORM, 'title=x&n=3&id=999&price=1.50&title2=y&__proto__=1'],
    [
      'multipart body',
      MULTIPART,
      multipart(
        { name: 'title', content: 'x' },
        { name: 'n', content: '3' },
        { name: 'id', content: '999' },
        { name: 'price', content: '1.50' },
        { name: '__proto__', content: '1' },
      ),
    ],
  ])('[A1 A5] may be a %s', async (_name, headers, body) => {
    const { status, json } = await raw({ method: 'POST', path: '/api/books', headers: headers as never, body })
    expect(status).toBe(201)
    expect(json).toEqual({ id: 1, title: 'x', isbn: null, n: 3, big: null, price: '1.50', author_id: null })
  })

  it('[F4] counts the last value of a repeated name for a field that takes no list', async () => {
    const { json } = await raw({ path: '/api/books', headers: FORM, body: 'title=x&title=y&n=a&n=7' })
    expect(json).toMatchObject({ title: 'y', n: 7 })
  })

  it('[F13] refuses a file where a text is due, and tells the field', async () => {
    const body = multipart({ name: 'title', filename: 'x.txt', content: 'x' })
    const response = await raw({ path: '/api/books', headers: MULTIPART, body })
    expect(response).toMatchObject({ status: 400, json: { errors: { title: ['Not a valid string.'] } } })
  })

  it.each([
    ['POST', 'accept-post'],
    ['PATCH', 'accept-patch'],
  ])('of %s in another type is 415 with the parsers of the view', async (method, header) => {
    await database.knex('books').insert({ title: 'x' })
    const path = method === 'POST' ? '/api/books' : '/api/books/1'
    const response = await raw({ method, path, headers: { 'Content-Type': 'text/plain' }, body: 'x' })
    expectRules(response)
    expect(response.status).toBe(415)
    expect(response.headers[header]).toBe('application/json, application/x-www-form-urlencoded, multipart/form-data')
    const forms = await raw({ path: '/api/authors', headers: FORM, body: 'name=x' })
    expect(forms).toMatchObject({ status: 415, headers: { 'accept-post': 'application/json' } })
  })

  it('in another coding is 415 with those we read', async () => {
    for (const headers of [FORM, MULTIPART]) {
      const response = await raw({ path: '/api/books', headers: { ...headers, 'Content-Encoding': 'foo' }, body: 'x' })
      expect(response).toMatchObject({ status: 415, headers: { 'accept-encoding': 'gzip, deflate, br' } })
    }
  })

  it('is not needed to hear what is required', async () => {
    const { status, json } = await client.send('POST', '/api/books')
    expect({ status, json }).toMatchObject({ status: 400, json: { errors: { title: ['This field is required.'] } } })
  })

  it('is ignored on DELETE and GET', async () => {
    await database.knex('books').insert({ title: 'x' })
    const broken = { headers: { 'Content-Type': 'text/plain' }, body: '{' }
    expect((await raw({ method: 'GET', path: '/api/books/1', ...broken })).status).toBe(200)
    expect((await raw({ method: 'DELETE', path: '/api/books/1', ...broken })).status).toBe(204)
  })

  it('is read on DELETE for an action that asks for it', async () => {
    class Cleared extends ViewSet {
      override readsBody() {
        return this.action === 'clear' || super.readsBody()
      }
      clear() {
        return { cleared: this.body.data }
      }
    }
    const app = new Koa()
    app.use(Cleared.asView({ delete: 'clear' }))
    const server = await serve(app)
    const json = { 'Content-Type': 'application/json' }
    expect((await server.send({ method: 'DELETE', headers: json, body: '[1,2]' })).json).toEqual({ cleared: [1, 2] })
    expect((await server.send({ method: 'DELETE', headers: json, body: '[1' })).status).toBe(400)
    expect((await server.send({ method: 'DELETE' })).json).toEqual({ cleared: {} })
    await server.close()
  })

  it('is 500 for an answer that comes later, whose rejection ends no process', async () => {
    class Later extends ViewSet {
      override readsBody(): boolean {
        return Promise.reject(new Error('no')) as never
      }
      create() {
        return {}
      }
    }
    const later = await serving(Later.asView({ post: 'create' }))
    expect((await later.send('POST', '/', { title: 'x' })).status).toBe(500)
    expect(later.reported.splice(0)).toMatchObject([{ message: expect.stringContaining('readsBody() has returned') }])
    await later.close()
  })

  it('is asked for with 100 Continue', async () => {
    const ask = (length: number, token: string) =>
      new Promise<{ continued: boolean; status: number | undefined }>((resolve, reject) => {
        let continued = false
        const request = http.request({
          port: client.port,
          method: 'POST',
          path: '/api/books',
          headers: { 'Content-Type': token, 'Content-Length': length, Expect: '100-continue' },
        })
        request.on('continue', () => {
          continued = true
          request.end('{}')
        })
        request.on('response', (response) => {
          response.resume()
          resolve({ continued, status: response.statusCode })
          request.destroy()
        })
        request.on('error', reject)
        request.flushHeaders()
      })
    expect(await ask(2, 'application/json')).toMatchObject({ continued: true, status: 400 })
  })
})

describe('values of forms', () => {
  class Child extends Serializer {
    static override declaredFields = { a: new IntegerField() }
  }
  class Everything extends Serializer {
    static override declaredFields = {
      n: new IntegerField({ required: false }),
      flag: new BooleanField({ required: false }),
      numbers: new ArrayField({ child: new IntegerField(), required: false }),
      words: new ArrayField({ child: new StringField(), required: false }),
      choices: new MultipleChoiceField({ choices: [1, 2, 'x'], required: false }),
      authors: new PrimaryKeyRelatedField({ queryset: Author, many: true, required: false }),
      child: new NestedSerializer(Child, { required: false }),
      json: new JSONField({ required: false }),
      open: new JSONField({ required: false, allowNull: true }),
    }
  }

  it.each([
    [{ n: '7' }, { n: 7 }],
    [{ n: ['1', '7'] }, { n: 7 }],
    [{ flag: ['false', 'true'] }, { flag: true }],
    [{ numbers: '7' }, { numbers: [7] }],
    [{ numbers: ['1', '2'] }, { numbers: [1, 2] }],
    [{ numbers: '[1,2]' }, { numbers: [1, 2] }],
    [{ numbers: '' }, { numbers: [] }],
    [{ words: ['a', '[b'] }, { words: ['a', '[b'] }],
    [{ choices: ['1', 'x', '1'] }, { choices: [1, 'x'] }],
    [{ choices: '2' }, { choices: [2] }],
    [{ authors: ['1', '2'] }, { authors: [1, 2] }],
    [{ authors: '2' }, { authors: [2] }],
    [{ child: { a: ['1', '2'] } }, { child: { a: 2 } }],
    [{ json: '[null]' }, { json: [null] }],
    [{ open: 'null' }, { open: null }],
  ])('[F4] %j is %j', async (inputData, expected) => {
    const serializer = new Everything({ inputData, textual: true })
    expect(await serializer.isValid()).toBe(true)
    expect(serializer.validatedData).toEqual(expected)
  })

  it.each([
    [{ n: 'x' }, 'n'],
    [{ n: [] }, 'n'],
    [{ numbers: ['1', 'x'] }, 'numbers'],
    [{ words: '[1' }, 'words'],
    [{ choices: ['3'] }, 'choices'],
    [{ authors: ['1', 'x'] }, 'authors'],
    [{ authors: ['99'] }, 'authors'],
  ])('[F4] %j is refused', async (inputData, field) => {
    const serializer = new Everything({ inputData, textual: true })
    expect(await serializer.isValid()).toBe(false)
    expect(Object.keys(serializer.errors)).toEqual([field])
  })

  it('[B13] null does not pass a field that refuses it', async () => {
    const serializer = new Everything({ inputData: { json: 'null' }, textual: true })
    expect(await serializer.isValid()).toBe(false)
    expect(serializer.errors).toEqual({ json: ['This field may not be null.'] })
  })

  it('[B13] a file is no JSON', async () => {
    const file = new UploadedFile({ path: '/nowhere', filename: 'a.png', mediaType: 'image/png', size: 5 })
    const serializer = new Everything({ inputData: { json: file }, textual: true })
    expect(await serializer.isValid()).toBe(false)
    expect(serializer.errors).toEqual({ json: ['Must be valid JSON.'] })
  })
})

describe("a parser of the application's", () => {
  const answerOf = async (parse: () => unknown) => {
    class Own {
      readonly mediaTypes = ['text/x-own']
      parse = parse as Parser['parse']
      accept(): never {
        throw new Error('nobody has read the body')
      }
    }
    class Echo extends ViewSet {
      static override parserClasses: Parsers = [new Own()]
      create() {
        return this.body.data
      }
    }
    const client = await serveApp(new APIRouter().register('echo', Echo, 'echo').routes())
    const { status, text } = await client.send('POST', '/echo', 'x', { 'Content-Type': 'text/x-own' })
    return { status, text, reported: client.reported }
  }

  it('need not wait', async () => {
    expect(await answerOf(() => ({ data: [1], textual: false }))).toMatchObject({ status: 200, text: '[1]' })
  })

  it.each([undefined, null, { a: 1 }, 'text', [1]])('is told that it gives no body: %j', async (body) => {
    const message = 'Own returned no body; let parse() and accept() return { data, textual: false }'
    const answer = await answerOf(async () => body)
    expect(answer).toMatchObject({ status: 500, reported: [new ConfigurationError(message)] })
  })

  it('changes no answer where what it has left cannot be removed, which is reported', async () => {
    const error = new Error('read-only')
    const dispose = async () => Promise.reject(error)
    const answer = await answerOf(async () => ({ data: 1, textual: false, dispose }))
    expect(answer).toEqual({ status: 200, text: '1', reported: [error] })
  })
})

describe('an upload', () => {
  const file = multipart(
    { name: 'title', content: 'x' },
    { name: 'f', filename: 'f.bin', content: Buffer.alloc(200_000) },
  )
  let seen: number[] = []

  class Uploads extends ViewSet {
    static override parserClasses = PARSERS
    async create(): Promise<unknown> {
      seen = readdirSync(directory).map(() => 1)
      const { f } = this.body.data as { f?: unknown }
      return { size: f instanceof UploadedFile ? f.size : null }
    }
  }
  class Failing extends Uploads {
    override async create(): Promise<unknown> {
      await super.create()
      throw new Error('bug')
    }
  }
  class Refusing extends Uploads {
    override async create(): Promise<unknown> {
      await super.create()
      this.ctx.status = 400
      return {}
    }
  }
  class Nobody extends BasePermission {
    override hasPermission() {
      return false
    }
  }
  class Never extends BaseThrottle {
    check(): never {
      throw new Throttled(5)
    }
  }
  class Private extends Uploads {
    static override permissionClasses = [Nobody]
  }
  class Busy extends Uploads {
    static override throttleClasses = [Never]
  }
  class Away extends Uploads {
    override getKnex(): never {
      throw Object.assign(new Error('away'), { code: 'ECONNREFUSED' })
    }
  }

  const views = { '/ok': Uploads, '/500': Failing, '/400': Refusing, '/401': Private, '/429': Busy, '/503': Away }
  let server: TestServer
  let arrived = 0

  beforeAll(async () => {
    const app = new Koa().on('error', () => {})
    app.use(async (ctx) => {
      await views[ctx.path as keyof typeof views].asView({ post: 'create' })(ctx)
      arrived = ctx.req.socket.bytesRead
    })
    server = await serve(app)
  })
  afterAll(() => server.close())

  it.each([
    ['/ok', 200, 1],
    ['/500', 500, 1],
    ['/400', 400, 1],
    ['/401', 401, 0],
    ['/429', 429, 0],
    ['/503', 503, 0],
  ])('[F8] leaves nothing behind: %s', async (path, status, files) => {
    seen = []
    expect((await server.send({ method: 'POST', path, headers: MULTIPART, body: file })).status).toBe(status)
    expect(seen).toHaveLength(files)
    await vi.waitFor(() => expect(readdirSync(directory)).toEqual([]))
  })

  it.each(['/401', '/429'])('[F9 R6] is refused before it is read: %s', async (path) => {
    const socket = connect(server.port, '127.0.0.1')
    socket.write(
      `POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Type: ${MULTIPART['Content-Type']}\r\nContent-Length: 9000000\r\n\r\n`,
    )
    let text = ''
    for await (const chunk of socket) {
      text += String(chunk)
      if (text.includes('"status"')) break
    }
    expect(text).toMatch(/^HTTP\/1.1 4(?:01|29) /)
    expect(arrived).toBeLessThan(1000)
    socket.destroy()
  })

  it('[F16] holds no connection while it arrives', async () => {
    const slow = connect(client.port, '127.0.0.1')
    slow.write(
      `POST /api/books HTTP/1.1\r\nHost: x\r\nContent-Type: ${MULTIPART['Content-Type']}\r\nContent-Length: ${file.length}\r\n\r\n`,
    )
    slow.write(file.subarray(0, 100_000))
    await vi.waitFor(() => expect(readdirSync(directory)).toHaveLength(1))
    expect(database.knex.client.pool.numUsed()).toBe(0)
    slow.write(file.subarray(100_000))
    let text = ''
    for await (const chunk of slow) {
      text += String(chunk)
      if (text.includes('"title"')) break
    }
    slow.destroy()
    expect(text).toMatch(/^HTTP\/1.1 201 /)
  })
})
