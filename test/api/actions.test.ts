import { runInNewContext } from 'node:vm'
import Router from '@koa/router'
import type Koa from 'koa'
import type { QueryBuilder } from 'objection'
import { beforeEach, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { createClient } from '../../lib/client/index.js'
import {
  type ActionSpec,
  APIRouter,
  ArrayField,
  AuthenticationFailed,
  action,
  BasePermission,
  BaseThrottle,
  ChoiceField,
  ConfigurationError,
  type Context,
  DateField,
  FieldFilter,
  FileUploadField,
  type GuardedView,
  type Input,
  IntegerField,
  listAction,
  ModelSerializer,
  ModelViewSet,
  modelSerializer,
  modelViewSet,
  NestedSerializer,
  NotFound,
  type Operation,
  objectAction,
  PageNumberPagination,
  type Pagination,
  type Permissions,
  PrimaryKeyRelatedField,
  ReadOnlyModelViewSet,
  Serializer,
  StringField,
  Throttled,
  ViewSet,
} from '../../lib/index.js'
import { mcp } from '../../lib/mcp/index.js'
import { callTool, connectAgent } from '../support/agent.js'
import { type Client, serveApp } from '../support/client.js'
import { undescribed } from '../support/contract.js'
import { countQueries } from '../support/database.js'
import { Author, Book, BookSerializer, database, Tag, TagSerializer, useLibrary } from '../support/library.js'
import { connectTo } from '../support/server.js'

useLibrary()
beforeEach(async () => {
  await Book.query().insert([
    { title: 'One', n: 1 },
    { title: 'Two', n: 2 },
  ])
})

class TitleSerializer extends ModelSerializer<Book> {
  static override model = Book
  static override fields = ['id', 'title']
}

class RenameInput extends Serializer {
  static override declaredFields = {
    title: new StringField({ minLength: 2 }),
    n: new IntegerField({ required: false, minValue: 0 }),
  }
}

const calls: unknown[] = []
beforeEach(() => {
  calls.length = 0
})

class BookViewSet extends ModelViewSet<Book> {
  static override model = Book
  static override serializerClass = BookSerializer

  @action({ methods: ['GET'] })
  async recentTitles() {
    const books = await this.getQueryset().orderBy('id', 'desc')
    return books.map(({ title }) => title)
  }

  @action({ methods: ['POST'], detail: true, inputSerializer: RenameInput, outputSerializer: TitleSerializer })
  async rename(data: Input<typeof RenameInput>) {
    calls.push(data, this.validatedData, this.ctx.state['validatedData'])
    const book = await this.getObject()
    await book.$query(this.trx).patch({ title: data.title })
    return this.getSerializer({ obj: book }).data
  }

  @action({ methods: ['get', 'PUT'], detail: true, urlPath: 'shelf/{place:int}', urlName: 'place' })
  async place() {
    return { method: this.ctx.method, action: this.action, params: this.ctx['params'] }
  }

  @action({ methods: ['POST'], detail: true, urlPath: 'mark' })
  async mark() {
    return 'marked'
  }

  @action({ methods: ['DELETE'], detail: true, urlPath: 'mark', inputSerializer: RenameInput })
  async unmark(data: Input<typeof RenameInput>) {
    return { unmarked: data.title }
  }
}

class Titles extends ReadOnlyModelViewSet<Book> {
  static override model = Book
  static override serializerClass = TitleSerializer
}

describe('the bodies of standard actions are plain data', () => {
  class Shown extends Titles {
    static override paginationClass: Pagination = new PageNumberPagination({ pageSize: 1 })
    override async getList() {
      const { count, results } = (await super.getList()) as { count: number; results: Book[] }
      return { count, titles: results.map(({ title }) => title) }
    }
    override async getDetail() {
      return { ...((await super.getDetail()) as Book), more: true }
    }
  }
  class Asked extends Titles {
    @action({ methods: ['GET'] })
    async titles() {
      return ((await this.getList()) as Book[]).map(({ title }) => title)
    }
    @action({ methods: ['GET'] })
    async all() {
      return ((await this.list()) as Book[]).length
    }
    @action({ methods: ['GET'], detail: true })
    async more() {
      return { ...((await this.getDetail()) as Book), more: true }
    }
  }
  const whole = { id: expect.any(Number), title: 'One', more: true }

  it('to an override of getList() and getDetail()', async () => {
    const client = await api(Shown, {}, { described: false })
    expect((await client.get('/api/books')).json).toEqual({ count: 2, titles: ['One'] })
    const { id } = (await Book.query().findOne({ title: 'One' })) as Book
    expect((await client.get(`/api/books/${id}`)).json).toEqual(whole)
  })

  it('to an action of the application', async () => {
    const client = await api(Asked)
    expect((await client.get('/api/books/titles')).json).toEqual(['One', 'Two'])
    expect((await client.get('/api/books/all')).json).toBe(2)
    const { id } = (await Book.query().findOne({ title: 'One' })) as Book
    expect((await client.get(`/api/books/${id}/more`)).json).toEqual(whole)
  })
})

async function api(
  books: Parameters<APIRouter['register']>[1],
  others: Record<string, Parameters<APIRouter['register']>[1]> = {},
  { described } = { described: true },
): Promise<Client & { router: APIRouter }> {
  const router = new APIRouter({ prefix: '/api' }).register('books', books)
  for (const [prefix, view] of Object.entries(others)) router.register(prefix, view, prefix)
  await router.prepare()
  const client = await serveApp(described ? router.routes() : undescribed(router.routes()))
  return { ...client, router }
}

describe('the routes of actions', () => {
  it('have paths and names of the method, unless told otherwise', async () => {
    const { router } = await api(BookViewSet)
    expect(
      router
        .getUrls()
        .slice(7)
        .map(([method, pattern, , name]) => `${method} ${pattern} ${name}`),
    ).toEqual([
      'GET /api/books/recent_titles book-recent-titles',
      'POST /api/books/{id:int}/rename book-rename',
      'GET /api/books/{id:int}/shelf/{place:int} book-place',
      'PUT /api/books/{id:int}/shelf/{place:int} book-place',
      'POST /api/books/{id:int}/mark book-mark',
      'DELETE /api/books/{id:int}/mark book-unmark',
    ])
    expect(router.url('book-recent-titles')).toBe('/api/books/recent_titles')
    expect(router.url('book-place', { id: 1, place: 2 })).toBe('/api/books/1/shelf/2')
    expect(router.url('book-unmark', { id: 1 })).toBe('/api/books/1/mark')
  })

  it('tell the document what it needs', async () => {
    const { router } = await api(BookViewSet)
    const actions = router.endpoints.filter(({ kind }) => kind === 'action')
    expect(actions.map(({ detail, lookup }) => [detail, lookup])).toEqual([
      [false, undefined],
      [true, 'id'],
      [true, 'id'],
      [true, 'id'],
    ])
    expect(actions.flatMap(({ operations }) => [...operations.values()].map(({ operationId }) => operationId))).toEqual(
      ['book_recent_titles', 'book_rename', 'book_place_get', 'book_place_put', 'book_mark', 'book_unmark'],
    )
    expect(actions[1]?.operations.get('POST')).toMatchObject({
      action: 'rename',
      view: BookViewSet,
      inputSerializer: RenameInput,
      outputSerializer: TitleSerializer,
    })
  })

  it('name the query parameters that they read, which are none of the list', async () => {
    class Books extends ModelViewSet<Book> {
      static override model = Book
      static override serializerClass = BookSerializer
      static override filterBackends = [FieldFilter]
      static override filtersetFields = ['n']

      @action({
        methods: ['GET'],
        queryParameters: [{ name: 'n', description: 'The number.', schema: { type: 'integer' } }],
      })
      async count() {
        return { count: await this.filterQueryset(this.getQueryset()).resultSize() }
      }
    }
    const { get, router } = await api(Books)
    expect((await get('/api/books/count')).json).toEqual({ count: 2 })
    expect((await get('/api/books/count?n=2')).json).toEqual({ count: 1 })
    expect((await get('/api/books/count?n=x')).status).toBe(400)
    const { paths } = router.getSchema({ title: 'Books', version: '1' })
    const parametersOf = (path: string) => paths[path]?.get?.parameters ?? []
    expect(parametersOf('/api/books/count')).toEqual([
      { name: 'n', in: 'query', description: 'The number.', schema: { type: 'integer' } },
    ])
    expect(parametersOf('/api/books')).not.toContainEqual(expect.objectContaining({ description: 'The number.' }))
  })

  it('20–24 take their methods, HEAD and OPTIONS, and no other', async () => {
    const { get, send } = await api(BookViewSet)
    expect((await get('/api/books/recent_titles')).json).toEqual(['Two', 'One'])
    expect((await send('HEAD', '/api/books/recent_titles')).headers['content-length']).toBe('13')
    expect((await send('OPTIONS', '/api/books/1/mark')).headers.allow).toBe('POST, DELETE, OPTIONS')
    expect((await send('PATCH', '/api/books/1/mark', {})).headers.allow).toBe('POST, DELETE, OPTIONS')
    expect((await get('/api/books/1/mark')).status).toBe(405)
    expect((await send('POST', '/api/books/1/mark')).json).toBe('marked')
    expect((await send('DELETE', '/api/books/1/mark', { title: 'ab' })).json).toEqual({ unmarked: 'ab' })
    expect((await get('/api/books/1/shelf/7')).json).toEqual({
      method: 'GET',
      action: 'place',
      params: { id: '1', place: '7' },
    })
    expect((await send('PUT', '/api/books/1/shelf/7', {})).json).toMatchObject({ method: 'PUT', action: 'place' })
    for (const path of [
      '/api/books/x/mark',
      '/api/books/1/shelf/x',
      '/api/books/1/nothing',
      '/api/books/1/mark/more',
    ]) {
      expect((await get(path)).status).toBe(404)
    }
  })

  it('that are fixed win against an id of any type', async () => {
    class Tags extends ModelViewSet<Tag> {
      static override model = Tag
      static override serializerClass = TagSerializer
      @action({ methods: ['POST'] })
      sort() {
        return 'sorted'
      }
    }
    await Tag.query().insert([
      { slug: 'sort', label: 'a tag' },
      { slug: 'sorted', label: 'another' },
    ])
    const { get, send } = await api(BookViewSet, { tags: Tags })
    expect((await send('POST', '/api/tags/sort')).json).toBe('sorted')
    expect(await get('/api/tags/sort')).toMatchObject({ status: 405, headers: { allow: 'POST, OPTIONS' } })
    expect((await get('/api/tags/sorted')).json).toMatchObject({ label: 'another' })
    await Tag.query().delete()
  })

  it('work for view sets without a model', async () => {
    class Clock extends ViewSet {
      @action({ methods: ['GET'] })
      now() {
        return 'noon'
      }
      @action({ methods: ['POST'], inputSerializer: RenameInput })
      set(data: Input<typeof RenameInput>) {
        return data
      }
    }
    const { get, send } = await api(BookViewSet, { clock: Clock })
    expect((await get('/api/clock/now')).json).toBe('noon')
    expect((await send('POST', '/api/clock/set', { title: 'ab' })).json).toEqual({ title: 'ab' })
    expect((await send('POST', '/api/clock/set', {})).json.errors).toEqual({ title: ['This field is required.'] })
  })
})

describe('an input serializer', () => {
  it('validates the body, and hands it to the method, the view and the request', async () => {
    const { send } = await api(BookViewSet)
    const renamed = await send('POST', '/api/books/1/rename', { title: 'New', n: 3, id: 9, is_admin: true })
    expect(renamed).toMatchObject({ status: 200, json: { id: 1, title: 'New' } })
    expect(calls).toEqual(Array(3).fill({ title: 'New', n: 3 }))
  })

  it.each<[unknown, object]>([
    [{}, { title: ['This field is required.'] }],
    [
      { title: 'x', n: -1 },
      { title: ['Ensure this field has at least 2 characters.'], n: ['Ensure this value is at least 0.'] },
    ],
    [[], { non_field_errors: ['Expected an object.'] }],
    [{ title: null }, { title: ['This field may not be null.'] }],
  ])('answers %j with 400, and the method is not called', async (body, errors) => {
    const { send } = await api(BookViewSet)
    const response = await send('POST', '/api/books/1/rename', body)
    expect(response.json).toEqual({ detail: 'Validation failed', status: 400, errors })
    expect(calls).toEqual([])
  })

  it('reads the body of DELETE, which no other DELETE does', async () => {
    const { send } = await api(BookViewSet)
    expect((await send('DELETE', '/api/books/1/mark', { title: 'x' })).status).toBe(400)
    expect((await send('DELETE', '/api/books/1/mark')).json.errors).toEqual({ title: ['This field is required.'] })
    expect((await send('DELETE', '/api/books/1', ['ignored'])).status).toBe(204)
  })

  it('takes files as large as its fields do, in a form', async () => {
    class CoverInput extends Serializer {
      static override declaredFields = {
        title: new StringField(),
        cover: new FileUploadField({ maxSize: 20_000_000, allowedExtensions: ['txt'] }),
      }
    }
    class Books extends BookViewSet {
      @action({ methods: ['POST'], detail: true, inputSerializer: CoverInput })
      async cover(data: Input<typeof CoverInput>) {
        return { title: data.title, size: (data.cover as { size: number }).size }
      }
    }
    const { port } = await api(Books)
    const upload = (size: number, name = 'a.txt') => {
      const part = (disposition: string, content: string) =>
        `--x\r\nContent-Disposition: form-data; ${disposition}\r\n\r\n${content}\r\n`
      const body = `${part('name="title"', 'T')}${part(`name="cover"; filename="${name}"\r\nContent-Type: text/plain`, 'a'.repeat(size))}--x--\r\n`
      const headers = { 'Content-Type': 'multipart/form-data; boundary=x' }
      return connectTo(port).send({ method: 'POST', path: '/api/books/1/cover', headers, body })
    }
    expect((await upload(15_000_000)).json).toEqual({ title: 'T', size: 15_000_000 })
    expect((await upload(10, 'a.exe')).json.errors).toHaveProperty('cover')
  })

  it('comes after permissions and throttles', async () => {
    class No extends BasePermission {
      override hasPermission(): boolean {
        return false
      }
    }
    class Never extends BaseThrottle {
      override check(): void {
        throw new Throttled(9)
      }
    }
    class Closed extends BookViewSet {
      static override permissionClasses: Permissions = [No]
    }
    class Slow extends BookViewSet {
      static override throttleClasses = [Never]
    }
    const closed = await api(Closed)
    expect((await closed.send('POST', '/api/books/1/rename', {})).status).toBe(401)
    await closed.close()
    const slow = await api(Slow)
    expect((await slow.send('POST', '/api/books/1/rename', {})).status).toBe(429)
    expect(calls).toEqual([])
  })

  it("looks up related keys in the request's transaction", async () => {
    class AssignInput extends Serializer {
      static override declaredFields = { author: new PrimaryKeyRelatedField({ queryset: Author }) }
    }
    class Books extends BookViewSet {
      @action({ methods: ['PUT'], detail: true, inputSerializer: AssignInput })
      async assign(data: Input<typeof AssignInput>) {
        await (await this.getObject()).$query(this.trx).patch({ author_id: data.author as number })
      }
    }
    const { send } = await api(Books)
    expect((await send('PUT', '/api/books/1/assign', { author: 99 })).json.errors).toEqual({
      author: ['Invalid pk "99" - object does not exist.'],
    })
    expect((await send('PUT', '/api/books/1/assign', { author: 2 })).status).toBe(204)
    expect(await Book.query().findById(1)).toMatchObject({ author_id: 2 })
  })
})

describe('an action', () => {
  it('[E10] finds objects as other details do: 404, and object permissions', async () => {
    class Mine extends BasePermission {
      override hasObjectPermission(_ctx: Context, _view: GuardedView, book: object): boolean {
        return (book as Book).id === 1
      }
    }
    class Guarded extends BookViewSet {
      static override permissionClasses: Permissions = [Mine]
      override getQueryset(): QueryBuilder<Book> {
        return super.getQueryset().where('n', '<', 9)
      }
    }
    const { send } = await api(Guarded)
    expect((await send('POST', '/api/books/1/rename', { title: 'ab' })).status).toBe(200)
    expect((await send('POST', '/api/books/2/rename', { title: 'ab' })).status).toBe(401)
    expect((await send('POST', '/api/books/9/rename', { title: 'ab' })).text).toBe(
      '{"detail":"Not found","status":404}',
    )
  })

  it('[A8] is one transaction: what it has written is undone when it throws', async () => {
    class Books extends BookViewSet {
      @action({ methods: ['POST'] })
      async fail() {
        await this.getQueryset().patch({ n: 99 })
        throw new AuthenticationFailed()
      }
    }
    const { send } = await api(Books)
    expect((await send('POST', '/api/books/fail')).status).toBe(401)
    expect(await Book.query().where('n', 99)).toEqual([])
  })

  it.each([
    ['one of the API', () => new NotFound(), 404],
    ['any', () => new Error('secret'), 500],
    ['that of another realm', () => runInNewContext(`new Error('secret')`) as Error, 500],
  ])('fails by an error that it returns as by one that it throws: %s', async (_, failure, status) => {
    class Books extends BookViewSet {
      @action({ methods: ['POST'] })
      async fail() {
        await this.getQueryset().patch({ n: 99 })
        return failure()
      }
    }
    const { send } = await api(Books)
    const { status: answered, text } = await send('POST', '/api/books/fail')
    expect([answered, text.includes('secret')]).toEqual([status, false])
    expect(await Book.query().where('n', 99)).toEqual([])
  })

  it.each<[string, () => unknown]>([
    ['a member', () => ({ late: Promise.reject(new Error('late')) })],
    ['a query', () => ({ books: Book.query() })],
    ['items', () => [1, 2].map(async (n) => n)],
    ['items of a member', () => ({ results: [1, 2].map(async (n) => n) })],
  ])('is told of what it has not awaited: %s', async (_name, answer) => {
    class Late extends modelViewSet(Book, {
      serializerClass: BookSerializer,
      actions: { late: listAction({ methods: ['GET'] }, answer) },
    }) {}
    const { get, reported } = await api(Late)
    expect((await get('/api/books/late')).status).toBe(500)
    const message = 'Late.late() returned a promise or a query inside of its answer; await it, or use Promise.all()'
    expect(reported).toEqual([new ConfigurationError(message)])
  })

  it('may have policies, a serializer and a paginator of its own', async () => {
    class Admins extends BasePermission {
      override hasPermission(ctx: Context): boolean {
        return ctx.get('X-Admin') === 'yes'
      }
    }
    class Books extends ModelViewSet<Book> {
      static override model = Book
      static override serializerClass = BookSerializer
      static override permissionClasses: Permissions = []

      @action({
        methods: ['GET'],
        permissionClasses: [Admins],
        serializerClass: TitleSerializer,
        paginationClass: new PageNumberPagination({ pageSize: 1 }),
        description: 'Titles only.',
      })
      titles() {
        return this.getList()
      }
    }
    const { get, send, router } = await api(Books)
    expect((await get('/api/books')).json[0]).toHaveProperty('isbn')
    expect((await get('/api/books/titles')).status).toBe(401)
    expect((await get('/api/books/titles', { 'X-Admin': 'yes' })).json).toEqual({
      count: 2,
      next: '/api/books/titles?page=2',
      previous: null,
      results: [{ id: 1, title: 'One' }],
    })
    expect((await send('OPTIONS', '/api/books/titles')).status).toBe(401)
    expect((await send('OPTIONS', '/api/books')).status).toBe(200)
    const operation = router.endpoints.at(-1)?.operations.get('GET') as Operation
    const { name, description, serializerClass } = operation.view as typeof Books
    expect([name, description, serializerClass]).toEqual(['Books', 'Titles only.', TitleSerializer])
    expect(router.endpoints.at(-1)?.view).toBe(Books)
  })

  it('is inherited; what overrides it keeps what was said, or says it anew', async () => {
    class Child extends BookViewSet {
      override async rename(data: Input<typeof RenameInput>) {
        return { renamed: await super.rename(data) }
      }
      @action({ methods: ['GET'], urlPath: 'marks', detail: true })
      override async mark() {
        return 'of the child'
      }
    }
    const { get, send } = await api(Child, {}, { described: false })
    expect((await send('POST', '/api/books/1/rename', { title: 'ab' })).json.renamed).toMatchObject({ title: 'ab' })
    expect((await send('POST', '/api/books/1/rename', { title: 'a' })).status).toBe(400)
    expect((await get('/api/books/1/marks')).json).toBe('of the child')
    expect((await send('OPTIONS', '/api/books/1/mark')).headers.allow).toBe('DELETE, OPTIONS')
    expect((await get('/api/books/recent_titles')).status).toBe(200)
    expect(new APIRouter().register('books', BookViewSet).getUrls()).toHaveLength(13)
  })

  it('is declared by a plain call, or as a legacy decorator, too', async () => {
    class Plain extends ModelViewSet<Book> {
      static override model = Book
      static override serializerClass = BookSerializer
      async publish(data: Input<typeof RenameInput>) {
        return data
      }
      count() {
        return this.getQueryset().resultSize()
      }
    }
    expect(action({ methods: ['POST'], detail: true, inputSerializer: RenameInput })(Plain.prototype.publish)).toBe(
      Plain.prototype.publish,
    )
    const descriptor = Object.getOwnPropertyDescriptor(Plain.prototype, 'count') as TypedPropertyDescriptor<
      () => Promise<number>
    >
    expect(action({ methods: ['GET'] })(Plain.prototype, 'count', descriptor)).toBeUndefined()
    const { get, send } = await api(Plain)
    expect((await send('POST', '/api/books/1/publish', { title: 'ab' })).json).toEqual({ title: 'ab' })
    expect((await send('POST', '/api/books/1/publish', {})).status).toBe(400)
    expect((await get('/api/books/count')).json).toBe(2)
  })

  it('costs a view set that has none nothing: no query, no more than before', async () => {
    const { get } = await api(BookViewSet)
    expect(await countQueries(database.knex, () => get('/api/books/1'))).toHaveLength(1)
  })

  it('is mapped by asView(), with all that was said of it', async () => {
    const router = new Router()
    router.all('/rename/:id', BookViewSet.asView({ post: 'rename' }))
    const client = await serveApp(router.routes() as Koa.Middleware)
    expect((await client.send('POST', '/rename/1', { title: 'ab' })).json).toMatchObject({ title: 'ab' })
    expect((await client.send('POST', '/rename/1', { title: 'a' })).status).toBe(400)
  })
})

describe('mount()', () => {
  it("serves actions on an application's own router", async () => {
    class Tags extends ModelViewSet<Tag> {
      static override model = Tag
      static override serializerClass = TagSerializer
      @action({ methods: ['POST'] })
      sort() {
        return 'sorted'
      }
      @action({ methods: ['POST'], detail: true })
      touch() {
        return `touched ${this.ctx['params'].id}`
      }
    }
    const router = new Router()
    const routes = new APIRouter({ prefix: '/api' }).register('tags', Tags)
    await routes.prepare()
    routes.mount(router, { namespace: 'v1' })
    const { get, send } = await serveApp(router.routes() as Koa.Middleware, routes.allowedMethods())
    expect((await send('POST', '/api/tags/sort')).json).toBe('sorted')
    expect((await send('POST', '/api/tags/a/touch')).json).toBe('touched a')
    // the fixed path wins here, too
    expect(await get('/api/tags/sort')).toMatchObject({ status: 405 })
    expect((await get('/api/tags/sorts')).text).toBe('{"detail":"Not found","status":404}')
    expect(router.url('v1:tag-touch', { id: 'a' })).toBe('/api/tags/a/touch')
  })
})

describe('[I23] mistakes of the programmer', () => {
  const withAction = (options: Parameters<typeof action>[0], name = 'publish') => {
    class Books extends ModelViewSet<Book> {
      static override model = Book
      static override serializerClass = BookSerializer
      publish() {}
      list2() {}
    }
    const prototype = Books.prototype as unknown as Record<string, () => unknown>
    action(options)(prototype[name] as () => unknown)
    return Books
  }
  const register = (view: Parameters<APIRouter['register']>[1]) => new APIRouter().register('books', view)

  it.each<[string, () => unknown, string]>([
    ['no method', () => action({ methods: [] }), 'action(): methods is []; name one or more of GET'],
    ['an unknown method', () => action({ methods: ['FETCH'] }), 'action(): methods is ["FETCH"]'],
    [
      'a list of no output',
      () => action({ methods: ['GET'], outputSerializer: [] as never }),
      'action(): outputSerializer is a list; give what its items are as its one element',
    ],
    [
      'an input serializer with GET',
      () => action({ methods: ['GET', 'POST'], inputSerializer: RenameInput }),
      'GET has none',
    ],
    [
      'the path and the method of the list',
      () => register(withAction({ methods: ['GET'], urlPath: '/' })),
      'Books: list() and publish() both answer GET on "/"',
    ],
    [
      'a path that is none',
      () => register(withAction({ methods: ['GET'], urlPath: 'a//b' })),
      'Books.publish: urlPath does not fit',
    ],
    [
      'a parameter of a taken name',
      () => register(withAction({ methods: ['GET'], detail: true, urlPath: 'x/{id}' })),
      'the parameter "id" occurs twice',
    ],
    ['a standard action', () => withAction({ methods: ['GET'] }, 'list'), 'action(): list() has a route of its own'],
    [
      'something that is no method',
      () => action({ methods: ['GET'] })(7 as never),
      'action(): is for methods of a view set',
    ],
    [
      'something that is no serializer',
      () => register(withAction({ methods: ['POST'], inputSerializer: Book as never })),
      'Books.publish: inputSerializer, queryParameters and outputSerializer are serializer classes',
    ],
  ])('%s', (_what, make, message) => {
    expect(make).toThrow(ConfigurationError)
    expect(make).toThrow(message)
  })

  it('a name that the routes have', () => {
    class Books extends ModelViewSet<Book> {
      static override model = Book
      static override serializerClass = BookSerializer
      @action({ methods: ['GET'] })
      override async list() {
        return []
      }
    }
    expect(() => register(Books)).toThrow('Books: list() has a route of its own')
  })

  it('two actions with the same method and path, the same name, or the path of the bulk routes', async () => {
    class Twice extends BookViewSet {
      @action({ methods: ['POST'], detail: true, urlPath: 'mark' })
      again() {}
    }
    expect(() => register(Twice)).toThrow('Twice: mark() and again() both answer POST on "mark"')
    class Named extends BookViewSet {
      @action({ methods: ['POST'], urlName: 'list' })
      again() {}
    }
    await expect(register(Named).prepare()).rejects.toThrow(
      'Named and Named.again() (urlPath "again") both have the route name "book-list"',
    )
    class Same extends BookViewSet {
      @action({ methods: ['POST'], urlPath: 'x', urlName: 'recent_titles' })
      again() {}
    }
    await expect(register(Same).prepare()).rejects.toThrow('are called "book_recent_titles" in the OpenAPI document')
  })

  it('a static that the view does not have', () => {
    class Plain extends ViewSet {
      @action({ methods: ['GET'], paginationClass: PageNumberPagination })
      report() {}
    }
    expect(() => new APIRouter().register('x', Plain, 'x')).toThrow(
      'Plain.report: action() sets paginationClass, which the view does not have',
    )
  })
})

describe('parameters of the query that an action declares', () => {
  const KINDS = ['novel', 'essay'] as const
  class Page extends Serializer {
    static override declaredFields = {
      at_least: new IntegerField({ minValue: 0, helpText: 'The least number.' }),
      kind: new ChoiceField({ choices: KINDS, required: false }),
      tags: new ArrayField({ child: new StringField(), required: false }),
      since: new DateField({ required: false, allowNull: true }),
    }
  }
  const declared = Page.declaredFields
  class Books extends modelViewSet(Book, {
    serializerClass: BookSerializer,
    strictParams: true,
    filterBackends: [FieldFilter],
    filtersetFields: ['title'],
    actions: {
      above: listAction({ methods: ['GET'], queryParameters: declared }, async function (query) {
        const found = await this.filterQueryset(this.getQueryset()).where('n', '>=', query.at_least).resultSize()
        return { query, found }
      }),
      zod: listAction(
        {
          methods: ['GET'],
          queryParameters: z.object({ n: z.int().min(1).default(1), on: z.boolean().optional(), of: z.array(z.int()) }),
        },
        (query) => query,
      ),
      price: listAction(
        { methods: ['GET'], queryParameters: modelSerializer(Book, { fields: ['n'] }) },
        (query) => query,
      ),
      copy: objectAction(
        { methods: ['POST'], input: { title: new StringField() }, queryParameters: { title: new IntegerField() } },
        (book, data, query) => ({ id: book.id, data, query }),
      ),
    },
  }) {
    @action({ methods: ['GET'], detail: true, queryParameters: { times: new IntegerField({ default: 2 }) } })
    async times({ times }: { times: number }) {
      return Array.from({ length: times }, () => 1)
    }
  }

  it('are lists where they may be null, too', async () => {
    const nullable = new ArrayField({ child: new IntegerField(), allowNull: true, required: false })
    class Listed extends modelViewSet(Book, {
      serializerClass: BookSerializer,
      actions: {
        own: listAction({ methods: ['GET'], queryParameters: { ids: nullable } }, (query) => query),
        zod: listAction(
          { methods: ['GET'], queryParameters: z.object({ ids: z.array(z.int()).nullable() }) },
          (query) => query,
        ),
      },
    }) {}
    const { get } = await api(Listed)
    for (const name of ['own', 'zod'])
      for (const query of ['ids=1,2', 'ids=1&ids=2', 'ids[]=1&ids[]=2'])
        expect((await get(`/api/books/${name}?${query}`)).json).toEqual({ ids: [1, 2] })
  })

  it('come checked, with their types and defaults, beside those of filters', async () => {
    const { get } = await api(Books)
    expect((await get('/api/books/above?at_least=2&title=Two')).json).toEqual({ query: { at_least: 2 }, found: 1 })
    const whole = '/api/books/above?at_least=1&kind=essay&since=2026-01-02'
    for (const tags of ['tags=a&tags=b', 'tags=a,b', 'tags[]=a&tags[]=b']) {
      const query = { at_least: 1, kind: 'essay', tags: ['a', 'b'], since: '2026-01-02' }
      expect((await get(`${whole}&${tags}`)).json).toEqual({ query, found: 2 })
    }
    expect((await get('/api/books/above?at_least=1&since=&tags=')).json).toEqual({
      query: { at_least: 1, since: null, tags: [] },
      found: 2,
    })
    expect((await get('/api/books/1/times')).json).toEqual([1, 1])
    expect((await get('/api/books/1/times?times=1')).json).toEqual([1])
    expect((await get('/api/books/zod?of=3&of=4&on=true')).json).toEqual({ n: 1, on: true, of: [3, 4] })
    expect((await get('/api/books/price?n=5')).json).toEqual({ n: 5 })
  })

  it('are refused by name before the action runs, and with strictParams what is none', async () => {
    const { get, send } = await api(Books)
    const errorsOf = async (path: string) => {
      const { status, json } = await get(path)
      expect({ status, json }).toMatchObject({ status: 400, json: { detail: 'Validation failed', status: 400 } })
      return (json as { errors: Record<string, unknown> }).errors
    }
    expect(await errorsOf('/api/books/above')).toEqual({ at_least: ['This field is required.'] })
    expect(Object.keys(await errorsOf('/api/books/above?at_least=-1&kind=play&since=x'))).toEqual([
      'at_least',
      'kind',
      'since',
    ])
    expect(await errorsOf('/api/books/above?at_least=1&kinds=essay')).toEqual({
      kinds: [expect.stringContaining('kind')],
    })
    expect(await errorsOf('/api/books/above?at_least=1&at_least=2')).toEqual({ at_least: ['Give it only once.'] })
    expect(Object.keys(await errorsOf('/api/books/zod?n=x&of=y'))).toEqual(['n', 'of'])
    expect(await errorsOf('/api/books/1/times?times=x')).toHaveProperty('times')
    expect(await errorsOf('/api/books/price?n=x')).toHaveProperty('n')
    expect((await send('POST', '/api/books/1/copy?title=x', { title: 'x' })).json).toMatchObject({
      errors: { title: ['A valid integer is required.'] },
    })
    expect((await send('POST', '/api/books/1/copy?title=7', { title: 'x' })).json).toEqual({
      id: 1,
      data: { title: 'x' },
      query: { title: 7 },
    })
  })

  it('are refused where they are none by a client that prefers it, as names of a declared body are', async () => {
    const count = listAction({ methods: ['GET'] }, (...given) => given.length)
    const lenient = modelViewSet(Book, {
      serializerClass: BookSerializer,
      actions: {
        above: listAction({ methods: ['GET'], queryParameters: declared }, (query) => query),
        copy: objectAction({ methods: ['POST'], input: { title: new StringField() } }, (_, data) => data),
        count,
      },
    })
    const { get, send } = await api(lenient)
    const strict = { Prefer: 'handling=strict' }
    const path = '/api/books/above?at_least=1'
    expect(await get(`${path}&kinds=essay`)).toMatchObject({ status: 200, json: { at_least: 1 } })
    expect(await get(`${path}&kinds=essay`, strict)).toMatchObject({
      status: 400,
      json: { errors: { kinds: ['Unknown parameter; did you mean "kind"?'] } },
    })
    expect((await get(`${path}&kind=essay`, strict)).headers).toMatchObject({ 'preference-applied': 'handling=strict' })
    const body = { title: 'x', titel: 'y' }
    expect((await send('POST', '/api/books/1/copy?any=1', body)).json).toEqual({ title: 'x' })
    expect((await send('POST', '/api/books/1/copy?any=1', body, strict)).json).toMatchObject({
      errors: { titel: ['Unknown field; did you mean "title"?'] },
    })
    expect((await send('POST', '/api/books/1/copy?any=1', { title: 'x' }, strict)).json).toEqual({ title: 'x' })
    // what it reads is not declared
    expect((await get('/api/books/count?any=1', strict)).status).toBe(200)
  })

  it('stand in the document, in tools and in the types of clients', async () => {
    const { router, port } = await api(Books)
    const { paths } = router.getSchema({ title: 'Books', version: '1' })
    expect(paths['/api/books/above']?.get?.parameters).toEqual([
      {
        name: 'at_least',
        in: 'query',
        description: 'The least number.',
        required: true,
        schema: { type: 'integer', format: 'int32', minimum: 0 },
      },
      { name: 'kind', in: 'query', description: '', schema: { type: 'string', enum: KINDS } },
      {
        name: 'tags',
        in: 'query',
        description: '',
        schema: { type: 'array', items: { type: 'string' }, maxItems: 1000 },
        explode: false,
      },
      { name: 'since', in: 'query', description: '', schema: { type: ['string', 'null'], format: 'date' } },
      { $ref: '#/components/parameters/Prefer_of_book' },
    ])
    expect(paths['/api/books/{id}/copy']?.post?.parameters).toContainEqual(
      expect.objectContaining({ name: 'title', in: 'query', required: true }),
    )
    expect(paths['/api/books']?.get?.parameters).not.toContainEqual(expect.objectContaining({ name: 'at_least' }))

    const typed = new APIRouter().register('books', Books)
    const client = createClient<typeof typed>(`http://127.0.0.1:${port}/api`)
    const above = await client.books.call('GET', 'above', { at_least: 1, tags: ['a', 'b'], since: '2026-01-02' })
    expect(above).toMatchObject({ ok: true, data: { found: 2, query: { tags: ['a', 'b'] } } })
    // @ts-expect-error it is required
    expect(await client.books.call('GET', 'above', {})).toMatchObject({ ok: false, status: 400 })
    // @ts-expect-error there is no such kind
    expect(await client.books.call('GET', 'above', { at_least: 1, kind: 'play' })).toMatchObject({ ok: false })
    const copied = await client.books.callOn(1, 'POST', 'copy', { title: 'x' }, { query: { title: 7 } })
    expect(copied).toMatchObject({ ok: true, data: { query: { title: 7 } } })

    const agents = await serveApp(mcp(router, { tools: ['books:*'] }), undescribed(router.routes()))
    const called = await callTool(await connectAgent(agents), 'book_above', { at_least: 1, tags: ['a', 'b'] })
    expect(called.json).toMatchObject({ query: { at_least: 1, tags: ['a', 'b'] }, found: 2 })
  })

  it('are fields that a query can hold', async () => {
    const prepare = (queryParameters: NonNullable<ActionSpec<unknown>['queryParameters']>) => {
      const wrong = listAction({ methods: ['GET'], queryParameters }, () => 1)
      return new APIRouter().register(
        'books',
        modelViewSet(Book, { serializerClass: BookSerializer, actions: { wrong } }),
      )
    }
    await expect(prepare({ page: new NestedSerializer(Page) }).prepare()).rejects.toThrow(
      '.wrong: queryParameters has "page", a NestedSerializer: a query holds no objects and no files',
    )
    await expect(prepare({ file: new FileUploadField() }).prepare()).rejects.toThrow('has "file", a FileUploadField')
    await expect(prepare(z.string()).prepare()).rejects.toThrow('queryParameters names no parameter')
    expect(() => prepare({ n: 1 } as never)).toThrow('declaredFields.n')
    expect(() => prepare(class {} as never)).toThrow('queryParameters')
  })
})
