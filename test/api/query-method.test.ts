/** The method QUERY (RFC 10008) on lists: the same answers as GET, by a body. */
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  type ActionMap,
  APIRouter,
  APIView,
  action,
  BasePermission,
  CacheableMixin,
  type Context,
  CSVRenderer,
  CursorPagination,
  configure,
  FieldFilter,
  type Filters,
  GenericViewSet,
  IsAuthenticated,
  JSONRenderer,
  LimitOffsetPagination,
  ModelSerializer,
  ModelViewSet,
  NestedRouter,
  NestedSerializer,
  NestedViewSetMixin,
  OrderingFilter,
  PageNumberPagination,
  type Pagination,
  type Permissions,
  SearchFilter,
  Serializer,
  StringField,
} from '../../lib/index.js'
import { ListAPIView } from '../../lib/views/index.js'
import { contentNegotiation } from '../../plugins/index.js'
import { type Client, serveApp } from '../support/client.js'
import { Author, AuthorSerializer, Book, database, useLibrary } from '../support/library.js'
import { serveRouter, serveViews } from '../support/views.js'

useLibrary()

class Authors extends ModelViewSet<Author> {
  static override model = Author
  static override serializerClass = AuthorSerializer
}

class ShownBook extends ModelSerializer<Book> {
  static override model = Book
  static override fields = ['id', 'title', 'isbn', 'n', 'big', 'price', 'author_id']
}

class WholeBook extends ShownBook {
  static override schemaName = 'WholeBook'
  static override fields = ['id', 'title', 'author']
  static override declaredFields = { author: new NestedSerializer(AuthorSerializer, { readOnly: true }) }
}

class Books extends ModelViewSet<Book> {
  static override model = Book
  static override serializerClass = ShownBook
  static override queryMethod = true
  static override paginationClass: Pagination = new PageNumberPagination({ pageSize: 3 })
  static override filterBackends: Filters = [new FieldFilter({ groupParam: 'where' }), SearchFilter, OrderingFilter]
  static override filtersetFields = ['id', 'title', 'n', 'big', 'price', 'isbn', 'author_id', 'author__name']
  static override searchFields = ['title']
  static override orderingFields = ['n', 'title', 'price']
  static override ordering = ['id']
}

class AllBooks extends Books {
  static override paginationClass: Pagination = null
}

beforeAll(() => configure({ secretKey: '0123456789abcdef0123456789abcdef' }))
beforeEach(async () => {
  const rows = Array.from({ length: 12 }, (_, index) => ({
    title: ['a', 'a b', 'c,d', '"quoted" \\ ü', 'e'][index % 5] + String(index),
    n: index % 4,
    big: String(9_007_199_254_740_993n + BigInt(index)),
    price: index % 3 === 0 ? null : index + 0.5,
    author_id: index % 2 === 0 ? 1 : index % 5 === 0 ? null : 2,
  }))
  await database.knex('books').insert(rows)
})

/** Text and tag of an answer. */
const whole = ({ status, text, headers }: Awaited<ReturnType<Client['get']>>) => ({
  status,
  text,
  type: headers['content-type'],
})

describe('QUERY on a list', () => {
  it.each<[body: object, query: string]>([
    [{}, ''],
    [{ filter: { n: 1 } }, 'n=1'],
    [{ filter: { n__in: [1, 3] }, order: ['-n', 'title'] }, 'n__in=1,3&ordering=-n,title'],
    [{ filter: { n__in: [] } }, 'n__in='],
    [{ filter: { n__gte: '2' }, order: '-price' }, 'n__gte=2&ordering=-price'],
    [{ filter: { price__isnull: true } }, 'price__isnull=true'],
    [{ filter: { price: 1.5 } }, 'price=1.5'],
    [{ filter: { title: 'c,d2' } }, 'title=c%2Cd2'],
    [{ filter: { title__contains: '"quoted" \\ ü' } }, 'title__contains=%22quoted%22%20%5C%20%C3%BC'],
    [{ filter: { author__name: 'Ada', n: 2 } }, 'author__name=Ada&n=2'],
    [{ filter: 'or(n=1,n=2)' }, 'where=or(n=1,n=2)'],
    [{ filter: { or: [{ n: 1 }, { n: 2 }] } }, 'where=or(n=1,n=2)'],
    [
      { filter: { n__lt: 3, not: { or: [{ n: 1 }, { title__contains: 'a' }] } } },
      'n__lt=3&where=not(or(n=1,title__contains=a))',
    ],
    [
      { filter: { and: [{ n: 1, price__isnull: false }, { not: { title: 'c,d2' } }] } },
      'where=and(and(n=1,price__isnull=false),not(title="c,d2"))',
    ],
    [
      { filter: { or: [{ title__in: ['c9', 'e4'] }, { title: 'say "x" \\' }] } },
      'where=or(title__in="c9,e4",title="say \\"x\\" \\\\")',
    ],
    [{ search: 'a b' }, 'search=a%20b'],
    [{ fields: ['id', 'title'] }, 'fields=id,title'],
    [{ fields: 'title' }, 'fields=title'],
  ])('answers %j as GET ?%s', async (body, query) => {
    const { get, send } = await serveViews({ books: AllBooks })
    const url = `/books?${query}`.replace(/[\s"\\]/g, encodeURIComponent)
    const expected = await get(url)
    expect(expected.status).toBe(200)
    const answer = await send('QUERY', '/books', body)
    expect(whole(answer)).toEqual(whole(expected))
  })

  it('keeps all digits of numbers', async () => {
    const { port } = await serveViews({ books: AllBooks })
    const response = await fetch(`http://127.0.0.1:${port}/books`, {
      method: 'QUERY',
      headers: { 'Content-Type': 'application/json' },
      body: '{"filter":{"big":9007199254740995}}',
    })
    expect(await response.json()).toMatchObject([{ id: 3, big: '9007199254740995' }])
  })

  it('writes native JSON and CSV as GET does', async () => {
    class Native extends AllBooks {
      static override useNativeJson = true
      static override rendererClasses = [JSONRenderer, CSVRenderer]
    }
    const { get, send } = await serveViews({ books: Native })
    const asCsv = { Accept: 'text/csv' }
    expect(whole(await send('QUERY', '/books', { filter: { n: 1 } }))).toEqual(whole(await get('/books?n=1')))
    expect(whole(await send('QUERY', '/books', { filter: { n: 1 } }, asCsv))).toEqual(
      whole(await get('/books?n=1', asCsv)),
    )
    expect(whole(await send('QUERY', '/books.csv', {}))).toEqual(whole(await get('/books.csv')))
  })

  it('shows related objects that are asked for', async () => {
    class WithAuthor extends AllBooks {
      static override serializerClass = WholeBook
    }
    const { get, send } = await serveViews({ books: WithAuthor })
    expect(whole(await send('QUERY', '/books', { fields: ['author'] }))).toEqual(
      whole(await get('/books?fields=author')),
    )
  })

  it('is there below a parent, for its objects only', async () => {
    const api = new APIRouter()
    class AuthorsBooks extends NestedViewSetMixin(AllBooks) {
      static override parentLookupField = 'author_id'
    }
    api.register('authors', Authors)
    new NestedRouter(api, 'authors', { lookup: 'author_id' }).register('books', AuthorsBooks)
    const { get, send } = await serveRouter(api)
    expect(whole(await send('QUERY', '/authors/2/books', { filter: { n__gt: 0 } }))).toEqual(
      whole(await get('/authors/2/books?n__gt=0')),
    )
    expect((await send('QUERY', '/authors/9/books', {})).status).toBe(404)
  })

  it('is there for generic views on routes of your own', async () => {
    class List extends ListAPIView<Book> {
      static override model = Book
      static override serializerClass = ShownBook
      static override queryMethod = true
      static override filterBackends = [FieldFilter]
      static override filtersetFields = ['n']
    }
    const { send } = await serveApp(List.asView() as never)
    const { status, json } = await send('QUERY', '/whatever', { filter: { n: 3 } })
    expect([status, json.length]).toEqual([200, 3])
  })

  it('is read for a list of your own, which may have neither serializer nor model', async () => {
    class Bare extends GenericViewSet {
      static override queryMethod = true
      static override queryParameters = [{ name: 'word', description: 'Mine.', schema: { type: 'string' } }]
      override getKnex() {
        return undefined
      }
      list() {
        return [this.queryParams['word']]
      }
    }
    class Modelled extends Bare {
      static override model = Book
    }
    for (const view of [Bare, Modelled]) {
      const { send, reported } = await serveApp(view.asView({ get: 'list' }) as never)
      const answer = await send('QUERY', '/', { word: 'a,b' })
      expect([view.name, answer.json, reported]).toEqual([view.name, ['a,b'], []])
      expect((await send('QUERY', '/', { fields: ['id'] })).json.errors).toEqual({
        fields: ['Unknown member. Use word.'],
      })
    }
  })

  it('is a body like any other for a view that is not generic, whatever its method is called', async () => {
    class Own extends APIView {
      list() {
        return this.body.data
      }
    }
    const { send } = await serveApp(Own.asView({ query: 'list' }) as never)
    const { json, headers } = await send('QUERY', '/', { anything: [1] })
    expect(json).toEqual({ anything: [1] })
    expect(headers['accept-query']).toBe('application/json, application/x-www-form-urlencoded, multipart/form-data')
  })

  it('has its body read by contentNegotiation() on any route', async () => {
    const { send } = await serveApp(contentNegotiation(), (ctx) => {
      ctx.body = (ctx.request as { body?: unknown }).body
    })
    expect((await send('QUERY', '/', { a: 1 })).json).toEqual({ a: 1 })
    expect((await send('QUERY', '/', undefined, { 'Content-Type': 'text/plain', 'Content-Length': '0' })).status).toBe(
      200,
    )
  })

  it('asks code of the application by queryParams', async () => {
    class Own extends AllBooks {
      static override queryParameters = [{ name: 'least', description: 'n at least', schema: { type: 'integer' } }]
      override getQueryset() {
        return super.getQueryset().where('n', '>=', Number(this.queryParams['least'] ?? 0))
      }
    }
    const { get, send } = await serveViews({ books: Own })
    expect(whole(await send('QUERY', '/books', { least: 3 }))).toEqual(whole(await get('/books?least=3')))
  })
})

describe('pages of a QUERY', () => {
  const paginators: [string, Pagination][] = [
    ['page numbers', new PageNumberPagination({ pageSize: 3 })],
    ['limit and offset', new LimitOffsetPagination({ defaultLimit: 3 })],
    ['cursors', new CursorPagination({ pageSize: 3 })],
  ]
  it.each(paginators)('by %s: the same body to each link reads all rows once', async (_name, paginationClass) => {
    class Paged extends Books {
      static override paginationClass = paginationClass
    }
    const { send, get } = await serveViews({ books: Paged })
    const body = { filter: { or: [{ n__gt: 0 }, { title__contains: 'zzz' }] }, fields: ['id'] }
    const seen: number[] = []
    let link: string | null = '/books'
    while (link !== null) {
      const { status, json } = await send('QUERY', link, body)
      expect(status).toBe(200)
      seen.push(...json.results.map(({ id }: { id: number }) => id))
      link = json.next
      expect(link ?? '/books').not.toContain('where')
    }
    expect(seen.toSorted((one, other) => one - other)).toEqual([2, 3, 4, 6, 7, 8, 10, 11, 12])
    await get('/books')
  })

  it('may stand in the body, too, and the link has the last word', async () => {
    const { send } = await serveViews({ books: Books })
    const ids = async (path: string, body: object) =>
      (await send('QUERY', path, body)).json.results.map(({ id }: { id: number }) => id)
    expect(await ids('/books', { page: 2, page_size: 2 })).toEqual([3, 4])
    expect(await ids('/books?page=3', { page: 2, page_size: 2 })).toEqual([5, 6])
  })

  it('has cursors that hold for their filters only: with others it is the first page', async () => {
    class Paged extends Books {
      static override paginationClass = new CursorPagination({ pageSize: 3 })
    }
    const { send } = await serveViews({ books: Paged })
    const { json } = await send('QUERY', '/books', { filter: { n__gt: 0 } })
    const others = { filter: { n__gt: 1 } }
    expect((await send('QUERY', json.next, others)).text).toBe((await send('QUERY', '/books', others)).text)
    expect((await send('QUERY', json.next, { filter: { n__gt: 0 } })).status).toBe(200)
    const cursor = new URL(json.next, 'http://a').searchParams.get('cursor')
    expect((await send('QUERY', '/books', { filter: { n__gt: 0 }, cursor })).text).toBe(
      (await send('QUERY', json.next, { filter: { n__gt: 0 } })).text,
    )
  })
})

describe('what a QUERY is refused for', () => {
  it.each<[body: unknown, errors: object | undefined]>([
    [[], undefined],
    ['n=1', undefined],
    [null, undefined],
    [{ filters: {} }, { filters: ['Unknown member; did you mean "filter"?'] }],
    [{ elephants: {} }, { elephants: [expect.stringMatching(/^Unknown member\. Use filter, search, order, page/)] }],
    [{ ordering: ['n'] }, { ordering: [expect.stringMatching(/^Unknown member/)] }],
    [{ n: 1 }, { n: [expect.stringMatching(/^Unknown member/)] }],
    [{ 'a b': 1 }, { non_field_errors: [expect.any(String)] }],
    [{ filter: { nope: 1 } }, { nope: [expect.stringMatching(/^Unknown filter\. Use id, title, n/)] }],
    [{ filter: { search: 'a' } }, { search: [expect.stringMatching(/^Unknown filter/)] }],
    [{ filter: { n: null } }, { n: ['Ask for what has no value by a lookup: isnull.'] }],
    [{ filter: { n: {} } }, { n: ['Give a text, a number, true, false, or a list of them.'] }],
    [{ filter: { n__in: [[1]] } }, { n__in: [expect.any(String)] }],
    [{ filter: { title__in: ['a,b'] } }, { title__in: ['No item of a list may be empty or hold a comma.'] }],
    [{ filter: { title__in: [''] } }, { title__in: [expect.any(String)] }],
    [{ filter: { title: '\ud800' } }, { title: [expect.any(String)] }],
    [{ filter: { n: 'x' } }, { n: [expect.any(String)] }],
    [{ filter: { n: 1e300 } }, { n: [expect.any(String)] }],
    [{ filter: [] }, { filter: ['Give an object, or a text of conditions.'] }],
    [{ filter: 7 }, { filter: [expect.any(String)] }],
    [{ filter: 'or(' }, { where: [expect.stringMatching(/^Character 4: /)] }],
    [{ filter: { or: {} } }, { where: ['At /or: Give a list of objects with conditions.'] }],
    [{ filter: { or: [] } }, { where: ['At /or: Give a list of objects with conditions.'] }],
    [{ filter: { or: [{}] } }, { where: ['At /or/0: Give at least one condition.'] }],
    [{ filter: { not: 1 } }, { where: ['At /not: Give an object with conditions.'] }],
    [{ filter: { or: [{ n: null }] } }, { where: ['At /or/0/n: Ask for what has no value by a lookup: isnull.'] }],
    [{ filter: { or: [{ 'n=1,id': 2 }] } }, { where: ['At /or/0/n=1,id: Unknown field.'] }],
    [{ filter: { or: [{ nope: 1 }] } }, { where: [expect.stringMatching(/^At \/or\/0\/nope: Unknown field/)] }],
    [
      { filter: { or: [{ title: 'ü"', n: 1 }, { not: { n: 'x', id: 'y' } }] } },
      { where: ['At /or/1/not/n: A valid integer is required.', 'At /or/1/not/id: A valid integer is required.'] },
    ],
    [
      { filter: { not: { not: { not: { not: { not: { not: { n: 1 } } } } } } } },
      { where: ['At /not/not/not/not/not/not: Give at most 5 groups in each other.'] },
    ],
    [{ filter: { or: [{ title: 'x'.repeat(9000) }] } }, { where: ['Give at most 8192 characters.'] }],
    [{ fields: [1, {}] }, { fields: [expect.any(String)] }],
    [{ page: 0 }, undefined],
    [{ cursor: 'x' }, { cursor: [expect.stringMatching(/^Unknown member/)] }],
    [{ constructor: 1 }, { constructor: [expect.stringMatching(/^Unknown member/)] }],
    [{ filter: { toString: 1 } }, { toString: [expect.stringMatching(/^Unknown filter/)] }],
  ])('%j', async (body, errors) => {
    const { send } = await serveViews({ books: Books })
    const { status, json } = await send('QUERY', '/books', body)
    expect([400, 404]).toContain(status)
    if (errors) expect({ ...json.errors }).toEqual({ ...errors })
  })

  it('a parameter in the body and in the URL', async () => {
    const { send } = await serveViews({ books: Books })
    const { status, json } = await send('QUERY', '/books?n=1', { filter: { n: 2 } })
    expect([status, json.errors]).toEqual([400, { n: ['Give it in the body or in the URL, not in both.'] }])
    expect((await send('QUERY', '/books?n=1', { filter: { title__contains: 'a' } })).status).toBe(200)
  })

  it('a body that is no JSON, does not say so, is too deep, or is missing', async () => {
    const { port } = await serveViews({ books: Books })
    const send = async (type: string | undefined, body: string | undefined) => {
      const headers: Record<string, string> = type === undefined ? {} : { 'Content-Type': type }
      const payload = body === undefined ? null : new TextEncoder().encode(body)
      const response = await fetch(`http://127.0.0.1:${port}/books`, { method: 'QUERY', headers, body: payload })
      return [response.status, response.headers.get('accept-query')]
    }
    const accepted = 'application/json'
    expect(await send('application/x-www-form-urlencoded', 'n=1')).toEqual([415, accepted])
    expect(await send(undefined, '{}')).toEqual([415, accepted])
    expect(await send(undefined, undefined)).toEqual([400, accepted])
    expect(await send('application/json', '{')).toEqual([400, accepted])
    expect(await send('application/json', '{"__proto__":{"n":1}}')).toEqual([400, accepted])
    expect(await send('application/json', `{"filter":${'{"not":'.repeat(80)}1${'}'.repeat(80)}}`)).toEqual([
      400,
      accepted,
    ])
    const deep = `{"filter":${'{"not":'.repeat(8)}{"n":1}${'}'.repeat(8)}}`
    expect(await send('application/json', deep)).toEqual([400, accepted])
    expect(await send('application/json', '{"filter":{"n":1}}')).toEqual([200, accepted])
  })

  it('a path whose view set does not say so, as before', async () => {
    class Plain extends Books {
      static override queryMethod = false
    }
    const { send, get } = await serveViews({ books: Plain })
    const { status, headers } = await send('QUERY', '/books', {})
    expect([status, headers['allow']]).toEqual([405, 'GET, POST, HEAD, OPTIONS'])
    expect((await get('/books')).headers).not.toHaveProperty('accept-query')
  })

  it('an object, which has a path', async () => {
    const { send } = await serveViews({ books: Books })
    expect((await send('QUERY', '/books/1', {})).status).toBe(405)
  })

  it('groups where no filter takes them', async () => {
    class Plain extends AllBooks {
      static override filterBackends: Filters = [FieldFilter]
    }
    const { send } = await serveViews({ books: Plain })
    expect((await send('QUERY', '/books', { filter: { or: [{ n: 1 }] } })).json.errors).toEqual({
      or: [expect.stringMatching(/^Unknown filter/)],
    })
    expect((await send('QUERY', '/books', { filter: 'n=1' })).json.errors).toEqual({ filter: ['Give an object.'] })
  })
})

describe('QUERY as HTTP has it', () => {
  it('is named by Allow, Accept-Query and OPTIONS', async () => {
    const { send, get } = await serveViews({ books: Books })
    const described = await send('OPTIONS', '/books')
    expect(described.headers).toMatchObject({
      allow: 'GET, QUERY, POST, HEAD, OPTIONS',
      'accept-query': 'application/json',
    })
    expect(described.json.allowed_methods).toEqual(['get', 'query', 'post', 'head', 'options'])
    expect(Object.keys(described.json.actions.fields)).toContain('title')
    expect((await get('/books')).headers['accept-query']).toBe('application/json')
  })

  it('is answered 304 to who has the answer', async () => {
    class Cached extends CacheableMixin(AllBooks) {}
    const { send, get } = await serveViews({ books: Cached })
    const first = await send('QUERY', '/books', { filter: { n: 1 } })
    const { etag = '' } = first.headers
    expect(etag).toBe((await get('/books?n=1')).headers.etag)
    const known = { 'If-None-Match': etag }
    expect((await send('QUERY', '/books', { filter: { n: 1 } }, known)).status).toBe(304)
    expect((await send('QUERY', '/books', { filter: { n: 2 } }, known)).status).toBe(200)
  })

  it('is one that reads: permissions are asked of the action list', async () => {
    const asked: string[] = []
    class Watching extends BasePermission {
      override hasPermission({ method }: Context, view: { readonly action?: string }) {
        asked.push(`${method} ${view.action}`)
        return true
      }
    }
    class Guarded extends Books {
      static override permissionClasses: Permissions = [Watching]
    }
    const { send } = await serveViews({ books: Guarded })
    expect((await send('QUERY', '/books', {})).status).toBe(200)
    expect(asked).toEqual(['QUERY list'])
    class Closed extends Books {
      static override permissionClasses: Permissions = [IsAuthenticated]
    }
    const closed = await serveViews({ books: Closed })
    expect((await closed.send('QUERY', '/books', {})).status).toBe(401)
  })

  it('may be an action of your own, with input', async () => {
    class Near extends Serializer {
      static override declaredFields = { place: new StringField() }
    }
    class Found extends Books {
      static override queryMethod = false
      async near({ place }: { place: string }) {
        return { place }
      }
    }
    action({ methods: ['QUERY'], inputSerializer: Near as never })(Found.prototype.near as never)
    const { send } = await serveViews({ books: Found })
    expect((await send('QUERY', '/books/near', { place: 'x' })).json).toEqual({ place: 'x' })
    const { status, json } = await send('QUERY', '/books/near', {})
    expect([status, json.errors]).toEqual([400, { place: [expect.any(String)] }])
  })

  it('is described without the condition of a write, since no action reads an object to write by it', async () => {
    class Found extends Books {
      static override queryMethod = false
      async peek() {
        return {}
      }
      async push() {
        return {}
      }
    }
    action({ methods: ['QUERY'], detail: true })(Found.prototype.peek as never)
    action({ methods: ['POST'], detail: true })(Found.prototype.push as never)
    const api = new APIRouter().register('books', Found)
    await api.prepare()
    const { paths } = api.getSchema({ openapi: '3.2' })
    const statuses = (path: string, method: string) =>
      Object.keys((paths[path] as Record<string, { responses: object }>)[method]?.responses ?? {})
    expect(statuses('/books/{id}/push', 'post')).toContain('412')
    expect(statuses('/books/{id}/peek', 'query')).not.toContain('412')
  })

  it('does not make an endpoint of a method that is called query', async () => {
    class Helper extends APIView {
      get() {
        return this.query()
      }
      query() {
        return { secret: 1 }
      }
    }
    const { send } = await serveApp(Helper.asView() as never)
    expect((await send('QUERY', '/')).status).toBe(405)
    const declared: ActionMap = { query: 'query' }
    const own = await serveApp(Helper.asView(declared) as never)
    expect((await own.send('QUERY', '/', {})).json).toEqual({ secret: 1 })
  })

  it('is described by OpenAPI 3.2, and left out of 3.1', async () => {
    const api = new APIRouter()
    api.register('books', Books)
    await api.prepare()
    expect(api.getSchema().openapi).toBe('3.1.0')
    expect(api.getSchema().paths['/books']).not.toHaveProperty('query')
    const document = api.getSchema({ openapi: '3.2' })
    expect(document.openapi).toBe('3.2.0')
    expect(() => api.getSchema({ openapi: '3.0' as never })).toThrow(/there is no openapi "3\.0"; take 3\.1 or 3\.2/)
    const { query, get } = document.paths['/books'] as Record<string, { operationId: string }>
    expect(query).toMatchObject({
      operationId: 'book_list_query',
      requestBody: {
        required: true,
        content: { 'application/json': { schema: { type: 'object', additionalProperties: false } } },
      },
    })
    expect(get?.operationId).toBe('book_list')
    const { properties } = (
      query as never as { requestBody: { content: Record<string, { schema: { properties: object } }> } }
    ).requestBody.content['application/json']?.schema ?? { properties: {} }
    expect(Object.keys(properties)).toEqual(['filter', 'search', 'order', 'page', 'page_size', 'fields'])
  })

  it('is explained beside GET', async () => {
    const api = new APIRouter()
    api.register('books', Books)
    await api.prepare()
    const explained = await api.explain('book-list')
    expect(explained.map(({ method }) => method)).toEqual(['QUERY', 'GET'])
  })

  it('leaves nothing of one request to the next', async () => {
    const { send, get } = await serveViews({ books: Books })
    const before = await get('/books')
    await send('QUERY', '/books', { filter: { n: 1 } })
    expect((await get('/books')).text).toBe(before.text)
  })
})
