/** The typed client against a real server. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import {
  APIRouter,
  bulkModelViewSet,
  CSVRenderer,
  CursorPagination,
  configure,
  DateField,
  FieldFilter,
  FileUploadField,
  type Generated,
  JSONRenderer,
  listAction,
  modelSerializer,
  modelViewSet,
  NestedRouter,
  nestedViewSet,
  OrderingFilter,
  objectAction,
  PageNumberPagination,
  SearchFilter,
  ServerCursorPagination,
  TokenAuthentication,
} from 'koa-viewsets'
import { ClientError, createClient } from 'koa-viewsets/client'
import { FileSystemStorage } from 'koa-viewsets/storage'
import { Model } from 'objection'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Client, serving } from '../support/client.js'
import { Author, Book as LibraryBook, useLibrary } from '../support/library.js'

useLibrary({
  sql: `
    alter table books add unique (title), alter price set not null, alter price set default 1, add published_on date,
      add version int not null default 1;
    create function count_up() returns trigger language plpgsql as $$ begin new.version = old.version + 1; return new; end $$;
    create trigger counted before update on books for each row execute function count_up();
    create table papers (id serial primary key, file text not null);
    create table files (name text primary key, size int not null default 0);
    insert into books (title, price, author_id) select 'Book ' || n, n, 1 + n % 2 from generate_series(1, 9) n;`,
  keep: true,
})

class Book extends LibraryBook {
  declare price: string
  declare published_on: string | null
  declare readonly version: number
}
class Paper extends Model {
  static override tableName = 'papers'
  declare id: number
  declare file: string
}

class Entry extends Model {
  static override tableName = 'files'
  static override idColumn = 'name'
  declare name: string
  declare size: Generated<number>
}

const folder = mkdtempSync(join(tmpdir(), 'client-'))
class BookSerializer extends modelSerializer(Book, {
  fields: ['id', 'title', 'price', 'published_on', 'version', 'author_id'],
  readOnlyFields: ['version'],
  extraKwargs: { price: { required: false }, published_on: { required: false }, author_id: { required: false } },
}) {}
class BookViewSet extends modelViewSet(Book, {
  serializerClass: BookSerializer,
  paginationClass: new PageNumberPagination({ pageSize: 4 }),
  filterBackends: [FieldFilter, SearchFilter, OrderingFilter],
  filtersetFields: ['price', 'author__name'],
  searchFields: ['title'],
  orderingFields: ['price'],
  ordering: ['id'],
  concurrency: 'version',
  expandable: { author: modelSerializer(Author, { fields: ['id', 'name'] }) },
  actions: {
    publish: objectAction({ methods: ['POST'], input: { on: new DateField() } }, async function (book: Book, { on }) {
      await book.$query(this.trx).patch({ published_on: on })
      return { title: book.title, on }
    }),
    titlesOf: listAction({ methods: ['GET'] }, async function () {
      const author = Number(this.ctx.query['author'])
      return (await this.getQueryset().where('author_id', author).orderBy('id')).map(({ title }: Book) => title)
    }),
    whoami: listAction({ methods: ['GET'] }, function () {
      return { user: this.ctx.state['user'] as string }
    }),
  },
  authenticationClasses: [new TokenAuthentication({ getUserForToken: (token) => (token === 'known' ? 'me' : null) })],
}) {}
class Feed extends BookViewSet {
  static override paginationClass = new CursorPagination({ pageSize: 4, ordering: '-price' })
  static override concurrency = null
}
class WrittenViewSet extends nestedViewSet(Book, {
  serializerClass: BookSerializer,
  parentLookupField: 'author_id',
  ordering: ['id'],
}) {}
class AuthorViewSet extends bulkModelViewSet(Author, {
  serializerClass: modelSerializer(Author, { fields: ['id', 'name'] }),
  ordering: ['id'],
}) {}
class PaperViewSet extends modelViewSet(Paper, {
  serializerClass: modelSerializer(Paper, {
    fields: ['id', 'file'],
    declaredFields: {
      file: new FileUploadField({ storage: new FileSystemStorage({ root: folder, baseUrl: '/files' }) }),
    },
  }),
}) {}

class EntryViewSet extends bulkModelViewSet(Entry, {
  serializerClass: modelSerializer(Entry, { fields: ['name', 'size'] }),
  lookupField: 'name',
  ordering: ['name'],
  paginationClass: new ServerCursorPagination({ pageSize: 2, maxPerUser: 2 }),
  rendererClasses: [JSONRenderer, CSVRenderer],
}) {}

const router = new APIRouter({ prefix: '/api' })
  .register('books', BookViewSet)
  .register('feed', Feed, 'feed')
  .register('authors', AuthorViewSet)
  .register('papers', PaperViewSet)
  .register('files', EntryViewSet)
  .register('admin/authors', AuthorViewSet, 'admin-author')
const nested = new NestedRouter(router, 'authors', { lookup: 'author_id' }).register('books', WrittenViewSet, 'written')
type Api = typeof router | typeof nested

let server: Client
let api: ReturnType<typeof clientOf>

function clientOf(url: string) {
  return createClient<Api>(url)
}

beforeAll(async () => {
  configure({ secretKey: 'x'.repeat(32) })
  await router.prepare()
  server = await serving(router.routes())
  api = clientOf(`http://127.0.0.1:${server.port}/api/`)
})
afterAll(async () => {
  await server.close()
  rmSync(folder, { recursive: true, force: true })
})

describe('a list', () => {
  it('is filtered, searched, ordered and paged', async () => {
    const found = await api.books.list({ price__gte: 3, author__name: 'Ben', ordering: '-price', search: 'book' })
    expect(found).toMatchObject({ ok: true, status: 200, data: { count: 4, results: [{ id: 9 }, { id: 7 }, {}, {}] } })
    const some = await api.books.list({ price__in: [2, 4], fields: ['id'], expand: 'author' })
    expect(some).toMatchObject({ data: { results: [{ id: 2, author: { name: 'Ada' } }, { id: 4 }] } })
  })

  it.each(['books', 'feed'] as const)('of %s goes from page to page', async (name) => {
    const sizes: number[] = []
    for await (const page of api[name].pages()) sizes.push(page.results.length)
    expect(sizes).toEqual([4, 4, 1])
    const ids: number[] = []
    for await (const { id } of api[name].all({ price__lte: 7 })) ids.push(id)
    expect(ids.sort((one, other) => one - other)).toEqual([1, 2, 3, 4, 5, 6, 7])
  })

  it('goes from link to link', async () => {
    const first = await api.feed.list({ price__lte: 8 })
    if (!first.ok) throw new Error(first.detail)
    const second = await api.feed.follow(first.data.next as string)
    expect(second).toMatchObject({ data: { next: null, results: [{ id: 5 }, {}, {}, { id: 8 }] } })
    if (!second.ok) throw new Error(second.detail)
    expect(await api.feed.follow(second.data.previous as string)).toMatchObject({
      data: { results: [{ id: 1 }, {}, {}, {}] },
    })
  })

  it('without pages is one', async () => {
    const names: string[] = []
    for await (const { name } of api.authors.all()) names.push(name)
    expect(names).toEqual(['Ada', 'Ben'])
  })

  it('tells in its iterator what went wrong', async () => {
    const asked = async () => {
      for await (const _ of api.books.all({ price__gte: 'dear' as never })) void _
    }
    await expect(asked()).rejects.toBeInstanceOf(ClientError)
    await expect(asked()).rejects.toMatchObject({
      failure: { kind: 'invalid', errors: { price__gte: [expect.any(String)] } },
    })
  })
})

describe('an object', () => {
  it('is created, read, changed as the version it is, and deleted', async () => {
    const made = await api.books.create({ title: 'New' })
    if (!made.ok) throw new Error(made.detail)
    const { id } = made.data
    expect(made).toMatchObject({ status: 201, data: { price: '1.00', version: 1 } })
    expect(made.etag).toMatch(/^"/)
    const changed = await api.books.partialUpdate(id, { price: '2.50' }, { ifMatch: made.etag })
    expect(changed).toMatchObject({ ok: true, data: { price: '2.50', version: 2 } })
    const late = await api.books.update(id, { title: 'Late' }, { ifMatch: made.etag })
    expect(late).toMatchObject({ ok: false, kind: 'changed', status: 412 })
    expect(await api.books.retrieve(id, { fields: ['title'] })).toMatchObject({ data: { title: 'New' } })
    expect(await api.books.destroy(id)).toMatchObject({ ok: true, status: 204, data: undefined })
    expect(await api.books.retrieve(id)).toMatchObject({ ok: false, kind: 'missing', status: 404, detail: 'Not found' })
  })

  it('is refused by field', async () => {
    const refused = await api.books.create({ title: 'Book 1', price: 'dear' })
    expect(refused).toMatchObject({ ok: false, kind: 'invalid', errors: { price: [expect.any(String)] } })
    expect(await api.books.create({ title: 'Book 1' })).toMatchObject({ errors: { title: [expect.any(String)] } })
  })

  it('has what belongs to it', async () => {
    const below = api.authors.at(2).books
    expect(await below.list()).toMatchObject({ data: [{ id: 1 }, { id: 3 }, { id: 5 }, { id: 7 }, { id: 9 }] })
    expect(await below.create({ title: 'Below' })).toMatchObject({ ok: true, data: { author_id: 2 } })
    expect(await api.authors.at(99).books.list()).toMatchObject({ kind: 'missing' })
  })

  it('is written with others', async () => {
    const made = await api.authors.bulkCreate([{ name: 'x' }, { name: 'y' }])
    if (!made.ok) throw new Error(made.detail)
    const [one = { id: 0 }, other = { id: 0 }] = made.data
    expect(await api.authors.bulkUpdate([{ id: one.id, name: 'z' }])).toMatchObject({ data: [{ name: 'z' }] })
    expect(await api.authors.bulkDestroy([one.id, other.id])).toMatchObject({ data: { deleted: [one.id, other.id] } })
  })

  it.each(['a.json', 'a', 'a.csv', 'a.json.json', 'ä ö', '%2e', '...', 'a?b#c', '.hidden', 'a+b'])(
    'is the one that its key names, whatever that looks like: %s',
    async (name) => {
      expect(await api.files.create({ name })).toMatchObject({ status: 201 })
      expect(await api.files.partialUpdate(name, { size: 7 })).toMatchObject({ data: { name, size: 7 } })
      expect(await api.files.retrieve(name)).toMatchObject({ data: { name, size: 7 } })
    },
  )

  it('is named by its own key in lists', async () => {
    const names: string[] = []
    // five pages of one snapshot
    for await (const { name } of api.files.all()) names.push(name)
    expect(names).toHaveLength(10)
    expect(await api.files.bulkUpdate([{ name: 'a', size: 8 }])).toMatchObject({ data: [{ name: 'a', size: 8 }] })
    expect(await api.files.bulkDestroy(['a', { name: 'a.json' }])).toMatchObject({ data: { deleted: ['a', 'a.json'] } })
    for (const name of names) if (!name.startsWith('a')) expect((await api.files.destroy(name)).ok).toBe(true)
  })

  it('of a path with a slash is reached by its name', async () => {
    expect(await api['admin/authors'].retrieve(1)).toMatchObject({ data: { id: 1, name: 'Ada' } })
  })

  it('shows what is asked for, when it is written, too', async () => {
    const made = await api.books.create(
      { title: 'Part', author_id: 1 },
      { query: { fields: ['id'], expand: 'author' } },
    )
    expect(made.data).toEqual({ id: expect.any(Number), author: { id: 1, name: 'Ada' } })
    if (made.ok) await api.books.destroy(made.data.id)
  })

  it('has files', async () => {
    const file = new File(['hello'], 'note.txt', { type: 'text/plain' })
    expect(await api.papers.create({ file })).toMatchObject({
      ok: true,
      data: { file: expect.stringMatching(/^\/files\/.*txt$/) },
    })
  })
})

describe('an action', () => {
  it('is called by its path', async () => {
    expect(await api.books.callOn(3, 'POST', 'publish', { on: '2026-01-02' })).toMatchObject({
      data: { title: 'Book 3', on: '2026-01-02' },
    })
    expect(await api.books.callOn(3, 'POST', 'publish', { on: 'soon' })).toMatchObject({
      errors: { on: [expect.any(String)] },
    })
    expect(await api.books.call('GET', 'titles_of', { author: 1 })).toMatchObject({
      data: ['Book 2', 'Book 4', 'Book 6', 'Book 8'],
    })
  })
})

describe('a request', () => {
  it('has the headers of a function, which may wait', async () => {
    const asked: string[] = []
    const known = createClient<Api>(`http://127.0.0.1:${server.port}/api`, {
      headers: async ({ method, url }) => {
        asked.push(`${method} ${new URL(url).pathname}`)
        return { authorization: 'Token known' }
      },
    })
    expect(await known.books.call('GET', 'whoami')).toMatchObject({ data: { user: 'me' } })
    expect(asked).toEqual(['GET /api/books/whoami'])
    const wrong = createClient<Api>(`http://127.0.0.1:${server.port}/api`, { headers: { authorization: 'Token no' } })
    expect(await wrong.books.list()).toMatchObject({ kind: 'unauthenticated', status: 401 })
  })
})
