/** Classes that factories make are those that one writes with statics. */
import {
  APIRouter,
  BasePermission,
  bulkModelViewSet,
  CacheableMixin,
  ConfigurationError,
  DateField,
  FieldFilter,
  genericViewSet,
  IsAuthenticated,
  ListMixin,
  listAction,
  ModelSerializer,
  ModelViewSet,
  modelSerializer,
  modelViewSet,
  NestedRouter,
  NestedSerializer,
  nestedViewSet,
  OrderingFilter,
  objectAction,
  PageNumberPagination,
  readOnlyModelViewSet,
  SerializerMethodField,
  StringField,
} from 'koa-viewsets'
import { formatExplanations } from 'koa-viewsets/tools'
import { ListCreateAPIView, modelView } from 'koa-viewsets/views'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Client, serveApp, serving } from '../support/client.js'
import { Author, Book as LibraryBook, useLibrary } from '../support/library.js'

useLibrary({
  sql: `
    alter table books
      alter price set not null, alter price set default 1, add published_on date, add archived boolean not null default false;
    insert into books (title, price, author_id, archived)
      select 'Book ' || n, n, 1 + n % 2, n = 9 from generate_series(1, 9) n;`,
  keep: true,
})

class Book extends LibraryBook {
  declare price: string
  declare published_on: string | null
  declare archived: boolean
}

class AuthorSerializer extends modelSerializer(Author, { fields: ['id', 'name'] }) {}
class BookSerializer extends modelSerializer(Book, {
  fields: ['id', 'title', 'price', 'published_on', 'author_id'],
  declaredFields: { author: new NestedSerializer(AuthorSerializer, { readOnly: true }) },
  extraKwargs: { title: { minLength: 2 } },
}) {}
class LabelledSerializer extends modelSerializer(Book, {
  fields: ['id', 'label'],
  declaredFields: { label: new SerializerMethodField<string>() },
}) {
  getLabel(book: Book) {
    return `${book.title}!`
  }
}

class Never extends BasePermission {
  override hasPermission() {
    return false
  }
}

class BookViewSet extends modelViewSet(Book, {
  serializerClass: BookSerializer,
  paginationClass: new PageNumberPagination({ pageSize: 3 }),
  filterBackends: [FieldFilter, OrderingFilter],
  filtersetFields: ['price', 'author__name'],
  orderingFields: ['price'],
  ordering: ['-id'],
  mixins: [CacheableMixin],
  cacheMaxAge: 60,
  actions: {
    publish: objectAction(
      { methods: ['POST'], input: { published_on: new DateField() }, output: BookSerializer },
      async function (book, { published_on }) {
        await book.$query(this.trx).patch({ published_on })
        return this.getSerializer({ obj: Object.assign(book, { published_on }) }).data
      },
    ),
    titles: listAction({ methods: ['GET'], urlPath: 'all-titles' }, async function () {
      const books = await this.getQueryset().orderBy('id')
      return books.map(({ title }) => title)
    }),
    closed: listAction({ methods: ['POST'], permissionClasses: [Never] }, () => null),
  },
}) {
  override getQueryset() {
    return super.getQueryset().where('archived', false)
  }
}
class LabelViewSet extends modelViewSet(Book, { serializerClass: LabelledSerializer, ordering: ['id'] }) {}
class AuthorViewSet extends readOnlyModelViewSet(Author, { serializerClass: AuthorSerializer, ordering: ['id'] }) {}
class WrittenViewSet extends nestedViewSet(Book, { serializerClass: BookSerializer, parentLookupField: 'author_id' }) {}
class EntryViewSet extends bulkModelViewSet(Author, { serializerClass: AuthorSerializer, maxBulkSize: 2 }) {}
class NameViewSet extends genericViewSet(Author, { serializerClass: AuthorSerializer, mixins: [ListMixin] }) {}
class Feed extends BookViewSet {
  static override paginationClass = null
}

let client: Client
const api = new APIRouter({ prefix: '/api' })

beforeAll(async () => {
  api.register('books', BookViewSet).register('labels', LabelViewSet, 'label').register('authors', AuthorViewSet)
  api.register('entries', EntryViewSet, 'entry').register('names', NameViewSet, 'name').register('feed', Feed, 'feed')
  new NestedRouter(api, 'authors', { lookup: 'author' }).register('books', WrittenViewSet, 'written')
  await api.prepare()
  client = await serving(api.routes())
})
afterAll(() => client.close())

describe('a view set of a factory', () => {
  it('lists, filters, orders and pages', async () => {
    const { json: body } = await client.get('/api/books?author__name=Ada&ordering=price')
    expect(body).toMatchObject({
      count: 4,
      results: [{ id: 2, price: '2.00', author: { id: 1, name: 'Ada' } }, {}, {}],
    })
    expect((await client.get('/api/books')).json).toMatchObject({
      count: 8,
      results: [{ id: 8 }, { id: 7 }, { id: 6 }],
    })
  })

  it('has the statics of its mixins', async () => {
    expect((await client.get('/api/books/1')).headers['cache-control']).toBe('private, max-age=60')
  })

  it('is narrowed by the override of its subclass', async () => {
    expect((await client.get('/api/books/9')).status).toBe(404)
    expect((await client.get('/api/feed')).json).toHaveLength(8)
  })

  it('validates and writes', async () => {
    expect((await client.send('POST', '/api/books', { title: 'x' })).json).toMatchObject({
      errors: { title: [expect.stringContaining('2')] },
    })
    const made = await client.send('POST', '/api/books', { title: 'New', author_id: 2 })
    expect(made).toMatchObject({ status: 201, json: { title: 'New', price: '1.00', author: { name: 'Ben' } } })
    expect((await client.send('DELETE', `/api/books/${(made.json as { id: number }).id}`)).status).toBe(204)
  })

  it('runs an action on the object, with its validated input', async () => {
    const { json: body } = await client.send('POST', '/api/books/3/publish', { published_on: '2026-01-02' })
    expect(body).toMatchObject({ id: 3, published_on: '2026-01-02', author: { id: 2 } })
    expect((await client.get('/api/books/3')).json).toMatchObject({ published_on: '2026-01-02' })
    expect((await client.send('POST', '/api/books/3/publish', { published_on: 'soon' })).status).toBe(400)
    expect((await client.send('POST', '/api/books/9/publish', { published_on: '2026-01-02' })).status).toBe(404)
  })

  it('runs an action of the collection, with statics of its own', async () => {
    expect((await client.get('/api/books/all-titles')).json).toHaveLength(8)
    expect((await client.send('POST', '/api/books/closed')).status).toBe(401)
  })

  it('may have one function for several actions, each with what is said of it', async () => {
    const same = () => 'done'
    const view = modelViewSet(Book, {
      serializerClass: BookSerializer,
      actions: {
        open: listAction({ methods: ['GET'] }, same),
        closed: listAction({ methods: ['POST'], permissionClasses: [IsAuthenticated] }, same),
      },
    })
    const { get, send } = await serveApp(new APIRouter().register('books', view).routes())
    expect([(await get('/books/open')).json, (await get('/books/closed')).status]).toEqual(['done', 405])
    expect((await send('POST', '/books/closed')).status).toBe(401)
  })

  it('calls the methods of its serializer', async () => {
    expect((await client.get('/api/labels/1')).json).toEqual({ id: 1, label: 'Book 1!' })
  })

  it('belongs to the objects of another, has bulk actions, or only those of its mixins', async () => {
    expect((await client.get('/api/authors/1/books')).json).toHaveLength(4)
    expect((await client.send('POST', '/api/authors/1/books', { title: 'Nested' })).json).toMatchObject({
      author_id: 1,
    })
    expect((await client.send('POST', '/api/entries/bulk', [{ name: 'x' }, { name: 'y' }])).status).toBe(201)
    expect((await client.send('POST', '/api/entries/bulk', [{}, {}, {}])).status).toBe(400)
    expect((await client.get('/api/names')).status).toBe(200)
    expect((await client.send('POST', '/api/names', { name: 'x' })).status).toBe(405)
  })

  it('reads rows, as one with statics does', async () => {
    class Written extends ModelViewSet<Author> {
      static override model = Author
      static override serializerClass = AuthorSerializer
    }
    class Made extends modelViewSet(Author, { serializerClass: AuthorSerializer }) {}
    const explained = async (view: typeof Written | typeof Made) => {
      const own = new APIRouter().register('x', view)
      return formatExplanations(await own.explain()).replaceAll(view.name, 'View')
    }
    expect(await explained(Made)).toBe(await explained(Written))
  })
})

it('makes a generic view, too', async () => {
  class Names extends modelView(ListCreateAPIView, Author, {
    serializerClass: AuthorSerializer,
    ordering: ['id'],
    mayLeaveQueryset: true,
  }) {
    override getQueryset() {
      return super.getQueryset().where('id', '<', 3)
    }
  }
  const own = await serving(Names.asView())
  expect((await own.get('/')).json).toEqual([
    { id: 1, name: 'Ada' },
    { id: 2, name: 'Ben' },
  ])
  expect((await own.send('POST', '/', { name: 'Cyd' })).status).toBe(201)
  expect((await own.send('DELETE', '/')).status).toBe(405)
  await own.close()
  expect(() => modelView(Author as never, Author, {})).toThrow(
    'modelView(): the first argument is the class of a generic view',
  )
})

describe('without a subclass', () => {
  it('is named after its model', () => {
    expect(modelSerializer(Author, { fields: ['id'] }).name).toBe('AuthorSerializer')
    expect(modelViewSet(Author, {}).name).toBe('AuthorViewSet')
    expect(modelSerializer(Author, { fields: ['id'] }).prototype).toBeInstanceOf(ModelSerializer)
  })
})

describe('what JavaScript may get wrong', () => {
  const spec = (value: object) => value as never
  it.each<[string, () => unknown, string]>([
    [
      'a misspelt static',
      () => modelViewSet(Book, spec({ odering: ['id'] })),
      'modelViewSet(Book): nobody reads "odering"; did you mean "ordering"?',
    ],
    [
      'a misspelt static of a serializer',
      () => modelSerializer(Book, spec({ feilds: ['id'] })),
      'modelSerializer(Book): nobody reads "feilds"; did you mean "fields"?',
    ],
    [
      'the model once more',
      () => modelViewSet(Book, spec({ model: Author })),
      'modelViewSet(Book): nobody reads "model"',
    ],
    ['a value of a wrong kind', () => modelViewSet(Book, spec({ ordering: 'id' })), 'modelViewSet(Book): ordering'],
    [
      'no model',
      () => modelViewSet(class {} as never, {}),
      'modelViewSet(): the first argument is an Objection model class',
    ],
    ['nothing declared', () => modelViewSet(Book, undefined as never), 'modelViewSet(Book): the second argument'],
    [
      'a mixin that is none',
      () => modelViewSet(Book, spec({ mixins: [{}] })),
      'modelViewSet(Book): mixins holds what is no mixin',
    ],
    [
      'an action that is none',
      () => modelViewSet(Book, spec({ actions: { go: () => 1 } })),
      'BookViewSet: actions.go is no action',
    ],
    [
      'an action by the name of a method',
      () => modelViewSet(Book, spec({ actions: { list: listAction({ methods: ['GET'] }, () => 1) } })),
      'BookViewSet: actions.list has the name of a member',
    ],
    [
      'an action by the name of what a view is given',
      () => modelViewSet(Book, spec({ actions: { body: listAction({ methods: ['GET'] }, () => 1) } })),
      'BookViewSet: actions.body has the name of a member',
    ],
    [
      'an action of no method',
      () => modelViewSet(Book, spec({ actions: { go: listAction({ methods: [] }, () => 1) } })),
      'action(): methods is []',
    ],
    [
      'input for GET',
      () =>
        modelViewSet(
          Book,
          spec({ actions: { go: listAction({ methods: ['GET'], input: { x: new StringField() } }, () => 1) } }),
        ),
      'inputSerializer reads the body',
    ],
    ['a static of a mixin that is not there', () => modelViewSet(Book, { cacheMaxAge: 3 }), 'cacheMaxAge'],
  ])('%s', (_mistake, make, message) => {
    expect(make).toThrow(ConfigurationError)
    expect(make).toThrow(message)
  })

  it('names that the model does not have, at the start', async () => {
    class Wrong extends modelViewSet(Book, {
      serializerClass: BookSerializer,
      filterBackends: [FieldFilter],
      filtersetFields: ['autor__name' as 'author__name'],
    }) {}
    await expect(new APIRouter().register('x', Wrong).prepare()).rejects.toThrow(/Wrong.*autor/)
  })
})
