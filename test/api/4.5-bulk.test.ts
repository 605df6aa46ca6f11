import { Model, type QueryBuilder } from 'objection'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import {
  APIRouter,
  action,
  BasePermission,
  BulkCreateMixin,
  BulkDestroyMixin,
  BulkModelViewSet,
  BulkUpdateMixin,
  ConfigurationError,
  type Context,
  FileUploadField,
  GenericViewSet,
  type GuardedView,
  ModelSerializer,
  NestedRouter,
  NestedSerializer,
  NestedViewSetMixin,
  type Permissions,
  type Serializer,
  SerializerMethodField,
  ValidationError,
} from '../../lib/index.js'
import { type Client, serving } from '../support/client.js'
import { countQueries, type TestDatabase } from '../support/database.js'
import {
  Author,
  AuthorSerializer,
  Book,
  BookSerializer,
  createLibrary,
  removeBooks,
  Tag,
  TagSerializer,
} from '../support/library.js'

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

class BookViewSet extends BulkModelViewSet<Book> {
  static override model = Book
  static override serializerClass: any = BookSerializer
}

/** Needs instances, so that no row is written past Objection. */
class Labelled extends ModelSerializer<Book> {
  static override model = Book
  static override fields = '__all__'
  static override declaredFields = { label: new SerializerMethodField() }
  getLabel(book: Book) {
    return `${book.title}!`
  }
}

class LabelledViewSet extends BookViewSet {
  static override serializerClass: any = Labelled
}

/** The two ways in which lists are written: as rows, and as instances. */
const WAYS = [
  ['rows', BookViewSet],
  ['instances', LabelledViewSet],
] as const

type View = Parameters<APIRouter['register']>[1]

async function api(books: View, others: Record<string, View> = {}): Promise<Client> {
  const router = new APIRouter({ prefix: '/api' }).register('books', books)
  for (const [prefix, view] of Object.entries(others)) router.register(prefix, view)
  await router.prepare()
  client = await serving(router.routes())
  return client
}

const titles = async () => (await Book.query().orderBy('id')).map(({ title }) => title)
const three = () => Book.query().insert([{ title: 'One', isbn: '1' }, { title: 'Two', isbn: '2' }, { title: 'Three' }])

/** Statements that write. */
const writing = (texts: readonly string[]) =>
  texts.filter((text) => /^(with inserted as \()?(insert|update|delete)/i.test(text))

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

  it('62 win against {id:int} and {id:str}, and leave bulkx to it', async () => {
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
      await client?.close()
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

describe('[I4] all or nothing', () => {
  it.each(WAYS)('one bad item of a hundred is told by its position, as %s', async (_way, view) => {
    const { send } = await api(view)
    const items: object[] = Array.from({ length: 100 }, (_, index) => ({ title: `t${index}` }))
    items[57] = { title: 7, n: 'x' }
    items[60] = 5 as never
    const response = await send('POST', '/api/books/bulk', items)
    expect(response).toMatchObject({ status: 400, json: { detail: 'Validation failed', status: 400 } })
    expect(response.json.errors).toEqual({
      57: { title: ['Not a valid string.'], n: ['A valid integer is required.'] },
      60: { non_field_errors: ['Expected an object.'] },
    })
    expect(await titles()).toEqual([])
  })

  it.each(WAYS)('what only the database finds is told by its position, too, as %s', async (_way, view) => {
    await three()
    const { send } = await api(view)
    const create = async (...items: object[]) => (await send('POST', '/api/books/bulk', items)).json.errors
    const update = async (...items: object[]) => (await send('PATCH', '/api/books/bulk', items)).json.errors
    expect(await create({ title: 'a' }, { title: 'b', isbn: '1' })).toEqual({
      1: { isbn: ['This field must be unique.'] },
    })
    expect(await create({ title: 'a', isbn: 'x' }, { title: 'b' }, { title: 'c', isbn: 'x' })).toEqual({
      2: { isbn: ['This field must be unique.'] },
    })
    expect(await create({ title: 'a' }, { title: 'b', n: -1 })).toEqual({ 1: { n: ['Invalid value.'] } })
    expect(await create({ title: 'a', author_id: 1 }, { title: 'a', author_id: 1 })).toEqual({
      1: { non_field_errors: ['The fields author_id, title must make a unique set.'] },
    })
    expect(await update({ id: 3, n: 1 }, { id: 2, isbn: '1' })).toEqual({ 1: { isbn: ['This field must be unique.'] } })
    expect(await update({ id: 3, n: 1 }, { id: 2, title: 'x' }, { id: 1, n: -5 })).toEqual({
      2: { n: ['Invalid value.'] },
    })
    expect(await Book.query().orderBy('id').select('id', 'title', 'n')).toMatchObject([
      { id: 1, title: 'One', n: 0 },
      { id: 2, title: 'Two', n: 0 },
      { id: 3, title: 'Three', n: 0 },
    ])
  })

  it.each(['rows', 'instances'])('what is found at the end has a position or no field, as %s', async (way) => {
    await database.knex.raw(`
      drop table if exists seats;
      create table seats (id int generated always as identity primary key, code int unique deferrable initially deferred);
      insert into seats (code) values (1), (2), (3)`)
    class Seat extends Model {
      static override tableName = 'seats'
    }
    Seat.knex(database.knex)
    class SeatSerializer extends ModelSerializer {
      static override model = Seat
      static override fields = '__all__'
      static override declaredFields: Record<string, SerializerMethodField> =
        way === 'rows' ? {} : { label: new SerializerMethodField() }
      getLabel() {
        return 'seat'
      }
    }
    class Seats extends BulkModelViewSet {
      static override model = Seat
      static override serializerClass = SeatSerializer
    }
    const { send } = await api(BookViewSet, { seats: Seats })
    const taken = ['This field must be unique.']
    const created = await send('POST', '/api/seats/bulk', [{ code: 4 }, { code: 2 }])
    // instances are written in the transaction of the request, and refused at its end
    const errors = way === 'rows' ? { 1: { code: taken } } : { non_field_errors: taken }
    expect(created).toMatchObject({ status: 400, json: { errors } })
    const updated = await send('PATCH', '/api/seats/bulk', [
      { id: 1, code: 2 },
      { id: 2, code: 3 },
    ])
    expect(updated).toMatchObject({ status: 400, json: { errors: { non_field_errors: taken } } })
    expect((await send('POST', '/api/seats', { code: 2 })).json.errors).toEqual({ code: taken })
    const moved = [2, 3, 1].map((code, index) => ({ id: index + 1, code }))
    expect((await send('PATCH', '/api/seats/bulk', moved)).json).toMatchObject(moved)
    expect(await Seat.query().orderBy('id').select('id', 'code')).toEqual(moved)
  })

  it.each(['rows', 'instances'])('a row that a trigger leaves out refuses all, as %s', async (way) => {
    await database.knex.raw(`
      drop table if exists notes;
      create table notes (id int generated always as identity primary key, text text);
      create or replace function leave_out() returns trigger language plpgsql as
        $$ begin if new.text = 'spam' then return null; end if; return new; end $$;
      create trigger leave_out before insert on notes for each row execute function leave_out()`)
    class Note extends Model {
      static override tableName = 'notes'
    }
    Note.knex(database.knex)
    class NoteSerializer extends ModelSerializer {
      static override model = Note
      static override fields = '__all__'
      static override declaredFields: Record<string, SerializerMethodField> =
        way === 'rows' ? {} : { label: new SerializerMethodField() }
      getLabel() {
        return 'note'
      }
    }
    class Notes extends BulkModelViewSet {
      static override model = Note
      static override serializerClass = NoteSerializer
    }
    const { send, reported } = await api(BookViewSet, { notes: Notes })
    const errors = { non_field_errors: ['Invalid value.'] }
    expect(await send('POST', '/api/notes', { text: 'spam' })).toMatchObject({ status: 400, json: { errors } })
    const mixed = [{ text: 'a' }, { text: 'spam' }, { text: 'b' }]
    expect(await send('POST', '/api/notes/bulk', mixed)).toMatchObject({ status: 400, json: { errors: { 1: errors } } })
    expect(await Note.query()).toEqual([])
    const created = await send('POST', '/api/notes/bulk', [{ text: 'a' }, { text: 'b' }])
    expect(created).toMatchObject({ status: 201, json: [{ text: 'a' }, { text: 'b' }] })
    expect((await send('POST', '/api/notes', { text: 'c' })).status).toBe(201)
    expect(reported).toEqual([])
  })

  it('[I22] related keys are looked up in one query for the list', async () => {
    const { send } = await api(BookViewSet)
    const items = Array.from({ length: 50 }, (_, index) => ({
      title: `t${index}`,
      author_id: index === 40 ? 999 : (index % 2) + 1,
    }))
    let errors: unknown
    const texts = await countQueries(database.knex, async () => {
      errors = (await send('POST', '/api/books/bulk', items)).json.errors
    })
    expect(errors).toEqual({ 40: { author_id: ['Invalid pk "999" - object does not exist.'] } })
    expect(writing(texts)).toHaveLength(1)
    expect(texts).toHaveLength(2)
  })

  it('[A8] what hooks have written is undone with the rest', async () => {
    class Books extends BookViewSet {
      override async performBulkCreate(serializer: Serializer<Book>): Promise<unknown> {
        await Author.query(this.trx).insert({ name: 'of the hook' })
        await super.performBulkCreate(serializer)
        throw new ValidationError('No.')
      }
    }
    const { send } = await api(Books)
    expect((await send('POST', '/api/books/bulk', [{ title: 'a' }])).json.errors).toEqual({ non_field_errors: ['No.'] })
    expect(await titles()).toEqual([])
    expect(await Author.query().where('name', 'of the hook')).toEqual([])
  })

  it('nothing is deleted that is still referenced', async () => {
    class Authors extends BulkModelViewSet<Author> {
      static override model = Author
      static override serializerClass = AuthorSerializer
    }
    const { id } = await Author.query().insert({ name: 'Free' })
    await Book.query().insert({ title: 'x', author_id: 1 })
    const { send } = await api(BookViewSet, { authors: Authors })
    expect(await send('DELETE', '/api/authors/bulk', [id, 1])).toMatchObject({
      status: 409,
      json: { detail: 'Object is referenced by other objects.' },
    })
    expect(await Author.query().findById(id)).toBeDefined()
    await Author.query().deleteById(id)
  })
})

describe('[A1] read-only, hidden and unknown keys', () => {
  it('are ignored in lists as elsewhere', async () => {
    class Limited extends ModelSerializer<Book> {
      static override model = Book
      static override fields = ['id', 'title', 'n']
      static override readOnlyFields = ['n']
    }
    class Books extends BookViewSet {
      static override serializerClass = Limited
    }
    const { send } = await api(Books)
    const created = await send('POST', '/api/books/bulk', [{ id: 77, title: 'a', n: 5, isbn: 'secret', nothing: 1 }])
    expect(created.json).toEqual([{ id: 1, title: 'a', n: 0 }])
    const updated = await send('PATCH', '/api/books/bulk', [{ id: 1, title: 'b', n: 5, isbn: 'secret' }])
    expect(updated.json).toEqual([{ id: 1, title: 'b', n: 0 }])
    expect(await Book.query().findById(1)).toMatchObject({ isbn: null, n: 0 })
  })

  it('[A4 R9] do not pollute', async () => {
    const { send } = await api(BookViewSet)
    for (const body of ['[{"title":"x","__proto__":{"n":1}}]', '[{"constructor":{"prototype":{"n":1}}}]']) {
      const response = await serverSend(body)
      expect(response).toMatchObject({ status: 400, json: { detail: 'Malformed JSON' } })
    }
    expect(({} as { n?: number }).n).toBeUndefined()
    expect(send).toBeDefined()
  })

  async function serverSend(body: string) {
    const { connectTo } = await import('../support/server.js')
    return connectTo(client?.port as number).send({
      method: 'POST',
      path: '/api/books/bulk',
      headers: { 'Content-Type': 'application/json' },
      body,
    })
  }
})

describe('[E9] object permissions', () => {
  class Own extends BasePermission {
    override hasObjectPermission(ctx: Context, _view: GuardedView, book: object): boolean {
      return String((book as Book).author_id) === ctx.get('X-Author')
    }
  }
  class Guarded extends BookViewSet {
    static override permissionClasses: Permissions = [Own]
  }

  it('are checked for every object; one refusal refuses all', async () => {
    await Book.query().insert([
      { title: 'Mine', author_id: 2 },
      { title: 'Hers', author_id: 1 },
    ])
    const { send } = await api(Guarded)
    const mine = { 'X-Author': '2' }
    expect((await send('DELETE', '/api/books/bulk', [1, 2], mine)).status).toBe(401)
    expect(
      (
        await send(
          'PATCH',
          '/api/books/bulk',
          [
            { id: 1, n: 1 },
            { id: 2, n: 1 },
          ],
          mine,
        )
      ).status,
    ).toBe(401)
    // before validation, and after ids
    expect(
      (
        await send(
          'PATCH',
          '/api/books/bulk',
          [
            { id: 1, n: 'x' },
            { id: 2, n: 1 },
          ],
          mine,
        )
      ).status,
    ).toBe(401)
    expect(
      (
        await send(
          'PATCH',
          '/api/books/bulk',
          [
            { id: 2, n: 1 },
            { id: 9, n: 1 },
          ],
          mine,
        )
      ).status,
    ).toBe(400)
    expect(await titles()).toEqual(['Mine', 'Hers'])
    expect((await send('PATCH', '/api/books/bulk', [{ id: 1, n: 1 }], mine)).json).toMatchObject([{ id: 1, n: 1 }])
    expect((await send('DELETE', '/api/books/bulk', [1], mine)).json).toEqual({ deleted: [1] })
  })
})

describe('hooks', () => {
  it('performCreate, performUpdate and performDestroy hold for every item of a list', async () => {
    const removed: number[] = []
    class Hooked extends BookViewSet {
      override performCreate(serializer: Serializer<Book>): Promise<unknown> {
        return serializer.save({ author_id: 2 })
      }
      override performUpdate(serializer: Serializer<Book>, instance: Book): Promise<unknown> {
        return serializer.save({ n: (instance.n ?? 0) + 10 })
      }
      override async performDestroy(instance: Book): Promise<unknown> {
        removed.push(instance.id)
        return instance.$query(this.trx).patch({ title: `(${instance.title})` })
      }
    }
    const { send } = await api(Hooked)
    const created = await send('POST', '/api/books/bulk', [{ title: 'a' }, { title: 'b', n: 1 }])
    expect(created.json).toMatchObject([{ author_id: 2 }, { author_id: 2, n: 1 }])
    const updated = await send('PATCH', '/api/books/bulk', [{ id: 2, title: 'B' }, { id: 1 }])
    expect(updated.json).toMatchObject([
      { id: 2, title: 'B', n: 11 },
      { id: 1, n: 10 },
    ])
    expect((await send('DELETE', '/api/books/bulk', [2, 1])).json).toEqual({ deleted: [2, 1] })
    expect(removed).toEqual([2, 1])
    expect(await titles()).toEqual(['(a)', '(B)'])
    const refused = await send('POST', '/api/books/bulk', [
      { title: 'c' },
      { title: 'd', isbn: 'x' },
      { title: 'e', isbn: 'x' },
    ])
    expect(refused.json.errors).toEqual({ 2: { isbn: ['This field must be unique.'] } })
    expect(await titles()).toHaveLength(2)
  })

  it('performBulkCreate and performBulkUpdate add values to the whole list, in one statement', async () => {
    class Hooked extends BookViewSet {
      override performBulkCreate(serializer: Serializer<Book>): Promise<unknown> {
        return serializer.save({ author_id: 1 })
      }
      override performBulkUpdate(serializer: Serializer<Book>): Promise<unknown> {
        return serializer.save({ n: 9 })
      }
    }
    const { send } = await api(Hooked)
    const texts = await countQueries(database.knex, async () => {
      await send('POST', '/api/books/bulk', [{ title: 'a' }, { title: 'b' }])
      await send('PATCH', '/api/books/bulk', [{ id: 1, title: 'x' }, { id: 2 }])
    })
    expect(writing(texts)).toHaveLength(2)
    expect(await Book.query().orderBy('id').select('title', 'n', 'author_id')).toEqual([
      { title: 'x', n: 9, author_id: 1 },
      { title: 'b', n: 9, author_id: 1 },
    ])
  })

  it('of models are called for every item', async () => {
    const seen: string[] = []
    class Watched extends Book {
      override $beforeInsert(): void {
        seen.push(`insert ${this.title}`)
        this.n = 5
      }
      override $beforeUpdate(options: { old?: Watched }): void {
        seen.push(`update ${options.old?.title} to ${this.title}`)
        this.n = 6
      }
      override $beforeDelete(): void {
        seen.push(`delete ${this.title}`)
      }
    }
    Watched.knex(database.knex)
    class WatchedSerializer extends ModelSerializer<Watched> {
      static override model = Watched
      static override fields = ['id', 'title', 'n']
    }
    class Books extends BulkModelViewSet<Watched> {
      static override model = Watched
      static override serializerClass = WatchedSerializer
    }
    const { send } = await api(Books)
    const texts = await countQueries(database.knex, async () => {
      expect((await send('POST', '/api/books/bulk', [{ title: 'a' }, { title: 'b' }])).json).toMatchObject([
        { n: 5 },
        { n: 5 },
      ])
      const patched = await send('PATCH', '/api/books/bulk', [
        { id: 1, title: 'A' },
        { id: 2, title: 'B' },
      ])
      expect(patched.json).toMatchObject([{ n: 6 }, { n: 6 }])
    })
    expect(writing(texts)).toHaveLength(2)
    await send('DELETE', '/api/books/bulk', [1, 2])
    expect(seen).toEqual(['insert a', 'insert b', 'update a to A', 'update b to B', 'delete A', 'delete B'])
    expect(await titles()).toEqual([])
  })

  it('of models that stand around updates make them one by one', async () => {
    let after = 0
    class Watched extends Book {
      override $afterUpdate(): void {
        after++
      }
    }
    Watched.knex(database.knex)
    class WatchedSerializer extends ModelSerializer<Watched> {
      static override model = Watched
      static override fields = ['id', 'title', 'isbn']
    }
    class Books extends BulkModelViewSet<Watched> {
      static override model = Watched
      static override serializerClass = WatchedSerializer
    }
    await three()
    const { send } = await api(Books)
    expect(
      (
        await send('PATCH', '/api/books/bulk', [
          { id: 1, title: 'a' },
          { id: 2, title: 'b' },
        ])
      ).status,
    ).toBe(200)
    expect(after).toBe(2)
    const refused = await send('PATCH', '/api/books/bulk', [
      { id: 3, title: 'c' },
      { id: 2, isbn: '1' },
    ])
    expect(refused.json.errors).toEqual({ 1: { isbn: ['This field must be unique.'] } })
    expect(await titles()).toEqual(['a', 'b', 'Three'])
  })

  it('of serializers are called for every item, and their values written', async () => {
    class Checked extends ModelSerializer<Book> {
      static override model = Book
      static override fields = ['id', 'title', 'n']
      validateTitle(title: string) {
        if (title === 'bad') throw new ValidationError('Too bad.')
        return title.toUpperCase()
      }
      override create(data: Record<string, unknown>): Promise<Book> {
        return super.create({ ...data, isbn: `isbn of ${String(data['title'])}` })
      }
    }
    class Books extends BookViewSet {
      static override serializerClass = Checked
    }
    const { send } = await api(Books)
    expect((await send('POST', '/api/books/bulk', [{ title: 'a' }, { title: 'bad' }])).json.errors).toEqual({
      1: { title: ['Too bad.'] },
    })
    await send('POST', '/api/books/bulk', [{ title: 'a' }, { title: 'b' }])
    expect((await Book.query().orderBy('id')).map(({ isbn }) => isbn)).toEqual(['isbn of A', 'isbn of B'])
  })
})

describe('nested objects', () => {
  class WithAuthor extends ModelSerializer<Book> {
    static override model = Book
    static override fields = ['id', 'title']
    static override declaredFields = { author: new NestedSerializer(AuthorSerializer) }
  }
  class Books extends BookViewSet {
    static override serializerClass = WithAuthor
  }

  it('in lists are written with their item, and checked against it', async () => {
    const { send } = await api(Books)
    const created = await send('POST', '/api/books/bulk', [
      { title: 'a', author: { name: 'Cy' } },
      { title: 'b', author: { name: 'Di' } },
    ])
    expect(created.json).toMatchObject([{ author: { name: 'Cy' } }, { author: { name: 'Di' } }])
    const [{ author: cy }, { author: di }] = created.json
    const stolen = await send('PATCH', '/api/books/bulk', [{ id: 1, author: { id: di.id, name: 'pwn' } }, { id: 2 }])
    expect(stolen.json.errors).toEqual({ 0: { author: { id: [`Invalid pk "${di.id}" - object does not exist.`] } } })
    const renamed = await send('PATCH', '/api/books/bulk', [
      { id: 2, author: { name: 'Dee' } },
      { id: 1, title: 'A' },
    ])
    expect(renamed.json).toEqual([
      { id: 2, title: 'b', author: { id: di.id, name: 'Dee' } },
      { id: 1, title: 'A', author: { id: cy.id, name: 'Cy' } },
    ])
    await Book.query().delete()
    await Author.query().where('id', '>', 2).delete()
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
    await router.prepare()
    client = await serving(router.routes())
    const { send } = client
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
          ids.map((id) => ({ id, title: `x${id}`, author_id: 1 })),
        )
        await send('DELETE', '/api/books/bulk', ids)
      })
      counts.push(texts.length)
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

describe('[I3] conditions', () => {
  it('of one object cannot be those of a list', async () => {
    await three()
    const { send } = await api(BookViewSet)
    for (const headers of [{ 'If-Match': '"x"' }, { 'If-None-Match': '*' }]) {
      expect((await send('PATCH', '/api/books/bulk', [{ id: 1, n: 1 }], headers)).status).toBe(412)
      expect((await send('DELETE', '/api/books/bulk', [1], headers)).status).toBe(412)
    }
    expect(await titles()).toHaveLength(3)
    expect((await send('PATCH', '/api/books/bulk', [{ id: 1, n: 1 }], { 'If-Match': '*' })).status).toBe(200)
    class Versioned extends BookViewSet {
      static override concurrency = 'n'
      static override requireIfMatch = true
    }
    expect(() => new APIRouter().register('books', Versioned)).toThrow(
      'Versioned: requireIfMatch cannot hold for bulk routes',
    )
  })
})

/** Related objects are joined, so that the rows of the queryset itself cannot be locked. */
class JoinedViewSet extends BookViewSet {
  override getQueryset() {
    return super.getQueryset().leftJoinRelated('author')
  }
}

class LatestViewSet extends BookViewSet {
  static override ordering = ['-id']
}

describe('[I6] crossing lists', () => {
  const views: [string, typeof BookViewSet][] = [
    ['rows', BookViewSet],
    ['instances', LabelledViewSet],
    ['joined rows', JoinedViewSet],
    ['rows in another order', LatestViewSet],
  ]

  it.each(
    views.flatMap(([name, view]) => (['PATCH', 'DELETE'] as const).map((method) => [method, name, view] as const)),
  )('lock the rows of a %s in the order of their keys: %s', async (method, _name, view) => {
    await Book.query().insert(Array.from({ length: 12 }, (_, index) => ({ title: `t${index}` })))
    const { send } = await api(view)
    const ids = [9, 4, 12, 1, 7, 3, 11, 6, 2, 10, 5, 8]
    const holder = await database.knex.transaction()
    onTestFinished(async () => {
      if (!holder.isCompleted()) await holder.rollback()
    })
    await holder.raw('select from books where id = 6 for update')
    const answer = send(method, '/api/books/bulk', method === 'DELETE' ? ids : ids.map((id) => ({ id, n: 1 })))
    const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`
    await expect.poll(async () => (await database.knex.raw(waiting)).rows.length).toBe(1)
    const { rows } = await database.knex.raw('select id from books for update skip locked')
    // those before the one that it waits for are its own by now, and none behind it
    expect(rows.map(({ id }: { id: number }) => id).toSorted((a: number, b: number) => a - b)).toEqual([
      7, 8, 9, 10, 11, 12,
    ])
    await holder.rollback()
    expect((await answer).status).toBe(200)
  })

  it('never wait for each other: 200 rounds without a deadlock', async () => {
    await Book.query().insert(Array.from({ length: 6 }, (_, index) => ({ title: `t${index}` })))
    const { send } = await api(BookViewSet)
    const statuses = new Set<number>()
    for (let round = 0; round < 200; round++) {
      const answers = await Promise.all([
        send(
          'PATCH',
          '/api/books/bulk',
          [1, 2, 3, 4, 5, 6].map((id) => ({ id, n: round })),
        ),
        send(
          'PATCH',
          '/api/books/bulk',
          [6, 5, 4, 3, 2, 1].map((id) => ({ id, n: round + 1 })),
        ),
      ])
      for (const { status } of answers) statuses.add(status)
    }
    expect([...statuses]).toEqual([200])
  }, 60_000)
})

describe('bulkCreate()', () => {
  it('may be called by an action, whose transaction it leaves usable', async () => {
    class Importing extends BookViewSet {
      @action({ methods: ['POST'] })
      async import() {
        try {
          return await this.bulkCreate()
        } catch (error) {
          this.ctx.status = 200
          return { refused: (error as ValidationError).errors, books: await this.getQueryset().resultSize() }
        }
      }
    }
    const { send } = await api(Importing)
    expect((await send('POST', '/api/books/import', [{ title: 'a' }])).json).toMatchObject([{ id: 1, title: 'a' }])
    const refused = await send('POST', '/api/books/import', [
      { title: 'b', isbn: 'x' },
      { title: 'c', isbn: 'x' },
    ])
    expect(refused.json).toEqual({ refused: { 1: { isbn: ['This field must be unique.'] } }, books: 1 })
  })
})

describe('[F8] files', () => {
  it('of deleted objects go with them, once that is committed', async () => {
    const removed: string[] = []
    const storage = {
      save: async () => 'new.txt',
      delete: async (key: string) => void removed.push(key),
      url: (key: string) => `/files/${key}`,
    }
    class WithFile extends ModelSerializer<Book> {
      static override model = Book
      static override fields = ['id', 'title']
      static override declaredFields = { isbn: new FileUploadField({ storage, required: false, allowNull: true }) }
    }
    class Books extends BookViewSet {
      static override serializerClass = WithFile
    }
    await Book.query().insert([{ title: 'a', isbn: 'a.txt' }, { title: 'b', isbn: 'b.txt' }, { title: 'c' }])
    const { send } = await api(Books)
    expect((await send('DELETE', '/api/books/bulk', [1, 9])).status).toBe(400)
    expect(removed).toEqual([])
    expect(
      (
        await send('PATCH', '/api/books/bulk', [
          { id: 1, title: 'A' },
          { id: 2, isbn: null },
        ])
      ).json,
    ).toMatchObject([{ title: 'A', isbn: '/files/a.txt' }, { isbn: null }])
    await expect.poll(() => removed).toEqual(['b.txt'])
    expect((await send('DELETE', '/api/books/bulk', [3, 1])).status).toBe(200)
    await expect.poll(() => removed).toEqual(['b.txt', 'a.txt'])
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
