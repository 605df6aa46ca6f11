/** The OpenAPI document of an API (wire format, section 13): operations, their parameters, bodies, answers and callers. */
import { Model } from 'objection'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createAtlas } from '../../examples/atlas/atlas.js'
import { APIKeyAuthentication } from '../../lib/api-keys/index.js'
import {
  APIRouter,
  ArrayField,
  action,
  BaseAuthentication,
  BasePermission,
  BaseThrottle,
  CacheableMixin,
  type Context,
  CSVRenderer,
  CursorPagination,
  type DeclaredFields,
  FileUploadField,
  HeaderVersioning,
  IsAdminUser,
  IsAuthenticated,
  IsAuthenticatedOrReadOnly,
  JSONParser,
  JSONRenderer,
  LimitOffsetPagination,
  ModelViewSet,
  MultiPartParser,
  NestedSerializer,
  not,
  or,
  PageNumberPagination,
  type Pagination,
  QueryParamVersioning,
  ReadOnlyModelViewSet,
  Serializer,
  type SerializerClass,
  ServerCursorPagination,
  SessionAuthentication,
  StringField,
  Throttled,
  TokenAuthentication,
  URLPathVersioning,
  type Versioning,
  ViewSet,
} from '../../lib/index.js'
import type { OpenAPIDocument, Operation, Parameter } from '../../lib/openapi/types.js'
import { docs } from '../../plugins/index.js'
import { serveApp } from '../support/client.js'
import { countQueries, createDatabase } from '../support/database.js'
import {
  Author,
  AuthorSerializer,
  Book,
  BookSerializer,
  BookViewSet,
  CountrySerializer,
  database,
  describeApi,
  prepared,
  TagSerializer,
  useDescribedBooks,
} from '../support/described-books.js'
import { operationOf } from '../support/operation-of.js'
import { readProjectFile } from '../support/program.js'
import { lint } from '../support/redocly.js'
import { countSteps } from '../support/turns.js'

useDescribedBooks()

describe('the document', () => {
  it('has the conventions of the wire format in its head, its paths and its names', async () => {
    const api = await prepared({ books: BookViewSet })
    const document = api.getSchema({ title: 'Books', version: '2.1.0', description: 'All of them.' })
    expect(document).toMatchObject({
      openapi: '3.1.0',
      info: { title: 'Books', version: '2.1.0', description: 'All of them.' },
      servers: [{ url: '/' }],
      tags: [
        { name: 'api', description: 'The resources of this API.' },
        { name: 'book', description: 'Books to read.' },
      ],
    })
    expect(api.getSchema().info).toEqual({ title: 'API', version: '1.0.0', description: '' })
    const operations = Object.entries(document.paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, { operationId, summary, tags }]) => [
        method,
        path,
        operationId,
        summary,
        tags,
      ]),
    )
    expect(operations).toEqual([
      ['get', '/api', 'api_root', 'Show where each resource is', ['api']],
      ['get', '/api/books', 'book_list', 'List books', ['book']],
      ['post', '/api/books', 'book_create', 'Create a book', ['book']],
      ['get', '/api/books/{id}', 'book_retrieve', 'Show a book', ['book']],
      ['put', '/api/books/{id}', 'book_update', 'Replace a book', ['book']],
      ['patch', '/api/books/{id}', 'book_partial_update', 'Change a book', ['book']],
      ['delete', '/api/books/{id}', 'book_destroy', 'Delete a book', ['book']],
    ])
    expect(Object.keys(document.components.schemas)).toEqual([
      ...['AuthorOutput', 'BookInput', 'BookOutput', 'BookPage', 'BookPatch', 'Error', 'ErrorMessages'],
      'ValidationError',
    ])
  })

  it('has parameters of several operations once, and no second type of an answer', async () => {
    class Written extends BookViewSet {
      static override rendererClasses = [JSONRenderer, CSVRenderer]
    }
    const api = new APIRouter().register('books', BookViewSet).register('written', Written, 'written')
    await api.prepare()
    const { paths, components } = api.getSchema()
    const [list, other] = ['/books', '/written'].map((path) => paths[path]?.['get'] as Operation)
    expect(list?.parameters).toContainEqual({ $ref: '#/components/parameters/price__in' })
    expect(other?.parameters).toEqual(list?.parameters)
    expect(components.parameters['price__in']).toMatchObject({ name: 'price__in', in: 'query', explode: false })
    expect(JSON.stringify(paths).match(/"handling=strict/g)).toBeNull()
    // other formats are what a client asks for by itself
    expect(other?.responses['200']).toMatchObject({ 'x-other-types': ['text/csv'] })
    expect(other?.responses['200']).not.toHaveProperty(['content', 'text/csv'])
  })

  it('of many view sets leaves the event loop to others, as it is prepared and as it is served', async () => {
    const many = new APIRouter()
    for (let number = 0; number < 40; number++) {
      class Numbered extends BookViewSet {}
      many.register(`books-${number}`, Numbered, `book-${number}`)
    }
    const client = await serveApp(docs(many))
    const paths = 2 * 40
    const ofPreparing = countSteps()
    await many.prepare()
    const prepared = ofPreparing()
    expect(prepared.mostOfATurn).toBeLessThan(6)
    // each path is checked, described, and looked through twice for what several have
    expect(prepared.steps).toBeGreaterThan(3 * paths)
    const ofServing = countSteps()
    const { text } = await client.get('/openapi.json')
    const served = ofServing()
    expect(served.mostOfATurn).toBeLessThan(6)
    expect(served.steps).toBeGreaterThan(paths)
    expect(text).toBe(JSON.stringify(many.getSchema()))
  })

  it('is the same, byte for byte, each time, and touches no database', async () => {
    const api = await prepared({ books: BookViewSet })
    const first = JSON.stringify(api.getSchema())
    expect(await countQueries(database.knex, async () => api.getSchema())).toEqual([])
    expect(JSON.stringify((await prepared({ books: BookViewSet })).getSchema())).toBe(first)
  })

  it('takes a licence, a contact and servers', async () => {
    const api = await prepared({ books: BookViewSet })
    const document = api.getSchema({
      summary: 'Books',
      termsOfService: 'https://books.test/terms',
      contact: { name: 'Ada', email: 'ada@books.test' },
      license: { name: 'MIT', identifier: 'MIT' },
      servers: [{ url: 'https://books.test', description: 'The real one.' }],
    })
    expect(document.info).toMatchObject({
      summary: 'Books',
      termsOfService: 'https://books.test/terms',
      contact: { name: 'Ada', email: 'ada@books.test' },
      license: { name: 'MIT', identifier: 'MIT' },
    })
    expect(document.servers).toEqual([{ url: 'https://books.test', description: 'The real one.' }])
  })
})

describe('the parameters of an operation', () => {
  const names = (operation: { readonly parameters?: readonly Parameter[] | undefined }, place = 'query') =>
    (operation.parameters ?? []).filter((parameter) => parameter.in === place).map(({ name }) => name)

  it('are those of the path, with the schema of their hints', async () => {
    const document = await describeApi({ books: BookViewSet })
    for (const method of ['get', 'put', 'patch', 'delete']) {
      expect(operationOf(document, '/api/books/{id}', method).parameters?.[0]).toEqual({
        name: 'id',
        in: 'path',
        required: true,
        description: 'Names the book.',
        schema: { type: 'integer' },
      })
    }
  })

  it("of the API root are those of the router's prefix and of the version", async () => {
    class ByPath extends BookViewSet {
      static override versioningClass: Versioning = new URLPathVersioning({ allowedVersions: ['1'] })
    }
    const byPath = operationOf((await prepared({ books: ByPath }, '/api/{version}')).getSchema(), '/api/{version}')
    expect(byPath.parameters).toMatchObject([{ name: 'version', in: 'path', required: true }])
    expect(Object.keys(byPath.responses)).toEqual(['200', '404', '503'])
    class ByQuery extends BookViewSet {
      static override versioningClass: Versioning = new QueryParamVersioning({
        allowedVersions: ['1', '2'],
        defaultVersion: '1',
      })
    }
    const api = await prepared({ books: ByQuery })
    const byQuery = operationOf(api.getSchema(), '/api')
    expect(byQuery.parameters).toMatchObject([{ name: 'version', in: 'query', schema: { enum: ['1', '2'] } }])
    const client = await serveApp(api.routes())
    expect((await client.get('/api?version=2')).status).toBe(200)
    expect((await client.get('/api?version=7')).status).toBe(404)
    expect(Object.keys(byQuery.responses)).toEqual(['200', '404', '503'])
    const plain = operationOf((await prepared({ books: BookViewSet })).getSchema(), '/api')
    expect(plain.parameters).toBeUndefined()
  })

  it.each([
    [{}, { type: 'string', default: '1.0' }],
    [
      { allowedVersions: ['1', '2'], defaultVersion: '2' },
      { type: 'string', enum: ['1', '2'], default: '2' },
    ],
    [{ allowedVersions: ['1', '2'] }, { type: 'string', enum: ['1', '2'] }],
  ])('have a default version only where it may be asked for: %o', async (options, schema) => {
    class View extends BookViewSet {
      static override versioningClass = new QueryParamVersioning(options)
    }
    const { parameters } = operationOf(await describeApi({ books: View }), '/api/books')
    expect(parameters?.find(({ name }) => name === 'version')?.schema).toEqual(schema)
  })

  it('are those that filters, the paginator and the view read, as they describe them', async () => {
    class View extends BookViewSet {
      static override queryParameters = [{ name: 'mine', description: 'Only mine.', schema: { type: 'boolean' } }]
    }
    const document = await describeApi({ books: View })
    const list = operationOf(document, '/api/books')
    expect(names(list)).toEqual([
      ...['price', 'price__exact', 'price__ne', 'price__iexact', 'price__gt', 'price__gte', 'price__lt', 'price__lte'],
      ...['price__contains', 'price__icontains', 'price__startswith', 'price__istartswith', 'price__endswith'],
      ...['price__iendswith', 'price__in', 'price__nin', 'price__range', 'price__isnull', 'search', 'ordering', 'page'],
      ...['page_size', 'mine', 'fields'],
    ])
    const one = (name: string) => list.parameters?.find((parameter) => parameter.name === name)
    expect(one('price__in')).toEqual({
      name: 'price__in',
      in: 'query',
      description: 'price is one of these values.',
      schema: { type: 'array', items: { type: 'string', format: 'decimal' }, maxItems: 1000 },
      explode: false,
    })
    expect(one('ordering')?.schema).toEqual({
      type: 'array',
      items: { type: 'string', enum: ['price', '-price', 'title', '-title'] },
    })
    expect(one('mine')).toEqual({ name: 'mine', in: 'query', description: 'Only mine.', schema: { type: 'boolean' } })
    expect(names(operationOf(document, '/api/books', 'post'))).toEqual(['fields'])
    expect(names(operationOf(document, '/api/books/{id}'))).toEqual(['fields'])
    expect(names(operationOf(document, '/api/books/{id}', 'delete'))).toEqual([])
  })

  it('say which fields and related objects a client may ask for', async () => {
    class View extends BookViewSet {
      static override expandable = {
        author: AuthorSerializer,
        'author.country': CountrySerializer,
        tags: TagSerializer,
      }
    }
    const document = await describeApi({ books: View })
    const expand = operationOf(document, '/api/books/{id}').parameters?.find(({ name }) => name === 'expand')
    expect(expand).toMatchObject({
      schema: { type: 'array', items: { type: 'string', enum: ['author', 'author.country', 'tags', '*'] } },
      explode: false,
    })
    const { schemas } = document.components
    expect(schemas['BookOutput']?.['properties']).toMatchObject({
      author: { anyOf: [{ $ref: '#/components/schemas/AuthorOutput' }, { type: 'null' }] },
      tags: {
        anyOf: [
          { type: 'array', items: { type: 'integer', format: 'int32' } },
          { type: 'array', items: { $ref: '#/components/schemas/TagOutput' } },
        ],
      },
    })
    expect(schemas['AuthorOutput']).toMatchObject({
      properties: { country: { anyOf: [{ $ref: '#/components/schemas/CountryOutput' }, { type: 'null' }] } },
      required: ['id', 'name', 'country_id'],
    })
  })

  it('leave out what an action of the application does not read', async () => {
    class View extends BookViewSet {
      override async list() {
        return super.list()
      }
    }
    expect(names(operationOf(await describeApi({ books: View }), '/api/books'))).not.toContain('fields')
  })
})

describe('the answers of an operation', () => {
  const statuses = (document: OpenAPIDocument, path: string, method: string) =>
    Object.keys(operationOf(document, path, method).responses)

  it('are those that can happen', async () => {
    const document = await describeApi({ books: BookViewSet })
    expect(statuses(document, '/api/books', 'get')).toEqual(['200', '400', '404', '503'])
    expect(statuses(document, '/api/books', 'post')).toEqual(['201', '400', '413', '415', '503'])
    expect(statuses(document, '/api/books/{id}', 'get')).toEqual(['200', '400', '404', '503'])
    const changed = ['200', '400', '404', '412', '413', '415', '503']
    expect(statuses(document, '/api/books/{id}', 'put')).toEqual(changed)
    expect(statuses(document, '/api/books/{id}', 'delete')).toEqual(['204', '400', '404', '409', '412', '503'])
    expect(operationOf(document, '/api/books', 'post').responses['201']).toEqual({
      description: 'Created.',
      headers: {
        Location: { $ref: '#/components/headers/Location' },
        'Preference-Applied': { $ref: '#/components/headers/Preference-Applied' },
      },
      content: { 'application/json': { schema: { $ref: '#/components/schemas/BookOutput' } } },
    })
    expect(document.components.responses['BadRequest']?.content).toMatchObject({
      'application/json': { schema: { $ref: '#/components/schemas/ValidationError' } },
    })
    expect(document.components.responses['ServiceUnavailable']).toMatchObject({
      headers: { 'Retry-After': { $ref: '#/components/headers/Retry-After' } },
      content: {
        'application/json': {
          schema: { $ref: '#/components/schemas/Error' },
          example: { detail: 'Service temporarily unavailable', status: 503 },
        },
      },
    })
  })

  it.each<[string, Pagination, string, string[], string[]]>([
    ['page numbers', PageNumberPagination, 'BookPage', ['count', 'next', 'previous', 'results'], ['404']],
    ['offsets', LimitOffsetPagination, 'BookPage', ['count', 'next', 'previous', 'results'], []],
    [
      'pages without a count',
      new PageNumberPagination({ count: 'none' }),
      'BookUncountedPage',
      ['count', 'next', 'previous', 'results'],
      ['404'],
    ],
    ['a cursor', CursorPagination, 'BookCursorPage', ['next', 'previous', 'results'], []],
    [
      'a server cursor',
      ServerCursorPagination,
      'BookServerCursorPage',
      ['cursor_id', 'results', 'exhausted'],
      ['404', '409', '429'],
    ],
  ])('wrap %s in their envelope', async (_, paginationClass, name, members, errors) => {
    process.env['SERVICE_SECRET_KEY'] ??= '0123456789abcdef0123456789abcdef'
    class View extends BookViewSet {
      static override paginationClass: Pagination = paginationClass
      static override filterBackends = []
    }
    const document = await describeApi({ books: View })
    const { responses } = operationOf(document, '/api/books')
    expect(responses['200']).toMatchObject({
      content: { 'application/json': { schema: { $ref: `#/components/schemas/${name}` } } },
    })
    const { properties, required } = document.components.schemas[name] as { properties: object; required: string[] }
    expect(Object.keys(properties)).toEqual(members)
    expect(required).toEqual(members)
    expect(Object.keys(responses).filter((status) => /^4(?!00)/.test(status))).toEqual(errors)
  })

  it('are a list without pages, and anything where nobody can say', async () => {
    class Plain extends BookViewSet {
      static override paginationClass = null
    }
    class Status extends ViewSet {
      static override responses = { 418: 'It is a teapot.', 202: 'It will be.' }
      list() {
        return 'ok'
      }
    }
    const api = new APIRouter().register('books', Plain).register('status', Status, 'status')
    await api.prepare()
    const document = api.getSchema()
    expect(operationOf(document, '/books').responses['200']).toMatchObject({
      content: {
        'application/json': { schema: { type: 'array', items: { $ref: '#/components/schemas/BookOutput' } } },
      },
    })
    expect(operationOf(document, '/status').responses).toMatchObject({
      200: { content: { 'application/json': {} } },
      202: { description: 'It will be.' },
      418: {
        description: 'It is a teapot.',
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Error' } } },
      },
    })
  })
})

describe('what a client may keep and must name', () => {
  it('is told by caching and concurrency', async () => {
    class Cached extends CacheableMixin(ModelViewSet<Book>) {
      static override model = Book
      static override serializerClass = BookSerializer

      @action({ methods: ['POST'], detail: true })
      async publish() {
        await this.getObjectToWrite()
      }

      @action({ methods: ['GET'], detail: true })
      async peek() {}

      @action({ methods: ['POST'] })
      async count() {}
    }
    class HeldBook extends Book {
      override $beforeUpdate() {
        Object.assign(this, { created: new Date() })
      }
    }
    class HeldSerializer extends BookSerializer {
      static override model = HeldBook
    }
    class Held extends Cached {
      static override model = HeldBook
      static override serializerClass = HeldSerializer
      static override concurrency = 'created'
      static override requireIfMatch = true
    }
    const api = new APIRouter().register('books', Cached).register('held', Held, 'held')
    await api.prepare()
    const document = api.getSchema()
    for (const path of ['/books', '/books/{id}', '/held', '/held/{id}']) {
      const { responses } = operationOf(document, path)
      expect(responses['304']).toEqual({
        description: 'Not changed since the client read it.',
        headers: {
          'Cache-Control': { $ref: '#/components/headers/Cache-Control' },
          ETag: { $ref: '#/components/headers/ETag' },
          'Preference-Applied': { $ref: '#/components/headers/Preference-Applied' },
        },
      })
      expect(responses['200']).toMatchObject({ headers: { ETag: {}, 'Cache-Control': {} } })
    }
    // an action may read its object by getObjectToWrite(), and then asks what a PATCH asks
    const publish = operationOf(document, '/held/{id}/publish', 'post')
    expect(Object.keys(publish.responses)).toEqual(expect.arrayContaining(['412', '428']))
    expect(publish.parameters?.find(({ name }) => name === 'If-Match')).toMatchObject({ required: false })
    const free = operationOf(document, '/books/{id}/publish', 'post')
    expect(Object.keys(free.responses)).toContain('412')
    expect(Object.keys(free.responses)).not.toContain('428')
    for (const path of ['/held/{id}/peek', '/held/count']) {
      const method = path.endsWith('count') ? 'post' : 'get'
      const { responses } = operationOf(document, path, method)
      expect(Object.keys(responses)).not.toEqual(expect.arrayContaining(['412']))
    }
    const patch = operationOf(document, '/held/{id}', 'patch')
    expect(Object.keys(patch.responses)).toEqual(['200', '400', '404', '412', '413', '415', '428', '503'])
    expect(patch.parameters?.find(({ name }) => name === 'If-Match')).toEqual({
      name: 'If-Match',
      in: 'header',
      description: 'The `ETag` that the object was read with.',
      required: true,
      schema: { type: 'string' },
    })
    expect(patch.responses['200']).toMatchObject({ headers: { ETag: {} } })
    expect(operationOf(document, '/books/{id}', 'patch').parameters?.map(({ name }) => name)).toEqual([
      'id',
      'fields',
      'Prefer',
    ])
  })
})

describe('the body of a request', () => {
  it('is of the types that the view reads, and of those alone that can bring a file where one is needed', async () => {
    class Cover extends Serializer {
      static override declaredFields: DeclaredFields = {
        title: new StringField({ required: false }),
        photo: new FileUploadField(),
      }
    }
    class Note extends Serializer {
      static override declaredFields: DeclaredFields = { attachment: new FileUploadField({ required: false }) }
    }
    class Covers extends BookViewSet {
      static override serializerClass: SerializerClass = Cover
    }
    class Notes extends BookViewSet {
      static override serializerClass: SerializerClass = Note
      static override parserClasses = [JSONParser, MultiPartParser]
    }
    const api = new APIRouter().register('covers', Covers, 'cover').register('notes', Notes, 'note')
    api.register('books', BookViewSet)
    await api.prepare()
    const document = api.getSchema()
    const types = (path: string) => Object.keys(operationOf(document, path, 'post').requestBody?.content ?? {})
    expect(types('/books')).toEqual([
      ...['application/json', 'application/x-www-form-urlencoded', 'multipart/form-data'],
    ])
    expect(types('/covers')).toEqual(['multipart/form-data'])
    expect(types('/notes')).toEqual(['application/json', 'multipart/form-data'])
    // what replaces a file may be the URL that was read, which keeps it
    expect(Object.keys(operationOf(document, '/covers/{id}', 'put').requestBody?.content ?? {})).toEqual(
      types('/books'),
    )
    const { schemas } = document.components
    expect(schemas['CoverInput']).toMatchObject({
      properties: { photo: { type: 'string', format: 'binary', contentMediaType: 'application/octet-stream' } },
    })
    expect(schemas['CoverOutput']).toMatchObject({ properties: { photo: { type: 'string', format: 'uri-reference' } } })
  })

  it('is of JSON without files, in objects, lists and nested objects', async () => {
    class Page extends Serializer {
      static override declaredFields: DeclaredFields = { scan: new FileUploadField({ required: false }) }
    }
    class Paper extends Serializer {
      static override declaredFields: DeclaredFields = {
        title: new StringField(),
        cover: new FileUploadField({ required: false, allowNull: true }),
        sheet: new FileUploadField({ required: false }),
        photos: new ArrayField({ child: new FileUploadField(), required: false }),
        page: new NestedSerializer(Page, { required: false }),
      }
    }
    class Papers extends BookViewSet {
      static override serializerClass: SerializerClass = Paper
    }
    class Files extends ViewSet {
      @action({ methods: ['POST'], inputSerializer: z.object({ name: z.string(), file: z.file().optional() }) })
      async send() {}
    }
    const api = new APIRouter().register('papers', Papers, 'paper').register('files', Files, 'file')
    await api.prepare()
    const document = api.getSchema()
    const bodyOf = (path: string, method: string, mediaType: string) => {
      const { $ref } = operationOf(document, path, method).requestBody?.content[mediaType]?.schema ?? {}
      return document.components.schemas[String($ref).split('/').at(-1) ?? ''] as { properties: object }
    }
    const url = { type: 'string', format: 'uri-reference' }
    const nested = (name: string) => ({ $ref: `#/components/schemas/${name}` })
    const file = { type: 'string', format: 'binary', contentMediaType: 'application/octet-stream' }
    expect(bodyOf('/papers', 'post', 'multipart/form-data').properties).toMatchObject({ sheet: file })
    for (const mediaType of ['application/json', 'application/x-www-form-urlencoded']) {
      expect(bodyOf('/papers', 'post', mediaType)).toEqual({
        type: 'object',
        properties: {
          title: { type: 'string' },
          cover: { type: 'null' },
          photos: { type: 'array', maxItems: 0 },
          page: nested('PageJsonInput'),
        },
        required: ['title'],
      })
    }
    for (const [method, page] of [
      ['put', 'PageJsonUpdate'],
      ['patch', 'PageJsonPatch'],
    ] as const) {
      expect(bodyOf('/papers/{id}', method, 'application/json').properties).toEqual({
        title: { type: 'string' },
        cover: { ...url, type: ['string', 'null'] },
        sheet: url,
        photos: { type: 'array', items: url },
        page: nested(page),
      })
    }
    expect(Object.keys(bodyOf('/files/send', 'post', 'application/json').properties)).toEqual(['name'])
    expect(Object.keys(bodyOf('/files/send', 'post', 'multipart/form-data').properties)).toEqual(['name', 'file'])
  })
})

describe('who may use an operation', () => {
  const Token = new TokenAuthentication({ getUserForToken: (token) => (token === 'secret' ? { id: 1 } : null) })
  const Session = new SessionAuthentication({ getUser: () => null })
  class Silent extends BaseAuthentication {
    authenticate() {
      return null
    }
  }
  class Own extends BasePermission {
    override hasObjectPermission() {
      return true
    }
  }
  class Editor extends BasePermission {
    override hasPermission(ctx: Context) {
      return ctx.state['user'] !== undefined
    }
  }
  class Slow extends BaseThrottle {
    check(ctx: Context) {
      if (ctx.get('X-Busy') !== '') throw new Throttled(3)
    }
  }

  const security = async (statics: object) => {
    const View = Object.assign(class Books extends BookViewSet {}, statics)
    const document = await describeApi({ books: View })
    return (path: string, method = 'get') => operationOf(document, path, method)
  }
  const either = [{ TokenAuth: [] }, { SessionAuth: [] }]

  it('has the schemes that the classes describe', async () => {
    class Books extends BookViewSet {
      static override authenticationClasses = [Token, Session, new APIKeyAuthentication({ getUserForKey: () => null })]
    }
    const { securitySchemes } = (await describeApi({ books: Books })).components
    expect(securitySchemes).toMatchObject({
      ApiKeyAuth: { type: 'apiKey', in: 'header', name: 'X-API-Key' },
      SessionAuth: { type: 'apiKey', in: 'cookie', name: 'koa.sess' },
      TokenAuth: { type: 'apiKey', in: 'header', name: 'Authorization' },
    })
  })

  it('depends on the version, where views tell it', async () => {
    const versions = { '1': { sunset: '2020-01-01', goneAfterSunset: true } }
    class ByQuery extends BookViewSet {
      static override versioningClass = new QueryParamVersioning({
        allowedVersions: ['1', '2'],
        defaultVersion: '2',
        versions,
      })
    }
    class ByHeader extends BookViewSet {
      static override versioningClass = new HeaderVersioning({ allowedVersions: ['1.0'] })
    }
    const api = new APIRouter().register('books', ByQuery).register('others', ByHeader, 'other')
    await api.prepare()
    const document = api.getSchema()
    const create = operationOf(document, '/books', 'post')
    expect(create.parameters?.[0]).toMatchObject({ name: 'version', in: 'query', schema: { type: 'string' } })
    expect(Object.keys(create.responses)).toEqual(['201', '400', '404', '410', '413', '415', '503'])
    expect(Object.keys(operationOf(document, '/others', 'post').responses)).toContain('406')
    const client = await serveApp(api.routes())
    expect((await client.get('/books?version=1')).status).toBe(410)
    expect((await client.get('/books?version=3')).status).toBe(404)
    expect((await client.get('/others', { Accept: 'application/json; version=7' })).status).toBe(406)
  })

  it('is told by its authentication classes as alternatives, and by none of them where anonymous callers pass', async () => {
    const authenticationClasses = [Token, Session, Silent]
    const open = await security({ authenticationClasses })
    expect(open('/api/books').security).toEqual([...either, {}])
    const reading = await security({ authenticationClasses, permissionClasses: [IsAuthenticatedOrReadOnly] })
    expect(reading('/api/books').security).toEqual([...either, {}])
    expect(reading('/api/books', 'post').security).toEqual(either)
    const editing = await security({ authenticationClasses, permissionClasses: [IsAuthenticatedOrReadOnly, Editor] })
    expect(editing('/api/books').security).toEqual(either)
    const both = await security({ authenticationClasses, permissionClasses: [or(IsAdminUser, not(IsAuthenticated))] })
    expect(both('/api/books').security).toEqual([...either, {}])
    const own = await security({ authenticationClasses, permissionClasses: [Own] })
    expect(own('/api/books').security).toEqual([...either, {}])
    expect(own('/api/books/{id}').security).toEqual(either)
  })

  it('is nobody in particular where nothing is asked', async () => {
    expect((await security({}))('/api/books').security).toEqual([])
    expect((await security({ authenticationClasses: [Silent] }))('/api/books').security).toEqual([])
  })

  it('adds the answers of authentication, permissions and throttles', async () => {
    const operation = await security({ authenticationClasses: [Token], throttleClasses: [Slow] })
    expect(Object.keys(operation('/api/books/{id}').responses)).toEqual([
      '200',
      '400',
      '401',
      '403',
      '404',
      '429',
      '503',
    ])
    expect(operation('/api/books/{id}').responses['200']).toMatchObject({
      headers: { RateLimit: {}, 'RateLimit-Policy': {} },
    })
    const guarded = await security({ permissionClasses: [Editor] })
    expect(Object.keys(guarded('/api/books', 'post').responses)).toEqual([
      ...['201', '400', '401', '403', '413', '415', '503'],
    ])
  })

  it('[I23] is one scheme for each name', async () => {
    class Other extends BaseAuthentication {
      override readonly openapi = { name: 'TokenAuth', definition: { type: 'apiKey', in: 'header', name: 'X-Other' } }
      authenticate() {
        return null
      }
    }
    await expect(security({ authenticationClasses: [Token, Other] })).rejects.toThrow(
      /two authentication classes describe themselves as "TokenAuth"/,
    )
  })

  it('[P12] is right in every answer of a guarded, throttled view', async () => {
    class View extends BookViewSet {
      static override authenticationClasses = [Token]
      static override permissionClasses = [Editor]
      static override throttleClasses = [Slow]
      static override expandable = {
        author: AuthorSerializer,
        'author.country': CountrySerializer,
        tags: TagSerializer,
      }
    }
    const api = await prepared({ books: View })
    const { send } = await serveApp(api.routes())
    const known = { Authorization: 'Token secret' }
    const seen: number[] = []
    const ask = async (method: string, path: string, body?: unknown, headers: Record<string, string> = known) => {
      const { status } = await send(method, path, body, headers)
      seen.push(status)
    }
    await database.knex('countries').insert({ code: 'PE' })
    await database.knex('authors').insert({ name: 'Ada', country_id: 1 })
    await database.knex('genres').insert([{ name: 'a' }, { name: 'b' }])
    const whole = {
      ...{ title: 'One', price: '9.5', rating: 4.5, big: '9007199254740993', mood: 'wild', published: '2026-03-28' },
      ...{ marks: [1, null], meta: { a: [1] }, secret: 's', author_id: 1, tags: [2, 1] },
    }
    await ask('POST', '/api/books', whole)
    await ask('POST', '/api/books', { title: 'Two', price: 1 })
    await ask('GET', '/api/books?price__gt=1&search=One&ordering=-price&page_size=1')
    await ask('GET', '/api/books?fields=title&expand=author.country,tags')
    await ask('GET', '/api/books.json?page=2&page_size=1')
    await ask('GET', '/api/books/1?expand=tags')
    await ask('GET', '/api/books/2?fields=author,tags')
    await ask('PUT', '/api/books/2', { title: 'New', price: '2.00' })
    await ask('PATCH', '/api/books/2?expand=author', { author_id: 1, rating: null })
    await ask('DELETE', '/api/books/2')
    expect(seen.splice(0)).toEqual([201, 201, 200, 200, 200, 200, 200, 200, 200, 204])
    await ask('GET', '/api/books', undefined, {})
    await ask('GET', '/api/books', undefined, { Authorization: 'Token wrong' })
    await ask('GET', '/api/books', undefined, { ...known, 'X-Busy': '1' })
    await ask('GET', '/api/books?price=x')
    await ask('GET', '/api/books?page=9')
    await ask('GET', '/api/books/9')
    await ask('POST', '/api/books', { title: 'x', author_id: 99, status: 'no', tags: [7] })
    await ask('POST', '/api/books', [])
    await ask('POST', '/api/books', { title: 'x'.repeat(2 ** 20) })
    await ask('POST', '/api/books', {}, { ...known, 'Content-Type': 'text/plain' })
    await ask('DELETE', '/api/books')
    await ask('OPTIONS', '/api/books')
    await ask('HEAD', '/api/books')
    await ask('HEAD', '/api/books/9')
    expect(seen).toEqual([401, 401, 429, 400, 404, 404, 400, 400, 413, 415, 405, 200, 200, 404])
  })
})

describe('redocly lint', { timeout: 60_000 }, () => {
  const license = { name: 'MIT', identifier: 'MIT' }

  it('finds no fault in the document of the atlas', async () => {
    const cities = await createDatabase({ schema: readProjectFile('examples/atlas/schema.sql') })
    try {
      const { api } = await createAtlas(cities.knex)
      expect(await lint(api.getSchema({ title: 'Atlas', license }))).toEqual([])
      await api.close()
    } finally {
      Model.knex(database.knex)
      await cities.drop()
    }
  })

  it('finds no fault in views with everything, nor in an API without any', async () => {
    class View extends BookViewSet {
      static override expandable = { author: AuthorSerializer, tags: TagSerializer }
    }
    class Reader extends ReadOnlyModelViewSet<Author> {
      static override model = Author
      static override serializerClass = AuthorSerializer
    }
    expect(await lint((await prepared({ books: View, authors: Reader })).getSchema({ license }))).toEqual([])
    expect(await lint((await prepared({}, '')).getSchema({ license }))).toEqual([])
    expect(await lint((await prepared({ books: View }, '/api/{version}')).getSchema({ license }))).toEqual([])
  })

  it('would find a fault', async () => {
    const document = (await prepared({ books: BookViewSet })).getSchema({ license })
    expect(await lint({ ...document, servers: undefined })).toEqual([
      expect.stringMatching(/^error no-empty-servers: Servers must be present/),
    ])
  })
})
