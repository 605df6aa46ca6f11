/** Mistakes in what a view set declares of aggregates and facets, and who may ask for them. */
import { describe, expect, it } from 'vitest'
import {
  APIRouter,
  BasePermission,
  BaseThrottle,
  CacheableMixin,
  type Context,
  configure,
  FieldFilter,
  IDMixin,
  LimitOffsetPagination,
  ModelSerializer,
  ModelViewSet,
  NestedRouter,
  NestedViewSetMixin,
  StringField,
} from '../../lib/index.js'
import { AggregateMixin, avg, count, countDistinct, ListAPIView, max, min, sum } from '../../lib/views/index.js'
import { serveApp } from '../support/client.js'
import { Author, AuthorSerializer, Book, BookViewSet, database, useLibrary } from '../support/library.js'
import { routerOf, serveRouter, serveViews } from '../support/views.js'

useLibrary()

/** What is wrong with a view set of these statics, as `prepare()` or the registration says. */
async function problemOf(statics: object, base: typeof BookViewSet = BookViewSet): Promise<string> {
  class Books extends base {}
  try {
    await routerOf({ books: Object.assign(Books, statics) }).prepare()
    return 'none'
  } catch (error) {
    return `${(error as Error).name}: ${(error as Error).message}`
  }
}

describe('declarations', () => {
  it.each<[object, RegExp]>([
    [{ aggregates: { x: sum('title') } }, /Books: aggregates\.x: sum\("title"\) is of type text; it takes numbers and/],
    [{ aggregates: { x: avg('titel') } }, /Books: aggregates\.x names "titel": Book has neither a column nor/],
    [{ aggregates: { x: 'sum' } }, /Books: aggregates\.x is "sum"; write count\(\), sum\('price'\) or the like/],
    [{ aggregates: { x: null } }, /Books: aggregates\.x is null; write/],
    [{ aggregates: { 'a,b': count() } }, /Books: aggregates\.a,b: the name "a,b" cannot stand in a query/],
    [{ aggregates: { '-a': count() } }, /the name "-a" cannot stand in a query/],
    [{ aggregates: { größe: count(), 件数: count() } }, /none/],
    [{ aggregates: ['x'] }, /Books: static aggregates is \["x"\]; give an object/],
    [{ aggregates: { x: sum('author__books__n') } }, /which leads to many objects/],
    [{ aggregates: { n: count() }, groupBy: ['n'] }, /Books: aggregates\.n has the name of one of groupBy; rename it/],
    [{ groupBy: ['n'] }, /Books: groupBy needs static aggregates/],
    [{ aggregates: { x: count() }, groupBy: ['author'] }, /Books: groupBy names "author": "author" is a relation/],
    [
      { aggregates: { x: count() }, groupBy: ['title__month'] },
      /groupBy names "title__month", and "title" of type text has no month/,
    ],
    [{ aggregates: { x: count() }, groupBy: ['tilte__month'] }, /groupBy names "tilte": Book has neither/],
    [{ facets: 'n' }, /Books: static facets is "n"; give a list of names/],
    [{ facets: ['nn'] }, /Books: facets names "nn": Book has neither/],
    [{ facets: ['n'], filtersetFields: ['n'], queryParameters: [], searchParam: 'facet' }, /none/],
    [{ aggregateTimeout: 0 }, /aggregateTimeout is 0; give a whole number of at least 1/],
    [{ aggregats: { x: count() } }, /did you mean aggregates\?/],
  ])('%j are wrong', async (statics, expected) => {
    expect(await problemOf(statics)).toMatch(expected)
  })

  it('are all told together', async () => {
    const problem = await problemOf({ aggregates: { x: sum('title'), y: avg('no') }, facets: ['no'] })
    expect(problem.split('\n')).toHaveLength(3)
  })

  it('name nothing that the serializer takes and never shows', async () => {
    class Secret extends ModelSerializer<Book> {
      static override schemaName = 'SecretBook'
      static override model = Book
      static override fields = ['id', 'title', 'isbn']
      static override declaredFields = { isbn: new StringField({ writeOnly: true }) }
    }
    class Books extends BookViewSet {
      static override serializerClass = Secret as never
    }
    for (const statics of [{ aggregates: { x: max('isbn') } }, { facets: ['isbn'] }]) {
      expect(await problemOf(statics, Books)).toMatch(
        /names "isbn", which the serializer takes and never shows; take it/,
      )
    }
    // what it does not have, the view set alone declares
    expect(await problemOf({ aggregates: { x: sum('price') } }, Books)).toBe('none')
  })

  it('name nothing that a model hides', async () => {
    class Hidden extends Book {
      static hidden = ['isbn']
    }
    class Serializer extends ModelSerializer<Book> {
      static override schemaName = 'HiddenBook'
      static override model = Hidden
      static override fields = ['id', 'title']
    }
    class Books extends BookViewSet {
      static override model = Hidden
      static override serializerClass = Serializer as never
    }
    expect(await problemOf({ aggregates: { x: countDistinct('isbn') } }, Books)).toMatch(/"isbn", which Hidden hides/)
  })

  it('take the names of parameters only where nothing else reads them', async () => {
    const paginationClass = new LimitOffsetPagination({ limitQueryParam: 'aggregate' })
    expect(await problemOf({ aggregates: { x: count() }, groupBy: ['n'], paginationClass })).toMatch(
      /the query parameter "aggregate" is read by aggregate\(\) and for another purpose/,
    )
  })

  it('refuse an argument that is no column', () => {
    expect(() => sum(3 as never)).toThrow('sum(3): give the name of a column')
    expect(() => min('')).toThrow('give the name of a column')
  })
})

describe('routes', () => {
  it('are there where something is declared, before those of objects', async () => {
    class Both extends BookViewSet {
      static override aggregates = { books: count() }
      static override facets = ['n']
    }
    const paths = (api: APIRouter) => api.endpoints.map(({ pattern }) => pattern)
    expect(paths(routerOf({ books: Both }))).toEqual(expect.arrayContaining(['/books/aggregate', '/books/facets']))
    expect(paths(routerOf({ books: BookViewSet })).join()).not.toMatch(/aggregate|facets/)
    const client = await serveViews({ books: Both })
    expect((await client.get('/books/aggregate')).json).toEqual({ books: 0 })
    expect((await client.get('/books/facets')).json).toEqual({ n: { values: [], has_more: false } })
    expect((await client.send('OPTIONS', '/books/aggregate')).json).toMatchObject({
      name: 'Both',
      allowed_methods: ['get', 'head', 'options'],
    })
  })

  it("are an application's own by asView(), on any generic view with the mixin", async () => {
    class Totals extends AggregateMixin(ListAPIView<Book>) {
      static override model = Book
      static override serializerClass = BookViewSet.serializerClass
      static override aggregates = { total: sum('n') }
      static override filterBackends = [FieldFilter]
      static override filtersetFields = ['n']
    }
    await Book.query().insert([
      { title: 'a', n: 2 },
      { title: 'b', n: 3 },
    ])
    const client = await serveApp(Totals.asView({ get: 'aggregate' }) as never)
    expect((await client.get('/whatever?n__gt=2')).json).toEqual({ total: 3 })
  })

  it('are under the object before them on the path', async () => {
    class Books extends NestedViewSetMixin(BookViewSet) {
      static override parentLookupField = 'author_id'
      static override aggregates = { books: count() }
      static override groupBy = ['title']
      static override facets = ['title']
    }
    class Authors extends ModelViewSet<Author> {
      static override model = Author
      static override serializerClass = AuthorSerializer
    }
    await Book.query().insert([
      { title: 'a', author_id: 1 },
      { title: 'a', author_id: 2 },
      { title: 'b', author_id: 2 },
    ])
    const api = new APIRouter()
    api.register('authors', Authors)
    new NestedRouter(api, 'authors', { lookup: 'author' }).register('books', Books)
    const client = await serveRouter(api)
    expect((await client.get('/authors/2/books/aggregate')).json).toEqual({ books: 2 })
    expect((await client.get('/authors/1/books/aggregate?group_by=title')).json).toEqual([{ title: 'a', books: 1 }])
    expect((await client.get('/authors/1/books/facets')).json.title.values).toEqual([{ value: 'a', count: 1 }])
    for (const path of ['aggregate', 'facets', 'aggregate?group_by=title']) {
      expect((await client.get(`/authors/9/books/${path}`)).status).toBe(404)
    }
  })
})

describe('policies', () => {
  it('are those of the view set, and know the action', async () => {
    class ByAction extends BasePermission {
      override hasPermission(ctx: Context, { action }: { action: string }) {
        return ctx.get('X-May').split(',').includes(action)
      }
    }
    let asked = 0
    class Counting extends BaseThrottle {
      override check() {
        asked++
        return { allowed: true, states: [] } as never
      }
    }
    class Books extends CacheableMixin(BookViewSet) {
      static override aggregates = { books: count() }
      static override facets = ['n']
      static override permissionClasses = [ByAction]
      static override throttleClasses = [Counting] as never
    }
    const client = await serveViews({ books: Books })
    for (const action of ['aggregate', 'facets']) {
      const { headers, status } = await client.get(`/books/${action}`, { 'X-May': action })
      expect([status, headers['cache-control']]).toEqual([200, 'private'])
      const again = await client.get(`/books/${action}`, { 'X-May': action, 'If-None-Match': headers['etag'] })
      expect(again.status).toBe(304)
      expect((await client.get(`/books/${action}`, { 'X-May': 'list' })).status).toBe(401)
    }
    expect(asked).toBe(4)
  })
})

describe('external ids', () => {
  class Keyed extends IDMixin(Author) {
    static override idConfig = { mode: 'encoded', alphabet: 'kwPqz' } as const
  }

  class Books extends BookViewSet {
    static override model = class KeyedBook extends Book {
      static override relationMappings = () => {
        const { author, ...others } = Book.relationMappings()
        return { ...others, author: { ...author, modelClass: Keyed } }
      }
    } as never
    static override serializerClass = class extends ModelSerializer<Book> {
      static override schemaName = 'KeyedBook'
      static override model = Books.model
      static override fields = ['id', 'author_id']
    } as never
    static override filterBackends = [FieldFilter]
    static override filtersetFields = ['author_id']
    static override aggregates = { books: count(), authors: countDistinct('author_id') }
    static override groupBy = ['author_id']
    static override facets = ['author_id']
  }

  it('are shown in place of keys, which no aggregate shows', async () => {
    configure({ secretKey: 'a secret of the tests' })
    await Book.query().insert([
      { title: 'a', author_id: 1 },
      { title: 'b', author_id: 1 },
    ])
    const client = await serveViews({ books: Books })
    const [group] = (await client.get('/books/aggregate?group_by=author_id')).json
    expect(group).toEqual({ author_id: expect.stringMatching(/\D/), books: 2, authors: 1 })
    const { author_id: facet } = (await client.get('/books/facets')).json
    expect(facet.values).toEqual([{ value: group.author_id, count: 2 }])
    const filtered = await client.get(`/books/aggregate?author_id=${group.author_id}&aggregate=books`)
    expect(filtered.json).toEqual({ books: 2 })
    expect(await problemOf({ aggregates: { x: max('author_id') } }, Books as never)).toMatch(
      /hides behind external ids/,
    )
  })
})

describe('the time of a statement', () => {
  it('is bounded: 503', async () => {
    await database.knex.raw(`create or replace view slow_books as select b.*, pg_sleep(2)::text as nap from books b`)
    class Slow extends Book {
      static override tableName = 'slow_books'
      static override relationMappings = () => ({}) as never
    }
    class Serializer extends ModelSerializer<Book> {
      static override schemaName = 'SlowBook'
      static override model = Slow
      static override fields = ['id']
    }
    class Books extends BookViewSet {
      static override model = Slow
      static override serializerClass = Serializer as never
      static override aggregates = { naps: max('nap') }
      static override facets = ['nap']
      static override aggregateTimeout = 50
    }
    await Book.query().insert({ title: 'a' })
    const client = await serveViews({ books: Books })
    for (const path of ['aggregate', 'facets']) {
      expect((await client.get(`/books/${path}`)).status).toBe(503)
    }
    await database.knex.raw('drop view slow_books')
  })

  it('says where values are too large together: 400', async () => {
    await database.knex.raw(`create table floats (id int primary key, x float8, lasted interval)`)
    await database.knex.raw(`insert into floats values (1, 1e308, '178000000 years'), (2, 1e308, '178000000 years')`)
    class Float extends Book {
      static override tableName = 'floats'
      static override relationMappings = () => ({}) as never
    }
    class Serializer extends ModelSerializer<Book> {
      static override schemaName = 'Float'
      static override model = Float
      static override fields = ['id'] as never
    }
    class Floats extends BookViewSet {
      static override model = Float
      static override serializerClass = Serializer as never
      static override aggregates = { total: sum('x'), mean: avg('x'), lasted: sum('lasted'), most: max('x') }
    }
    const client = await serveViews({ floats: Floats })
    for (const name of ['total', 'mean', 'lasted']) {
      const { status, json } = await client.get(`/floats/aggregate?aggregate=${name}`)
      expect([status, json.errors]).toEqual([
        400,
        { non_field_errors: ['The values are too large to be computed together.'] },
      ])
    }
    expect((await client.get('/floats/aggregate?aggregate=most')).json).toEqual({ most: 1e308 })
    await database.knex.raw(`update floats set x = 'NaN' where id = 1`)
    // the document says of floats that they are numbers, wherever they are shown
    const answer = await fetch(`http://127.0.0.1:${client.port}/floats/aggregate?aggregate=total,most`)
    expect(await answer.json()).toEqual({ total: 'NaN', most: 'NaN' })
    await database.knex.raw(`drop table floats`)
  })
})
