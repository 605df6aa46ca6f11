/** Bulk routes: what they take, which objects they name, what they cost, and what comes back. */
import { Model, type QueryBuilder } from 'objection'
import { beforeAll, beforeEach, describe, expect, it } from 'vitest'
import {
  APIRouter,
  BulkCreateMixin,
  BulkDestroyMixin,
  BulkModelViewSet,
  BulkUpdateMixin,
  ConfigurationError,
  GenericViewSet,
  IntegerField,
  ModelSerializer,
  NestedRouter,
  NestedSerializer,
  NestedViewSetMixin,
  SerializerMethodField,
  ValidationError,
} from '../../lib/index.js'
import { api, BookViewSet, three, titles, WAYS, writing } from '../support/bulk-books.js'
import { countQueries } from '../support/database.js'
import {
  Author,
  AuthorSerializer,
  Book,
  BookSerializer,
  database,
  Review,
  removeBooks,
  Tag,
  TagSerializer,
  useLibrary,
} from '../support/library.js'
import { serveRouter } from '../support/views.js'

useLibrary()

describe('bulk routes', () => {
  it('are those of the mixins', async () => {
    const router = new APIRouter().register('books', BookViewSet)
    await router.prepare()
    expect(
      router.endpoints
        .filter(({ kind }) => kind === 'bulk')
        .map(({ pattern, operations, detail }) => ({ pattern, detail, operations: [...operations.values()] })),
    ).toMatchObject([
      {
        pattern: '/books/bulk',
        detail: false,
        operations: [
          { method: 'POST', action: 'bulkCreate', name: 'book-bulk_create', operationId: 'book_bulk_create' },
          { method: 'PATCH', action: 'bulkUpdate', name: 'book-bulk_update', operationId: 'book_bulk_update' },
          { method: 'DELETE', action: 'bulkDestroy', name: 'book-bulk_destroy', operationId: 'book_bulk_destroy' },
        ],
      },
    ])
    class Only extends BulkDestroyMixin(GenericViewSet<Book>) {
      static override model = Book
      static override serializerClass = BookSerializer
    }
    expect(
      new APIRouter()
        .register('books', Only)
        .getUrls()
        .map(([method, , , name]) => [method, name]),
    ).toEqual([
      ['GET', 'api-root'],
      ['DELETE', 'book-bulk_destroy'],
    ])
  })

  it('win against {id:int} and {id:str}, and leave bulkx to it', async () => {
    class Tags extends BulkModelViewSet<Tag> {
      static override model = Tag
      static override serializerClass = TagSerializer
    }
    const { get, send } = await api(BookViewSet, { tags: Tags })
    for (const path of ['/api/books/bulk', '/api/tags/bulk']) {
      expect(await get(path)).toMatchObject({ status: 405, headers: { allow: 'POST, PATCH, DELETE, OPTIONS' } })
      expect((await send('OPTIONS', path)).status).toBe(200)
      expect((await send('POST', path, [])).json).toEqual([])
    }
    expect((await get('/api/books/bulkx')).status).toBe(404)
    expect((await get('/api/tags/bulkx')).text).toBe('{"detail":"Not found","status":404}')
  })

  it.each(WAYS)('create, update and destroy lists, as %s', async (_way, view) => {
    const { send } = await api(view)
    const created = await send('POST', '/api/books/bulk', [
      { title: 'One', isbn: '1', author_id: 1 },
      { title: 'Two', n: 7, price: '1.5' },
      { title: 'Three' },
    ])
    expect(created.status).toBe(201)
    expect(created.headers).not.toHaveProperty('location')
    expect(created.json).toMatchObject([
      { id: 1, title: 'One', isbn: '1', n: 0, author_id: 1, price: null },
      { id: 2, title: 'Two', isbn: null, n: 7, price: '1.50' },
      { id: 3, title: 'Three', n: 0 },
    ])
    const updated = await send('PATCH', '/api/books/bulk', [
      { id: 3, title: 'Drei' },
      { id: 1, isbn: null, price: 2 },
      { id: 2 },
    ])
    expect(updated.status).toBe(200)
    expect(updated.json).toMatchObject([
      { id: 3, title: 'Drei', n: 0 },
      { id: 1, title: 'One', isbn: null, price: '2.00', author_id: 1 },
      { id: 2, title: 'Two', n: 7 },
    ])
    expect((await send('DELETE', '/api/books/bulk', [3, { id: 1 }])).json).toEqual({ deleted: [3, 1] })
    expect(await titles()).toEqual(['Two'])
    expect((await send('DELETE', '/api/books/bulk', [])).json).toEqual({ deleted: [] })
    expect((await send('PATCH', '/api/books/bulk', [])).json).toEqual([])
  })

  it('show the same as single creates do', async () => {
    class WithAuthor extends ModelSerializer<Book> {
      static override model = Book
      static override fields = '__all__'
      static override depth = 1
    }
    class Books extends BookViewSet {
      static override serializerClass = WithAuthor
    }
    const { get, send } = await api(Books)
    const items = Array.from({ length: 20 }, (_, index) => ({ title: `b${index}`, author_id: index % 3 || null }))
    const created = await send('POST', '/api/books/bulk', items)
    expect(created.json.map(({ title }: Book) => title)).toEqual(items.map(({ title }) => title))
    expect(created.json[1]).toEqual((await get('/api/books/2')).json)
    expect(created.json[1].author).toEqual({ id: 1, name: 'Ada' })
  })

  it('name objects by what paths name them by', async () => {
    await three()
    class ByIsbn extends BookViewSet {
      static override lookupField = 'isbn'
    }
    const { send } = await api(ByIsbn)
    const updated = await send('PATCH', '/api/books/bulk', [
      { isbn: '2', title: 'Zwei' },
      { isbn: '1', n: 3 },
    ])
    expect(updated.json).toMatchObject([
      { id: 2, title: 'Zwei' },
      { id: 1, title: 'One', n: 3 },
    ])
    expect((await send('DELETE', '/api/books/bulk', ['1'])).json).toEqual({ deleted: ['1'] })
  })

  it('name objects by the field that shows what paths name them by, and by no object that stands for it', async () => {
    await three()
    class Numbered extends ModelSerializer<Book> {
      static override model = Book
      static override fields = ['number', 'title']
      static override declaredFields = { number: new IntegerField({ source: 'id', readOnly: true }) }
    }
    class ByNumber extends BookViewSet {
      static override serializerClass = Numbered
    }
    const { send } = await api(ByNumber)
    expect((await send('PATCH', '/api/books/bulk', [{ number: 2, title: 'Zwei' }])).json).toEqual([
      { number: 2, title: 'Zwei' },
    ])
    expect((await send('DELETE', '/api/books/bulk', [{ number: 1 }, 3])).json).toEqual({ deleted: [1, 3] })
    await database.knex.raw(`
      create table portraits (author_id int primary key references authors, text text);
      insert into portraits (author_id) values (1), (2)`)
    class Portrait extends Model {
      static override tableName = 'portraits'
      static override idColumn = 'author_id'
      static override relationMappings = {
        author: {
          relation: Model.BelongsToOneRelation,
          modelClass: Author,
          join: { from: 'portraits.author_id', to: 'authors.id' },
        },
      }
    }
    Portrait.knex(database.knex)
    class PortraitSerializer extends ModelSerializer {
      static override model = Portrait
      static override fields = ['author', 'text']
      static override declaredFields = { author: new NestedSerializer(AuthorSerializer, { readOnly: true }) }
    }
    class Portraits extends BulkModelViewSet {
      static override model = Portrait
      static override serializerClass = PortraitSerializer
    }
    class ByAuthor extends Portraits {
      static override lookupField = 'author_id'
    }
    for (const [view, name] of [
      [Portraits, 'id'],
      [ByAuthor, 'author_id'],
    ] as const) {
      const portraits = await api(view)
      const drawn = await portraits.send('PATCH', '/api/books/bulk', [{ [name]: 2, text: name }])
      expect(drawn.json).toEqual([{ author: { id: 2, name: 'Ben' }, text: name }])
    }
  })
})

describe('hooks of a serializer', () => {
  it('get what is stored of each object, of nested ones, too, as in changes of one', async () => {
    const asked: string[] = []
    const keyOf = (stored?: { id: number }) => stored?.id ?? 'new'
    class WatchedSerializer extends ModelSerializer<Review> {
      static override model = Review
      static override fields = ['id', 'stars']
      override validate(data: Record<string, unknown>, review?: Review) {
        asked.push(`review ${keyOf(review)}`)
        return data
      }
    }
    class CheckedSerializer extends ModelSerializer<Book> {
      static override model = Book
      static override fields = ['id', 'title', 'reviews']
      static override declaredFields = {
        reviews: new NestedSerializer(WatchedSerializer, { many: true, required: false }),
      }
      validateTitle(title: string, book?: Book) {
        if (book?.isbn === '2') throw new ValidationError('It is bound.')
        return title
      }
      override validate(data: Record<string, unknown>, book?: Book) {
        asked.push(`book ${keyOf(book)}`)
        return data
      }
    }
    class Books extends BookViewSet {
      static override serializerClass: any = CheckedSerializer
    }
    await three()
    const { send } = await api(Books)
    const errors = { title: ['It is bound.'] }
    const all = [1, 2, 3].map((id) => ({ id, title: 'x' }))
    expect(await send('PATCH', '/api/books/bulk', all)).toMatchObject({ status: 400, json: { errors: { 1: errors } } })
    expect(await send('PATCH', '/api/books/2', { title: 'x' })).toMatchObject({ status: 400, json: { errors } })
    expect(asked.splice(0)).toEqual(['book 1', 'book 3'])
    const review = await Review.query().insert({ book_id: 1, stars: 1 })
    const reviews = [{ id: review.id, stars: 2 }, { stars: 3 }]
    expect(await send('PATCH', '/api/books/bulk', [{ id: 1, reviews }])).toMatchObject({ status: 200 })
    expect(await send('POST', '/api/books', { title: 'y' })).toMatchObject({ status: 201 })
    expect(asked).toEqual([`review ${review.id}`, 'review new', 'book 1', 'book new'])
  })
})

describe('[I5] the list', () => {
  it.each([
    ['POST', { title: 'x' }],
    ['POST', 'x'],
    ['POST', 1],
    ['POST', null],
    ['POST', undefined],
    ['PATCH', { id: 1 }],
    ['DELETE', { id: 1 }],
    ['DELETE', 1],
    ['DELETE', undefined],
  ])('[B12] of %s must be one: %j', async (method, body) => {
    await three()
    const { send } = await api(BookViewSet)
    const response = await send(method, '/api/books/bulk', body)
    expect(response.status).toBe(400)
    if (typeof body === 'object' && body) {
      expect(response.json).toEqual({
        detail: 'Validation failed',
        status: 400,
        errors: { non_field_errors: ['Expected a list of items.'] },
      })
    }
    expect(await titles()).toHaveLength(3)
  })

  it.each(['POST', 'PATCH', 'DELETE'])(
    'of %s may have so many items and no more, whatever they are',
    async (method) => {
      const { send } = await api(BookViewSet)
      const response = await send(method, '/api/books/bulk', Array(101).fill(null))
      expect(response.text).toBe('{"detail":"Bulk size 101 exceeds maximum of 100.","status":400}')
      class Small extends BookViewSet {
        static override maxBulkSize = 2
      }
      const small = await api(Small)
      expect((await small.send(method, '/api/books/bulk', [1, 2, 3])).json.detail).toBe(
        'Bulk size 3 exceeds maximum of 2.',
      )
    },
  )

  it('[I23] must have a maximum', () => {
    class Wrong extends BookViewSet {
      static override maxBulkSize = 0
    }
    expect(() => new APIRouter().register('books', Wrong)).toThrow(ConfigurationError)
    expect(() => new APIRouter().register('books', Wrong)).toThrow('Wrong: static maxBulkSize is 0')
  })
})

describe('[I5] ids', () => {
  const missing = (key: string) => ({ id: [`Invalid pk "${key}" - object does not exist.`] })

  it.each<[string, unknown[], Record<string, object>]>([
    ['unknown', [{ id: 1 }, { id: 999 }], { 1: missing('999') }],
    [
      'beyond what a key can be',
      [{ id: 2147483648 }, { id: 1e300 }],
      { 0: missing('2147483648'), 1: missing('1e+300') },
    ],
    ['negative', [{ id: -1 }], { 0: missing('-1') }],
    [
      'of another type',
      [{ id: 'x' }, { id: '1' }, { id: 1.5 }],
      { 0: missing('x'), 1: missing('1'), 2: missing('1.5') },
    ],
    [
      'missing',
      [{ title: 'x' }, {}],
      { 0: { id: ['This field is required.'] }, 1: { id: ['This field is required.'] } },
    ],
    ['null', [{ id: null }], { 0: { id: ['This field may not be null.'] } }],
    ['listed twice', [{ id: 2 }, { id: 1 }, { id: 2 }], { 2: { id: ['Invalid pk "2" - listed more than once.'] } }],
    [
      'several kinds',
      [{ id: 1, n: 'x' }, { id: 9 }, { id: 1 }],
      { 1: missing('9'), 2: { id: ['Invalid pk "1" - listed more than once.'] } },
    ],
  ])('that are %s are told by their position, and nothing is written', async (_what, items, errors) => {
    await three()
    const { send } = await api(BookViewSet)
    const patched = await send('PATCH', '/api/books/bulk', items)
    expect(patched).toMatchObject({ status: 400, json: { detail: 'Validation failed', errors } })
    expect(Object.keys(patched.json.errors)).toEqual(Object.keys(errors))
    expect((await send('DELETE', '/api/books/bulk', items)).json.errors).toEqual(errors)
    expect(await titles()).toEqual(['One', 'Two', 'Three'])
  })

  it('in a list of bare ids read alike', async () => {
    await three()
    const { send } = await api(BookViewSet)
    const response = await send('DELETE', '/api/books/bulk', [1, 999, 1, null, 'x', [1], true])
    expect(response.json.errors).toEqual({
      1: missing('999'),
      2: { id: ['Invalid pk "1" - listed more than once.'] },
      3: { id: ['This field may not be null.'] },
      4: missing('x'),
      5: { id: ['Invalid pk [1] - object does not exist.'] },
      6: { id: ['Invalid pk true - object does not exist.'] },
    })
  })

  it('of objects that the caller cannot see are unknown', async () => {
    await three()
    class Visible extends BookViewSet {
      override getQueryset(): QueryBuilder<Book> {
        return super.getQueryset().whereNot('title', 'Two').orWhere('title', 'None')
      }
    }
    const { send } = await api(Visible)
    const hidden = await send('PATCH', '/api/books/bulk', [
      { id: 1, n: 1 },
      { id: 2, n: 1 },
    ])
    expect(hidden.json.errors).toEqual({ 1: missing('2') })
    expect((await send('DELETE', '/api/books/bulk', [2])).json.errors).toEqual({ 0: missing('2') })
    expect((await send('PATCH', '/api/books/bulk', [{ id: 1, n: 1 }])).json).toMatchObject([{ id: 1, n: 1 }])
  })

  it('are found in querysets whose rows cannot be locked', async () => {
    await three()
    class Joined extends BookViewSet {
      override getQueryset(): QueryBuilder<Book> {
        return super.getQueryset().select('books.*').leftJoinRelated('author').distinct('books.id')
      }
    }
    const { send } = await api(Joined)
    expect(
      (
        await send('PATCH', '/api/books/bulk', [
          { id: 2, n: 4 },
          { id: 1, n: 5 },
        ])
      ).json,
    ).toMatchObject([{ n: 4 }, { n: 5 }])
    expect((await send('DELETE', '/api/books/bulk', [2, 9])).json.errors).toEqual({ 1: missing('9') })
  })
})

describe('nested routes', () => {
  class NestedBooks extends NestedViewSetMixin(BulkModelViewSet<Book>) {
    static override model = Book
    static override serializerClass = BookSerializer
    static override parentLookupField = 'author_id'
  }
  class Authors extends BulkModelViewSet<Author> {
    static override model = Author
    static override serializerClass = AuthorSerializer
  }

  it('[E11] have bulk routes, whose objects are those of the parent', async () => {
    const router = new APIRouter({ prefix: '/api' }).register('authors', Authors)
    new NestedRouter(router, 'authors', { lookup: 'author_id' }).register('books', NestedBooks)
    const { send } = await serveRouter(router)
    const base = '/api/authors/1/books/bulk'
    const created = await send('POST', base, [{ title: 'a', author_id: 2 }, { title: 'b' }])
    expect(created.json).toMatchObject([{ author_id: 1 }, { author_id: 1 }])
    await Book.query().insert({ title: 'c', author_id: 2 })
    expect((await send('PATCH', base, [{ id: 1, author_id: 2, n: 1 }])).json).toMatchObject([{ author_id: 1, n: 1 }])
    for (const [method, body] of [
      [
        'PATCH',
        [
          { id: 1, n: 2 },
          { id: 3, n: 2 },
        ],
      ],
      ['DELETE', [1, 3]],
    ] as const) {
      expect((await send(method, base, body)).json.errors).toEqual({
        1: { id: ['Invalid pk "3" - object does not exist.'] },
      })
      expect(await send(method, '/api/authors/9/books/bulk', body)).toMatchObject({ status: 404 })
    }
    expect((await send('POST', '/api/authors/9/books/bulk', [{ title: 'x' }])).text).toBe(
      '{"detail":"Not found","status":404}',
    )
    expect((await send('DELETE', base, [2, 1])).json).toEqual({ deleted: [2, 1] })
    expect(await titles()).toEqual(['c'])
    expect(router.url('book-bulk_create', { author_id: 1 })).toBe(base)
    expect(
      router.endpoints.find(({ pattern }) => pattern.endsWith('bulk') && pattern.includes('{'))?.operations.get('POST'),
    ).toMatchObject({
      operationId: 'authors_book_bulk_create',
    })
  })
})

describe('statements', () => {
  const hundred = Array.from({ length: 100 }, (_, index) => ({
    title: `t${index}`,
    n: index,
    author_id: (index % 2) + 1,
  }))

  it.each(WAYS)('a hundred items take one that writes, each, as %s', async (_way, view) => {
    const { send } = await api(view)
    const created = await countQueries(database.knex, () => send('POST', '/api/books/bulk', hundred))
    expect(writing(created)).toHaveLength(1)
    // different items change different columns
    const changes = hundred.map(({ title }, index) => ({
      id: index + 1,
      ...(index % 3 === 0 ? { title: `${title}!` } : {}),
      ...(index % 2 === 0 ? { n: 1000 + index } : {}),
    }))
    let answer: Book[] = []
    const updated = await countQueries(database.knex, async () => {
      answer = (await send('PATCH', '/api/books/bulk', changes)).json
    })
    expect(writing(updated)).toHaveLength(1)
    expect(answer.map(({ id }) => id)).toEqual(changes.map(({ id }) => id))
    for (const [index, book] of answer.entries()) {
      expect(book).toMatchObject({
        title: index % 3 === 0 ? `t${index}!` : `t${index}`,
        n: index % 2 === 0 ? 1000 + index : index,
      })
    }
    const deleted = await countQueries(database.knex, () =>
      send(
        'DELETE',
        '/api/books/bulk',
        hundred.map((_, index) => index + 1),
      ),
    )
    expect(writing(deleted)).toHaveLength(1)
    expect(await titles()).toEqual([])
  })

  it('[A9] nothing is updated where nothing changes', async () => {
    await three()
    const { send } = await api(BookViewSet)
    const texts = await countQueries(database.knex, () =>
      send('PATCH', '/api/books/bulk', [{ id: 1 }, { id: 2, nothing: 1 }]),
    )
    expect(writing(texts)).toEqual([])
  })

  it('[I22] are as many for one item as for a hundred', async () => {
    class Full extends ModelSerializer<Book> {
      static override model = Book
      static override fields = '__all__'
      static override depth = 1
      static override declaredFields = { label: new SerializerMethodField() }
      getLabel(book: Book) {
        return book.title
      }
    }
    class Books extends BookViewSet {
      static override serializerClass = Full
    }
    const { send } = await api(Books)
    const counts = []
    for (const size of [1, 10, 100]) {
      await removeBooks(database)
      const ids = hundred.slice(0, size).map((_, index) => index + 1)
      const texts = await countQueries(database.knex, async () => {
        await send('POST', '/api/books/bulk', hundred.slice(0, size))
        await send(
          'PATCH',
          '/api/books/bulk',
          ids.map((id) => ({ id, title: `x${id}`, author_id: 1 + (id % 2) })),
        )
        await send('DELETE', '/api/books/bulk', ids)
      })
      // one item is written without a savepoint
      counts.push(texts.filter((sql) => !sql.includes('SAVEPOINT')).length)
    }
    expect(new Set(counts).size).toBe(1)
  })
})

describe('column types', () => {
  class Thing extends Model {
    static override tableName = 'things'
  }
  class ThingSerializer extends ModelSerializer {
    static override model = Thing
    static override fields = '__all__'
  }
  class Things extends BulkModelViewSet {
    static override model = Thing
    static override serializerClass: any = ThingSerializer
  }
  class WithMethod extends ModelSerializer {
    static override model = Thing
    static override fields = '__all__'
    static override declaredFields = { kind: new SerializerMethodField() }
    getKind() {
      return 'thing'
    }
  }
  class Instances extends Things {
    static override serializerClass: any = WithMethod
  }

  beforeAll(async () => {
    await database.knex.raw(`
      create type mood as enum ('sad', 'happy');
      create table things (id uuid primary key default gen_random_uuid(), small int2, big int8, ratio float8, price numeric(8,2),
        flag bool, text varchar(5), code char(3), day date, clock time, at timestamptz, data jsonb, tags text[], numbers int4[],
        mood mood, span interval, raw bytea, address inet)`)
    Thing.knex(database.knex)
  })
  beforeEach(() => database.knex('things').delete())

  const one = {
    small: 1,
    big: '9007199254740993',
    ratio: 0.1,
    price: '12.50',
    flag: true,
    text: 'abc',
    code: 'xyz',
    day: '2024-02-29',
    clock: '12:30:00.5',
    at: '2026-03-28T15:30:00.123456Z',
    data: { a: [1, { b: "it's ?" }] },
    tags: ['a', 'b "c"', '{}'],
    numbers: [1, 2],
    mood: 'happy',
    span: 'P1DT2H',
    address: '10.0.0.1',
  }
  const other = { ...Object.fromEntries(Object.keys(one).map((name) => [name, null])), text: '?' }

  it.each([
    ['rows', Things],
    ['instances', Instances],
  ] as const)('all come back as they were sent, as %s', async (_way, view) => {
    const { get, send } = await api(BookViewSet, { things: view })
    const created = await send('POST', '/api/things/bulk', [one, other, one])
    expect(created.status).toBe(201)
    expect(created.json[0]).toMatchObject({ ...one, raw: null })
    expect(created.json[1]).toMatchObject(other)
    const [first, second, third] = created.json.map(({ id }: { id: string }) => id)
    const updated = await send('PATCH', '/api/things/bulk', [
      { id: second, ...one },
      { id: first, ...other },
      { id: third.toUpperCase(), data: [1, 'x'], tags: [] },
    ])
    expect(updated.json).toMatchObject([one, other, { ...one, data: [1, 'x'], tags: [] }])
    for (const thing of updated.json) expect((await get(`/api/things/${thing.id}`)).json).toEqual(thing)
    expect((await send('DELETE', '/api/things/bulk', [first, { id: second }])).json).toEqual({
      deleted: [first, second],
    })
    const long = await send('PATCH', '/api/things/bulk', [{ id: third, text: 'too long' }])
    expect(long.status).toBe(400)
  })
})

describe('mixins', () => {
  it('work on view sets without the single actions', async () => {
    class Bulk extends BulkUpdateMixin(BulkCreateMixin(GenericViewSet<Book>)) {
      static override model = Book
      static override serializerClass = BookSerializer
    }
    const { get, send } = await api(Bulk)
    expect((await send('POST', '/api/books/bulk', [{ title: 'a' }])).json).toMatchObject([{ id: 1 }])
    expect((await send('PATCH', '/api/books/bulk', [{ id: 1, title: 'b' }])).json).toMatchObject([{ title: 'b' }])
    expect((await send('DELETE', '/api/books/bulk', [1])).headers.allow).toBe('POST, PATCH, OPTIONS')
    expect((await get('/api/books')).status).toBe(404)
  })
})
