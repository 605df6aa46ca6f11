/** Recorded changes: what the tables show before and after each request, for each object, and nothing else. */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import Router from '@koa/router'
import knexLibrary, { type Knex } from 'knex'
import type Koa from 'koa'
import { knexSnakeCaseMappers, Model, type QueryBuilder } from 'objection'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import { hearOfChanges } from '../../lib/changes/committed-changes.js'
import {
  type Changes,
  ChangesMixin,
  type ChangesPage,
  ensureChangesTable,
  HistoryMixin,
  type ReadChange,
  type ReadChangesOptions,
  readChanges,
  recordChange,
  sweepChanges,
} from '../../lib/changes/index.js'
import { ensureIdempotencyTable } from '../../lib/idempotency/index.js'
import {
  AllowAny,
  APIRouter,
  action,
  BulkModelViewSet,
  configure,
  type DeclaredFields,
  type FieldOptions,
  FileUploadField,
  IDMixin,
  IntegerField,
  ModelSerializer,
  NestedSerializer,
  PrimaryKeyRelatedField,
  ReadOnlyModelViewSet,
  type SerializerClass,
  SerializerField,
  SerializerMethodField,
  SlugRelatedField,
  type SoftDelete,
  type Statuses,
  StringField,
} from '../../lib/index.js'
import { rule } from '../../lib/rules/index.js'
import { formatExplanations } from '../../lib/tools/index.js'
import { type Client, serveApp, serving } from '../support/client.js'
import { countQueries, createDatabase, type TestDatabase } from '../support/database.js'
import { LIBRARY } from '../support/library.js'
import { pagesReadBy } from '../support/pages-read.js'
import { runsAsRole } from '../support/roles.js'
import { untilWaiting } from '../support/waiting.js'
import { Random } from '../trust/support/random.js'
import { report, seed, size } from '../trust/support/size.js'

const SCHEMA = `${LIBRARY}
  alter table books add check (title <> 'refused'), add secret text, add total int not null default 0, add deleted_at timestamptz;
  insert into genres (name) values ('a'), ('b'), ('c');
  create table scales (id int[] primary key);
  create table weighings (id int primary key, note text, scale_id int[] references scales);
  insert into scales values ('{1,2}');
  insert into weighings values (1, null, '{1,2}');
`

class Author extends Model {
  static override tableName = 'authors'
}
class Genre extends Model {
  static override tableName = 'genres'
}
class Review extends Model {
  static override tableName = 'reviews'
}
class Book extends Model {
  static override tableName = 'books'
  static override relationMappings = () => ({
    author: {
      relation: Model.BelongsToOneRelation,
      modelClass: Author,
      join: { from: 'books.author_id', to: 'authors.id' },
    },
    reviews: { relation: Model.HasManyRelation, modelClass: Review, join: { from: 'books.id', to: 'reviews.book_id' } },
    genres: {
      relation: Model.ManyToManyRelation,
      modelClass: Genre,
      join: {
        from: 'books.id',
        through: { from: 'books_genres.book_id', to: 'books_genres.genre_id' },
        to: 'genres.id',
      },
    },
  })
}

class AuthorSerializer extends ModelSerializer<Author> {
  static override model = Author
  static override fields = ['id', 'name']
}
class ReviewSerializer extends ModelSerializer<Review> {
  static override model = Review
  static override fields = ['id', 'text']
}
class BookSerializer extends ModelSerializer<Book> {
  static override model = Book
  static override fields = ['id', 'title', 'price', 'secret', 'total']
  static override declaredFields: DeclaredFields = {
    secret: new StringField({ writeOnly: true, required: false }),
    author: new NestedSerializer(AuthorSerializer, { required: false, allowNull: true }),
    reviews: new NestedSerializer(ReviewSerializer, { many: true, required: false }),
    genres: new PrimaryKeyRelatedField({ many: true, queryset: Genre, required: false }),
  }
}
class FlatSerializer extends ModelSerializer<Book> {
  static override model = Book
  static override fields = ['id', 'title', 'price', 'total']
}
class BookViewSet extends ChangesMixin(BulkModelViewSet<Book>) {
  static override model = Book
  static override serializerClass: SerializerClass = BookSerializer
  static override softDelete: SoftDelete = null
  static override statuses: Statuses = {}
}

let database: TestDatabase
let client: Client
beforeAll(async () => {
  database = await createDatabase({ schema: SCHEMA })
  for (const model of [Author, Genre, Review, Book]) model.knex(database.knex)
  await ensureChangesTable(database.knex)
  class KeptBooks extends BookViewSet {
    static override softDelete: SoftDelete = 'deleted_at'
  }
  class FlatBooks extends BookViewSet {
    static override serializerClass: SerializerClass = FlatSerializer
  }
  const api = new APIRouter()
    .register('books', BookViewSet)
    .register('kept', KeptBooks, 'kept')
    .register('flat', FlatBooks, 'flat')
  await api.prepare()
  client = await serving(api.routes())
})
afterAll(() => client.close())
afterAll(() => database.drop())
beforeEach(() => database.knex.raw('truncate books, reviews, books_genres, koa_viewsets_changes restart identity'))

/** A change as the table has it. */
interface Recorded {
  model: string
  key: string
  action: string
  before: any
  after: any
}

async function recorded(): Promise<Recorded[]> {
  const { rows } = await database.knex.raw(
    'select model, key, action, before, after from koa_viewsets_changes order by id',
  )
  return rows
}

/** What is recorded of each object that there is: `model key` to what its serializers show of its own row, and of its links. */
async function shown(prefix = 'books'): Promise<Map<string, unknown>> {
  const related =
    prefix === 'flat'
      ? ''
      : `, 'author', author_id, 'genres', array(select genre_id from books_genres where book_id = b.id order by genre_id)`
  const { rows } = await database.knex.raw(`
    select 'books ' || id as name, json_build_object('id', id, 'title', title, 'price', price::text, 'total', total${related}) as shown
      from books b ${prefix === 'kept' ? 'where deleted_at is null' : ''}
    union all select 'reviews ' || id, json_build_object('id', id, 'text', text) from reviews
    union all select 'authors ' || id, json_build_object('id', id, 'name', name) from authors`)
  return new Map(rows.map((row: any) => [row.name, row.shown]))
}

/** What must be recorded, by the names of the objects. */
function differences(before: Map<string, unknown>, after: Map<string, unknown>): Map<string, unknown> {
  const changed = new Map<string, unknown>()
  for (const name of new Set([...before.keys(), ...after.keys()])) {
    const [was = null, is = null] = [before.get(name), after.get(name)]
    if (JSON.stringify(was) !== JSON.stringify(is)) changed.set(name, { before: was, after: is })
  }
  return changed
}

describe('what is recorded', () => {
  it.each([
    ['books', 0],
    ['kept', 1],
    ['flat', 2],
  ] as const)(
    'of %s is what a request has changed, of each object, once',
    { timeout: 600_000 },
    async (prefix, kind) => {
      const random = new Random(seed + kind)
      const counts: Record<string, number> = {}
      const idsOf = async (table: string): Promise<number[]> =>
        (await database.knex(table).orderBy('id')).map(({ id }) => id)
      const body = (): any => {
        const all = {
          title: random.pick(['Emma', 'Persuasion', 'refused', 'Sanditon', null]),
          price: random.pick(['1.00', '2.5', '12.345', null]),
          secret: random.pick(['x', 'y']),
          author: random.pick([{ name: 'Jane' }, { name: 'Eve' }, null]),
          reviews: random.some([{ text: 'good' }, { text: 'bad' }]),
          genres: random.some([1, 2, 3, 99], 0.4),
        }
        const names = random.some(Object.keys(all), 0.5)
        return Object.fromEntries(Object.entries(all).filter(([name]) => names.includes(name)))
      }
      let before = await shown(prefix)
      for (let step = 0; step < size(60, 4_000); step++) {
        const ids = await idsOf('books')
        const id = random.chance(0.05) ? 999 : (random.pick(ids) ?? 1)
        const one = `/${prefix}/${id}`
        const there =
          [...before.keys()].find((name) => name.startsWith('books '))?.replace('books ', `/${prefix}/`) ?? one
        // whatever chance says, there is some of each
        const sure: readonly [string, string, unknown?][] = [
          ['POST', `/${prefix}`, { title: 'Sure', price: '1.00' }],
          ['POST', `/${prefix}`, { title: null }],
          ['PATCH', there, { price: `${step + 100}.25` }],
          ['DELETE', there],
          ['PATCH', `/${prefix}/999999`, { title: 'Nowhere' }],
        ]
        const chosen = step % 6 === 0 ? sure[(step / 6) % sure.length] : undefined
        const [method, path, sent] =
          chosen ??
          random.pick<[string, string, unknown?]>([
            ['POST', `/${prefix}`, { title: 'New', ...body() }],
            ['POST', `/${prefix}`, { title: 'New', ...body() }],
            ['PATCH', one, body()],
            ['PATCH', one, body()],
            ['PUT', one, { title: 'Put', ...body() }],
            ['DELETE', one],
            ['POST', `/${prefix}/bulk`, random.some([1, 2, 3]).map(() => ({ title: 'Listed', ...body() }))],
            ['PATCH', `/${prefix}/bulk`, random.some(ids, 0.4).map((key) => ({ id: key, ...body() }))],
            ['DELETE', `/${prefix}/bulk`, random.some(ids, 0.2)],
            ['GET', one],
          ])
        const { status } = await client.send(method, path, sent)
        const after = await shown(prefix)
        const expected = differences(before, after)
        before = after
        const got = await recorded()
        await database.knex('koa_viewsets_changes').delete()
        const told = new Map(got.map((one) => [`${one.model} ${one.key}`, { before: one.before, after: one.after }]))
        expect({ step, method, path, sent, status, changes: Object.fromEntries(told) }).toEqual({
          step,
          method,
          path,
          sent,
          status,
          changes: Object.fromEntries(expected),
        })
        expect(told.size).toBe(got.length)
        for (const { action, before: was, after: is } of got) {
          counts[action] = (counts[action] ?? 0) + 1
          expect(action).toBe(was === null ? 'create' : is === null ? 'delete' : 'update')
        }
        expect(status).toBeLessThan(500)
        counts[`status ${status}`] = (counts[`status ${status}`] ?? 0) + 1
      }
      for (const action of ['create', 'update', 'delete', 'status 400', 'status 404'])
        expect(counts[action]).toBeGreaterThan(2)
      report(`changes of ${prefix}`, { ...counts, seed })
    },
  )
})

/** The same books, for other kinds of view sets. */
async function serveBooks(
  view: any,
  options: ConstructorParameters<typeof APIRouter>[0] = {},
  ...before: Koa.Middleware[]
) {
  const api = new APIRouter(options).register('books', view)
  await api.prepare()
  return serveApp(...before, api.routes())
}

/** The caller by a header: `user: 7`. */
const login: Koa.Middleware = async (ctx, next) => {
  const id = ctx.get('user')
  if (id) ctx.state['user'] = { id: Number(id) }
  await next()
}

describe('a change', () => {
  it('names the request and its caller', async () => {
    const { send } = await serveBooks(BookViewSet, {}, login)
    const id = '5f0c9b5e-8c64-4f2c-9d6e-3f1d2a7b8c9d'
    await send('POST', '/books', { title: 'Emma' }, { user: '7', 'X-Request-Id': id })
    await send('POST', '/books', { title: 'Emma' })
    const rows = await database.knex('koa_viewsets_changes').orderBy('id')
    expect(rows.map(({ caller, request_id }) => [caller, request_id])).toEqual([
      ['7', id],
      [null, null],
    ])
  })

  it('of a soft delete is a delete, and its end a restore or a purge', async () => {
    class Marked extends BookViewSet {
      static override softDelete: SoftDelete = {
        column: 'deleted_at',
        permissionClasses: [AllowAny],
        purgePermissionClasses: [AllowAny],
      }
    }
    const { send } = await serveBooks(Marked)
    await send('POST', '/books', { title: 'Emma' })
    for (const [method, path] of [
      ['DELETE', '/books/1'],
      ['POST', '/books/1/restore'],
      ['DELETE', '/books/1'],
      ['DELETE', '/books/1/purge'],
    ] as const)
      expect((await send(method, path)).status).toBeLessThan(300)
    const changes = await recorded()
    expect(changes.map(({ action, before, after }) => [action, before?.title ?? null, after?.title ?? null])).toEqual([
      ['create', null, 'Emma'],
      ['delete', 'Emma', null],
      ['restore', null, 'Emma'],
      ['delete', 'Emma', null],
      ['purge', 'Emma', null],
    ])
  })

  it('is of nested objects that a serializer writes in its own way, too', async () => {
    class Own extends AuthorSerializer {
      override async create(data: Record<string, unknown>) {
        return Author.query(this.context.knex)
          .insert(data as object)
          .returning('*')
      }
      override async update(author: Author, data: Record<string, unknown>) {
        return author.$query(this.context.knex).patchAndFetch(data)
      }
    }
    class Books extends BookViewSet {
      static override serializerClass: SerializerClass = class extends BookSerializer {
        static override declaredFields: DeclaredFields = { author: new NestedSerializer(Own, { required: false }) }
      }
    }
    const { send } = await serveBooks(Books)
    await send('POST', '/books', { title: 'Emma', author: { name: 'Jane' } })
    await send('PATCH', '/books/1', { author: { name: 'Jane Austen' } })
    const ofAuthors = (await recorded()).filter(({ model }) => model === 'authors')
    expect(ofAuthors.map(({ action: word, before, after }) => [word, before?.name, after?.name])).toEqual([
      ['create', undefined, 'Jane'],
      ['update', 'Jane', 'Jane Austen'],
    ])
  })

  it('is of what is there at the end: by code of the application, hooks and triggers', async () => {
    class Own extends BookViewSet {
      override async performUpdate(serializer: any) {
        const book = await serializer.save()
        await Book.query(this.trx)
          .findById(book.id)
          .patch({ price: '77' } as object)
        return book
      }

      @action({ methods: ['POST'], detail: true })
      async discount() {
        const book = await this.getObjectToWrite()
        await book.$query(this.trx).patch({ price: '1' })
      }

      @action({ methods: ['POST'], detail: true })
      async tryout() {
        const { trx } = this
        await trx?.transaction(async (savepoint) => {
          this.trx = savepoint
          const book = await this.getObjectToWrite()
          await book.$query(savepoint).patch({ price: '3' })
        })
        this.trx = trx
      }

      @action({ methods: ['POST'], detail: true })
      async refuse() {
        const book = await this.getObjectToWrite()
        await book.$query(this.trx).patch({ price: '2' })
        this.ctx.status = 409
      }
    }
    const { send } = await serveBooks(Own)
    await send('POST', '/books', { title: 'Emma' })
    await send('PATCH', '/books/1', { title: 'Emma 2' })
    await send('POST', '/books/1/discount')
    await send('POST', '/books/1/refuse')
    await send('POST', '/books/1/tryout')
    await send('PATCH', '/books/1', { secret: 'unseen' })
    expect((await recorded()).map(({ action: word, after }) => [word, after?.price])).toEqual([
      ['create', null],
      ['update', '77.00'],
      ['update', '1.00'],
      ['update', '3.00'],
      ['update', '77.00'],
    ])
  })

  it('by an action that answers with another serializer is recorded as the view set has it', async () => {
    class TitleSerializer extends ModelSerializer<Book> {
      static override model = Book
      static override fields = ['id', 'title']
    }
    class Discounted extends BookViewSet {
      static override serializerClass: SerializerClass = FlatSerializer

      @action({ methods: ['POST'], detail: true, serializerClass: TitleSerializer })
      async discount() {
        const book = await this.getObjectToWrite()
        await book.$query(this.trx).patch({ price: '1' })
      }
    }
    const { send } = await serveBooks(Discounted)
    await send('POST', '/books', { title: 'Emma' })
    await send('POST', '/books/1/discount')
    expect((await recorded()).map(({ after }) => after)).toEqual([
      { id: 1, title: 'Emma', price: null, total: 0 },
      { id: 1, title: 'Emma', price: '1.00', total: 0 },
    ])
  })

  it('of what only bodies nest is recorded where it is deleted with its object, too', async () => {
    class Taking extends BookViewSet {
      static override serializerClass: SerializerClass = FlatSerializer
      static override inputSerializerClass: SerializerClass = BookSerializer
    }
    const { send } = await serveBooks(Taking)
    await send('POST', '/books', { title: 'Emma', reviews: [{ text: 'good' }] })
    await send('DELETE', '/books/1')
    const reviews = (await recorded()).filter(({ model }) => model === 'reviews')
    expect(reviews.map(({ action: word, before, after }) => [word, before, after])).toEqual([
      ['create', null, { id: 1, text: 'good' }],
      ['delete', { id: 1, text: 'good' }, null],
    ])
  })

  it('by an action that answers with its object shows no nested ones that a rule hides', async () => {
    class ReviewedSerializer extends ModelSerializer<Book> {
      static override model = Book
      static override fields = ['title']
      static override declaredFields: DeclaredFields = {
        reviews: new NestedSerializer(ReviewSerializer, { many: true }),
      }
    }
    class Published extends BookViewSet {
      static override serializerClass: SerializerClass = ReviewedSerializer

      @action({ methods: ['POST'], detail: true })
      async publish() {
        const book = await this.getObjectToWrite()
        return this.getSerializer({ obj: book }).data
      }
    }
    const rules = [
      rule(Book, { read: true, create: true, update: true }),
      rule(Review, { read: { text: 'good' }, create: true }),
    ]
    const { send } = await serveBooks(Published, { rules })
    await send('POST', '/books', { title: 'Emma', reviews: [{ text: 'good' }, { text: 'bad' }] })
    const { json } = await send('POST', '/books/1/publish')
    expect(json.reviews).toEqual([{ id: 1, text: 'good' }])
  })

  it('is shown by what the view gives its serializers', async () => {
    class Labelled extends FlatSerializer {
      static override fields = ['id', 'title', 'label']
      static override declaredFields: DeclaredFields = {
        label: new SerializerMethodField({ schema: { type: 'string' } }),
      }
      getLabel(book: any) {
        return `${(this.context as any).shop.name}: ${book.title}`
      }
    }
    class Labels extends BookViewSet {
      static override serializerClass: SerializerClass = Labelled
      static override changes: Changes = { fields: ['title', 'label'] }
      override getSerializerContext() {
        return { ...super.getSerializerContext(), shop: { name: 'Shop' } }
      }
    }
    const { send } = await serveBooks(Labels)
    await send('POST', '/books', { title: 'Emma' })
    expect((await recorded())[0]?.after).toEqual({ title: 'Emma', label: 'Shop: Emma' })
  })

  it('that is sent again with its Idempotency-Key is recorded once', async () => {
    await ensureIdempotencyTable(database.knex)
    class Once extends BookViewSet {
      static override idempotent = true
      static override idempotencyScope = () => 'all'
    }
    const { send } = await serveBooks(Once)
    const statuses = []
    for (const key of ['a', 'a', 'b']) {
      statuses.push((await send('POST', '/books', { title: 'Emma' }, { 'Idempotency-Key': `"${key}"` })).status)
      statuses.push((await send('PATCH', '/books/1', { title: `${key}` }, { 'Idempotency-Key': `"${key}"` })).status)
    }
    expect(statuses).toEqual([201, 200, 201, 200, 201, 200])
    expect((await recorded()).map(({ action: word, key, after }) => [word, key, after?.title])).toEqual([
      ['create', '1', 'Emma'],
      ['update', '1', 'a'],
      ['create', '2', 'Emma'],
      ['update', '1', 'b'],
    ])
  })

  it('shows all digits', async () => {
    await database.knex.raw(
      'create table accounts (id bigint primary key, amount numeric, at timestamptz, facts jsonb)',
    )
    class Ledger extends Model {
      static override tableName = 'accounts'
    }
    Ledger.knex(database.knex)
    class LedgerSerializer extends ModelSerializer<Ledger> {
      static override model = Ledger
      static override fields = '__all__' as const
      static override extraKwargs = { id: { readOnly: false, required: true } }
    }
    class Ledgers extends HistoryMixin(ChangesMixin(BulkModelViewSet<Ledger>)) {
      static override model = Ledger
      static override serializerClass: SerializerClass = LedgerSerializer
    }
    const { send } = await serveBooks(Ledgers)
    const body = {
      id: '9007199254740993',
      amount: '12345678901234567890.1234567890',
      at: '2026-01-01T00:00:00.123456Z',
      facts: { n: 1.5 },
    }
    const made = await send('POST', '/books', body)
    expect(made.status).toBe(201)
    const { rows } = await database.knex.raw('select key, after::text from koa_viewsets_changes')
    expect(rows).toEqual([{ key: '9007199254740993', after: made.text }])
    const history = await send('GET', '/books/9007199254740993/history')
    expect(history.json).toMatchObject([{ action: 'create', before: null, after: made.json }])
  })

  it('is recorded of names that knex maps, composite keys, and tenants with schemas of their own', async () => {
    await database.knex.raw(`
      create schema tenant;
      create table tenant.seats (row_no int, seat_no int, held_by text, primary key (row_no, seat_no));
      create table tenant.notes (id int generated by default as identity primary key, note_text text)`)
    const knex = knexLibrary({
      client: 'pg',
      connection: { ...(database.direct as Knex.PgConnectionConfig), options: '-c search_path=tenant,public' },
      ...knexSnakeCaseMappers(),
    })
    onTestFinished(() => knex.destroy())
    class Seat extends Model {
      static override tableName = 'seats'
      static override idColumn = ['rowNo', 'seatNo']
    }
    class Note extends Model {
      static override tableName = 'notes'
    }
    const viewOfModel = (model: typeof Model) => {
      model.knex(knex)
      class AllSerializer extends ModelSerializer<Model> {
        static override schemaName = `${model.name}s`
        static override model = model
        static override fields = '__all__' as const
        static override extraKwargs = model === Seat ? { rowNo: { readOnly: false }, seatNo: { readOnly: false } } : {}
      }
      return class extends HistoryMixin(ChangesMixin(BulkModelViewSet<Model>)) {
        static override model = model
        static override serializerClass: SerializerClass = AllSerializer
        static override databaseSettings = { search_path: 'tenant' }
      }
    }
    const api = new APIRouter().register('seats', viewOfModel(Seat) as any).register('notes', viewOfModel(Note) as any)
    await api.prepare()
    const { send } = await serveApp(api.routes())
    expect((await send('POST', '/seats', { rowNo: 1, seatNo: 2, heldBy: 'a' })).status).toBe(201)
    expect((await send('PATCH', '/seats/1,2', { heldBy: 'b' })).status).toBe(200)
    expect((await send('POST', '/notes', { noteText: 'a' })).status).toBe(201)
    expect(await recorded()).toEqual([
      {
        model: 'tenant.seats',
        key: '1,2',
        action: 'create',
        before: null,
        after: { rowNo: 1, seatNo: 2, heldBy: 'a' },
      },
      {
        model: 'tenant.seats',
        key: '1,2',
        action: 'update',
        before: { rowNo: 1, seatNo: 2, heldBy: 'a' },
        after: { rowNo: 1, seatNo: 2, heldBy: 'b' },
      },
      { model: 'tenant.notes', key: '1', action: 'create', before: null, after: { id: 1, noteText: 'a' } },
    ])
    expect((await send('GET', '/seats/1,2/history')).json).toHaveLength(2)
  })

  it('has no ids that expire, and of a file its key in place of a URL that is signed each time', async () => {
    await database.knex.raw(`create table covers (id int primary key, title text, image text, author_id int references authors);
      insert into covers values (1, 'a', 'one.png', 1)`)
    configure({ secretKey: 'a secret of the changes, long enough' })
    onTestFinished(() => configure({}))
    class Expiring extends IDMixin(Author) {
      static override idConfig = {
        mode: 'signed',
        alphabet: 'mn7swcxDfgkGrBtv4qj6phd3b952CzF8',
        hmacKeys: ['a key of the changes, long enough'],
        expiresIn: 60,
      } as const
    }
    class Cover extends Model {
      static override tableName = 'covers'
      static override relationMappings = () => ({
        author: {
          relation: Model.BelongsToOneRelation,
          modelClass: Expiring,
          join: { from: 'covers.author_id', to: 'authors.id' },
        },
      })
    }
    for (const model of [Expiring, Cover]) model.knex(database.knex)
    let signed = 0
    class CoverSerializer extends ModelSerializer<Cover> {
      static override model = Cover
      static override fields = ['id', 'title', 'author']
      static override declaredFields: DeclaredFields = {
        image: new FileUploadField({
          storage: {
            save: async () => 'two.png',
            delete: async () => {},
            url: (key) => `https://files.example.org/${key}?signature=${signed++}`,
          },
          required: false,
        }),
      }
    }
    class Covers extends ChangesMixin(BulkModelViewSet<Cover>) {
      static override model = Cover
      static override serializerClass: SerializerClass = CoverSerializer
    }
    const { send } = await serveBooks(Covers)
    expect((await send('PATCH', '/books/1', { title: 'a' })).status).toBe(200)
    expect((await send('PATCH', '/books/1', { title: 'b' })).status).toBe(200)
    expect((await recorded()).map(({ before, after }) => [before, after])).toEqual([
      [
        { id: 1, title: 'a', image: 'one.png' },
        { id: 1, title: 'b', image: 'one.png' },
      ],
    ])
  })

  it('tells which objects are nested by links, and which one by a key', async () => {
    class GenreSerializer extends ModelSerializer<Genre> {
      static override model = Genre
      static override fields = ['id', 'name']
    }
    class LinkedSerializer extends ModelSerializer<Book> {
      static override model = Book
      static override fields = ['id', 'title']
      static override declaredFields: DeclaredFields = {
        author: new PrimaryKeyRelatedField({ queryset: Author, required: false, shownBy: AuthorSerializer }),
        genres: new NestedSerializer(GenreSerializer, { many: true, required: false }),
      }
    }
    class Linked extends BookViewSet {
      static override serializerClass: SerializerClass = LinkedSerializer
    }
    const { send } = await serveBooks(Linked)
    const made = await send('POST', '/books', { title: 'Emma', author: 1, genres: [{ name: 'x' }] })
    const [genre] = made.json.genres
    await send('PATCH', '/books/1', { author: 2, genres: [{ id: genre.id, name: 'y' }, { name: 'z' }] })
    const books = (await recorded()).filter(({ model }) => model === 'books')
    expect(books.map(({ after }) => after)).toEqual([
      { id: 1, title: 'Emma', author: 1, genres: [genre.id] },
      { id: 1, title: 'Emma', author: 2, genres: [genre.id, expect.any(Number)] },
    ])
    const genres = (await recorded()).filter(({ model }) => model === 'genres')
    expect(genres.map(({ action: word, after }) => [word, after.name])).toEqual([
      ['create', 'x'],
      ['update', 'y'],
      ['create', 'z'],
    ])
  })

  it('tells the value of a key that names no object', async () => {
    class Scale extends Model {
      static override tableName = 'scales'
    }
    class Weighing extends Model {
      static override tableName = 'weighings'
      static override relationMappings = () => ({
        scale: {
          relation: Model.BelongsToOneRelation,
          modelClass: Scale,
          join: { from: 'weighings.scale_id', to: 'scales.id' },
        },
      })
    }
    class ScaleSerializer extends ModelSerializer<Scale> {
      static override model = Scale
      static override fields = ['id']
    }
    class WeighingSerializer extends ModelSerializer<Weighing> {
      static override model = Weighing
      static override fields = ['id', 'note']
      static override declaredFields: DeclaredFields = {
        scale: new NestedSerializer(ScaleSerializer, { readOnly: true }),
      }
    }
    for (const model of [Scale, Weighing]) model.knex(database.knex)
    class Weighings extends ChangesMixin(BulkModelViewSet<Weighing>) {
      static override model = Weighing
      static override serializerClass: SerializerClass = WeighingSerializer
    }
    const { send } = await serveBooks(Weighings)
    expect((await send('PATCH', '/books/1', { note: 'a' })).json).toEqual({ id: 1, note: 'a', scale: { id: [1, 2] } })
    expect((await recorded()).map(({ after }) => after)).toEqual([{ id: 1, note: 'a', scale: [1, 2] }])
  })

  it('names objects by their external ids', async () => {
    configure({ secretKey: 'a secret of the changes, long enough' })
    onTestFinished(() => configure({}))
    class Hidden extends IDMixin(Book) {
      static override idConfig = { mode: 'encoded', alphabet: 'mn7swcxDfgkGrBtv4qj6phd3b952CzF8' } as const
    }
    class HiddenSerializer extends ModelSerializer<Hidden> {
      static override model = Hidden
      static override fields = ['id', 'title']
    }
    class HiddenBooks extends HistoryMixin(BookViewSet) {
      static override model: any = Hidden
      static override serializerClass: SerializerClass = HiddenSerializer
    }
    const { send } = await serveBooks(HiddenBooks)
    const { json } = await send('POST', '/books', { title: 'Emma' })
    expect(json.id).not.toBe(1)
    expect(await recorded()).toEqual([
      { model: 'books', key: json.id, action: 'create', before: null, after: { id: json.id, title: 'Emma' } },
    ])
    expect((await send('GET', `/books/${json.id}/history`)).json).toMatchObject([{ after: json }])
  })

  class Tag extends Model {
    static override tableName = 'tags'
    static override idColumn = 'slug'
  }
  class TagSerializer extends ModelSerializer<Tag> {
    static override model = Tag
    static override fields = ['slug', 'label']
    static override extraKwargs = { slug: { readOnly: false } }
  }
  class Tags extends HistoryMixin(ChangesMixin(BulkModelViewSet<Tag>)) {
    static override model = Tag
    static override serializerClass: SerializerClass = TagSerializer
  }

  it('of the key is the end of one object, and the beginning of another', async () => {
    Tag.knex(database.knex)
    await database.knex('tags').delete()
    const { send } = await serveBooks(Tags)
    await send('POST', '/books', { slug: 'a', label: 'A' })
    await send('PATCH', '/books/a', { slug: 'b' })
    await send('PUT', '/books/b', { slug: 'b', label: 'B' })
    expect(await recorded()).toEqual([
      { model: 'tags', key: 'a', action: 'create', before: null, after: { slug: 'a', label: 'A' } },
      { model: 'tags', key: 'a', action: 'delete', before: { slug: 'a', label: 'A' }, after: null },
      { model: 'tags', key: 'b', action: 'create', before: null, after: { slug: 'b', label: 'A' } },
      {
        model: 'tags',
        key: 'b',
        action: 'update',
        before: { slug: 'b', label: 'A' },
        after: { slug: 'b', label: 'B' },
      },
    ])
  })

  it('of the spelling of a key is one, too, though the database takes it for the same', async () => {
    await database.knex.raw('create extension citext; create table terms (word citext primary key, meaning text)')
    class Term extends Model {
      static override tableName = 'terms'
      static override idColumn = 'word'
    }
    Term.knex(database.knex)
    class TermSerializer extends ModelSerializer<Term> {
      static override model = Term
      static override fields = ['word', 'meaning']
      static override extraKwargs = { word: { readOnly: false } }
    }
    class Terms extends ChangesMixin(BulkModelViewSet<Term>) {
      static override model = Term
      static override serializerClass: SerializerClass = TermSerializer
    }
    const { send } = await serveBooks(Terms)
    await send('POST', '/books', { word: 'Ab', meaning: 'a' })
    await send('PUT', '/books/ab', { word: 'aB', meaning: 'b' })
    expect((await recorded()).map(({ key, action: word, after }) => [key, word, after?.word])).toEqual([
      ['Ab', 'create', 'Ab'],
      ['Ab', 'delete', undefined],
      ['aB', 'create', 'aB'],
    ])
  })

  it('of an object that had the same key is not shown', async () => {
    Tag.knex(database.knex)
    await database.knex('tags').delete()
    const { send } = await serveBooks(Tags)
    await send('POST', '/books', { slug: 'a', label: 'of somebody else' })
    await send('DELETE', '/books/a')
    await send('POST', '/books', { slug: 'a', label: 'own' })
    await send('PATCH', '/books/a', { label: 'own, too' })
    const labels = async () => (await send('GET', '/books/a/history')).json.map((one: any) => one.after.label)
    expect(await labels()).toEqual(['own, too', 'own'])
    const [{ id: last }] = (await send('GET', '/books/a/history?limit=1')).json
    const [{ id: first }] = (await send('GET', `/books/a/history?limit=1&before=${last}`)).json
    expect((await send('GET', `/books/a/history?before=${first}`)).json).toEqual([])
    await send('DELETE', '/books/a')
    await database.knex('tags').insert({ slug: 'a', label: 'by SQL' })
    expect(await labels()).toEqual([])
  })

  it('of JSON that PostgreSQL keeps as a text is recorded as it is', async () => {
    await database.knex.raw(`create table drafts (id int primary key, facts json, title text);
      insert into drafts values (1, '{"a":"\\u0000"}', 'a'), (2, '"\\ud800"', 'a')`)
    class Draft extends Model {
      static override tableName = 'drafts'
    }
    Draft.knex(database.knex)
    class DraftSerializer extends ModelSerializer<Draft> {
      static override model = Draft
      static override fields = '__all__' as const
    }
    class Drafts extends HistoryMixin(ChangesMixin(BulkModelViewSet<Draft>)) {
      static override model = Draft
      static override serializerClass: SerializerClass = DraftSerializer
    }
    const { send } = await serveBooks(Drafts)
    for (const [id, facts] of [
      [1, { a: '\u0000' }],
      [2, '\ud800'],
    ] as const) {
      expect((await send('PATCH', `/books/${id}`, { title: 'b' })).status).toBe(200)
      expect((await send('GET', `/books/${id}/history`)).json).toMatchObject([{ after: { facts, title: 'b' } }])
    }
  })

  it('is shown by the serializer that nests the object, though another one nests others of its model', async () => {
    class Rated extends Book {
      static override relationMappings = () => {
        const join = { from: 'books.id', to: 'reviews.book_id' }
        const some = (sign: string) => ({
          relation: Model.HasManyRelation,
          modelClass: Review,
          join,
          filter: (query: any) => query.where('stars', sign, 2),
        })
        return { ...Book.relationMappings(), good: some('>'), bad: some('<=') } as any
      }
    }
    Rated.knex(database.knex)
    class StarsSerializer extends ModelSerializer<Review> {
      static override model = Review
      static override fields = ['id', 'stars']
    }
    class RatedSerializer extends ModelSerializer<Rated> {
      static override model = Rated
      static override fields = ['id', 'title']
      static override declaredFields: DeclaredFields = {
        good: new NestedSerializer(ReviewSerializer, { many: true, required: false }),
        bad: new NestedSerializer(StarsSerializer, { many: true, required: false }),
      }
    }
    class RatedBooks extends BookViewSet {
      static override model: any = Rated
      static override serializerClass: SerializerClass = RatedSerializer
    }
    const { send } = await serveBooks(RatedBooks)
    await send('POST', '/books', { title: 'Emma', good: [{ text: 'good' }], bad: [{ stars: 1 }] })
    await send('PATCH', '/books/1', { good: [{ id: 1, text: 'very' }], bad: [{ id: 2, stars: 2 }] })
    const reviews = (await recorded()).filter(({ model }) => model === 'reviews')
    expect(reviews.map(({ key, before, after }) => [key, before, after])).toEqual([
      ['1', null, { id: 1, text: 'good' }],
      ['2', null, { id: 2, stars: 1 }],
      ['1', { id: 1, text: 'good' }, { id: 1, text: 'very' }],
      ['2', { id: 2, stars: 1 }, { id: 2, stars: 2 }],
    ])
  })

  it('in the schema of one tenant is not shown to another', async () => {
    await database.knex.raw(`
      create table memos (id int generated always as identity primary key, text text);
      create schema one; create table one.memos (like memos including all);
      create schema other; create table other.memos (like memos including all)`)
    class Memo extends Model {
      static override tableName = 'memos'
    }
    Memo.knex(database.knex)
    class MemoSerializer extends ModelSerializer<Memo> {
      static override model = Memo
      static override fields = '__all__' as const
    }
    class Memos extends HistoryMixin(ChangesMixin(BulkModelViewSet<Memo>)) {
      static override model = Memo
      static override serializerClass: SerializerClass = MemoSerializer
      static override databaseSettings = (ctx: any) => ({ search_path: ctx.get('tenant') })

      @action({ methods: ['POST'], detail: true })
      async tell() {
        const trx = this.trx as Knex.Transaction
        await recordChange(trx, { model: 'memos', key: 1, action: 'told', after: { text: 'own' }, ctx: this.ctx })
      }
    }
    const { send } = await serveBooks(Memos)
    const tenants = ['one', 'other']
    for (const tenant of tenants) await send('POST', '/books', { text: `of ${tenant}` }, { tenant })
    await send('POST', '/books/1/tell', undefined, { tenant: 'one' })
    expect((await recorded()).map(({ model, after }) => [model, after.text])).toEqual([
      ['one.memos', 'of one'],
      ['other.memos', 'of other'],
      ['one.memos', 'own'],
    ])
    for (const tenant of tenants) {
      const { json } = await send('GET', '/books/1/history', undefined, { tenant })
      expect(json.at(-1).after).toEqual({ id: 1, text: `of ${tenant}` })
      expect(json).toHaveLength(tenant === 'one' ? 2 : 1)
    }
  })

  it.skipIf(runsAsRole())('in the schema of one role is not shown to another', async () => {
    const roles = ['a', 'b'].map((name) => `own_${name}_${process.pid}`)
    const schemas = roles.map(
      (role) => `create role ${role} nologin; create schema ${role} authorization ${role};
        create table ${role}.lists (like lists including all); alter table ${role}.lists owner to ${role};`,
    )
    await database.knex.raw(
      `create table lists (id int generated always as identity primary key, text text); ${schemas.join(' ')}`,
    )
    onTestFinished(async () => {
      for (const role of roles) await database.knex.raw(`drop owned by ${role} cascade; drop role ${role}`)
    })
    class List extends Model {
      static override tableName = 'lists'
    }
    List.knex(database.knex)
    class ListSerializer extends ModelSerializer<List> {
      static override model = List
      static override fields = '__all__' as const
    }
    class Lists extends HistoryMixin(ChangesMixin(BulkModelViewSet<List>)) {
      static override model = List
      static override serializerClass: SerializerClass = ListSerializer
      static override databaseRole = (ctx: any) => ctx.get('role')
    }
    const { send } = await serveBooks(Lists)
    for (const role of roles) expect((await send('POST', '/books', { text: role }, { role })).status).toBe(201)
    expect((await recorded()).map(({ model }) => model)).toEqual(roles.map((role) => `${role}.lists`))
    for (const role of roles) {
      const { json } = await send('GET', '/books/1/history', undefined, { role })
      expect(json.map((one: any) => one.after.text)).toEqual([role])
    }
  })

  it('by SQL of the application is recorded by recordChange(), in its transaction', async () => {
    await database.knex.transaction((trx) =>
      recordChange(trx, { model: 'books', key: 7, action: 'moved', before: { shelf: 1 }, after: { shelf: 2 } }),
    )
    await database.knex
      .transaction(async (trx) => {
        await recordChange(trx, { model: 'books', key: 8, action: 'update' })
        throw new Error('rolled back')
      })
      .catch(() => {})
    expect(await recorded()).toEqual([
      { model: 'books', key: '7', action: 'moved', before: { shelf: 1 }, after: { shelf: 2 } },
    ])
    await expect(recordChange(database.knex, { model: 'books', key: 7, action: 'update' })).rejects.toThrow(
      'recordChange() needs the transaction of the change',
    )
  })

  it.skipIf(runsAsRole())('of a caller with a role of the database is recorded by the login', async () => {
    const role = `caller_${process.pid}`
    await database.knex.raw(`
      create role ${role} nologin; grant all on books, books_genres to ${role}; grant select on reviews, genres, authors to ${role};
      grant usage on all sequences in schema public to ${role};
      alter table books enable row level security;
      create policy own on books to ${role} using (title <> 'hidden') with check (title <> 'hidden');`)
    onTestFinished(async () => {
      await database.knex.raw(
        `drop policy own on books; alter table books disable row level security; drop owned by ${role}; drop role ${role}`,
      )
    })
    class AsCaller extends BookViewSet {
      static override databaseRole = role

      @action({ methods: ['POST'] })
      async tell() {
        const trx = this.trx as Knex.Transaction
        const roles: string[] = []
        const ask = async () => {
          for (let times = 0; times < 8; times++) {
            const { rows } = await trx.raw<{ rows: [{ role: string }] }>('select current_user as role')
            roles.push(rows[0].role)
          }
        }
        const told = [8, 9].map((key) => recordChange(trx, { model: 'books', key, action: 'told' }))
        await Promise.all([ask(), ...told, ask()])
        await ask()
        return [...new Set(roles)]
      }
    }
    const { send } = await serveBooks(AsCaller)
    expect((await send('POST', '/books', { title: 'Emma' })).status).toBe(201)
    expect((await send('PATCH', '/books/1', { title: 'Emma 2' })).status).toBe(200)
    expect((await send('PATCH', '/books/1', { title: 'hidden' })).status).toBe(403)
    expect((await send('DELETE', '/books/1')).status).toBe(204)
    expect((await send('POST', '/books/tell')).json).toEqual([role])
    expect((await recorded()).map((one) => [one.action, one.after?.title])).toEqual([
      ['create', 'Emma'],
      ['update', 'Emma 2'],
      ['delete', undefined],
      ['told', undefined],
      ['told', undefined],
    ])
  })

  it.skipIf(runsAsRole())('of a request within a transaction of the application ends with it', async () => {
    const outer = await database.knex.transaction()
    class Inside extends BookViewSet {
      override getKnex() {
        return outer
      }
    }
    const { send } = await serveBooks(Inside)
    expect((await send('POST', '/books', { title: 'Emma' })).status).toBe(201)
    await outer.rollback()
    expect(await recorded()).toEqual([])
  })
})

it.each([
  [{ model: Book }, 'recordChange(): model is Book; give'],
  [{ model: undefined }, 'recordChange(): model is null; give'],
  [{ action: '' }, 'recordChange(): action is ""; give'],
  [{ action: 'price.raised' }, 'recordChange(): action is "price.raised"; give a word without "."'],
  [{ action: '*' }, 'recordChange(): action is "*"; give a word without "."'],
  [{ key: undefined }, 'recordChange(): key is undefined; give'],
  [{ key: { id: 1 } }, 'recordChange(): key is {"id":1}; give'],
  [{ after: 'text' }, 'recordChange(): after is "text"; give an object, or null'],
  [{ was: [1] }, 'recordChange(): was is [1]; give an object, or null'],
  [{ afterr: {} }, 'recordChange(): has no option "afterr"; did you mean "after"?'],
])('recordChange() refuses what nobody would hear of: %o', async (wrong, message) => {
  const change = { model: 'books', key: 1, action: 'update', ...wrong } as never
  await expect(database.knex.transaction((trx) => recordChange(trx, change))).rejects.toThrow(message)
})

describe('many writers at once', () => {
  it('leave a chain of changes of each object, each of which begins where the last one has ended', {
    timeout: 600_000,
  }, async () => {
    const { knex } = database
    const begun = await shown()
    class Reviews extends BookViewSet {
      static override model: any = Review
      static override serializerClass: SerializerClass = ReviewSerializer
    }
    class Authors extends BookViewSet {
      static override model: any = Author
      static override serializerClass: SerializerClass = AuthorSerializer
    }
    const api = new APIRouter().register('books', BookViewSet).register('reviews', Reviews).register('authors', Authors)
    await api.prepare()
    const { send } = await serveApp(api.routes())
    const making = { title: 'Book', author: { name: 'Jane' }, reviews: [{ text: 'r' }, { text: 's' }] }
    for (let id = 0; id < 4; id++) await send('POST', '/books', making)
    const counts: Record<string, number> = { seed }
    const writers = Array.from({ length: 12 }, async (_, writer) => {
      const random = new Random(seed + writer)
      for (let step = 0; step < size(15, 400); step++) {
        const text = `${writer}-${step}`
        const all: { id: number; author_id: number }[] = await knex('books').orderBy('id').select('id', 'author_id')
        const { id, author_id } = random.pick(all) ?? { id: 1, author_id: 1 }
        const reviews = (await knex('reviews').where({ book_id: id }).orderBy('id')).map((one) => ({
          id: one.id,
          text,
        }))
        const [review] = random.shuffled(reviews)
        const [method, path, body] = random.pick<[string, string, unknown?]>([
          ['POST', '/books', making],
          [
            'PATCH',
            '/books/bulk',
            random
              .shuffled(all)
              .slice(0, 2)
              .map((one) => ({ id: one.id, title: text })),
          ],
          ['PATCH', `/books/${id}`, { title: text, reviews: [...reviews, { text }] }],
          ['PATCH', `/books/${id}`, { author: { id: author_id, name: text } }],
          ['PATCH', `/authors/${author_id}`, { name: text }],
          ['PATCH', `/reviews/${review?.id ?? 1}`, { text }],
          ['DELETE', `/reviews/${review?.id ?? 1}`],
          ['DELETE', `/books/${id}`],
        ])
        const { status } = await send(method, path, body)
        expect([200, 201, 204, 400, 404, 409]).toContain(status)
        counts[`${method} ${status}`] = (counts[`${method} ${status}`] ?? 0) + 1
      }
    })
    await Promise.all(writers)
    const last = new Map<string, unknown>(begun)
    for (const { model, key, before, after } of await recorded()) {
      expect(before).toEqual(last.get(`${model} ${key}`) ?? null)
      if (after === null) last.delete(`${model} ${key}`)
      else last.set(`${model} ${key}`, after)
    }
    expect(Object.fromEntries(last)).toEqual(Object.fromEntries(await shown()))
    report('changes, chains', counts)
  })
})

/** Until a statement waits for a lock. */
async function somebodyWaits(): Promise<void> {
  const waits = async () => {
    const { rows } = await database.knex.raw(
      `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
    )
    return rows.length > 0
  }
  while (!(await waits())) await sleep(10)
}

describe('what is deleted together with an object', () => {
  it('is recorded as it was at the last, though others change it at the same time', async () => {
    const { knex } = database
    await client.send('POST', '/books', { title: 'Emma', reviews: [{ text: 'old' }, { text: 'gone' }] })
    const other = await knex.transaction()
    await other('reviews').where({ id: 1 }).update({ text: 'new' })
    await other('reviews').where({ id: 2 }).delete()
    const deleting = client.send('DELETE', '/books/1')
    await somebodyWaits()
    await other.commit()
    expect((await deleting).status).toBe(204)
    const deleted = (await recorded()).filter(({ action: word }) => word === 'delete')
    expect(deleted.map(({ model, key, before }) => [model, key, before.text ?? before.title])).toEqual([
      ['books', '1', 'Emma'],
      ['reviews', '1', 'new'],
    ])
  })

  it('is recorded of an action of the application, whose method says nothing of it', async () => {
    class Withdrawn extends BookViewSet {
      @action({ methods: ['POST'], detail: true })
      async withdraw() {
        const book = await this.getObjectToWrite()
        await book.$query(this.trx).delete()
      }
    }
    await client.send('POST', '/books', { title: 'Emma', reviews: [{ text: 'r' }] })
    const { send } = await serveBooks(Withdrawn)
    expect((await send('POST', '/books/1/withdraw')).status).toBe(204)
    const deleted = (await recorded()).filter(({ action: word }) => word === 'delete')
    expect(deleted.map(({ model }) => model)).toEqual(['books', 'reviews'])
  })

  it('is recorded where a route has another method delete', async () => {
    const router = new Router().post('/books/:id/delete', BookViewSet.asView({ post: 'destroy' }))
    await client.send('POST', '/books', { title: 'Emma', reviews: [{ text: 'r' }] })
    const { send } = await serveApp(router.routes() as Koa.Middleware)
    expect((await send('POST', '/books/1/delete')).status).toBe(204)
    const deleted = (await recorded()).filter(({ action: word }) => word === 'delete')
    expect(deleted.map(({ model }) => model)).toEqual(['books', 'reviews'])
  })

  it.skipIf(runsAsRole())('is recorded for a role that may not change it', async () => {
    const { knex } = database
    const role = `deleter_${process.pid}`
    await knex.raw(`create role ${role} nologin; grant select, update, delete on books to ${role};
      grant select on reviews, authors, genres, books_genres to ${role}`)
    onTestFinished(async () => void (await knex.raw(`drop owned by ${role}; drop role ${role}`)))
    class AsCaller extends BookViewSet {
      static override databaseRole = role
    }
    await client.send('POST', '/books', { title: 'Emma', reviews: [{ text: 'r' }] })
    const { send } = await serveBooks(AsCaller)
    expect((await send('DELETE', '/books/1')).status).toBe(204)
    expect((await recorded()).map(({ model, action: word }) => `${word} ${model}`)).toEqual([
      'create reviews',
      'create books',
      'delete books',
      'delete reviews',
    ])
  })
})

describe('a row that one statement deletes', () => {
  class Flat extends BookViewSet {
    static override serializerClass: SerializerClass = FlatSerializer
  }
  class Titles extends Flat {
    static override changes: Changes = { fields: ['id', 'title'] }
  }
  /** Holds the row first. */
  class Held extends Flat {
    override performDestroy(book: Book) {
      return super.performDestroy(book)
    }
  }

  const routes = { flat: Flat, titles: Titles, held: Held }

  async function deleting() {
    const api = new APIRouter()
    for (const [prefix, view] of Object.entries(routes)) api.register(prefix, view, prefix)
    await api.prepare()
    const { send } = await serveApp(login, api.routes())
    return async (prefix: string, title: string) => {
      const [id] = await database.knex('books').insert({ title, price: '1.50', n: 3 }).returning('id')
      const sent = await countQueries(database.knex, async () => {
        expect((await send('DELETE', `/${prefix}/${id.id}`, undefined, { user: '7' })).status).toBe(204)
        expect((await send('DELETE', `/${prefix}/${id.id}`)).status).toBe(404)
      })
      const [row] = await database.knex('koa_viewsets_changes').orderBy('id', 'desc').limit(1)
      const { key, model, action: word, caller, before, after, was } = row
      return {
        key: Number(key) - id.id,
        model,
        word,
        caller,
        before: { ...before, id: 0 },
        after,
        was: { ...was, id: 0 },
        sent,
      }
    }
  }

  it('is recorded as one that is held first, by each view set what it shows', async () => {
    const remove = await deleting()
    const { sent: one, ...flat } = await remove('flat', 'Emma "é"')
    const { sent: many, ...held } = await remove('held', 'Emma "é"')
    expect(flat).toEqual(held)
    expect(flat).toMatchObject({
      word: 'delete',
      caller: '7',
      before: { title: 'Emma "é"', price: '1.50' },
      after: null,
    })
    const deletes = one.filter((text) => /delete from/i.test(text)).length
    if (!runsAsRole()) expect([deletes, many.length > one.length]).toEqual([2, true])
    expect((await remove('titles', 'Momo')).before).toEqual({ id: 0, title: 'Momo' })
    expect((await remove('flat', 'Emil')).before).toEqual({ id: 0, title: 'Emil', price: '1.50', total: 0 })
    expect(await database.knex('koa_viewsets_changes').count()).toEqual([{ count: '4' }])
  })

  it('is recorded as it was at the last, though others change it at the same time', async () => {
    const { knex } = database
    const { send } = await serveBooks(Flat)
    await knex('books').insert({ id: 70, title: 'old' })
    const other = await knex.transaction()
    await other('books').where({ id: 70 }).update({ title: 'new' })
    const answer = send('DELETE', '/books/70')
    await somebodyWaits()
    await other.commit()
    expect((await answer).status).toBe(204)
    expect((await recorded()).map(({ before }) => before.title)).toEqual(['new'])
  })
})

describe('a nested object', () => {
  it('is recorded as it was at the last, though others change it at the same time', async () => {
    const { json } = await client.send('POST', '/books', { title: 'Emma', author: { name: 'Jane' } })
    const { id } = json.author
    const other = await database.knex.transaction()
    await other('authors').where({ id }).update({ name: 'Jane A.' })
    const changing = client.send('PATCH', '/books/1', { author: { id, name: 'Jane Austen' } })
    await somebodyWaits()
    await other.commit()
    expect((await changing).status).toBe(200)
    const { before, after } = (await recorded()).at(-1) as Recorded
    expect([before.name, after.name]).toEqual(['Jane A.', 'Jane Austen'])
  })
})

describe('readChanges()', () => {
  it('reads each change once, those of an object in their order, whatever is running meanwhile', {
    timeout: 600_000,
  }, async () => {
    const { knex } = database
    for (let id = 0; id < 4; id++) await client.send('POST', '/flat', { title: `Book ${id}` })
    const random = new Random(seed)
    let isOver = false
    const seen: ReadChange[] = []
    const follow = async () => {
      let position: string | undefined
      for (;;) {
        const wasOver = isOver
        const limit = 1 + random.below(8)
        const options: ReadChangesOptions = { position, limit }
        const page: ChangesPage = await readChanges(knex, options)
        expect(page.changes.length).toBeLessThanOrEqual(limit)
        position = page.position
        seen.push(...page.changes)
        if (wasOver && page.changes.length === 0) return
      }
    }
    const following = follow()
    // transactions that stay open over those of others
    const slow = Array.from({ length: 3 }, async (_, writer) => {
      for (let step = 0; step < size(6, 100); step++) {
        const trx = await knex.transaction()
        await recordChange(trx, { model: 'slow', key: writer, action: 'update', after: { step } })
        await sleep(20 + random.below(60))
        await (random.chance(0.3) ? trx.rollback() : trx.commit())
      }
    })
    const writers = Array.from({ length: 6 }, async (_, writer) => {
      for (let step = 0; step < size(12, 300); step++)
        await client.send('PATCH', `/flat/${1 + random.below(4)}`, { title: `${writer} ${step}` })
    })
    await Promise.all([...slow, ...writers])
    isOver = true
    await following
    const { rows } = await knex.raw('select id::text from koa_viewsets_changes order by koa_viewsets_changes.id')
    const ids = seen.map(({ id }) => Number(id))
    expect([...ids].sort((one, other) => one - other)).toEqual(rows.map(({ id }: { id: string }) => Number(id)))
    // some were committed behind others with larger ids
    expect(ids).not.toEqual([...ids].sort((one, other) => one - other))
    const last = new Map<string, number>()
    for (const { model, key, id } of seen) {
      expect(Number(id)).toBeGreaterThan(last.get(`${model} ${key}`) ?? 0)
      last.set(`${model} ${key}`, Number(id))
    }
  })

  it('is empty where nothing is new, and not because a page was full', async () => {
    const { knex } = database
    const { position: start } = await readChanges(knex, { position: 'now' })
    const record = (key: number) =>
      knex.transaction((trx) => recordChange(trx, { model: 'books', key, action: 'sold' }))
    await record(1)
    await record(2)
    const full = await readChanges(knex, { position: start, limit: 2 })
    await record(3)
    const rest = await readChanges(knex, { position: full.position, limit: 2 })
    const none = await readChanges(knex, { position: rest.position, limit: 2 })
    expect([full, rest, none].map(({ changes }) => changes.map(({ key }) => key))).toEqual([['1', '2'], ['3'], []])
  })

  it.each([
    ['', (size: number) => randomBytes(size).toString('base64')],
    [', however small they are kept', (size: number) => 'x'.repeat((size * 4) / 3)],
  ])('reads no more at once than fits in memory%s', async (_how, make) => {
    const { knex } = database
    const { position: start } = await readChanges(knex, { position: 'now' })
    await knex.transaction(async (trx) => {
      for (let key = 0; key < 9; key++) {
        // one of them is too large by itself
        const bytes = make(key === 4 ? 9_000_000 : 1_800_000)
        await recordChange(trx, { model: 'books', key, action: 'big', after: { bytes } })
      }
    })
    const counts: number[] = []
    const keys: string[] = []
    for (let position = start; counts.at(-1) !== 0; ) {
      const page = await readChanges(knex, { position })
      counts.push(page.changes.length)
      keys.push(...page.changes.map(({ key }) => key))
      position = page.position
    }
    expect(counts).toEqual([4, 1, 4, 0])
    expect(keys).toEqual(Array.from({ length: 9 }, (_, index) => String(index)))
  })

  it('waits for no transaction, and goes on where one began that was told of nothing', async () => {
    const { knex } = database
    const { position: start } = await readChanges(knex, { position: 'now' })
    const open = await knex.transaction()
    await recordChange(open, { model: 'books', key: 1, action: 'first' })
    await knex.transaction((trx) => recordChange(trx, { model: 'books', key: 2, action: 'second' }))
    const page = await readChanges(knex, { position: start })
    expect(page.changes.map(({ action: word }) => word)).toEqual(['second'])
    await open.commit()
    const rest = await readChanges(knex, { position: page.position })
    expect(rest.changes.map(({ action: word }) => word)).toEqual(['first'])
    expect((await readChanges(knex, { position: rest.position })).changes).toEqual([])
    expect((await readChanges(knex)).changes.map(({ action: word }) => word)).toEqual(['first', 'second'])
    await knex.transaction(async (trx) => {
      await recordChange(trx, { model: 'books', key: 3, action: 'own' })
      expect((await readChanges(trx, { position: rest.position })).changes).toEqual([])
    })
  })

  it('leaves what its own transaction records to whoever reads once that is committed', async () => {
    const { knex } = database
    const { position: start } = await readChanges(knex, { position: 'now' })
    let position = ''
    await knex.transaction(async (trx) => {
      await recordChange(trx, { model: 'books', key: 1, action: 'own' })
      for (const key of [2, 3]) {
        await knex.transaction((other) => recordChange(other, { model: 'books', key, action: 'other' }))
      }
      const page = await readChanges(trx, { position: start })
      expect(page.changes.map(({ key }) => key)).toEqual(['2', '3'])
      position = page.position
    })
    const rest = await readChanges(knex, { position })
    expect(rest.changes.map(({ key }) => key)).toEqual(['1'])
    expect((await readChanges(knex, { position: rest.position })).changes).toEqual([])
  })

  it('looks no more at what was running, once that has ended', async () => {
    const { knex } = database
    const running = await knex.transaction()
    await running.raw('select pg_current_xact_id()')
    await knex.transaction((trx) => recordChange(trx, { model: 'books', key: 1, action: 'update' }))
    const { position } = await readChanges(knex)
    expect(position).toMatch(/^(\d+):\d+:(?:\d+,)*\1(?:,\d+)*$/)
    await running.rollback()
    const isEnded = async () => /^(\d+):\1:$/.test((await readChanges(knex, { position })).position)
    // other databases of the server have transactions, too
    while (!(await isEnded())) await sleep(10)
    const [, end] = position.split(':')
    expect((await readChanges(knex, { position })).position).toBe(`${end}:${end}:`)
  })

  it.each([
    [{ position: 'x' }, 'position is "x"'],
    [{ position: '1:1:;2' }, 'position is "1:1:;2"'],
    [{ position: '5:1:' }, 'position is "5:1:"'],
    [{ position: '0:1:' }, 'position is "0:1:"'],
    [{ position: '1:5:3,2' }, 'position is "1:5:3,2"'],
    [{ position: '1:5:5' }, 'position is "1:5:5"'],
    [{ position: `1:${2n ** 63n}:` }, 'position is "1:9223372036854775808:"'],
    [{ position: `1:1:;1:1:;${2n ** 63n}` }, 'position is "1:1:;1:1:;9223372036854775808"'],
    [{ limit: 0 }, 'limit is 0; give a whole number of at least 1'],
  ])('refuses %o', async (options, message) => {
    await expect(readChanges(database.knex, options)).rejects.toThrow(message)
  })
})

describe('reading on', () => {
  const many = (trx: Knex, count: number) =>
    trx.raw(
      `insert into koa_viewsets_changes (model, key, action) select 'others', n::text, 'x' from generate_series(1, ?) n`,
      [count],
    )

  it('reads as much of a long table as of a short one, and beside a transaction that is running for long', async () => {
    const { knex } = database
    const running = await knex.transaction()
    try {
      await many(running, 1)
      const { position } = await readChanges(knex, { position: 'now' })
      const before = await pagesReadBy(knex, () => readChanges(knex, { position }))
      for (let times = 0; times < 20; times++) await many(knex, 1_000)
      const { position: here } = await readChanges(knex, { position: 'now' })
      await many(knex, 2)
      const pages = await pagesReadBy(knex, () => readChanges(knex, { position: here }))
      // the whole table has some hundreds
      expect(pages - before).toBeLessThan(100)
      expect((await readChanges(knex, { position: here })).changes).toHaveLength(2)
    } finally {
      await running.rollback()
    }
  })
})

describe('a history', () => {
  it('has its changes in their order, however many there were', async () => {
    const { send } = await serveBooks(class extends HistoryMixin(BookViewSet) {})
    await send('POST', '/books', { title: '0' })
    for (let n = 1; n < 15; n++) await send('PATCH', '/books/1', { title: `${n}` })
    const titles = (await send('GET', '/books/1/history')).json.map((one: any) => one.after.title)
    expect(titles).toEqual(Array.from({ length: 15 }, (_, index) => `${14 - index}`))
  })

  class Historic extends HistoryMixin(BookViewSet) {}

  it.each([
    ['', () => randomBytes(1_800_000).toString('base64')],
    [', however small they are kept', () => 'x'.repeat(2_400_000)],
  ])('has no more changes at once than fit in memory%s', async (_how, make) => {
    const { send } = await serveBooks(Historic)
    await send('POST', '/books', { title: 'Emma' })
    for (let n = 0; n < 9; n++) {
      await database.knex.transaction((trx) =>
        recordChange(trx, { model: 'books', key: 1, action: `big${n}`, after: { bytes: make() } }),
      )
    }
    const pages: string[][] = []
    for (let before = ''; pages.at(-1)?.length !== 0; ) {
      const { json } = await send('GET', `/books/1/history?${before}`)
      pages.push(json.map((one: any) => one.action))
      before = `before=${json.at(-1)?.id}`
    }
    expect(pages).toEqual([['big8', 'big7', 'big6', 'big5'], ['big4', 'big3', 'big2', 'big1'], ['big0', 'create'], []])
  })

  it('of an object that is marked as deleted goes on, where that is shown', async () => {
    const { send } = await serveBooks(Historic)
    await client.send('POST', '/kept', { title: 'Emma' })
    await client.send('DELETE', '/kept/1')
    const { json } = await send('GET', '/books/1/history')
    expect(json.map((one: any) => one.action)).toEqual(['delete', 'create'])
  })

  it('is the changes of one object, the last first, in pages', async () => {
    const { send } = await serveBooks(Historic)
    await send('POST', '/books', { title: 'Emma', price: '1.00' })
    for (let n = 0; n < 3; n++) await send('PATCH', '/books/1', { price: `${n + 2}.00` })
    await send('POST', '/books', { title: 'Other' })
    const { json } = await send('GET', '/books/1/history?limit=2')
    expect(json).toEqual([
      expect.objectContaining({ action: 'update', before: expect.objectContaining({ price: '3.00' }), caller: null }),
      expect.objectContaining({ action: 'update', after: expect.objectContaining({ price: '3.00' }) }),
    ])
    const rest = await send('GET', `/books/1/history?before=${json[1].id}`)
    expect(rest.json.map((one: any) => [one.action, one.after.price])).toEqual([
      ['update', '2.00'],
      ['create', '1.00'],
    ])
    expect((await send('GET', '/books/9/history')).status).toBe(404)
    await database.knex.raw('alter table koa_viewsets_changes alter id restart with 9007199254740993')
    await send('PATCH', '/books/1', { price: '9.00' })
    await send('PATCH', '/books/1', { price: '10.00' })
    const [{ id: last }] = (await send('GET', '/books/1/history?limit=1')).json
    const [next] = (await send('GET', `/books/1/history?limit=1&before=${last}`)).json
    expect([last, next.id, next.after.price]).toEqual(['9007199254740994', '9007199254740993', '9.00'])
    for (const query of ['limit=0', 'limit=101', 'before=x', 'before=0', 'before=9223372036854775808'])
      expect((await send('GET', `/books/1/history?${query}`)).status).toBe(400)
    expect((await send('POST', '/books/1/history')).status).toBe(405)
  })

  it('is refused where the queryset masks columns, and stays where it chooses rows', async () => {
    class Masked extends Historic {
      override getQueryset() {
        return Book.query().select('id', Book.raw("'***' as title"), 'price', 'total', 'author_id') as never
      }
    }
    class Chosen extends Historic {
      override getQueryset() {
        return Book.query().where('title', 'Emma').withGraphFetched('author') as never
      }
    }
    await database.knex('books').insert({ title: 'Emma' })
    const masked = await serveBooks(Masked)
    const refused = await masked.send('GET', '/books/1/history')
    expect(refused.status).toBe(500)
    expect(String(masked.reported[0])).toContain('a history shows columns as they are recorded')
    const chosen = await serveBooks(Chosen)
    expect((await chosen.send('GET', '/books/1/history')).json).toEqual([])
    await database.knex('books').update({ title: 'Other' })
    expect((await chosen.send('GET', '/books/1/history')).status).toBe(404)
  })

  it.each<[string, number, (books: QueryBuilder<Book>) => unknown]>([
    ['a join, and all columns', 200, (books) => books.leftJoinRelated('author').select('books.*')],
    [
      'all columns of groups by the key',
      200,
      (books) => books.leftJoinRelated('author').groupBy('books.id').havingRaw('count(*) > 0').select('books.*'),
    ],
    ['all columns, and no row twice', 200, (books) => books.leftJoinRelated('author').distinct('books.*')],
    ['a name for more', 200, (books) => books.select('books.*', Book.raw('upper(title) as loud'))],
    ['a column that has the name of another one', 500, (books) => books.select('books.*', 'secret as title')],
    ['some columns', 500, (books) => books.select('books.id', 'title', 'price')],
    [
      'columns of groups',
      500,
      (books) => books.groupBy('books.id').select('books.id', Book.raw('max(title) as title')),
    ],
    ['all columns, which a hook changes', 500, (books) => books.select('books.*').runAfter((found) => found)],
  ])('of a queryset that selects %s is %i', async (_, status, select) => {
    class Selecting extends Historic {
      override getQueryset() {
        return select(Book.query()) as never
      }
    }
    const [author] = await database.knex('authors').insert({ name: 'Jane' }).returning('id')
    await database.knex('books').insert({ title: 'Emma', author_id: author.id })
    const own = await serveBooks(Selecting)
    const history = await own.send('GET', '/books/1/history')
    expect([history.status, own.reported.length]).toEqual([status, status === 500 ? 1 : 0])
  })

  it('shows no field that the view does not choose for the caller', async () => {
    class Choosing extends Historic {
      override getSerializerClass(): any {
        return this.ctx.get('user') === '1' ? BookSerializer : FlatSerializer
      }
    }
    const { send } = await serveBooks(Choosing)
    await send('POST', '/books', { title: 'Emma', genres: [1] }, { user: '1' })
    const read = async (user: string) => (await send('GET', '/books/1/history', undefined, { user })).json[0].after
    expect(await read('1')).toEqual({ id: 1, title: 'Emma', price: null, total: 0, author: null, genres: [1] })
    expect(await read('2')).toEqual({ id: 1, title: 'Emma', price: null, total: 0 })
  })

  it('shows nothing by a name by which the serializer that is chosen for the caller shows something else', async () => {
    class Initial extends SerializerField<string, FieldOptions & { letters: number }> {
      override toRepresentation(value: unknown) {
        return String(value).slice(0, this.options.letters)
      }
    }
    class WholeSerializer extends FlatSerializer {
      static override declaredFields: DeclaredFields = {
        price: new SerializerMethodField(),
        title: new Initial({ letters: 4 }),
        genres: new PrimaryKeyRelatedField({ many: true, queryset: Genre, required: false }),
      }
      getPrice(): unknown {
        return 'for the staff'
      }
    }
    class SameSerializer extends WholeSerializer {
      static override declaredFields: DeclaredFields = {
        ...WholeSerializer.declaredFields,
        title: new Initial({ letters: 4, required: false }),
        total: new StringField({ readOnly: true }),
      }
    }
    class OtherSerializer extends WholeSerializer {
      static override declaredFields: DeclaredFields = {
        ...WholeSerializer.declaredFields,
        title: new Initial({ letters: 1 }),
        total: new SerializerMethodField(),
        genres: new SlugRelatedField({ many: true, slugField: 'name', readOnly: true }),
      }
      getTotal(): unknown {
        return 'hidden'
      }
      override getPrice(): unknown {
        return 'for all'
      }
    }
    class ElsewhereSerializer extends WholeSerializer {
      static override declaredFields: DeclaredFields = {
        ...WholeSerializer.declaredFields,
        total: new IntegerField({ source: 'id', readOnly: true }),
      }
    }
    const chosen: Record<string, SerializerClass> = {
      same: SameSerializer,
      other: OtherSerializer,
      elsewhere: ElsewhereSerializer,
    }
    class Choosing extends Historic {
      static override serializerClass: SerializerClass = WholeSerializer
      static override changes: Changes = { fields: ['id', 'title', 'price', 'total', 'genres'] }
      override getSerializerClass() {
        return chosen[this.ctx.get('shown')] ?? WholeSerializer
      }
    }
    const { send } = await serveBooks(Choosing)
    await send('POST', '/books', { title: 'Emma by Jane', genres: [1] })
    const read = async (shown: string) => (await send('GET', '/books/1/history', undefined, { shown })).json[0].after
    const whole = { id: 1, title: 'Emma', price: 'for the staff', total: 0, genres: [1] }
    expect(await read('whole')).toEqual(whole)
    expect(await read('same')).toEqual(whole)
    expect(await read('other')).toEqual({ id: 1 })
    const { total: _, ...rest } = whole
    expect(await read('elsewhere')).toEqual(rest)
  })

  it('shows only keys where its view set has keys, though another one has recorded objects', async () => {
    class Nested extends Historic {
      static override changes: Changes = { fields: ['title', 'author', 'reviews'] }
    }
    const { send } = await serveBooks(Historic)
    const whole = await serveBooks(Nested)
    const body = { title: 'Emma', author: { name: 'Jane' }, reviews: [{ text: 'good' }], genres: [1] }
    await whole.send('POST', '/books', body)
    await send('PATCH', '/books/1', { title: 'b' })
    const [last, first] = (await send('GET', '/books/1/history')).json
    expect(last.after).toMatchObject({ title: 'b', author: expect.any(Number), genres: [1] })
    expect(first.after).toEqual({ title: 'Emma' })
  })

  it('shows no field of what is nested that the view does not choose for the caller, either', async () => {
    class NamelessSerializer extends AuthorSerializer {
      static override fields = ['id']
    }
    class FewSerializer extends BookSerializer {
      static override declaredFields: DeclaredFields = {
        author: new NestedSerializer(NamelessSerializer, { readOnly: true }),
        reviews: new PrimaryKeyRelatedField({ many: true, readOnly: true }),
      }
    }
    class Choosing extends Historic {
      static override changes: Changes = { fields: ['author', 'reviews'] }
      override getSerializerClass(): any {
        return this.ctx.get('user') === '2' ? FewSerializer : BookSerializer
      }
    }
    const { send } = await serveBooks(Choosing)
    const body = { title: 'Emma', author: { name: 'Jane' }, reviews: [{ text: 'good' }] }
    const { author } = (await send('POST', '/books', body, { user: '1' })).json
    const read = async (user: string) => (await send('GET', '/books/1/history', undefined, { user })).json[0].after
    expect(await read('1')).toEqual({ author, reviews: [{ id: 1, text: 'good' }] })
    expect(await read('2')).toEqual({ author: { id: author.id } })
  })

  it('shows what the caller may read of the object now', async () => {
    const rules = [
      rule(Book, {
        read: ({ user }) => (user ? true : { title: 'Open' }),
        create: true,
        update: true,
        delete: true,
        fields: {
          price: { read: ({ user }) => user?.id === 1 },
          total: { read: ({ user }) => user?.id === 1, mask: () => 0 },
        },
      }),
      rule(Author, { read: ({ user }) => user?.id === 1 }),
      rule(Review, { read: true, create: true }),
      rule(Genre, { read: true }),
    ]
    const { send } = await serveBooks(Historic, { rules }, login)
    await send('POST', '/books', { title: 'Emma', price: '1.00' }, { user: '1' })
    const read = async (user: string) => (await send('GET', '/books/1/history', undefined, user ? { user } : {})).json
    expect((await read('1'))[0].after).toEqual({ id: 1, title: 'Emma', price: '1.00', author: null, genres: [] })
    expect((await read('2'))[0].after).toEqual({ id: 1, title: 'Emma', genres: [] })
    expect((await read('')).status).toBe(404)
    const [{ after } = { after: null }] = await recorded()
    expect(after).not.toHaveProperty('total')
  })

  it('shows no keys of links of which a rule of their table may hide some', async () => {
    class Link extends Model {
      static override tableName = 'books_genres'
      static override idColumn = ['book_id', 'genre_id']
    }
    Link.knex(database.knex)
    const rules = [rule(Link, { read: ({ user }) => user?.id === 1 || { genre_id__ne: 2 }, create: true })]
    const { send } = await serveBooks(Historic, { rules }, login)
    await send('POST', '/books', { title: 'Emma', genres: [1, 2] }, { user: '1' })
    const read = async (user: string) => (await send('GET', '/books/1/history', undefined, { user })).json[0].after
    expect((await send('GET', '/books/1', undefined, { user: '2' })).json.genres).toEqual([1])
    expect(await read('1')).toMatchObject({ genres: [1, 2] })
    expect(await read('2')).not.toHaveProperty('genres')
  })

  it('shows of what is nested what the caller may read of it, and records no masked field of it', async () => {
    class Nested extends Historic {
      static override changes: Changes = { fields: ['title', 'author', 'reviews'] }
    }
    const rules = [
      rule(Author, { fields: { name: { read: ({ user }) => user?.id === 1 } } }),
      rule(Review, { fields: { text: { read: ({ user }) => user?.id === 1, mask: 'hidden' } } }),
    ]
    const { send } = await serveBooks(Nested, { rules }, login)
    const body = { title: 'Emma', author: { name: 'Jane' }, reviews: [{ text: 'good' }] }
    const { json } = await send('POST', '/books', body, { user: '1' })
    const { id } = json.author
    const read = async (user: string) => (await send('GET', '/books/1/history', undefined, { user })).json[0].after
    expect(await read('1')).toEqual({ title: 'Emma', author: { id, name: 'Jane' }, reviews: [{ id: 1 }] })
    expect(await read('2')).toEqual({ title: 'Emma', author: { id }, reviews: [{ id: 1 }] })
    const book = (await recorded()).find(({ model }) => model === 'books')
    expect(book?.after).toEqual({ title: 'Emma', author: { id, name: 'Jane' }, reviews: [{ id: 1 }] })
  })
})

describe('explain()', () => {
  it.skipIf(runsAsRole() || process.env['TRACED'])(
    'says what is recorded, and what keeps a write from being one statement',
    async () => {
      class Flat extends BookViewSet {
        static override serializerClass: SerializerClass = FlatSerializer
        static override changes: Changes = { fields: ['id', 'title'] }
      }
      const api = new APIRouter().register('books', Flat)
      await api.prepare()
      const [create] = await api.explain('book-create')
      const [change] = await api.explain('book-partial_update')
      expect(formatExplanations([create, change] as never)).toMatchInlineSnapshot(`
        "POST /books  (book-create)
          view         Flat.create
          body         JSONParser, FormParser, MultiPartParser
          answer       JSONRenderer
          parameters   fields
          inserts      by statement
          records      id, title
          insert       with "koa_viewsets_written" as (insert into "books" ("title", "price", "total") values ($1, $2, $3) returning "id" as "key0", "id" as "c0", "title" as "c1", "price" as "c2", "total" as "c3", "id" as "b0", "title" as "b1", "id" as "b2"), "koa_viewsets_beside" as (insert into public.koa_viewsets_changes (model, key, action, caller, request_id, after) select $4, "c2"::text, 'create', $5, $6::uuid, ((('{"id":' || coalesce("list"."c0"::text, 'null')) || (',"title":' || (coalesce(to_json("list"."c1")::text, 'null') || '}'))))::json from (select "b0" as "c0", "b1" as "c1", "b2" as "c2" from "koa_viewsets_written") as "list") select "list"."key0", "list"."c0", "list"."c1", "list"."c2", "list"."c3" from "koa_viewsets_written" as "list"
          note         the INSERT is that of a body with every field

        PATCH /books/{id}  (book-partial_update)
          view         Flat.partialUpdate
          body         JSONParser, FormParser, MultiPartParser
          answer       JSONRenderer
          parameters   fields
          writes       by statement
          holds        by statement
          changes      by statement
          records      id, title
          update       with "koa_viewsets_stored" as (select ctid, "id" as "c0", "title" as "c1", "id" as "c2", "id" as "c3", "title" as "c4", "price" as "c5", "author_id" as "c6", "total" as "c7", "deleted_at" as "c8" from "books" where "id" = $1 for no key update skip locked), "koa_viewsets_written" as (update "books" set "title" = $2, "price" = $3, "total" = $4 where "id" = $5 and ctid = (select ctid from "koa_viewsets_stored") returning "id" as "c0", "title" as "c1", "price" as "c2", "total" as "c3", "id" as "b0", "title" as "b1", "id" as "b2", "id" as "b3", "title" as "b4", "price" as "b5", "author_id" as "b6", "total" as "b7", "deleted_at" as "b8"), "koa_viewsets_beside" as (insert into public.koa_viewsets_changes (model, key, action, caller, request_id, before, after, was) select $6, s.key, 'update', $7, $8::uuid, s.json::json, w.json::json, s.was from (select "c2"::text as key, ((('{"id":' || coalesce("list"."c0"::text, 'null')) || (',"title":' || (coalesce(to_json("list"."c1")::text, 'null') || '}')))) as json, (select row_to_json(r.*) from (select "c3" as "id", "c4" as "title", "c5" as "price", "c6" as "author_id", "c7" as "total", "c8" as "deleted_at") as r) as was from (select * from "koa_viewsets_stored") as "list") as s, (select ((('{"id":' || coalesce("list"."c0"::text, 'null')) || (',"title":' || (coalesce(to_json("list"."c1")::text, 'null') || '}')))) as json from (select "b0" as "c0", "b1" as "c1", "b2" as "c2", "b3" as "c3", "b4" as "c4", "b5" as "c5", "b6" as "c6", "b7" as "c7", "b8" as "c8" from "koa_viewsets_written") as "list") as w where s.json is distinct from w.json) select "list"."c0", "list"."c1", "list"."c2", "list"."c3" from "koa_viewsets_written" as "list"
          else hold    select "books".* from "books" where "id" = $1 for no key update
          else update  update "books" set "title" = $1, "price" = $2, "total" = $3 where "books"."id" = $4 returning *
          note         a condition (If-Match), a form, a patch document, a value that is refused or respelled, or no such row: the row is held first
          note         the UPDATE is that of a body with every field
        "
      `)
    },
  )
})

describe('whoever waits for changes of this process', () => {
  class Flat extends BookViewSet {
    static override serializerClass: SerializerClass = FlatSerializer
  }
  const told = vi.fn<() => void>()
  beforeEach(() => {
    told.mockClear()
    const leave = hearOfChanges(database.knex, told)
    return () => {
      leave()
    }
  })
  const begin = async () => {
    const trx = await database.knex.transaction()
    onTestFinished(async () => {
      if (!trx.isCompleted()) await trx.rollback()
    })
    return trx
  }

  it('is told of a row that one statement writes, and not of one that is refused', async () => {
    const { send } = await serveBooks(Flat)
    expect((await send('POST', '/books', { title: [] })).status).toBe(400)
    expect(told).not.toHaveBeenCalled()
    expect((await send('POST', '/books', { title: 'Emma' })).status).toBe(201)
    expect(told).toHaveBeenCalledTimes(1)
  })

  it('is told of nothing before COMMIT, though the client has gone', async () => {
    const { send, port } = await serveBooks(Flat)
    await send('POST', '/books', { title: 'Emma' })
    told.mockClear()
    const holder = await begin()
    await holder('books').where('id', 1).forUpdate()
    const left = new AbortController()
    const answer = fetch(`http://127.0.0.1:${port}/books/1`, { method: 'DELETE', signal: left.signal })
    await untilWaiting(database.knex)
    left.abort()
    await expect(answer).rejects.toThrow('aborted')
    // the process has heard of it, too
    await send('GET', '/books')
    expect(told).not.toHaveBeenCalled()
    await holder.commit()
    await vi.waitFor(() => expect(told).toHaveBeenCalled())
    expect(await recorded()).toHaveLength(2)
  })

  it.skipIf(runsAsRole())('is told of a row in a transaction of the application once that is committed', async () => {
    let trx: Knex.Transaction | undefined
    const { send } = await serveBooks(
      class extends Flat {
        override getKnex() {
          return trx as Knex | undefined
        }
      },
    )
    trx = await begin()
    expect((await send('POST', '/books', { title: 'Emma' })).status).toBe(201)
    expect(told).not.toHaveBeenCalled()
    await trx.commit()
    await vi.waitFor(() => expect(told).toHaveBeenCalledTimes(1))
  })

  it.skipIf(runsAsRole())('is told of nothing by explain()', async () => {
    const api = new APIRouter().register('books', Flat)
    await api.prepare()
    const [create] = await api.explain('book-create')
    expect(create).toMatchObject({ insert: { by: 'statement' } })
    expect(told).not.toHaveBeenCalled()
  })
})

it('prepare() tells of view sets of one table that record different things by one name', async () => {
  await database.knex.raw('create table people (id int primary key, name text, alias text)')
  class Person extends Model {
    static override tableName = 'people'
  }
  class PublicPerson extends IDMixin(Model) {
    static override tableName = 'people'
    static override idConfig = { mode: 'encoded', alphabet: 'abcdefghijklmnopqrstuvwxyz' } as const
  }
  for (const model of [Person, PublicPerson]) model.knex(database.knex)
  const people = (model: typeof Model, source?: string) => {
    class PersonSerializer extends ModelSerializer {
      static override model = model
      static override fields = ['id', 'name']
      static override declaredFields: DeclaredFields = source ? { name: new StringField({ source }) } : {}
    }
    return class People extends ChangesMixin(ReadOnlyModelViewSet) {
      static override model = model
      static override serializerClass: SerializerClass = PersonSerializer
    }
  }
  const emit = vi.spyOn(process, 'emitWarning').mockReturnValue()
  const api = new APIRouter().register('a', people(Person), 'a').register('same', people(Person), 'same')
  await api.prepare()
  expect(emit).not.toHaveBeenCalled()
  class Elsewhere extends Model {
    static override tableName = 'public.people'
  }
  Elsewhere.knex(database.knex)
  await new APIRouter().register('d', people(Elsewhere)).prepare()
  await new APIRouter().register('b', people(Person, 'alias'), 'b').register('c', people(PublicPerson), 'c').prepare()
  expect(emit.mock.calls.map(([text]) => text)).toEqual([
    'People: its changes are of "public.people", and those of People of "people", which is the same table, so that neither are in the histories, streams and webhooks of the other; give both models the same tableName',
    'People: its changes have alias as "name", and those of People name, in the same histories and webhooks; rename one of the fields, or leave it out of static changes',
    'People: its changes name objects by external ids, and those of People by primary keys, so that neither are in the histories, streams and webhooks of the other; give both models the same ids',
  ])
  emit.mockRestore()
})

describe('prepare() refuses', () => {
  const refusal = async (statics: object, base: any = BookViewSet) => {
    class View extends base {}
    Object.assign(View, statics)
    const failure = await new APIRouter()
      .register('books', View as any)
      .prepare()
      .catch((error: Error) => error.message)
    return failure
  }

  it.each([
    [{ changes: 'yes' }, 'static changes is "yes"; give an object'],
    [{ changes: { feilds: [] } }, 'static changes has no option "feilds"; take serializer, fields or visibleBy'],
    [{ changes: { fields: 'title' } }, 'static changes: fields is "title"; give a list of names'],
    [{ changes: { fields: ['titel'] } }, 'BookSerializer shows no field "titel"; did you mean "title"?'],
  ])('%o', async (statics, message) => {
    expect(await refusal(statics)).toContain(message)
  })

  it('a serializer that changes its output as a whole', async () => {
    class Whole extends BookSerializer {
      override toRepresentation(book: Book) {
        return { ...(super.toRepresentation(book) as object), price: undefined }
      }
    }
    expect(await refusal({ serializerClass: Whole })).toContain('Whole changes its output as a whole')
    expect(await refusal({ serializerClass: Whole, changes: { serializer: BookSerializer } })).toBeUndefined()
  })

  it('a serializer that is chosen for each request, and one of another model', async () => {
    class Choosing extends BookViewSet {
      static override serializerClass: any = null
      override getSerializerClass() {
        return BookSerializer
      }
    }
    expect(await refusal({}, Choosing)).toContain('name what shows changes: static changes = { serializer }')
    expect(await refusal({ changes: { serializer: FlatSerializer } }, Choosing)).toBeUndefined()
    expect(await refusal({ changes: { serializer: ReviewSerializer } })).toContain(
      'changes: ReviewSerializer shows objects of Review; name a serializer of Book',
    )
  })

  it('a nested serializer that does so, and ids that expire', async () => {
    class WholeReview extends ReviewSerializer {
      override toRepresentation(review: Review) {
        return super.toRepresentation(review)
      }
    }
    class Nesting extends BookSerializer {
      static override declaredFields: DeclaredFields = {
        reviews: new NestedSerializer(WholeReview, { many: true, required: false }),
      }
    }
    expect(await refusal({ serializerClass: Nesting })).toContain('WholeReview changes its output as a whole')
    class Expiring extends IDMixin(Book) {
      static override idConfig = {
        mode: 'signed',
        alphabet: 'mn7swcxDfgkGrBtv4qj6phd3b952CzF8',
        hmacKeys: ['a key of the changes, long enough'],
        expiresIn: 60,
      } as const
    }
    class ExpiringSerializer extends ModelSerializer<Expiring> {
      static override model = Expiring
      static override fields = ['id', 'title']
    }
    const failure = await refusal({ model: Expiring, serializerClass: ExpiringSerializer })
    expect(failure).toContain('changes: objects of Expiring have no primary key, or ids that differ')
    class ExpiringAuthor extends IDMixin(Author) {
      static override idConfig = Expiring.idConfig
    }
    class Member extends Model {
      static override tableName = 'memberships'
      static override idColumn = ['author_id', 'club']
      static override relationMappings = () => ({
        author: {
          relation: Model.BelongsToOneRelation,
          modelClass: ExpiringAuthor,
          join: { from: 'memberships.author_id', to: 'authors.id' },
        },
      })
    }
    for (const model of [ExpiringAuthor, Member]) model.knex(database.knex)
    class MemberSerializer extends ModelSerializer<Member> {
      static override model = Member
      static override fields = '__all__'
    }
    expect(await refusal({ model: Member, serializerClass: MemberSerializer })).toContain('objects of Member have no')
  })

  it('a database without the table', async () => {
    configure({ changesTable: 'elsewhere.changes' })
    onTestFinished(() => configure({}))
    const message = 'the table "elsewhere"."changes" is not there; await ensureChangesTable(knex)'
    expect(await refusal({})).toContain(message)
    // what others record
    class Read extends HistoryMixin(ReadOnlyModelViewSet<Book>) {
      static override model = Book
      static override serializerClass: SerializerClass = BookSerializer
    }
    expect(await refusal({}, Read)).toContain(message)
  })
})

describe('the table', () => {
  it.skipIf(runsAsRole())('and its months are for their owner, whatever default privileges say', async () => {
    const { knex } = database
    const role = `reader_${process.pid}`
    await knex.raw(`create role ${role} nologin; alter default privileges grant select on tables to ${role}`)
    configure({ changesTable: 'kept_changes' })
    onTestFinished(async () => {
      configure({})
      await knex.raw(`drop table if exists kept_changes; drop owned by ${role}; drop role ${role}`)
    })
    await ensureChangesTable(knex)
    const { rows } = await knex.raw(
      `select relname, has_table_privilege('${role}', oid, 'select') as reads from pg_class where relname like 'kept_changes%' and relkind in ('r', 'p')`,
    )
    expect(rows).toHaveLength(5)
    expect(rows.filter(({ reads }: { reads: boolean }) => reads)).toEqual([])
  })

  it('has a part for each month, however long its name is', async () => {
    const { knex } = database
    const name = 'a'.repeat(60)
    configure({ changesTable: name })
    onTestFinished(async () => {
      configure({})
      await knex.raw(`drop table if exists ${name}`)
    })
    await ensureChangesTable(knex)
    const { rows } = await knex.raw(`select from pg_inherits where inhparent = '${name}'::regclass`)
    expect(rows).toHaveLength(4)
  })

  it.each([
    ['by one statement', FlatSerializer],
    ['of a row that is held', BookSerializer],
  ] as const)('without a place for a change is no fault of the client: %o', async (_, by) => {
    class Closed extends BookViewSet {
      static override serializerClass: SerializerClass = by
    }
    const { knex } = database
    await knex.raw('create table closed_changes (like koa_viewsets_changes including all) partition by range (made_at)')
    configure({ changesTable: 'closed_changes' })
    onTestFinished(async () => {
      configure({})
      await knex.raw('drop table closed_changes')
    })
    const { send } = await serveBooks(Closed)
    await knex('books').insert({ title: 'Emma' })
    for (const [method, path] of [
      ['POST', '/books'],
      ['PATCH', '/books/1'],
      ['DELETE', '/books/1'],
    ] as const)
      expect([method, (await send(method, path, { title: 'Persuasion' })).status]).toEqual([method, 500])
    expect(await knex('books').pluck('title')).toEqual(['Emma'])
  })

  it.skipIf(runsAsRole())('that can take no change at the moment is 503', async () => {
    const { knex } = database
    configure({ changesTable: 'busy_changes' })
    onTestFinished(async () => {
      configure({})
      await knex.raw('drop table busy_changes; drop function be_busy')
    })
    await ensureChangesTable(knex)
    await knex.raw(`create function be_busy() returns trigger language plpgsql as
      $$ begin raise exception 'busy' using errcode = 'serialization_failure'; end $$;
      create trigger busy before insert on busy_changes for each row execute function be_busy()`)
    const { send } = await serveBooks(BookViewSet)
    await knex('books').insert({ title: 'Emma' })
    expect((await send('PATCH', '/books/1', { title: 'Persuasion' })).status).toBe(503)
  })

  it.skipIf(runsAsRole())('gets its months of its owner: other logins begin without', async () => {
    const { knex } = database
    const role = `writer_${process.pid}`
    configure({ changesTable: 'owned_changes' })
    await ensureChangesTable(knex)
    await knex.raw(`create role ${role} nologin; grant select, insert on owned_changes to ${role}`)
    const other = knexLibrary({
      client: 'pg',
      connection: { ...(database.direct as Knex.PgConnectionConfig), options: `-c role=${role}` },
    })
    onTestFinished(async () => {
      await other.destroy()
      configure({})
      await knex.raw(`drop table owned_changes; drop role ${role}`)
    })
    const { rows } = await knex.raw(
      `select max(inhrelid::regclass::text) as name from pg_inherits where inhparent = 'owned_changes'::regclass and inhrelid::regclass::text like '%_20%'`,
    )
    await knex.raw(`drop table ${rows[0].name}`)
    await ensureChangesTable(other)
    await other.transaction((trx) => recordChange(trx, { model: 'books', key: 1, action: 'update' }))
    expect((await readChanges(other)).changes).toHaveLength(1)
    await expect(sweepChanges(other)).rejects.toThrow('permission denied')
  })

  it('gets its months another time, where somebody writes to it for long', async () => {
    const { knex } = database
    const months = async () =>
      (await knex.raw(`select count(*) from pg_inherits where inhparent = 'koa_viewsets_changes'::regclass`)).rows[0]
        .count
    const { rows } = await knex.raw(
      `select max(inhrelid::regclass::text) as name from pg_inherits where inhparent = 'koa_viewsets_changes'::regclass and inhrelid::regclass::text like '%_20%'`,
    )
    await knex.raw(`drop table ${rows[0].name}`)
    await knex.transaction(async (trx) => {
      await recordChange(trx, { model: 'books', key: 1, action: 'update' })
      await ensureChangesTable(knex)
      expect(await months()).toBe('3')
    })
    await ensureChangesTable(knex)
    expect(await months()).toBe('4')
  })

  it('is made once, by whoever begins, with months ahead, and forgets months', async () => {
    await Promise.all(Array.from({ length: 4 }, () => ensureChangesTable(database.knex)))
    const months = async () =>
      (
        await database.knex.raw(
          `select inhrelid::regclass::text as name from pg_inherits where inhparent = 'koa_viewsets_changes'::regclass order by 1`,
        )
      ).rows.map(({ name }: { name: string }) => name)
    expect(await months()).toHaveLength(4)
    await database.knex.raw(
      `create table koa_viewsets_changes_2020_01 partition of koa_viewsets_changes for values from ('2020-01-01') to ('2020-02-01')`,
    )
    for (const at of ['2020-01-05', '2019-01-05', '2090-01-01'])
      await database.knex.raw(
        `insert into koa_viewsets_changes (made_at, model, key, action) values (?, 'books', '1', 'update')`,
        [at],
      )
    expect(await sweepChanges(database.knex)).toEqual({ months: 1, changes: 1 })
    expect(await months()).toHaveLength(4)
    expect(await recorded()).toHaveLength(1)
  })
})
