/** What a view set chooses: which of its actions it answers, which unknown names it refuses, and what it takes and shows. */
import {
  APIRouter,
  bulkModelViewSet,
  ConfigurationError,
  FieldFilter,
  GenericAPIView,
  IntegerField,
  LimitOffsetPagination,
  listAction,
  type ModelViewSet,
  modelSerializer,
  modelViewSet,
  NestedSerializer,
  OrderingFilter,
  objectAction,
  SearchFilter,
} from 'koa-viewsets'
import { createClient } from 'koa-viewsets/client'
import { JsonPatchParser, MergePatchParser } from 'koa-viewsets/patches'
import { describe, expect, it } from 'vitest'
import { serveApp } from '../support/client.js'
import { Author, database, Book as LibraryBook, useLibrary } from '../support/library.js'
import { serializerOf } from '../support/views.js'

class Book extends LibraryBook {
  declare pages: number | null
}
class AuthorSerializer extends modelSerializer(Author, {
  fields: ['id', 'name'],
}) {}
class BookSerializer extends modelSerializer(Book, {
  fields: ['id', 'title', 'pages', 'author_id'],
}) {}
class BookOutput extends modelSerializer(Book, {
  fields: ['id', 'title'],
  declaredFields: {
    author: new NestedSerializer(AuthorSerializer, { readOnly: true }),
  },
}) {}
class BookInput extends modelSerializer(Book, {
  fields: ['title', 'pages', 'author_id'],
}) {}

useLibrary({
  sql: 'alter table books add pages int; alter table authors add unique (name)',
  rows: `insert into books (title, author_id) values ('a', 1), ('b', 2)`,
})

async function serve(...views: (readonly [string, Parameters<APIRouter['register']>[1]])[]) {
  const api = new APIRouter()
  for (const [path, view] of views) api.register(path, view, path)
  await api.prepare()
  return { api, client: await serveApp(api.routes()) }
}

describe('an action that a view set leaves out', () => {
  it('is 405, and neither the document nor OPTIONS has it, while the others stay', async () => {
    class Patched extends bulkModelViewSet(Book, {
      serializerClass: BookSerializer,
      withoutActions: ['update'],
    }) {}
    class Listed extends modelViewSet(Book, {
      serializerClass: BookSerializer,
      withoutActions: ['retrieve', 'update', 'partialUpdate', 'destroy'],
    }) {}
    const { api, client } = await serve(['patched', Patched], ['listed', Listed])
    const put = await client.send('PUT', '/patched/1', { title: 'c' })
    expect(put).toMatchObject({
      status: 405,
      headers: { allow: 'GET, PATCH, DELETE, HEAD, OPTIONS' },
    })
    expect((await client.send('PATCH', '/patched/1', { title: 'c' })).json.title).toBe('c')
    expect((await client.send('OPTIONS', '/patched/1')).json.allowed_methods).not.toContain('put')
    const { paths } = api.getSchema()
    expect(Object.keys(paths['/patched/{id}'] ?? {}).sort()).toEqual(['delete', 'get', 'patch'])
    expect(Object.keys(paths)).not.toContain('/listed/{id}')
    expect((await client.get('/listed/1')).status).toBe(404)
    const made = await client.send('POST', '/listed', { title: 'd' })
    expect(made.status).toBe(201)
    expect(made.headers).not.toHaveProperty('location')
  })

  it('is each of them by itself', async () => {
    const names = [
      'list',
      'create',
      'retrieve',
      'update',
      'partialUpdate',
      'destroy',
      'bulkCreate',
      'bulkUpdate',
      'bulkDestroy',
    ] as const
    const views = names.map((name) => {
      const view = class extends bulkModelViewSet(Book, {
        serializerClass: BookSerializer,
        withoutActions: [name],
      }) {}
      return [name.toLowerCase(), view] as const
    })
    const { client } = await serve(...views)
    const requests = [
      ['GET', ''],
      ['POST', ''],
      ['GET', '/1'],
      ['PUT', '/1'],
      ['PATCH', '/1'],
      ['DELETE', '/1'],
      ['POST', '/bulk'],
      ['PATCH', '/bulk'],
      ['DELETE', '/bulk'],
    ] as const
    for (const [index, [path]] of views.entries()) {
      const statuses: boolean[] = []
      for (const [method, end] of requests) {
        const body = method === 'GET' ? undefined : end === '/bulk' ? [] : {}
        statuses.push((await client.send(method, `/${path}${end}`, body)).status === 405)
        await database.knex.raw(`insert into books values (1, 'a') on conflict do nothing`)
      }
      expect(statuses).toEqual(names.map((_, at) => at === index))
    }
  })

  it.each([
    ['the class', (view: typeof ModelViewSet) => Object.assign(view.prototype, { update: undefined })],
    ['its instances', () => undefined],
  ])('may be taken away from %s, and PATCH stays', async (where, take) => {
    class Taken extends modelViewSet(Book, {
      serializerClass: BookSerializer,
    }) {}
    take(Taken as never)
    class Field extends Taken {
      override update = undefined as never
    }
    const { client } = await serve(['books', where === 'the class' ? Taken : Field])
    expect((await client.send('PUT', '/books/1', { title: 'c' })).status).toBe(405)
    expect((await client.send('PATCH', '/books/1', { title: 'c' })).json).toMatchObject({ id: 1, title: 'c' })
  })

  it('is one that comes with the package', () => {
    class Wrong extends modelViewSet(Book, {
      serializerClass: BookSerializer,
      withoutActions: ['put' as 'update'],
    }) {}
    expect(() => new APIRouter().register('books', Wrong, 'books')).toThrow(ConfigurationError)
    expect(() => new APIRouter().register('books', Wrong, 'books')).toThrow('Wrong: withoutActions names "put"')
  })
})

describe('the dialect of queries, queryDialect', () => {
  const statics = {
    serializerClass: BookSerializer,
    filterBackends: [new FieldFilter({ groupParam: 'where' }), SearchFilter, OrderingFilter],
    filtersetFields: ['id', 'title', 'pages', 'author__name'],
    searchFields: ['title'],
    orderingFields: ['id', 'title', 'author__name'],
    paginationClass: new LimitOffsetPagination({ countHeader: 'X-Total-Count' }),
    strictParams: true,
  } as const
  class SimpleViewSet extends modelViewSet(Book, { ...statics, queryDialect: 'simple-rest' }) {}
  class ServerViewSet extends modelViewSet(Book, { ...statics, queryDialect: 'json-server', queryMethod: true }) {}
  const served = async () => {
    const api = new APIRouter().register('simple', SimpleViewSet, 'simple').register('server', ServerViewSet, 'server')
    await api.prepare()
    return { api, client: await serveApp(api.routes()) }
  }

  it.each([
    ['simple', 'sort=["title","DESC"]&range=[1,2]&filter={}', 'ordering=-title&limit=2&offset=1'],
    [
      'simple',
      'filter={"author":{"name":"Ada"},"pages__gte":2}&sort=["author.name","ASC"]',
      'author__name=Ada&pages__gte=2&ordering=author__name',
    ],
    ['simple', 'filter={"q":"c"}', 'search=c'],
    ['server', '_start=1&_end=3&_sort=title&_order=desc', 'ordering=-title&limit=2&offset=1'],
    ['server', 'pages=1&pages=3&pages_gte=2', 'pages__in=1,3&pages__gte=2'],
    ['server', 'title_like=C&author.name=Ada', 'title__icontains=C&author__name=Ada'],
  ])('of %s, %s, is %s', async (path, asked, own) => {
    await database
      .knex('books')
      .insert(['a', 'b', 'c', 'd'].map((title, index) => ({ title, pages: index, author_id: 1 })))
    const { client } = await served()
    const [found, expected] = [await client.get(`/${path}?${encodeURI(asked)}`), await client.get(`/${path}?${own}`)]
    expect([found.status, found.text, found.headers['x-total-count']]).toEqual([
      200,
      expected.text,
      expected.headers['x-total-count'],
    ])
    expect(found.json.length).toBeGreaterThan(0)
    const next = /<([^>]*)>; rel="next"/.exec(String(found.headers['link'] ?? ''))?.[1]
    if (next) expect((await client.get(next)).json).not.toEqual(found.json)
  })

  it('is told by the document and explain(), heard by HEAD, and no part of a body of QUERY', async () => {
    const { api, client } = await served()
    const names = (path: string) =>
      api
        .getSchema()
        .paths[path]?.get?.parameters?.map((one) => ('name' in one ? one.name : one.$ref.split('/').at(-1)))
    expect(names('/simple')).toEqual(expect.arrayContaining(['sort', 'range', 'filter', 'limit', 'offset']))
    expect((await api.explain('server-list'))[0]?.parameters).toEqual(
      expect.arrayContaining(['_start', '_end', '_sort', '_order']),
    )
    expect((await client.send('HEAD', '/simple?range=[0,0]')).headers['x-total-count']).toBeDefined()
    expect((await client.send('QUERY', '/server', { order: '-title', limit: 1 })).status).toBe(200)
    expect((await client.send('QUERY', '/server', { _sort: 'title' })).status).toBe(400)
    expect((await client.get('/simple?sort=title')).json.errors).toEqual({ sort: ['Invalid value.'] })
    expect((await client.get('/simple?filter={"nothing":1}')).json.errors).toHaveProperty('nothing')
  })

  it.each([
    [{ queryDialect: 'odata' as never }, 'queryDialect is "odata"; give one of simple-rest, json-server'],
    [{ paginationClass: LimitOffsetPagination }, 'queryDialect asks for slices of bare lists'],
    [{ paginationClass: null }, 'queryDialect asks for slices of bare lists'],
    [{ filterBackends: [new FieldFilter({ groupParam: 'filter' })] }, 'queryDialect reads the parameter "filter"'],
  ])('is refused where it cannot be: %j', async (own, message) => {
    class Wrong extends SimpleViewSet {}
    Object.assign(Wrong, own)
    await expect(new APIRouter().register('wrong', Wrong).prepare()).rejects.toThrow(message)
  })
})

describe('a PUT of a part, partialPut', () => {
  class PartViewSet extends modelViewSet(Book, { serializerClass: BookSerializer, partialPut: true }) {}
  class InputViewSet extends modelViewSet(Book, {
    serializerClass: BookOutput,
    inputSerializerClass: BookInput,
    partialPut: true,
  }) {}
  class WholeViewSet extends PartViewSet {
    override update() {
      return super.update({ partial: false })
    }
  }
  class PatchViewSet extends modelViewSet(Book, { serializerClass: BookSerializer, withoutActions: ['update'] }) {}

  it('is what PATCH is, and POST asks for the whole', async () => {
    const api = new APIRouter().register('part', PartViewSet, 'part').register('input', InputViewSet, 'input')
    await api.prepare()
    const client = await serveApp(api.routes())
    const made = await client.send('POST', '/part', { title: 'a', pages: 3, author_id: 1 })
    const { id } = made.json
    for (const path of ['part', 'input']) {
      for (const body of [
        {},
        { pages: 4 },
        { author_id: 2 },
        { title: '' },
        { title: 'b', nothing: 1 },
        { author_id: 9 },
        [],
      ]) {
        const [put, patch] = [
          await client.send('PUT', `/${path}/${id}`, body),
          await client.send('PATCH', `/${path}/${id}`, body),
        ]
        expect([put.status, put.json]).toEqual([patch.status, patch.json])
      }
    }
    expect((await client.get(`/part/${id}`)).json).toEqual({ id, title: 'b', pages: 4, author_id: 2 })
    expect((await client.send('POST', '/part', {})).json.errors).toEqual({ title: ['This field is required.'] })
  })

  it('is told by the document, OPTIONS and explain(), and an own update() has the last word', async () => {
    const api = new APIRouter()
      .register('part', PartViewSet, 'part')
      .register('whole', WholeViewSet, 'whole')
      .register('patch', PatchViewSet, 'patch')
    await api.prepare()
    const client = await serveApp(api.routes())
    const { put, patch } = api.getSchema().paths['/part/{id}'] ?? {}
    expect(put?.requestBody).toEqual(patch?.requestBody)
    expect(put?.summary).toBe(patch?.summary)
    const required = async (path: string) => (await client.send('OPTIONS', path)).json.actions.fields.title.required
    const told = [await required('/part'), await required('/part/1'), await required('/patch/1')]
    expect(told).toEqual([true, false, false])
    expect((await api.explain('part-update'))[0]?.notes).toContain(
      'fields that the body leaves out stay as they are (partialPut)',
    )
    expect((await api.explain('patch-partial_update'))[0]?.notes.join()).not.toContain('partialPut')
    const { json } = await client.send('POST', '/whole', { title: 'a' })
    expect((await client.send('PUT', `/whole/${json.id}`, {})).status).toBe(400)
  })
})

describe('unknown names', () => {
  const strict = (statics: object) =>
    Object.assign(
      class extends bulkModelViewSet(Book, {
        serializerClass: BookSerializer,
        filterBackends: [FieldFilter],
        filtersetFields: ['pages'],
        parserClasses: [
          ...bulkModelViewSet(Book, { serializerClass: BookSerializer }).parserClasses,
          MergePatchParser,
          JsonPatchParser,
        ],
        actions: {
          rename: objectAction({ methods: ['POST'], input: { pages: new IntegerField() } }, (_book, { pages }) => ({
            pages,
          })),
        },
      }) {},
      statics,
    )

  it('of bodies are refused where the server says so, and those of queries apart', async () => {
    const { client } = await serve(
      ['loose', strict({})],
      ['bodies', strict({ strictBody: true })],
      ['queries', strict({ strictParams: true })],
    )
    const whole = { id: 1, title: 'a', x: 1 }
    for (const [path, body, query] of [
      ['/loose', 200, 200],
      ['/bodies', 400, 200],
      ['/queries', 200, 400],
    ] as const) {
      for (const [method, end, data] of [
        ['PATCH', '/1', { x: 1 }],
        ['PUT', '/1', whole],
        ['PATCH', '/bulk', [whole]],
        ['POST', '/1/rename', { pages: 1, x: 1 }],
      ] as const) {
        const answer = await client.send(method, path + end, data)
        expect([path, method, end, answer.status]).toEqual([path, method, end, body])
        if (body === 400) expect(JSON.stringify(answer.json.errors)).toContain('Unknown field.')
      }
      expect((await client.send('POST', path, { title: 'c', x: 1 })).status).toBe(body === 400 ? 400 : 201)
      for (const [method, end] of [
        ['GET', '?x=1'],
        ['GET', '/1?x=1'],
      ] as const) {
        const answer = await client.send(method, path + end, method === 'GET' ? undefined : {})
        expect([path, method, end, answer.status]).toEqual([path, method, end, query])
      }
      expect((await client.get(`${path}?pages=1`)).status).toBe(200)
      expect((await client.get(`${path}/1?fields=id`)).status).toBe(200)
    }
  })

  it('of fields that no client may write are refused where it says so, but for keys of lists', async () => {
    const { client } = await serve(
      ['books', strict({ strictBody: 'writable' })],
      ['others', strict({ strictBody: true })],
    )
    const sent = { ...(await client.get('/others/1')).json, title: 'c' }
    expect((await client.send('PUT', '/others/1', sent)).status).toBe(200)
    const refused = await client.send('PUT', '/books/1', sent)
    expect(refused).toMatchObject({
      status: 400,
      json: { errors: { id: ['This field is read-only.'] } },
    })
    expect((await client.send('PATCH', '/books/bulk', [{ id: 1, title: 'd' }])).status).toBe(200)
    const merge = { 'Content-Type': 'application/merge-patch+json' }
    expect((await client.send('PATCH', '/books/1', { id: 5 }, merge)).status).toBe(400)
    expect((await client.send('PATCH', '/books/1', { title: 'e' }, merge)).json.title).toBe('e')
  })

  it('are those of fields that name no object of a nested list, as a second field of its key', async () => {
    const books = serializerOf(LibraryBook, ['id', 'number', 'title'], {
      number: new IntegerField({ source: 'id', readOnly: true }),
    })
    class Authors extends bulkModelViewSet(Author, {
      serializerClass: serializerOf(Author, ['id', 'name', 'books'], {
        books: new NestedSerializer(books, { many: true }),
      }),
      strictBody: 'writable',
    }) {}
    const { client } = await serve(['authors', Authors])
    const { json } = await client.send('POST', '/authors', { name: 'Zoe', books: [{ title: 'a' }] })
    const [{ id, number }] = json.books
    const change = (named: object) => client.send('PATCH', `/authors/${json.id}`, { books: [{ ...named, title: 'b' }] })
    expect((await change({ id })).json.books).toEqual([{ id, number, title: 'b' }])
    expect(await change({ number })).toMatchObject({
      status: 400,
      json: { errors: { books: { 0: { number: ['This field is read-only.'] } } } },
    })
  })

  it('are a choice of three', () => {
    expect(() => new APIRouter().register('books', strict({ strictBody: 'yes' }), 'books')).toThrow(
      "give true, false or 'writable'",
    )
  })
})

describe('an action without an end of its path', () => {
  class Books extends modelViewSet(Book, {
    serializerClass: BookSerializer,
    withoutActions: ['destroy'],
    actions: {
      clear: listAction({ methods: ['DELETE'], urlPath: '' }, async function () {
        return { deleted: await this.getQueryset().delete() }
      }),
      touch: objectAction({ methods: ['POST'], urlPath: '' }, (book) => ({
        touched: book.id,
      })),
    },
  }) {}

  it('answers on the path of the list, or of the object', async () => {
    const { api, client } = await serve(['books', Books])
    expect((await client.send('POST', '/books/2', {})).json).toEqual({
      touched: 2,
    })
    expect((await client.send('OPTIONS', '/books')).headers['allow']).toBe('GET, POST, DELETE, HEAD, OPTIONS')
    expect((await client.send('DELETE', '/books')).json).toEqual({
      deleted: 2,
    })
    expect((await client.get('/books')).json).toEqual([])
    const { paths } = api.getSchema()
    expect(Object.keys(paths).sort()).toEqual(['/', '/books', '/books/{id}'])
    expect(paths['/books']?.['delete']).toMatchObject({
      operationId: 'books_clear',
      summary: 'Clear',
    })
    expect(api.url('books-clear')).toBe('/books')
    expect((await client.send('DELETE', '/books/1')).status).toBe(405)
  })

  it('is called by the client', async () => {
    const api = new APIRouter().register('books', Books, 'books')
    await api.prepare()
    const { port } = await serveApp(api.routes())
    const books = createClient<typeof api>(`http://127.0.0.1:${port}`).books
    expect(await books.callOn(1, 'POST', '')).toMatchObject({
      ok: true,
      data: { touched: 1 },
    })
    expect(await books.call('DELETE', '')).toMatchObject({
      ok: true,
      data: { deleted: 2 },
    })
  })
})

describe('a serializer for input and another for output', () => {
  class Books extends bulkModelViewSet(Book, {
    serializerClass: BookOutput,
    inputSerializerClass: BookInput,
    actions: {
      resize: objectAction({ methods: ['POST'], input: BookInput, output: BookOutput }, async function (book) {
        const serializer = this.getInputSerializer({ obj: book })
        await serializer.isValid({ raiseException: true })
        await serializer.save()
        return this.getSerializer({ obj: await this.getObject() }).data
      }),
    },
  }) {}
  class ByHand extends modelViewSet(Book, { serializerClass: BookOutput }) {
    override getInputSerializer(options = {}) {
      const context = this.getSerializerContext()
      return new BookInput({
        inputData: this.body.data,
        context,
        ...options,
      }) as never
    }
  }
  class Native extends Books {
    static override useNativeJson = true
  }
  class Instances extends Books {
    override getSerializer(...options: never[]): never {
      return super.getSerializer(...options) as never
    }
  }

  it.each([
    ['rows', Books],
    ['JSON of PostgreSQL', Native],
    ['instances', Instances],
    ['a getInputSerializer() of its own', ByHand],
  ])('take the one and answer by the other, read as %s', async (_way, view) => {
    const { client } = await serve(['books', view])
    const one = { id: 1, title: 'a', author: { id: 1, name: 'Ada' } }
    expect((await client.get('/books/1')).json).toEqual(one)
    const made = await client.send('POST', '/books', {
      title: 'c',
      pages: 3,
      author_id: 2,
    })
    expect(made).toMatchObject({
      status: 201,
      json: { id: 3, title: 'c', author: { id: 2, name: 'Ben' } },
    })
    expect(Object.keys(made.json)).toEqual(['id', 'title', 'author'])
    const changed = await client.send('PATCH', '/books/1', { author_id: 2 })
    expect(changed.json).toEqual({ ...one, author: { id: 2, name: 'Ben' } })
    expect((await client.send('PUT', '/books/1', { title: 'd' })).json).toEqual({
      ...one,
      title: 'd',
      author: { id: 2, name: 'Ben' },
    })
    const [row] = await database.knex('books').where({ id: 1 })
    expect(row).toMatchObject({ title: 'd', author_id: 2 })
    expect((await client.send('POST', '/books', {})).json.errors).toEqual({
      title: ['This field is required.'],
    })
    expect((await client.send('POST', '/books', { title: 'e', author_id: 9 })).json.errors).toEqual({
      author_id: ['Invalid pk "9" - object does not exist.'],
    })
    if (view === ByHand) return
    const bulk = await client.send('POST', '/books/bulk', [{ title: 'f', author_id: 1 }])
    expect(bulk.json).toMatchObject([{ title: 'f', author: { name: 'Ada' } }])
    const patched = await client.send('PATCH', '/books/bulk', [{ id: 1, author_id: 1 }])
    expect(patched.json).toEqual([{ ...one, title: 'd' }])
    expect((await client.send('POST', '/books/1/resize', { title: 'g', pages: 7 })).json).toEqual({
      ...one,
      title: 'g',
    })
  })

  it('need not both be there: a view on a route of its own may only take', async () => {
    class Counted extends GenericAPIView<LibraryBook> {
      static override model = Book
      static override inputSerializerClass = BookInput
      async post() {
        const serializer = this.getInputSerializer()
        await serializer.isValid({ raiseException: true })
        await serializer.save()
        return { count: await Book.query(this.trx).resultSize() }
      }
    }
    const client = await serveApp(Counted.asView())
    expect((await client.send('POST', '/', { title: 'c' })).json).toEqual({ count: 3 })
    expect((await client.send('POST', '/', {})).json.errors).toEqual({ title: ['This field is required.'] })
    const { json } = await client.send('OPTIONS', '/')
    expect(Object.keys(json.actions.fields)).toEqual(['title', 'pages', 'author_id'])
  })

  it('are both described', async () => {
    const { api, client } = await serve(['books', Books])
    const { paths, components } = api.getSchema()
    const of = (path: string, method: string) => JSON.stringify(paths[path]?.[method])
    expect(of('/books', 'post')).toMatch(/BookInput.*BookOutput/s)
    expect(of('/books/{id}', 'patch')).toMatch(/BookInputPatch.*BookOutput/s)
    expect(of('/books/{id}/resize', 'post')).toMatch(/BookInput.*BookOutput/s)
    expect(Object.keys(components.schemas ?? {})).not.toContain('BookOutputInput')
    expect(Object.keys((await client.send('OPTIONS', '/books')).json.actions.fields)).toEqual([
      'title',
      'pages',
      'author_id',
    ])
  })
})
